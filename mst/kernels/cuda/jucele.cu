// A reimplementation of Jucele GPU: Vasconcellos, Caceres, Mongelli and Song, "A Parallel Algorithm for Minimum
// Spanning Tree on GPU" (SBAC-PADW '17), as Fallin et al. (SC '23, section 2) describe it, for connected graphs.
//
// The lightest edges of all vertices form a strut. An edge that both its ends chose is a zero difference: there is
// one per component of the strut. When one is left, the tree is complete; until then, components get new labels, which
// become the ends of edges. The edge list keeps its length; edges inside a component are marked. Components are found
// by labels that spread along the strut's edges, or by pointer jumping.
//
// Geometry: a thread per edge or per vertex, as each kernel says; any block size.
//
// Ordering: a launch ends every step. Lightest edges meet in compare-and-swap, degrees in addition, labels in atomic
// minima: they only fall, and a launch that sees no difference across an edge ends their spread. If pointers jump,
// components are shortened in place: every value that a reader may see lies on the path to the root.
#include "argmin.cuh"

struct Jucele {
  const u32* u;             // [m] ends and keys of the input's edges
  const u32* v;             // [m]
  const Key* keys;          // [m]
  u32* ends[2];             // [m] each: ends as labels, from round 1 on; NONE: inside one component
  u32* lightest;            // [n] edge that each vertex chose, or NONE
  u32* degree;              // [m] the number of ends that chose the edge; zero between rounds
  uint2* strut;             // [n] ends of the strut's edges
  u32* component;           // [n] smallest label seen, or parent in the strut; then the root
  u32* new_label;           // [n] of each root: its vertex in the next round
  unsigned char* chosen;    // [m] 1: of the tree
  u32* zero_differences;    // [1]
  u32* changed;             // [1]
  u32* arrivals;            // [1] edges of the strut, then vertices of the next round
  u32 n, m, from_input, side;  // vertices of this round; from_input: the ends are u and v; side: the end processed
};

// Edges compare by their keys and their ids, which are their indices.
struct Lighter {
  const Jucele& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key key_a = g.keys[a], key_b = g.keys[b];
    return key_a < key_b || (key_a == key_b && a < b);
  }
};

// The first (side 0) or second end of an edge, in this round.
DEVICE u32 end_of(const Jucele& g, u32 side, u32 edge) {
  return g.from_input ? (side ? g.v : g.u)[edge] : g.ends[side][edge];
}

// A thread per edge; launched with side 0 for the first ends, then with 1 for the second ones. Lowers lightest at that
// end; the caller has set it to NONE.
extern "C" __global__ void find_lightest(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  const u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  if (a != b) atomic_argmin(g.lightest + (g.side ? b : a), edge, Lighter{g});
}

// A thread per vertex: adds to the degree of its lightest edge.
extern "C" __global__ void mark_strut(const Jucele g) {
  const u32 x = thread_index();
  if (x < g.n && g.lightest[x] != NONE) atomicAdd(g.degree + g.lightest[x], 1u);
}

// A thread per edge: chooses the strut's edges, counts those of degree 2, resets degrees.
extern "C" __global__ void count_zero_differences(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  const u32 degree = g.degree[edge];
  if (degree == 0) return;
  g.degree[edge] = 0;
  g.chosen[edge] = 1;
  if (degree == 2) atomicAdd(g.zero_differences, 1u);
}

// A thread per vertex: labels it by itself, and appends its lightest edge to the strut unless the lower end of a zero
// difference does. Writes component, strut, arrivals.
extern "C" __global__ void list_strut(const Jucele g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  g.component[x] = x;
  const u32 edge = g.lightest[x];
  if (edge == NONE) return;
  const u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  const u32 other = a == x ? b : a;
  if (other < x && g.lightest[other] == edge) return;
  uint2 ends;
  ends.x = a;
  ends.y = b;
  g.strut[atomicAdd(g.arrivals, 1u)] = ends;
}

// A thread per edge of the strut: lowers the label of one end to that of the other. Writes component, changed.
extern "C" __global__ void spread_labels(const Jucele g) {
  const u32 i = thread_index();
  if (i >= g.arrivals[0]) return;
  const uint2 ends = g.strut[i];
  const u32 a = load_relaxed(g.component + ends.x), b = load_relaxed(g.component + ends.y);
  if (a == b) return;
  atomicMin(g.component + (a < b ? ends.y : ends.x), a < b ? a : b);
  g.changed[0] = 1;
}

// A thread per vertex: hooks it to the other end of its lightest edge, or to itself if it is the lower end of a zero
// difference. Writes component.
extern "C" __global__ void hook_vertices(const Jucele g) {
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

// A thread per vertex: one step of pointer jumping. Writes component, changed.
extern "C" __global__ void jump_pointers(const Jucele g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 parent = load_relaxed(g.component + x), grandparent = load_relaxed(g.component + parent);
  if (parent == grandparent) return;
  store_relaxed(g.component + x, grandparent);
  g.changed[0] = 1;
}

// A thread per vertex: gives roots their new labels, in the order in which threads arrive. Writes arrivals.
extern "C" __global__ void label_roots(const Jucele g) {
  const u32 x = thread_index();
  if (x < g.n && g.component[x] == x) g.new_label[x] = atomicAdd(g.arrivals, 1u);
}

// A thread per edge: writes its ends as new labels, or NONE if it is inside a component.
extern "C" __global__ void relabel_edges(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  if (a == b) {
    if (g.from_input) g.ends[0][edge] = g.ends[1][edge] = NONE;
    return;
  }
  a = g.component[a];
  b = g.component[b];
  g.ends[0][edge] = a == b ? NONE : g.new_label[a];
  g.ends[1][edge] = a == b ? NONE : g.new_label[b];
}
