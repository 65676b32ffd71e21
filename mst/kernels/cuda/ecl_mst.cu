// ECL-MST: Fallin, Gonzalez, Seo, Burtscher, "A High-Performance MST Implementation for GPUs" (SC '23), written from
// the paper's Algorithms 1 and 2 and its section 5.3.
//
// RUNG removes its optimisations one after the other, as the paper's Table 5 does:
//   1 atomic guards   2 a warp for long rows   3 filtering (by the caller)   4 implicit path compression
//   5 one direction per edge   6 tuples in the worklist   7 worklist   8 edges as the unit of work
// WITHOUT removes one of the first six alone. JUMPING replaces path halving by pointer jumping if compression is
// explicit.
//
// Geometry: a thread per vertex, worklist entry or slot, as each kernel says; any block size. A kernel over a worklist
// reads its length in `lengths`, so there may be more threads than entries.
//
// Ordering: a launch ends every step, so a step sees all that earlier ones wrote, and no thread waits for another.
// Threads of a step meet in atomics and in parent words. If compression is implicit, parents change in `unite` alone,
// and only by compare-and-swap, so `populate` and `minimise` may read them through the read-only cache. Else a find that
// reads a parent word while a union or a compression writes it gets the old or the new parent, both on the path to the
// root; so first-level caches may be used, which is much faster, because most threads read the same few roots.
//
// Forward progress of a union: it hooks the larger root below the smaller, so no cycle arises. A compare-and-swap that
// fails returns a parent with a smaller number than the root that it tried, so the numbers fall with every try: a union
// takes at most n tries, for any behaviour of other threads. Stale caches do not matter, because atomics bypass them.
//
// A round needs no value from the host: its kernels read the worklist's length where `minimise` counted it, and
// `reset_minima` clears the other list's. So the host may queue rounds ahead, with threads for any length at least as
// large; rounds after the last one find empty lists.
#include "edge_minimum.cuh"

#ifndef RUNG
#define RUNG 0
#endif
#ifndef WITHOUT
#define WITHOUT 0
#endif
// Whether an optimisation, by its number above, is removed.
#define REMOVED(k) (RUNG >= (k) || WITHOUT == (k))
#define GUARDS 1
#define WARPS 2
#define IMPLICIT_COMPRESSION 4
#define ONE_DIRECTION 5
#define TUPLES 6
// Slots that a lane reads at a time when it fills a worklist.
#ifndef BATCH
#define BATCH 1
#endif
#ifndef JUMPING
#define JUMPING 0
#endif

struct EclMst {
  const u32* offsets;     // [n + 1] CSR rows, each edge in both of its ends' rows
  const u32* neighbours;  // [slots]
  const Key* keys;        // [slots]
  const u32* ids;         // [slots] edge ids
  const u32* sources;     // [slots] rung 7: the row of each slot
  u32* parent;            // [n]
  u64* minimum;           // [n] per representative: (key, id), or a 64-bit key; all ones: none
  u32* minimum_id;        // [n] 64-bit keys: the id
  unsigned char* chosen;  // [m] 1: of the forest
  u32* worklist[2];       // [4 capacity] (end, end, high word of the key, id), as tuples or as arrays
  u32* key_low[2];        // [capacity] 64-bit keys: their low words
  u32* lengths;           // [4] of both worklists, then whether an edge is left (rungs 7 and 8)
  u64 capacity;           // entries of a worklist
  u64 threshold;          // largest light key
  u32 n, slots, source, heavy, warp_degree, unused;  // source: the worklist that is read
};

