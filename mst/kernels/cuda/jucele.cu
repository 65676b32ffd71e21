// A reimplementation of Jucele GPU: Vasconcellos, Caceres, Mongelli and Song, "A Parallel Algorithm for Minimum
// Spanning Tree on GPU" (SBAC-PADW '17), as Fallin et al. (SC '23, section 2) describe it, for connected graphs.
//
// The lightest edges of all vertices form a strut. An edge that both its ends chose is a zero difference: there is
// one per component of the strut. When one is left, the tree is complete; otherwise components are numbered anew and
// edges get them for ends. The edge list keeps its length; edges inside a component are marked.
//
// Ordering: a launch ends every step. Lightest edges settle by compare-and-swap, degrees by addition. Components
// are shortened in place: every value that a reader may see lies on the path to the root.
#include "cheapest.cuh"

struct Jucele {
  const u32* u;
  const u32* v;
  const Key* keys;
  u32* ends[2];           // with components for ends, from round 1 on; NONE: inside one
  u32* lightest;          // edge of each vertex
  u32* degree;            // of each edge in the strut
  u32* component;
  u32* number;
  unsigned char* chosen;  // per edge
  u32* counters;          // zero differences, whether a component changed, vertices of the next round
  u32 n, m, first, second;  // first: the ends are the input's
};

enum Counter { ZERO_DIFFERENCES, CHANGED, VERTICES };

// Edges compare by their keys and their ids, which are their places.
struct Before {
  const Jucele& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key one = g.keys[a], other = g.keys[b];
    return one < other || (one == other && a < b);
  }
};

DEVICE u32 end_of(const Jucele& g, u32 side, u32 edge) {
  return g.first ? (side ? g.v : g.u)[edge] : g.ends[side][edge];
}

// Launched for the first ends, then for the second ones.
extern "C" __global__ void find_lightest(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  const u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  if (a != b) offer_place(g.lightest + (g.second ? b : a), edge, Before{g});
}

extern "C" __global__ void mark_strut(const Jucele g) {
  const u32 x = thread_index();
  if (x < g.n && g.lightest[x] != NONE) atomicAdd(g.degree + g.lightest[x], 1u);
}

extern "C" __global__ void count_zero_differences(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  const u32 degree = g.degree[edge];
  if (degree == 0) return;
  g.degree[edge] = 0;
  g.chosen[edge] = 1;
  if (degree == 2) atomicAdd(g.counters + ZERO_DIFFERENCES, 1u);
}

// The other end of the lightest edge, or the vertex itself if it is the lower end of a zero difference.
extern "C" __global__ void start_components(const Jucele g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 edge = g.lightest[x];
  if (edge == NONE) {
    g.component[x] = x;
    return;
  }
  const u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  const u32 other = a == x ? b : a;
  g.component[x] = x < other && g.lightest[other] == edge ? x : other;
}

extern "C" __global__ void shorten_components(const Jucele g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 above = load_relaxed(g.component + x), next = load_relaxed(g.component + above);
  if (above == next) return;
  store_relaxed(g.component + x, next);
  g.counters[CHANGED] = 1;
}

extern "C" __global__ void number_components(const Jucele g) {
  const u32 x = thread_index();
  if (x < g.n && g.component[x] == x) g.number[x] = atomicAdd(g.counters + VERTICES, 1u);
}

extern "C" __global__ void contract_edges(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  if (a == b) {
    if (g.first) g.ends[0][edge] = g.ends[1][edge] = NONE;
    return;
  }
  a = g.component[a];
  b = g.component[b];
  g.ends[0][edge] = a == b ? NONE : g.number[a];
  g.ends[1][edge] = a == b ? NONE : g.number[b];
}
