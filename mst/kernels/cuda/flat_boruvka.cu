// Boruvka over an edge list with flattened component trees: Bhargava and Zaia, "Parallelizing Minimum Spanning Tree
// Using Boruvka's Algorithm in ParlayLib and CUDA" (15-618), written from its sections Approach and Optimizations for
// CUDA. Three kernels a round: `prepare` (reset and flatten), `assign_cheapest`, `update_mst`.
//
// WAIT_FREE   the union-find of `wait_free.cuh` instead of trees of depth one
// MERGED      no `prepare`: whoever looks a vertex up flattens its path, and `update_mst` resets for the next round
// BOTH_WAYS   every edge in the list twice, so that each offers to its first end only
// FLAG        an edge that two components chose counts once because its flag is taken atomically, instead of by
//             looking whether the other component chose it too
// CONTIGUOUS  each thread has a run of its block's chunk to itself, instead of every blockDim-th edge of it
//
// Ordering: a launch ends every step. Cheapest edges settle by compare-and-swap on a place in the list. A component
// tree changes only in `update_mst`, where each root writes its own parent once, so no path closes: of two that chose
// each other exactly one hooks. Flattening writes roots over ancestors, which is the same tree to any reader.
#include "cheapest.cuh"
#include "wait_free.cuh"

#ifndef WAIT_FREE
#define WAIT_FREE 0
#endif
#ifndef MERGED
#define MERGED 0
#endif
#ifndef BOTH_WAYS
#define BOTH_WAYS 0
#endif
#ifndef FLAG
#define FLAG 0
#endif
#ifndef CONTIGUOUS
#define CONTIGUOUS 0
#endif

// 12 bytes with 32-bit keys.
struct Edge {
  u32 a, b;
  Key key;
};

struct Flat {
  const Edge* edges;
  Edge* contracted;       // the same, with components for ends
  const u32* ids;         // edge id of each place; null: the place is the id
  u32* parent;
  u64* sets;              // WAIT_FREE
  u32* cheapest[2];       // place of a component's lightest edge; two, so that MERGED can reset one ahead
  unsigned char* chosen;  // per edge
  u32* merged;            // unions so far
  u32 n, length, round, identity;
};

DEVICE u32 id_of(const Flat& g, u32 place) { return g.identity ? place : g.ids[place]; }

struct Before {
  const Flat& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key one = g.edges[a].key, other = g.edges[b].key;
    return one < other || (one == other && id_of(g, a) < id_of(g, b));
  }
};

DEVICE u32* cheapest_of(const Flat& g) { return g.cheapest[MERGED ? g.round & 1 : 0]; }

// The root of x, which becomes its parent.
DEVICE u32 flatten(u32* parent, u32 x) {
  const u32 first = load_relaxed(parent + x);
  u32 root = first, next = load_relaxed(parent + root);
  while (next != root) {
    root = next;
    next = load_relaxed(parent + root);
  }
  if (root != first) store_relaxed(parent + x, root);
  return root;
}

DEVICE u32 component(const Flat& g, u32 x) {
#if WAIT_FREE
  return find(g.sets, x);
#elif MERGED
  return flatten(g.parent, x);
#else
  return g.parent[x];
#endif
}

extern "C" __global__ void initialise(const Flat g) {
  for (u32 x = thread_index(); x < g.n; x += thread_count()) {
#if WAIT_FREE
    g.sets[x] = new_set(x);
#else
    g.parent[x] = x;
#endif
    g.cheapest[0][x] = NONE;
#if MERGED
    g.cheapest[1][x] = NONE;
#endif
  }
}

#if !MERGED
// Reset the cheapest edges; then every vertex is a root or of depth one.
extern "C" __global__ void prepare(const Flat g) {
  for (u32 x = thread_index(); x < g.n; x += thread_count()) {
    g.cheapest[0][x] = NONE;
#if !WAIT_FREE
    flatten(g.parent, x);
#endif
  }
}
#endif

// From round 1 on, ends are replaced by components, in a copy that round 1 makes.
DEVICE void assign_edge(const Flat& g, u32 place) {
  Edge edge = g.round < 2 ? g.edges[place] : g.contracted[place];
  const u32 a = edge.a, b = edge.b;
  if (g.round > 0) {
    if (a != b) {
      edge.a = component(g, a);
      edge.b = component(g, b);
    }
    if (g.round == 1) {
      g.contracted[place] = edge;
    } else if (edge.a != a || edge.b != b) {
      g.contracted[place].a = edge.a;
      g.contracted[place].b = edge.b;
    }
  }
  if (edge.a == edge.b) return;
  offer_place(cheapest_of(g) + edge.a, place, Before{g});
#if !BOTH_WAYS
  offer_place(cheapest_of(g) + edge.b, place, Before{g});
#endif
}

extern "C" __global__ void assign_cheapest(const Flat g) {
  const u64 chunk = (g.length + gridDim.x - 1) / gridDim.x;
  const u64 start = blockIdx.x * chunk;
  const u64 end = start + chunk < g.length ? start + chunk : g.length;
#if CONTIGUOUS
  const u64 run = (chunk + blockDim.x - 1) / blockDim.x;
  const u64 last = start + (threadIdx.x + 1) * run < end ? start + (threadIdx.x + 1) * run : end;
  for (u64 place = start + threadIdx.x * run; place < last; place++) assign_edge(g, (u32)place);
#else
  for (u64 place = start + threadIdx.x; place < end; place += blockDim.x) assign_edge(g, (u32)place);
#endif
}

// Whether this component is the one that adds the edge and hooks.
DEVICE bool counts(const Flat& g, u32 x, u32 other, u32 place, u32 id) {
#if FLAG
  const u32 bit = 1u << 8 * (id & 3);
  return !(atomicOr((u32*)g.chosen + (id >> 2), bit) & bit);
#else
  const u32 theirs = cheapest_of(g)[other];
  if (x < other && (theirs == place || (BOTH_WAYS && id_of(g, theirs) == id))) return false;
  g.chosen[id] = 1;
  return true;
#endif
}

extern "C" __global__ void update_mst(const Flat g) {
  for (u32 x = thread_index(); x < g.n; x += thread_count()) {
#if MERGED
    g.cheapest[1 - (g.round & 1)][x] = NONE;
#endif
    const u32 place = cheapest_of(g)[x];
    if (place == NONE) continue;
    const Edge* ends = g.round == 0 ? g.edges + place : g.contracted + place;
    const u32 other = ends->a == x ? ends->b : ends->a;
    if (!counts(g, x, other, place, id_of(g, place))) continue;
#if WAIT_FREE
    join(g.sets, x, other);
#else
    g.parent[x] = other;
#endif
    atomicAdd(g.merged, 1u);
  }
}