// Entry i of a worklist.
DEVICE Edge load_edge(const EclMst& g, u32 list, u32 i) {
  Edge edge;
  u32 high;
#if !REMOVED(TUPLES)
  const uint4 entry = ((const uint4*)g.worklist[list])[i];
  edge.a = entry.x;
  edge.b = entry.y;
  high = entry.z;
  edge.id = entry.w;
#else
  edge.a = g.worklist[list][i];
  edge.b = g.worklist[list][g.capacity + i];
  high = g.worklist[list][2 * g.capacity + i];
  edge.id = g.worklist[list][3 * g.capacity + i];
#endif
#if KEY_BITS == 32
  edge.key = high;
#else
  edge.key = pack(high, g.key_low[list][i]);
#endif
  return edge;
}

// Writes entry i of a worklist.
DEVICE void store_edge(const EclMst& g, u32 list, u32 i, const Edge& edge) {
#if !REMOVED(TUPLES)
  ((uint4*)g.worklist[list])[i] = make_uint4(edge.a, edge.b, key_high(edge.key), edge.id);
#else
  g.worklist[list][i] = edge.a;
  g.worklist[list][g.capacity + i] = edge.b;
  g.worklist[list][2 * g.capacity + i] = key_high(edge.key);
  g.worklist[list][3 * g.capacity + i] = edge.id;
#endif
#if KEY_BITS == 64
  g.key_low[list][i] = (u32)edge.key;
#endif
}

// The parent of x, perhaps an older one (see Ordering).
DEVICE u32 parent_of(const EclMst& g, u32 x) {
#if !REMOVED(IMPLICIT_COMPRESSION)
  return __ldg(g.parent + x);
#else
  return load_cached(g.parent + x);
#endif
}

// The root of x; with path compression if that is explicit.
DEVICE u32 find(const EclMst& g, u32 x) {
  u32 parent = parent_of(g, x);
#if REMOVED(IMPLICIT_COMPRESSION) && JUMPING
  u32 root = x;
  while (parent != root) {
    root = parent;
    parent = parent_of(g, root);
  }
  if (root != x) store_relaxed(g.parent + x, root);
  return root;
#else
  while (parent != x) {
    const u32 grandparent = parent_of(g, parent);
#if REMOVED(IMPLICIT_COMPRESSION)
    if (grandparent != parent) store_relaxed(g.parent + x, grandparent);
#endif
    x = parent;
    parent = grandparent;
  }
  return x;
#endif
}

// Unites the sets of a and b, which were roots when they were found.
DEVICE void unite_sets(const EclMst& g, u32 a, u32 b) {
  while (a != b) {
    const u32 high = a > b ? a : b, low = a > b ? b : a;
    const u32 seen = atomicCAS(g.parent + high, high, low);
    if (seen == high) return;
    a = seen;
    b = low;
  }
}

// Lowers a minimum to `word`.
DEVICE void lower_minimum(u64* minimum, u64 word) {
#if !REMOVED(GUARDS)
  if (load_relaxed(minimum) <= word) return;  // the atomic guard
#endif
  atomicMin(minimum, word);
}

// A thread per vertex: singletons without a minimum, empty worklists. Writes parent, minimum, minimum_id, lengths.
extern "C" __global__ void initialise(const EclMst g) {
  const u32 v = thread_index();
  if (v < g.n) {
    g.parent[v] = v;
    reset_minimum(g, v);
  }
  if (v < 2) g.lengths[v] = 0;
}

#if RUNG < 7

// Lines 4 to 8 of Algorithm 2 for a slot of vertex v: appends it to the worklist if this phase takes it. The first
// phase takes the light slots; the second takes the heavy ones that still join two sets, and p represents v.
DEVICE void append_slot(const EclMst& g, u32 v, u32 p, u32 slot, u32 neighbour, Key key) {
#if !REMOVED(ONE_DIRECTION)
  if (v > neighbour) return;
#endif
  Edge edge;
  edge.key = key;
  if ((edge.key > (Key)g.threshold) != (g.heavy != 0)) return;
  edge.a = v;
  edge.b = neighbour;
  if (g.heavy) {
    const u32 q = find(g, neighbour);
    if (p == q) return;
#if !REMOVED(IMPLICIT_COMPRESSION)
    edge.a = p;
    edge.b = q;
#endif
  }
  edge.id = __ldg(g.ids + slot);
  store_edge(g, g.source, atomicAdd(g.lengths + g.source, 1u), edge);
}

