// Boruvka with contraction: Sousa, Mariano and Proenca, "A Generic and Highly Efficient Parallel Variant of Boruvka's
// Algorithm" (PDP '15; "UMinho GPU"), in the variants GPU-u and GPU-e of Biagiotti, "Efficient solution for MST
// computation on sparse graphs", section IV, and with the segmented minimum that he suggests as future work.
//
// A round finds candidates, removes mirrored edges, propagates colours, numbers the roots by a scan, counts and scans
// degrees, and inserts slots. Steps over rows exist in two versions: one thread per vertex loops over its row (GPU-u),
// or one thread per slot finds its row by binary search (GPU-e).
//
// Launch: one thread per vertex or slot of this round, as each kernel says; blocks of any size.
//
// Ordering: each step is a launch of its own. `remove_mirrors` clears only the candidate of the lower end of a pair;
// the upper end keeps its candidate, whether or not it sees the lower one already cleared. Paths of colours are
// shortened in place: every value that a reader may see lies on the path to the root. The order of slots within a new
// row depends on the timing of threads, but the forest does not.
#include "argmin.cuh"
#include "row_of_slot.cuh"
#include "scan.cuh"

struct ContractBoruvka {
  const u32* offsets;         // [n + 1] this round's rows
  const u32* neighbours;      // [slots]
  const Key* keys;            // [slots]
  const u32* ids;             // [slots] edge ids
  u32* next_offsets;          // [n of the next round + 1] the next round's rows; degrees until they are scanned
  u32* next_neighbours;       // [slots of the next round]
  Key* next_keys;             // [slots of the next round]
  u32* next_ids;              // [slots of the next round]
  u32* candidates;            // [n] slot of each vertex's lightest edge, or NONE
  u32* colours;               // [n] parent of each vertex, at the end the root of its tree
  u32* new_labels;            // [n] 1 for a root; after the scan, each root's vertex in the next round
  u32* leaving;               // [n] slots of each vertex that leave its component
  u32* next_slot;             // [n of the next round] next free place of each new row; at first the row's offset
  unsigned char* chosen;      // [m] 1 if the edge belongs to the forest
  u32* changed;               // [1] whether a colour changed
  u32* scanned;               // [length] the array that is scanned
  u32* tile_sums;             // [tiles + 1]
  u32 n, slots, length, tiles;
};

// Orders slots by (key, edge id).
struct Lighter {
  const ContractBoruvka& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key key_a = g.keys[a], key_b = g.keys[b];
    return key_a < key_b || (key_a == key_b && g.ids[a] < g.ids[b]);
  }
};

// Finds the slot of each vertex's lightest edge; one thread per vertex loops over its row. Writes candidates.
extern "C" __global__ void find_candidates(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 begin = g.offsets[x], end = g.offsets[x + 1];
  u32 best = NONE;
  Key lightest = 0;
  for (u32 slot = begin; slot < end; slot++) {
    const Key key = g.keys[slot];
    if (best == NONE || key < lightest || (key == lightest && g.ids[slot] < g.ids[best])) {
      best = slot;
      lightest = key;
    }
  }
  g.candidates[x] = best;
}

// Finds the slot of each vertex's lightest edge with one thread per slot: a segmented scan over the warp, then one
// compare-and-swap per row in it. No lane exits early. Lowers candidates, which the caller has set to NONE.
extern "C" __global__ void find_candidates_segmented(const ContractBoruvka g) {
  const u32 slot = thread_index();
  const bool valid = slot < g.slots;
  const u32 row = valid ? row_of_slot(g.offsets, g.n, slot) : NONE;
  u32 best = slot, id = valid ? g.ids[slot] : NONE;
  Key key = valid ? g.keys[slot] : 0;
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const u32 other_row = __shfl_up_sync(FULL, row, distance), other = __shfl_up_sync(FULL, best, distance);
    const u32 other_id = __shfl_up_sync(FULL, id, distance);
    const Key other_key = __shfl_up_sync(FULL, key, distance);
    if (lane_id() < distance || other_row != row) continue;
    if (other_key < key || (other_key == key && other_id < id)) {
      best = other;
      id = other_id;
      key = other_key;
    }
  }
  const u32 next_row = __shfl_sync(FULL, row, (lane_id() + 1) & 31);
  if (valid && (lane_id() == 31 || next_row != row)) atomic_argmin(g.candidates + row, best, Lighter{g});
}

