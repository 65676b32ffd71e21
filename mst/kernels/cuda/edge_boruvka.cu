// Edge-centric Boruvka: Shou and He, "Parallel Minimum Spanning Tree" (15-418), section 3.2, written from its Listings
// 4 to 6 and the text on future work in section 4.3.
//
// WORKLIST 0 is Listing 5: minimise, unite, remap, filter. WORKLIST 1 is Listing 6: the filter is fused with the
// minimum pass. BY_VERTEX takes minima row by row, with one atomic per vertex instead of two per edge; the worklist
// then holds the vertices that still have an edge to another set.
//
// Two things differ from the listings: ties are broken by edge id, where the authors ask for distinct weights, and
// self-loops are left out (Listing 6 does not test for them).
//
// Ordering: a launch ends every step. Within a step, threads meet in atomic minima, in places taken from a counter,
// and in the records of `wait_free.cuh`. A union that is met half-way still leads to the root
// of its set, which is where `join` looks.
#include "wait_free.cuh"

#ifndef WORKLIST
#define WORKLIST 1
#endif
#ifndef BY_VERTEX
#define BY_VERTEX 0
#endif

struct EdgeBoruvka {
  const u32* u;
  const u32* v;
  const Key* keys;
  const u32* offsets;        // BY_VERTEX: rows, with the other end, key and id of each slot
  const u32* neighbours;
  const Key* row_keys;
  const u32* row_ids;
  u64* sets;
  u64* minimum;              // per representative: (key, id), or a 64-bit key
  u32* minimum_id;           // 64-bit keys: the id
  unsigned char* chosen;     // per edge
  u32* entries[2];           // (end, end, high word of the key, id); BY_VERTEX: (vertex, its set, key, id)
  u32* low[2];               // 64-bit keys: their low words
  u32* counters;
  u32 n, length, from, first;  // first: the list to read from is the input
};

struct Edge {
  u32 a, b, id;
  Key key;
};

DEVICE Edge load_entry(const EdgeBoruvka& g, u32 list, u32 i) {
  const uint4 entry = ((const uint4*)g.entries[list])[i];
  Edge edge;
  edge.a = entry.x;
  edge.b = entry.y;
  edge.id = entry.w;
#if KEY_BITS == 32
  edge.key = entry.z;
#else
  edge.key = pack(entry.z, g.low[list][i]);
#endif
  return edge;
}

DEVICE Edge load_edge(const EdgeBoruvka& g, u32 i) {
  if (!g.first) return load_entry(g, g.from, i);
  return {g.u[i], g.v[i], i, g.keys[i]};
}

DEVICE void store_entry(const EdgeBoruvka& g, u32 list, u32 i, const Edge& edge) {
  ((uint4*)g.entries[list])[i] = make_uint4(edge.a, edge.b, key_high(edge.key), edge.id);
#if KEY_BITS == 64
  g.low[list][i] = low_word(edge.key);
#endif
}

DEVICE u64 word(const Edge& edge) {
#if KEY_BITS == 32
  return pack(edge.key, edge.id);
#else
  return edge.key;
#endif
}

DEVICE bool is_minimum(const EdgeBoruvka& g, u32 set, const Edge& edge) {
#if KEY_BITS == 32
  return g.minimum[set] == word(edge);
#else
  return g.minimum[set] == edge.key && g.minimum_id[set] == edge.id;
#endif
}

DEVICE void lower_id(const EdgeBoruvka& g, u32 set, const Edge& edge) {
  if (g.minimum[set] == edge.key) atomicMin(g.minimum_id + set, edge.id);
}

DEVICE void forget(const EdgeBoruvka& g, u32 set) {
  g.minimum[set] = ~0ull;
#if KEY_BITS == 64
  g.minimum_id[set] = NONE;
#endif
}

// Place for each voting lane: one addition a warp. Call with all lanes.
DEVICE u32 take_place(u32* length, bool wanted) {
  const u32 votes = __ballot_sync(FULL, wanted);
  u32 base = 0;
  if (lane_id() == 0 && votes) base = atomicAdd(length, (u32)__popc(votes));
  return __shfl_sync(FULL, base, 0) + lanes_below(votes);
}

extern "C" __global__ void initialise(const EdgeBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  g.sets[x] = new_set(x);
  forget(g, x);
}

