// Edge-centric Boruvka: Shou and He, "Parallel Minimum Spanning Tree" (15-418), section 3.2, written from its Listings
// 4 to 6 and the text on future work in section 4.3.
//
// WORKLIST 0 is Listing 5: minimise, unite, remap, filter. WORKLIST 1 is Listing 6, which fuses the filter with the
// minimum pass. BY_VERTEX finds minima row by row, with one atomic per vertex instead of two per edge; the worklist
// then holds the vertices that still have an edge to another set.
//
// Two things differ from the listings: ties are broken by edge id, where the authors require distinct weights, and
// self-loops are skipped, for which Listing 6 does not test.
//
// Launch: at least `length` threads, one per entry of the list that is read (the worklist `source`, or the input);
// blocks of any size.
//
// Ordering: each step is a launch of its own. Within a step, threads share only atomic minima, the length of the list
// that they append to, and the words of `wait_free_union_find.cuh`. A thread that reads these words during unions still
// reaches a root of the set, and `unite_sets` retries if that root has been linked in the meantime.
#include "append.cuh"
#include "edge_minimum.cuh"
#include "wait_free_union_find.cuh"

#ifndef WORKLIST
#define WORKLIST 1
#endif
#ifndef BY_VERTEX
#define BY_VERTEX 0
#endif

struct EdgeBoruvka {
  const u32* u;              // [m] ends and keys of the input's edges
  const u32* v;              // [m]
  const Key* keys;           // [m]
  const u32* offsets;        // [n + 1] BY_VERTEX: CSR rows, with the other end, key and id of each slot
  const u32* neighbours;     // [slots]
  const Key* row_keys;       // [slots]
  const u32* row_ids;        // [slots]
  u64* sets;                 // [n] see wait_free_union_find.cuh
  u64* minimum;              // [n] lightest edge of each representative: (key, id), or a 64-bit key; all ones: none
  u32* minimum_id;           // [n] 64-bit keys: id of the lightest edge
  unsigned char* chosen;     // [m] 1 if the edge belongs to the forest
  u32* worklist[2];          // [4 m] (end, end, high word of the key, id); BY_VERTEX [4 n]: (vertex, its set, key, id)
  u32* key_low[2];           // [m or n] 64-bit keys: low words of the worklist's keys
  u32* appended;             // [1] length of the list that is written, or whether any vertex has an edge left
  u32 n, length, source, from_input;  // from_input: 1 if the input is read instead of the worklist `source`
};

// Returns entry i of a worklist.
DEVICE Edge load_entry(const EdgeBoruvka& g, u32 list, u32 i) {
  const uint4 entry = ((const uint4*)g.worklist[list])[i];
  Edge edge;
  edge.a = entry.x;
  edge.b = entry.y;
  edge.id = entry.w;
#if KEY_BITS == 32
  edge.key = entry.z;
#else
  edge.key = pack(entry.z, g.key_low[list][i]);
#endif
  return edge;
}

// Returns entry i of the list that is read: the worklist `source`, or the input.
DEVICE Edge load_edge(const EdgeBoruvka& g, u32 i) {
  if (!g.from_input) return load_entry(g, g.source, i);
  return {g.u[i], g.v[i], i, g.keys[i]};
}

// Writes entry i of a worklist.
DEVICE void store_entry(const EdgeBoruvka& g, u32 list, u32 i, const Edge& edge) {
  ((uint4*)g.worklist[list])[i] = make_uint4(edge.a, edge.b, key_high(edge.key), edge.id);
#if KEY_BITS == 64
  g.key_low[list][i] = low_word(edge.key);
#endif
}

// Makes every vertex a set without a minimum, with one thread per vertex. Writes sets, minimum and minimum_id.
extern "C" __global__ void initialise(const EdgeBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  g.sets[x] = singleton(x);
  reset_minimum(g, x);
}

#if BY_VERTEX