// Marks the chosen edges; if both ends chose the same edge, the lower one drops its candidate. One thread per vertex.
// Writes candidates and chosen.
extern "C" __global__ void remove_mirrors(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 slot = g.candidates[x];
  if (slot == NONE) return;
  const u32 other = g.neighbours[slot], id = g.ids[slot];
  if (x < other) {
    const u32 theirs = load_relaxed(g.candidates + other);
    if (theirs != NONE && g.ids[theirs] == id) {
      store_relaxed(g.candidates + x, NONE);
      return;
    }
  }
  g.chosen[id] = 1;
}

// Sets the colour of each vertex to the other end of its candidate, or to itself without one. One thread per vertex.
extern "C" __global__ void initialise_colours(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 slot = g.candidates[x];
  g.colours[x] = slot == NONE ? x : g.neighbours[slot];
}

// Takes one step of pointer jumping along colours, with one thread per vertex. Sets changed if a colour changed.
extern "C" __global__ void propagate_colours(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 colour = load_relaxed(g.colours + x), next = load_relaxed(g.colours + colour);
  if (colour == next) return;
  store_relaxed(g.colours + x, next);
  *g.changed = 1;
}

// Writes 1 to new_labels for roots, 0 for other vertices. One thread per vertex.
extern "C" __global__ void flag_roots(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x < g.n) g.new_labels[x] = g.colours[x] == x;
}

// Returns the vertex of the next round that the root `colour` becomes.
DEVICE u32 new_vertex(const ContractBoruvka& g, u32 colour) { return g.new_labels[colour]; }

// Counts the slots of each vertex that leave its component, and adds the count to the new vertex's degree in
// next_offsets, which is zero before. One thread per vertex. Writes leaving.
extern "C" __global__ void count_slots(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 colour = g.colours[x];
  u32 leaving = 0;
  for (u32 slot = g.offsets[x]; slot < g.offsets[x + 1]; slot++) leaving += g.colours[g.neighbours[slot]] != colour;
  g.leaving[x] = leaving;
  if (leaving) atomicAdd(g.next_offsets + new_vertex(g, colour), leaving);
}

// Counts the degrees of new vertices in next_offsets, zero before, with one thread per slot. Does not write leaving.
extern "C" __global__ void count_slots_by_edge(const ContractBoruvka g) {
  const u32 slot = thread_index();
  if (slot >= g.slots) return;
  const u32 colour = g.colours[row_of_slot(g.offsets, g.n, slot)];
  if (g.colours[g.neighbours[slot]] != colour) atomicAdd(g.next_offsets + new_vertex(g, colour), 1u);
}

// Copies a slot to `place` in the next round's rows; `other_colour` is the root of its other end.
DEVICE void insert_slot(const ContractBoruvka& g, u32 slot, u32 other_colour, u32 place) {
  g.next_neighbours[place] = new_vertex(g, other_colour);
  g.next_keys[place] = g.keys[slot];
  g.next_ids[place] = g.ids[slot];
}

// Copies the slots of each vertex that leave its component to the component's row in the next round. One thread per
// vertex reserves places for all of its slots by one addition to next_slot. Writes next_neighbours, next_keys,
// next_ids.
extern "C" __global__ void insert_slots(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n || g.leaving[x] == 0) return;
  const u32 colour = g.colours[x];
  u32 place = atomicAdd(g.next_slot + new_vertex(g, colour), g.leaving[x]);
  for (u32 slot = g.offsets[x]; slot < g.offsets[x + 1]; slot++) {
    const u32 other = g.colours[g.neighbours[slot]];
    if (other != colour) insert_slot(g, slot, other, place++);
  }
}

// Copies slots like insert_slots, but with one thread per slot, which reserves one place.
extern "C" __global__ void insert_slots_by_edge(const ContractBoruvka g) {
  const u32 slot = thread_index();
  if (slot >= g.slots) return;
  const u32 colour = g.colours[row_of_slot(g.offsets, g.n, slot)], other = g.colours[g.neighbours[slot]];
  if (other != colour) insert_slot(g, slot, other, atomicAdd(g.next_slot + new_vertex(g, colour), 1u));
}

// The three steps of scan.cuh's prefix sum, over `scanned`: one block per tile, then one block, then one block per
// tile.
extern "C" __global__ void scan_tiles(const ContractBoruvka g) { scan_tile(g.scanned, g.tile_sums, g.length); }

extern "C" __global__ void scan_sums(const ContractBoruvka g) { scan_tile_sums(g.tile_sums, g.tiles); }

extern "C" __global__ void add_sums(const ContractBoruvka g) { add_tile_sum(g.scanned, g.tile_sums, g.length); }