#if BY_VERTEX

// The lightest edge of each row that leaves its set. Entries that have one go to the other list.
extern "C" __global__ void minimise(const EdgeBoruvka g) {
  const u32 i = thread_index();
  Edge best = {0, 0, NONE, 0};
  if (i < g.length) {
#if WORKLIST
    const u32 x = g.first ? i : ((const uint4*)g.entries[g.from])[i].x;
#else
    const u32 x = i;
#endif
    best.a = x;
    best.b = find(g.sets, x);
    for (u32 slot = g.offsets[x]; slot < g.offsets[x + 1]; slot++) {
      const Key key = g.row_keys[slot];
      if (best.id != NONE && key > best.key) continue;
      if (find(g.sets, g.neighbours[slot]) == best.b) continue;
      const u32 id = g.row_ids[slot];
      if (best.id != NONE && key == best.key && id > best.id) continue;
      best.key = key;
      best.id = id;
    }
  }
#if WORKLIST
  const u32 place = take_place(g.counters, best.id != NONE);
  if (best.id != NONE) store_entry(g, 1 - g.from, place, best);
#else
  if (i < g.length) store_entry(g, 1 - g.from, i, best);
  if (best.id != NONE) g.counters[0] = 1;
#endif
  if (best.id != NONE) atomicMin(g.minimum + best.b, word(best));
}

// 64-bit keys: the smallest id among the edges that hold the smallest key.
extern "C" __global__ void minimise_ids(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_entry(g, g.from, i);
  if (edge.id != NONE) lower_id(g, edge.b, edge);
}

extern "C" __global__ void unite(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_entry(g, g.from, i);
  if (edge.id == NONE || !is_minimum(g, edge.b, edge)) return;
  join(g.sets, g.u[edge.id], g.v[edge.id]);
  g.chosen[edge.id] = 1;
}

extern "C" __global__ void reset(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i < g.length) forget(g, load_entry(g, g.from, i).b);
}

#else

#if WORKLIST
// Listing 6, lines 22 to 27: representatives and minima; edges between two sets go to the other list.
extern "C" __global__ void minimise(const EdgeBoruvka g) {
  const u32 i = thread_index();
  Edge edge = {0, 0, 0, 0};
  if (i < g.length) {
    edge = load_edge(g, i);
    edge.a = find(g.sets, edge.a);
    edge.b = find(g.sets, edge.b);
  }
  const u32 place = take_place(g.counters, edge.a != edge.b);
  if (edge.a == edge.b) return;
  store_entry(g, 1 - g.from, place, edge);
  atomicMin(g.minimum + edge.a, word(edge));
  atomicMin(g.minimum + edge.b, word(edge));
}

// Lines 42 to 45.
extern "C" __global__ void reset(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  forget(g, edge.a);
  forget(g, edge.b);
}
#else
// Listing 5, lines 19 to 23: ends are representatives already.
extern "C" __global__ void minimise(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b) return;
  atomicMin(g.minimum + edge.a, word(edge));
  atomicMin(g.minimum + edge.b, word(edge));
}

// Lines 33 to 41.
extern "C" __global__ void remap(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  Edge edge = load_edge(g, i);
  edge.a = find(g.sets, edge.a);
  edge.b = find(g.sets, edge.b);
  store_entry(g, g.from, i, edge);
  if (edge.a == edge.b) return;
  forget(g, edge.a);
  forget(g, edge.b);
}

// Line 43.
extern "C" __global__ void filter(const EdgeBoruvka g) {
  const u32 i = thread_index();
  Edge edge = {0, 0, 0, 0};
  if (i < g.length) edge = load_entry(g, g.from, i);
  const u32 place = take_place(g.counters, edge.a != edge.b);
  if (edge.a != edge.b) store_entry(g, 1 - g.from, place, edge);
}
#endif

// 64-bit keys: the smallest id among the edges that hold the smallest key.
extern "C" __global__ void minimise_ids(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b) return;
  lower_id(g, edge.a, edge);
  lower_id(g, edge.b, edge);
}

extern "C" __global__ void unite(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b || !(is_minimum(g, edge.a, edge) || is_minimum(g, edge.b, edge))) return;
  join(g.sets, edge.a, edge.b);
  g.chosen[edge.id] = 1;
}

#endif
