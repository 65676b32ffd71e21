// Boruvka with contraction: Sousa, Mariano and Proenca, "A Generic and Highly Efficient Parallel Variant of Boruvka's
// Algorithm" (PDP '15; "UMinho GPU"), in the variants GPU-u and GPU-e of Biagiotti, "Efficient solution for MST
// computation on sparse graphs", section IV, and with the segmented minimum that he names as future work.
//
// A round: candidates, mirrored edges out, colours, new numbers by scan, degrees, scan, insertion. The steps that have
// a loop over a row come twice: a thread per vertex, and a thread per slot, which finds its row by binary search.
//
// Ordering: a launch ends every step. `remove_mirrors` clears only the candidate of the lower end of a pair, and the
// upper end keeps its own whether it still sees the lower one's or not. Colours are shortened in place: every value
// that a reader may see lies on the path to the root. The order of slots within a new row is left to the race; the
// order of edges does not depend on it.
#include "cheapest.cuh"
#include "owner.cuh"
#include "scan.cuh"

struct Contract {
  const u32* offsets;      // this round's rows
  const u32* neighbours;
  const Key* keys;
  const u32* ids;
  u32* next_offsets;       // the next round's; degrees first
  u32* next_neighbours;
  Key* next_keys;
  u32* next_ids;
  u32* candidates;         // slot of each vertex's lightest edge
  u32* colours;
  u32* numbers;            // of the roots, in the next round
  u32* kept;               // per vertex: slots that leave its component
  u32* places;             // per new row: where the next slot goes
  unsigned char* chosen;   // per edge
  u32* changed;            // whether a colour changed
  u32* values;             // what is scanned, and the sums of its tiles
  u32* sums;
  u32 n, slots, length, tiles;
};

struct Before {
  const Contract& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key one = g.keys[a], other = g.keys[b];
    return one < other || (one == other && g.ids[a] < g.ids[b]);
  }
};

extern "C" __global__ void find_candidates(const Contract g) {
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

// A segmented scan in each warp, then one offer per row that the warp meets.
extern "C" __global__ void find_candidates_segmented(const Contract g) {
  const u32 slot = thread_index();
  const bool valid = slot < g.slots;
  const u32 row = valid ? owner_of(g.offsets, g.n, slot) : NONE;
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
  if (valid && (lane_id() == 31 || next_row != row)) offer_place(g.candidates + row, best, Before{g});
}

extern "C" __global__ void remove_mirrors(const Contract g) {
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

extern "C" __global__ void initialise_colours(const Contract g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 slot = g.candidates[x];
  g.colours[x] = slot == NONE ? x : g.neighbours[slot];
}

extern "C" __global__ void propagate_colours(const Contract g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 colour = load_relaxed(g.colours + x), next = load_relaxed(g.colours + colour);
  if (colour == next) return;
  store_relaxed(g.colours + x, next);
  *g.changed = 1;
}

extern "C" __global__ void flag_roots(const Contract g) {
  const u32 x = thread_index();
  if (x < g.n) g.numbers[x] = g.colours[x] == x;
}

DEVICE u32 new_row(const Contract& g, u32 colour) { return g.numbers[colour]; }

extern "C" __global__ void count_slots(const Contract g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 colour = g.colours[x];
  u32 kept = 0;
  for (u32 slot = g.offsets[x]; slot < g.offsets[x + 1]; slot++) kept += g.colours[g.neighbours[slot]] != colour;
  g.kept[x] = kept;
  if (kept) atomicAdd(g.next_offsets + new_row(g, colour), kept);
}

extern "C" __global__ void count_slots_by_edge(const Contract g) {
  const u32 slot = thread_index();
  if (slot >= g.slots) return;
  const u32 colour = g.colours[owner_of(g.offsets, g.n, slot)];
  if (g.colours[g.neighbours[slot]] != colour) atomicAdd(g.next_offsets + new_row(g, colour), 1u);
}

DEVICE void insert_slot(const Contract& g, u32 slot, u32 other_colour, u32 place) {
  g.next_neighbours[place] = new_row(g, other_colour);
  g.next_keys[place] = g.keys[slot];
  g.next_ids[place] = g.ids[slot];
}

extern "C" __global__ void insert_slots(const Contract g) {
  const u32 x = thread_index();
  if (x >= g.n || g.kept[x] == 0) return;
  const u32 colour = g.colours[x];
  u32 place = atomicAdd(g.places + new_row(g, colour), g.kept[x]);
  for (u32 slot = g.offsets[x]; slot < g.offsets[x + 1]; slot++) {
    const u32 other = g.colours[g.neighbours[slot]];
    if (other != colour) insert_slot(g, slot, other, place++);
  }
}

extern "C" __global__ void insert_slots_by_edge(const Contract g) {
  const u32 slot = thread_index();
  if (slot >= g.slots) return;
  const u32 colour = g.colours[owner_of(g.offsets, g.n, slot)], other = g.colours[g.neighbours[slot]];
  if (other != colour) insert_slot(g, slot, other, atomicAdd(g.places + new_row(g, colour), 1u));
}

extern "C" __global__ void scan_tiles(const Contract g) { scan_tile(g.values, g.sums, g.length); }

extern "C" __global__ void scan_sums(const Contract g) { scan_sums_of(g.sums, g.tiles); }

extern "C" __global__ void add_sums(const Contract g) { add_before(g.values, g.sums, g.length); }
