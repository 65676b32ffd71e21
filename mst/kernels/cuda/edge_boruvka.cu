// Edge-centric Boruvka: Shou and He, "Parallel Minimum Spanning Tree" (15-418), section 3.2, written from its Listings
// 4 to 6 and the text on future work in section 4.3.
//
// WORKLIST 0 is Listing 5: minimise, unite, remap, filter. WORKLIST 1 is Listing 6: the filter is fused with the
// minimum pass. BY_VERTEX takes minima row by row, with one atomic per vertex instead of two per edge; the worklist
// then holds the vertices that still have an edge to another set.
//
// Two things differ from the listings: ties are broken by edge id, whereas the authors ask for distinct weights, and
// self-loops are left out (Listing 6 does not test for them).
//
// Geometry: a thread per entry of the worklist that is read (or of the input), as many as `length`; any block size.
//
// Ordering: a launch ends every step. Within a step, threads meet in atomic minima, in the length of the list that they
// append to, and in the words of `wait_free_union_find.cuh`. A thread that reads these while another unites still gets
// to a root of the set, and `unite_sets` tries again if that has been linked in the meantime.
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
  const u32* offsets;        // [n + 1] BY_VERTEX: rows, with the other end, key and id of each slot
  const u32* neighbours;     // [slots]
  const Key* row_keys;       // [slots]
  const u32* row_ids;        // [slots]
  u64* sets;                 // [n] see wait_free_union_find.cuh
  u64* minimum;              // [n] per representative: (key, id), or a 64-bit key; all ones: none
  u32* minimum_id;           // [n] 64-bit keys: the id
  unsigned char* chosen;     // [m] 1: of the forest
  u32* worklist[2];          // [4 m] (end, end, high word of the key, id); BY_VERTEX [4 n]: (vertex, its set, key, id)
  u32* key_low[2];           // [m or n] 64-bit keys: their low words
  u32* appended;             // [1] length of the list that is written, or whether any vertex has an edge left
  u32 n, length, source, from_input;  // length: of the list that is read, `source`, or of the input
};

// Entry i of a worklist.
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

// Entry i of the list that is read, or edge i of the input.
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

// A thread per vertex: singletons without a minimum. Writes sets, minimum, minimum_id.
extern "C" __global__ void initialise(const EdgeBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  g.sets[x] = singleton(x);
  reset_minimum(g, x);
}

#if BY_VERTEX

// A thread per entry, without early exit: finds the lightest edge of the vertex's row that leaves its set. Entries that
// have one are appended to the other list. Lowers minimum; without WORKLIST every vertex has an entry, and appended
// says whether any has an edge.
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

// 64-bit keys: the smallest id among the edges of the smallest key. Lowers minimum_id.
extern "C" __global__ void minimise_ids(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_entry(g, g.source, i);
  if (edge.id != NONE) lower_minimum_id(g, edge.b, edge);
}

// Entries that hold the minimum of their set unite it with the set at the other end. Writes chosen, sets.
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
// Listing 6, lines 22 to 27: finds representatives and minima; edges between two sets are appended to the other list.
// No lane exits before that. Lowers minimum.
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
// Listing 5, lines 19 to 23: ends are representatives already. Lowers minimum.
extern "C" __global__ void minimise(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b) return;
  atomicMin(g.minimum + edge.a, minimum_word(edge));
  atomicMin(g.minimum + edge.b, minimum_word(edge));
}

// Listing 5, lines 33 to 41: replaces ends by representatives, in the list that is read; resets their minima.
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

// 64-bit keys: the smallest id among the edges of the smallest key. Lowers minimum_id.
extern "C" __global__ void minimise_ids(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b) return;
  lower_minimum_id(g, edge.a, edge);
  lower_minimum_id(g, edge.b, edge);
}

// Edges that are the minimum of either end unite both (Listing 5, lines 25 to 31). Writes chosen, sets.
extern "C" __global__ void unite(const EdgeBoruvka g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const Edge edge = load_edge(g, i);
  if (edge.a == edge.b || !(is_minimum(g, edge.a, edge) || is_minimum(g, edge.b, edge))) return;
  unite_sets(g.sets, edge.a, edge.b);
  g.chosen[edge.id] = 1;
}

#endif
