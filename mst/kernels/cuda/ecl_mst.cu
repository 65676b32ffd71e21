// ECL-MST: Fallin, Gonzalez, Seo, Burtscher, "A High-Performance MST Implementation for GPUs" (SC '23), written from
// the paper's Algorithms 1 and 2 and its section 5.3. Line numbers below refer to Algorithm 2.
//
// RUNG k removes optimisations 1 to k, as the paper's Table 5 does:
//   1 atomic guards   2 a warp for long rows   3 filtering (by the caller)   4 implicit path compression
//   5 one direction per edge   6 tuples in the worklist   7 worklist   8 edges as the unit of work
// WITHOUT k removes only optimisation k, one of the first six. With explicit compression, JUMPING replaces path halving
// by pointer jumping.
//
// Launch: one thread per vertex, worklist entry or slot, as each kernel says, in blocks of any size. A kernel over a
// worklist reads the list's length from `lengths`, so there may be more threads than entries.
//
// Ordering: each step is a launch of its own, so it sees all earlier writes, and no thread waits for another. Within a
// step, threads share only words changed by atomics, and parents. With implicit compression, parents change only in
// `unite` and only by compare-and-swap, so `populate` and `minimise` may read them through the read-only cache. With
// explicit compression, a find that races with a union or a compression reads the old or the new parent; both lie on
// the path to the root. It may therefore read first-level caches, which is much faster, because most threads read the
// same few roots.
//
// Progress: a union hooks the larger root below the smaller, so no cycle arises. A failed compare-and-swap returns a
// parent smaller than the root it tried to hook, so the numbers fall with every attempt: a union ends after at most n
// attempts, whatever other threads do. Stale caches do no harm, because atomics bypass them.
//
// A round needs no value from the host: `minimise` counts the entries of the next worklist on the device, and
// `reset_minima` clears the length of the list just read. So the host may queue rounds ahead, with at least as many
// threads as entries; rounds after the last one find empty lists.
#include "edge_minimum.cuh"

#ifndef RUNG
#define RUNG 0
#endif
#ifndef WITHOUT
#define WITHOUT 0
#endif
// Whether optimisation k of the list above is removed.
#define REMOVED(k) (RUNG >= (k) || WITHOUT == (k))
#define GUARDS 1
#define WARPS 2
#define IMPLICIT_COMPRESSION 4
#define ONE_DIRECTION 5
#define TUPLES 6
// Slots that a lane of `populate` reads at a time.
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
  u32* parent;            // [n] union-find; a root is its own parent
  u64* minimum;           // [n] lightest edge of each representative: (key, id), or a 64-bit key; all ones: none
  u32* minimum_id;        // [n] 64-bit keys: id of the lightest edge
  unsigned char* chosen;  // [m] 1 if the edge belongs to the forest
  u32* worklist[2];       // [4 capacity] (end, end, high word of the key, id), as tuples or as four arrays
  u32* key_low[2];        // [capacity] 64-bit keys: low words of the worklist's keys
  u32* lengths;           // [4] lengths of both worklists; whether an edge is left (rungs 7 and 8); unused
  u64 capacity;           // entries of a worklist
  u64 threshold;          // largest light key
  // source: the worklist that `populate` fills and the kernels of a round read. heavy: 1 in the phase of the heavy
  // edges. warp_degree: a row of at least so many slots is read by a whole warp.
  u32 n, slots, source, heavy, warp_degree, unused;
};

// Returns entry i of a worklist.
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

// Returns the parent of x, possibly an outdated one (see Ordering).
DEVICE u32 parent_of(const EclMst& g, u32 x) {
#if !REMOVED(IMPLICIT_COMPRESSION)
  return __ldg(g.parent + x);
#else
  return load_cached(g.parent + x);
#endif
}

// Returns the root of x, and shortens its path if compression is explicit.
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

// Unites the sets of a and b, roots when found; other threads may have hooked them since.
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