// Finds the lightest edge in each vertex's row that leaves its set, and appends vertices that have one to the other
// list. One thread per entry; no lane exits early. Lowers minimum. Without WORKLIST every vertex has an entry, and
// appended is set if any vertex has such an edge.
extern "C" __global__ void minimise(const EdgeBoruvka g) {
  const u32 i = thread_index();
  Edge best = {0, 0, NONE, 0};
  if (i < g.length) {
#if WORKLIST
    const u32 x = g.from_input ? i : ((const uint4*)g.worklist[g.source])[i].x;
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
  const u32 index = append_in_warp(g.appended, best.id != NONE);
  if (best.id != NONE) store_entry(g, 1 - g.source, index, best);
#else
  if (i < g.length) store_entry(g, 1 - g.source, i, best);
  if (best.id != NONE) g.appended[0] = 1;
#endif
  if (best.id != NONE) atomicMin(g.minimum + best.b, minimum_word(best));
}

// With 64-bit keys, lowers minimum_id to the smallest id among the edges with the smallest key.
extern "C" __global__ void minimise_ids(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_entry(g, g.source, i);
  if (edge.id != NONE) lower_minimum_id(g, edge.b, edge);
}

// Unites two sets for each entry whose edge is the minimum of its set. Writes chosen and sets.
extern "C" __global__ void unite(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_entry(g, g.source, i);
  if (edge.id == NONE || !is_minimum(g, edge.b, edge)) return;
  unite_sets(g.sets, g.u[edge.id], g.v[edge.id]);
  g.chosen[edge.id] = 1;
}

// Resets minimum and minimum_id at the representative that each entry had in `minimise`, before the unions.
extern "C" __global__ void reset_minima(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i < g.length) reset_minimum(g, load_entry(g, g.source, i).b);
}

#else

#if WORKLIST
// Listing 6, lines 22 to 27: replaces the ends of each edge by their representatives, appends the edge to the other
// list if these differ, and lowers minimum at both. No lane exits before the append.
extern "C" __global__ void minimise(const EdgeBoruvka g) {
  const u32 i = thread_index();
  Edge edge = {0, 0, 0, 0};
  if (i < g.length) {
    edge = load_edge(g, i);
    edge.a = find(g.sets, edge.a);
    edge.b = find(g.sets, edge.b);
  }
  const u32 index = append_in_warp(g.appended, edge.a != edge.b);
  if (edge.a == edge.b) return;
  store_entry(g, 1 - g.source, index, edge);
  atomicMin(g.minimum + edge.a, minimum_word(edge));
  atomicMin(g.minimum + edge.b, minimum_word(edge));
}

// Listing 6, lines 42 to 45: resets minimum and minimum_id at both ends.
extern "C" __global__ void reset_minima(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  reset_minimum(g, edge.a);
  reset_minimum(g, edge.b);
}
#else
// Listing 5, lines 19 to 23: lowers minimum at both ends of each edge; the ends are representatives already.
extern "C" __global__ void minimise(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b) return;
  atomicMin(g.minimum + edge.a, minimum_word(edge));
  atomicMin(g.minimum + edge.b, minimum_word(edge));
}

// Listing 5, lines 33 to 41: replaces the ends of each edge in the list that is read by their representatives, and
// resets the minima.
extern "C" __global__ void remap(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  Edge edge = load_edge(g, i);
  edge.a = find(g.sets, edge.a);
  edge.b = find(g.sets, edge.b);
  store_entry(g, g.source, i, edge);
  if (edge.a == edge.b) return;
  reset_minimum(g, edge.a);
  reset_minimum(g, edge.b);
}

// Listing 5, line 43: appends edges between two sets to the other list. No lane exits early.
extern "C" __global__ void filter(const EdgeBoruvka g) {
  const u32 i = thread_index();
  Edge edge = {0, 0, 0, 0};
  if (i < g.length) edge = load_entry(g, g.source, i);
  const u32 index = append_in_warp(g.appended, edge.a != edge.b);
  if (edge.a != edge.b) store_entry(g, 1 - g.source, index, edge);
}
#endif

// With 64-bit keys, lowers minimum_id to the smallest id among the edges with the smallest key.
extern "C" __global__ void minimise_ids(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b) return;
  lower_minimum_id(g, edge.a, edge);
  lower_minimum_id(g, edge.b, edge);
}

// Listing 5, lines 25 to 31: unites the ends of each edge that is the minimum of at least one. Writes chosen and sets.
extern "C" __global__ void unite(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b || !(is_minimum(g, edge.a, edge) || is_minimum(g, edge.b, edge))) return;
  unite_sets(g.sets, edge.a, edge.b);
  g.chosen[edge.id] = 1;
}

#endif
