// Boruvka with contraction: Sousa, Mariano and Proenca, "A Generic and Highly Efficient Parallel Variant of Boruvka's
// Algorithm" (PDP '15; "UMinho GPU"), in the variants GPU-u and GPU-e of Biagiotti, "Efficient solution for MST
// computation on sparse graphs", section IV, and with the segmented minimum that he suggests as future work.
//
// A round: find candidates, remove mirrored edges, propagate colours, number the roots by a scan, count and scan
// degrees, insert slots. The steps that loop over a row exist twice: with a thread per vertex, and with a thread per
// slot, which finds its row by binary search.
//
// Geometry: one thread per vertex or slot of this round, as each kernel says; any block size.
//
// Ordering: a launch ends every step. `remove_mirrors` clears only the candidate of the lower end of a pair, and the
// upper end keeps its own whether it still sees the lower one's or not. Colours are shortened in place: every value
// that a reader may see lies on the path to the root. The order of slots within a new row depends on the timing of
// threads; the forest does not.
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
  u32* colours;               // [n] parent, then root of each vertex's tree
  u32* new_labels;            // [n] 1 for a root; after the scan, each root's vertex in the next round
  u32* leaving;               // [n] slots of each vertex that leave its component
  u32* next_slot;             // [n of the next round] place of the next slot of a new row; at first its offset
  unsigned char* chosen;      // [m] 1: of the forest
  u32* changed;               // [1] whether a colour changed
  u32* scanned;               // [length] the array that is scanned
  u32* tile_sums;             // [tiles + 1]
  u32 n, slots, length, tiles;
};

// Slots compare by their keys and edge ids.
struct Lighter {
  const ContractBoruvka& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key key_a = g.keys[a], key_b = g.keys[b];
    return key_a < key_b || (key_a == key_b && g.ids[a] < g.ids[b]);
  }
};

// A thread per vertex loops over its row. Writes candidates.
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

// A thread per slot, without early exit: a segmented scan in each warp, then one compare-and-swap for each row that
// the warp meets. Lowers candidates, which the caller has set to NONE.
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

// A thread per vertex: of two vertices that chose one edge the lower one drops it. Writes candidates and chosen.
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

// A thread per vertex: its colour is the other end of its candidate, or itself. Writes colours.
extern "C" __global__ void initialise_colours(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 slot = g.candidates[x];
  g.colours[x] = slot == NONE ? x : g.neighbours[slot];
}

// A thread per vertex: one step of pointer jumping. Sets changed if a colour changed.
extern "C" __global__ void propagate_colours(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 colour = load_relaxed(g.colours + x), next = load_relaxed(g.colours + colour);
  if (colour == next) return;
  store_relaxed(g.colours + x, next);
  *g.changed = 1;
}

// A thread per vertex. Writes new_labels: 1 for roots.
extern "C" __global__ void flag_roots(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x < g.n) g.new_labels[x] = g.colours[x] == x;
}

// The vertex of the next round that a root becomes.
DEVICE u32 new_vertex(const ContractBoruvka& g, u32 colour) { return g.new_labels[colour]; }

// A thread per vertex: writes leaving, and adds it to the degree of the new vertex in next_offsets, zero before.
extern "C" __global__ void count_slots(const ContractBoruvka g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 colour = g.colours[x];
  u32 leaving = 0;
  for (u32 slot = g.offsets[x]; slot < g.offsets[x + 1]; slot++) leaving += g.colours[g.neighbours[slot]] != colour;
  g.leaving[x] = leaving;
  if (leaving) atomicAdd(g.next_offsets + new_vertex(g, colour), leaving);
}

// The same degrees with a thread per slot; leaving is not written.
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

// A thread per vertex: copies the slots that leave its component to its component's row in the next round; it reserves
// the places of all of them by one addition to next_slot. Writes next_neighbours, next_keys, next_ids.
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

// The same with a thread per slot, which reserves one place.
extern "C" __global__ void insert_slots_by_edge(const ContractBoruvka g) {
  const u32 slot = thread_index();
  if (slot >= g.slots) return;
  const u32 colour = g.colours[row_of_slot(g.offsets, g.n, slot)], other = g.colours[g.neighbours[slot]];
  if (other != colour) insert_slot(g, slot, other, atomicAdd(g.next_slot + new_vertex(g, colour), 1u));
}

// The three steps of scan.cuh over scanned; the first and third with a block per tile, the second with one block.
extern "C" __global__ void scan_tiles(const ContractBoruvka g) { scan_tile(g.scanned, g.tile_sums, g.length); }

extern "C" __global__ void scan_sums(const ContractBoruvka g) { scan_tile_sums(g.tile_sums, g.tiles); }

extern "C" __global__ void add_sums(const ContractBoruvka g) { add_tile_sum(g.scanned, g.tile_sums, g.length); }
