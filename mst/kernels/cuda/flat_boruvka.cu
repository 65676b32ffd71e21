// Boruvka over an edge list with flattened component trees: Bhargava and Zaia, "Parallelizing Minimum Spanning Tree
// Using Boruvka's Algorithm in ParlayLib and CUDA" (15-618), written from its sections Approach and Optimizations for
// CUDA. Three kernels per round: `prepare` (reset and flatten), `assign_cheapest`, `update_mst`.
//
// WAIT_FREE   the union-find of `wait_free_union_find.cuh` instead of trees of depth one
// MERGED      no `prepare`: each look-up of a vertex flattens its path, and `update_mst` resets for the next round
// BOTH_WAYS   the list has every edge in both directions, and each entry lowers the minimum of its first end only
// FLAG        an edge chosen by two components is added by the one that sets its flag atomically first; without FLAG,
//             each component checks whether the other one chose the edge too
// CONTIGUOUS  each thread processes consecutive edges of its block's chunk, instead of every blockDim-th one
//
// Launch: any number of blocks and threads; a kernel strides over the vertices, or each block over a chunk of the list.
//
// Ordering: each step is a launch of its own. Cheapest edges are lowered by compare-and-swap on an index into the list.
// A component tree changes only in `update_mst`, where each root writes its own parent once. Of two components that
// chose the same edge exactly one hooks, so no cycle arises. Flattening replaces parents by roots, so readers reach the
// same root before and after.
#include "argmin.cuh"
#include "wait_free_union_find.cuh"

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

// An edge between vertices or components a and b; 12 bytes with 32-bit keys.
struct Edge {
  u32 a, b;
  Key key;
};

struct FlatBoruvka {
  const Edge* edges;      // [length] the input's list
  Edge* relabelled;       // [length] from round 1 on, the list with components for ends
  const u32* ids;         // [length] edge ids; null if ids_are_indices
  u32* parent;            // [n] component trees unless WAIT_FREE; a root is its own parent
  u64* sets;              // [n] WAIT_FREE: see wait_free_union_find.cuh
  u32* cheapest[2];       // [n] index of a component's lightest edge, or NONE; with MERGED for even and odd rounds
  unsigned char* chosen;  // [m rounded up to 4] 1 if the edge belongs to the forest
  u32* unions;            // [1] unions so far
  u32 n, length, round, ids_are_indices;
};

// Returns the id of the edge at `index` of the list.
DEVICE u32 id_of(const FlatBoruvka& g, u32 index) { return g.ids_are_indices ? index : g.ids[index]; }

// Orders indices into the list by (key, edge id).
struct Lighter {
  const FlatBoruvka& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key key_a = g.edges[a].key, key_b = g.edges[b].key;
    return key_a < key_b || (key_a == key_b && id_of(g, a) < id_of(g, b));
  }
};

// Returns the array of cheapest edges that this round lowers.
DEVICE u32* cheapest_of(const FlatBoruvka& g) { return g.cheapest[MERGED ? g.round & 1 : 0]; }

// Returns the root of x, and makes it the parent of x: path compression.
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

// Returns the root of x in this round.
DEVICE u32 component(const FlatBoruvka& g, u32 x) {
#if WAIT_FREE
  return find(g.sets, x);
#elif MERGED
  return flatten(g.parent, x);
#else
  return g.parent[x];
#endif
}

// Makes every vertex a component without a cheapest edge. Strides over the vertices. Writes parent or sets, and
// cheapest.
extern "C" __global__ void initialise(const FlatBoruvka g) {
  for (u32 x = thread_index(); x < g.n; x += thread_count()) {
#if WAIT_FREE
    g.sets[x] = singleton(x);
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
// Resets cheapest, and flattens the component trees to depth at most one. Strides over the vertices. Writes parent.
extern "C" __global__ void prepare(const FlatBoruvka g) {
  for (u32 x = thread_index(); x < g.n; x += thread_count()) {
    g.cheapest[0][x] = NONE;
#if !WAIT_FREE
    flatten(g.parent, x);
#endif
  }
}
#endif

// Lowers cheapest at both ends of an edge, or at its first end with BOTH_WAYS. From round 1 on, first replaces the ends
// by their components in `relabelled`, to which round 1 copies the list.
DEVICE void assign_edge(const FlatBoruvka& g, u32 index) {
  Edge edge = g.round < 2 ? g.edges[index] : g.relabelled[index];
  const u32 a = edge.a, b = edge.b;
  if (g.round > 0) {
    if (a != b) {
      edge.a = component(g, a);
      edge.b = component(g, b);
    }
    if (g.round == 1) {
      g.relabelled[index] = edge;
    } else if (edge.a != a || edge.b != b) {
      g.relabelled[index].a = edge.a;
      g.relabelled[index].b = edge.b;
    }
  }
  if (edge.a == edge.b) return;
  atomic_argmin(cheapest_of(g) + edge.a, index, Lighter{g});
#if !BOTH_WAYS
  atomic_argmin(cheapest_of(g) + edge.b, index, Lighter{g});
#endif
}

// Finds the lightest edge of each component; each block reads one chunk of the list. Lowers cheapest by
// compare-and-swap; writes relabelled from round 1 on, each entry by one thread.
extern "C" __global__ void assign_cheapest(const FlatBoruvka g) {
  const u64 chunk = (g.length + gridDim.x - 1) / gridDim.x;
  const u64 start = blockIdx.x * chunk;
  const u64 end = start + chunk < g.length ? start + chunk : g.length;
#if CONTIGUOUS
  const u64 run = (chunk + blockDim.x - 1) / blockDim.x;
  const u64 last = start + (threadIdx.x + 1) * run < end ? start + (threadIdx.x + 1) * run : end;
  for (u64 index = start + threadIdx.x * run; index < last; index++) assign_edge(g, (u32)index);
#else
  for (u64 index = start + threadIdx.x; index < end; index += blockDim.x) assign_edge(g, (u32)index);
#endif
}

// Returns whether component x has to add its cheapest edge and hook across it, rather than the component `other` at the
// edge's other end; if so, marks the edge in chosen. `index` is the edge's place in the list, `id` its id.
DEVICE bool adds_edge(const FlatBoruvka& g, u32 x, u32 other, u32 index, u32 id) {
#if FLAG
  const u32 bit = 1u << 8 * (id & 3);
  return !(atomicOr((u32*)g.chosen + (id >> 2), bit) & bit);
#else
  const u32 theirs = cheapest_of(g)[other];
  if (x < other && (theirs == index || (BOTH_WAYS && id_of(g, theirs) == id))) return false;
  g.chosen[id] = 1;
  return true;
#endif
}

// Adds the cheapest edge of each component and hooks the component across it. Strides over the vertices. Writes chosen,
// and parent or sets; raises unions.
extern "C" __global__ void update_mst(const FlatBoruvka g) {
  for (u32 x = thread_index(); x < g.n; x += thread_count()) {
#if MERGED
    g.cheapest[1 - (g.round & 1)][x] = NONE;
#endif
    const u32 index = cheapest_of(g)[x];
    if (index == NONE) continue;
    const Edge* ends = g.round == 0 ? g.edges + index : g.relabelled + index;
    const u32 other = ends->a == x ? ends->b : ends->a;
    if (!adds_edge(g, x, other, index, id_of(g, index))) continue;
#if WAIT_FREE
    unite_sets(g.sets, x, other);
#else
    g.parent[x] = other;
#endif
    atomicAdd(g.unions, 1u);
  }
}