// Appends slots begin, begin + step, … below end of the row of v, reading BATCH of them at once.
DEVICE void append_row(const EclMst& g, u32 v, u32 p, u32 begin, u32 end, u32 step) {
  for (u32 first = begin; first < end; first += BATCH * step) {
    u32 neighbours[BATCH];
    Key keys[BATCH];
#pragma unroll
    for (u32 i = 0; i < BATCH; i++) {
      const u32 slot = first + i * step;
      neighbours[i] = slot < end ? __ldg(g.neighbours + slot) : v;
      keys[i] = slot < end ? __ldg(g.keys + slot) : 0;
    }
#pragma unroll
    for (u32 i = 0; i < BATCH; i++)
      if (first + i * step < end) append_slot(g, v, p, first + i * step, neighbours[i], keys[i]);
  }
}

// Algorithm 2, lines 1 to 8, without early exit: a thread per vertex appends the slots of its row to the worklist
// `source`; rows of warp_degree slots or more are appended by the whole warp.
extern "C" __global__ void populate(const EclMst g) {
  const u32 v = thread_index();
  u32 begin = 0, end = 0, p = v;
  if (v < g.n) {
    begin = g.offsets[v];
    end = g.offsets[v + 1];
    if (g.heavy) p = find(g, v);
  }
#if !REMOVED(WARPS)
  const bool by_warp = end - begin >= g.warp_degree;
#else
  const bool by_warp = false;
#endif
  if (!by_warp) append_row(g, v, p, begin, end, 1);
#if !REMOVED(WARPS)
  for (u32 left = __ballot_sync(FULL, by_warp); left; left &= left - 1) {
    const u32 source = __ffs(left) - 1;
    const u32 row = __shfl_sync(FULL, v, source), root = __shfl_sync(FULL, p, source);
    const u32 first = __shfl_sync(FULL, begin, source), last = __shfl_sync(FULL, end, source);
    append_row(g, row, root, first + lane_id(), last, 32);
  }
#endif
}

// Lines 14 to 23, a thread per entry of the worklist `source`: edges between two sets go to the other list. Lowers
// minimum at both representatives.
extern "C" __global__ void minimise(const EclMst g) {
  const u32 i = thread_index();
  if (i >= g.lengths[g.source]) return;
  Edge edge = load_edge(g, g.source, i);
  const u32 p = find(g, edge.a), q = find(g, edge.b);
  if (p == q) return;
#if !REMOVED(IMPLICIT_COMPRESSION)
  edge.a = p;
  edge.b = q;
#endif
  store_edge(g, 1 - g.source, atomicAdd(g.lengths + 1 - g.source, 1u), edge);
  lower_minimum(g.minimum + p, minimum_word(edge));
  lower_minimum(g.minimum + q, minimum_word(edge));
}

// The representative of an end of a worklist's edge: the end itself if compression is implicit.
DEVICE u32 representative(const EclMst& g, u32 x) {
#if !REMOVED(IMPLICIT_COMPRESSION)
  return x;
#else
  return find(g, x);
#endif
}

// 64-bit keys, a thread per entry: finds the smallest id among the edges of the smallest key. Lowers minimum_id.
extern "C" __global__ void minimise_ids(const EclMst g) {
#if KEY_BITS == 64
  const u32 i = thread_index();
  if (i >= g.lengths[g.source]) return;
  const Edge edge = load_edge(g, g.source, i);
  const u32 p = representative(g, edge.a), q = representative(g, edge.b);
  lower_minimum_id(g, p, edge);
  lower_minimum_id(g, q, edge);
#endif
}