// Makes every vertex a set without a minimum, and empties both worklists, with one thread per vertex. Writes parent,
// minimum, minimum_id and lengths.
extern "C" __global__ void initialise(const EclMst g) {
  const u32 v = thread_index();
  if (v < g.n) {
    g.parent[v] = v;
    reset_minimum(g, v);
  }
  if (v < 2) g.lengths[v] = 0;
}

#if RUNG < 7

// Lines 4 to 8 for one slot of vertex v, whose representative is p: appends the edge to the worklist if it belongs to
// this phase. The first phase takes light edges; the second takes heavy edges that still join two sets.
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

// Appends slots begin, begin + step, … below end of the row of v, whose representative is p, reading BATCH at a time.
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

// Lines 1 to 8, without early exit: fills the worklist `source` with the edges of this phase. One thread per vertex
// reads its row; the whole warp reads each row of at least warp_degree slots. Raises lengths[source] by atomic
// additions.
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

// Lines 14 to 23: appends each edge of the worklist `source` that joins two sets to the other list, and lowers minimum
// at both representatives by atomics. One thread per entry.
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

// Returns the representative of an end of a worklist's edge. If compression is implicit, the worklist holds it already.
DEVICE u32 representative(const EclMst& g, u32 x) {
#if !REMOVED(IMPLICIT_COMPRESSION)
  return x;
#else
  return find(g, x);
#endif
}

// With 64-bit keys, lowers minimum_id by atomics to the smallest id among the edges with the smallest key. One thread
// per entry of the worklist `source`.
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

// Lines 27 to 33: unites the ends of each edge that is the minimum of at least one of them. One thread per entry of the
// worklist `source`. Writes parent by compare-and-swap, and chosen. If compression is explicit, the representative of
// an end may have changed since the minima were taken; then the edge waits for the next round, unless it is also the
// minimum of the new representative.
extern "C" __global__ void unite(const EclMst g) {
  const u32 i = thread_index();
  if (i >= g.lengths[g.source]) return;
  const Edge edge = load_edge(g, g.source, i);
  if (is_minimum(g, representative(g, edge.a), edge) || is_minimum(g, representative(g, edge.b), edge)) {
    unite_sets(g, representative(g, edge.a), representative(g, edge.b));
    g.chosen[edge.id] = 1;
  }
}

// Lines 34 to 37: resets the minima of both ends of each edge, with one thread per entry of the worklist `source`. Also
// empties the other list, which the next round fills. Threads that share an end write equal values.
extern "C" __global__ void reset_minima(const EclMst g) {
  const u32 i = thread_index();
  if (i == 0) g.lengths[1 - g.source] = 0;
  if (i >= g.lengths[g.source]) return;
  const Edge edge = load_edge(g, g.source, i);
  reset_minimum(g, representative(g, edge.a));
  reset_minimum(g, representative(g, edge.b));
}

#else  // topology-driven: reads every slot in every round, with one thread per slot (rung 7) or per row (rung 8)

// Returns the edge of a slot in the row of v.
DEVICE Edge edge_of(const EclMst& g, u32 v, u32 slot) {
  Edge edge;
  edge.a = v;
  edge.b = g.neighbours[slot];
  edge.key = g.keys[slot];
  edge.id = g.ids[slot];
  return edge;
}

// Calls `visit` for the edge of this thread's slot (rung 7), or for each edge of its row (rung 8).
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

// Lowers minimum at both representatives of each edge that joins two sets, and sets lengths[2] to 1 if there is one.
extern "C" __global__ void minimise(const EclMst g) { each_slot(g, Minimise{g}); }

// With 64-bit keys, lowers minimum_id to the smallest id among the edges with the smallest key.
extern "C" __global__ void minimise_ids(const EclMst g) {
#if KEY_BITS == 64
  each_slot(g, MinimiseIds{g});
#endif
}

// Unites the ends of each edge that is the minimum of at least one of them. Writes parent and chosen.
extern "C" __global__ void unite(const EclMst g) { each_slot(g, Unite{g}); }

// Resets minimum and minimum_id, with one thread per vertex.
extern "C" __global__ void reset_minima(const EclMst g) {
  const u32 v = thread_index();
  if (v < g.n) reset_minimum(g, v);
}

#endif