// Lines 27 to 33, a thread per entry: an edge that is the minimum of either end unites both. Writes parent, chosen.
// If compression is explicit, a representative may have changed since the minima were taken; the edge then waits for
// the next round, unless it is the minimum of the new one too.
extern "C" __global__ void unite(const EclMst g) {
  const u32 i = thread_index();
  if (i >= g.lengths[g.source]) return;
  const Edge edge = load_edge(g, g.source, i);
  if (is_minimum(g, representative(g, edge.a), edge) || is_minimum(g, representative(g, edge.b), edge)) {
    unite_sets(g, representative(g, edge.a), representative(g, edge.b));
    g.chosen[edge.id] = 1;
  }
}

// Lines 34 to 37, a thread per entry: resets the minima of both ends, and the length of the other list, which has been
// read and is the next to be filled.
extern "C" __global__ void reset_minima(const EclMst g) {
  const u32 i = thread_index();
  if (i == 0) g.lengths[1 - g.source] = 0;
  if (i >= g.lengths[g.source]) return;
  const Edge edge = load_edge(g, g.source, i);
  reset_minimum(g, representative(g, edge.a));
  reset_minimum(g, representative(g, edge.b));
}

#else  // topology-driven: every slot in every round, a thread per slot (rung 7) or per row (rung 8)

// The edge of a slot in the row of v.
DEVICE Edge edge_of(const EclMst& g, u32 v, u32 slot) {
  Edge edge;
  edge.a = v;
  edge.b = g.neighbours[slot];
  edge.key = g.keys[slot];
  edge.id = g.ids[slot];
  return edge;
}

// Visits the edges of this thread's slot, or of all slots of its row.
template <class Visit>
DEVICE void each_slot(const EclMst& g, const Visit& visit) {
  const u32 i = thread_index();
#if RUNG == 7
  if (i < g.slots) visit(edge_of(g, g.sources[i], i));
#else
  if (i < g.n)
    for (u32 slot = g.offsets[i]; slot < g.offsets[i + 1]; slot++) visit(edge_of(g, i, slot));
#endif
}

struct Minimise {
  const EclMst& g;
  __device__ __forceinline__ void operator()(const Edge& edge) const {
    const u32 p = find(g, edge.a), q = find(g, edge.b);
    if (p == q) return;
    g.lengths[2] = 1;
    lower_minimum(g.minimum + p, minimum_word(edge));
    lower_minimum(g.minimum + q, minimum_word(edge));
  }
};

struct MinimiseIds {
  const EclMst& g;
  __device__ __forceinline__ void operator()(const Edge& edge) const {
    const u32 p = find(g, edge.a), q = find(g, edge.b);
    if (p == q) return;
    lower_minimum_id(g, p, edge);
    lower_minimum_id(g, q, edge);
  }
};

struct Unite {
  const EclMst& g;
  __device__ __forceinline__ void operator()(const Edge& edge) const {
    const u32 p = find(g, edge.a), q = find(g, edge.b);
    if (p == q) return;
    if (is_minimum(g, p, edge) || is_minimum(g, q, edge)) {
      unite_sets(g, p, q);
      g.chosen[edge.id] = 1;
    }
  }
};

// Lowers minimum at both representatives; lengths[2] says whether any edge is left.
extern "C" __global__ void minimise(const EclMst g) { each_slot(g, Minimise{g}); }

// 64-bit keys: lowers minimum_id.
extern "C" __global__ void minimise_ids(const EclMst g) {
#if KEY_BITS == 64
  each_slot(g, MinimiseIds{g});
#endif
}

// Edges that are the minimum of either end unite both. Writes parent, chosen.
extern "C" __global__ void unite(const EclMst g) { each_slot(g, Unite{g}); }

// A thread per vertex: resets minimum and minimum_id.
extern "C" __global__ void reset_minima(const EclMst g) {
  const u32 v = thread_index();
  if (v < g.n) reset_minimum(g, v);
}

#endif
