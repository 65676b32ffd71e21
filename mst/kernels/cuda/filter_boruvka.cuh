// The argument of filter-Borůvka's kernels: the graph, workspace, settings and counters of a solve. filter_boruvka.py
// declares the same layout for the host.
#pragma once
#include "base.cuh"

// Rounds are numbered consecutively through all phases; each has its own components, worklist and minima. A phase takes
// at most 31 rounds, because each round at least halves the number of components that still have edges.
static const u32 PHASES = 4;
static const u32 ROUNDS = 136;
static const u32 TIE_CAPACITY = 1u << 20;

// An entry of a worklist: an edge between components a and b of its round. A reserved but unused entry has a = b.
struct WorkEdge {
  u32 a, b;
  u32 key_high;  // high word of a 64-bit key, or a whole 32-bit key
  u32 id;        // edge id
};

struct Threshold {
  Key key;
  u32 id;
};

// The edges of a phase: those with above < (key, id) <= upto; `above` is ignored if `first`, in the first phase.
struct Band {
  Threshold above, upto;
  bool first;
};

// Slots begin to end - 1 of a row that is too long for one warp. `pieces` is the number of pieces of the row, set in
// its first piece.
struct RowPiece {
  u32 row, begin, end, pieces;
};

struct LightestSlot {
  Key key;
  u32 slot;  // NONE: there is none
};

// `arrivals` is never reset; the counters from forest_edges to long_paths are zero before and after a solve.
struct Control {
  u32 arrivals;                 // of the grid barrier
  u32 unused[5];
  u64 open_slots;               // CSR: total slots of the rows listed in outside; reset before each listing
  u32 forest_edges;             // edges of the forest so far
  u32 finished;                 // components left by no edge of the phases so far
  u32 outside_count;            // vertices outside the giant component
  u32 pieces;                   // pieces of long rows
  u32 worklist_length[ROUNDS];  // holes included
  u32 roots[ROUNDS];            // number of components of the next round
  u32 ties[ROUNDS];             // number of tied candidates of a round
  u32 long_paths[ROUNDS];       // last pass of a round's path compression that left some path unfinished
  u64 clock_notes[4 * ROUNDS];  // when phases ended, in the instrumented build
};
static const u32 CONTROL_WORDS = 4 + 4 * ROUNDS;  // from forest_edges to long_paths: zero between solves

// Passed by value, so it lies in constant memory. A worklist has C = 7/6 m + 1024 entries; there are up to P row
// pieces.
struct FilterBoruvka {
  const u32* u;             // [m] the edge list
  const u32* v;             // [m]
  const Key* edge_keys;     // [m]
  const u32* offsets;       // CSR [n + 1]: rows
  const Key* keys;          // CSR [slots]
  const u32* neighbours;    // CSR [2 slots]: (neighbour, edge id) of each slot
  u32* lightest_neighbour;  // CSR [n]: neighbour across each vertex's lightest edge, itself if it has none
  u32* lightest_id;         // CSR [n]: id of that edge
  u32* labels;              // [n] each vertex's hook of round 0, later its component
  u32* component_hooks;     // [n + 64, or 2 n + 64 without CSR] hooks of the components of a phase's rounds, one round
                            // after another, vertices excepted
  u64* minima[2];           // [n / 2 + 2, or n + 2 without CSR; at least SPREAD] for even and odd rounds: the
                            // smallest candidate of each component
  WorkEdge* worklist[2];    // [C] for even and odd rounds
  u32* key_low[2];          // [C] 64-bit keys: low words of the worklist's keys
  u64* ties;                // [TIE_CAPACITY] (component, index) of candidates that tied
  u32* light_component;     // [n / 2 + 1, or n without CSR] for each component at the start of a phase (in the first
                            // phase: of round 1), the component that contains it at the end of the phase
  u32* outside;             // CSR [n]: rows outside the giant component; else [n / 32 + 32]: a bit per vertex
  RowPiece* pieces;         // [P]
  LightestSlot* piece_minima;  // [P]
  u32* forest;              // [n - 1] edge ids
  Control* control;
  u32* counters;            // [9] on the host: see `report_counters`
  u32 n;
  u32 m;
  u32 lanes_per_row;        // lanes that share a row in the first round, a power of two up to 32
  u32 long_row;             // a row with more slots is split into pieces
  u32 samples;              // weights sampled for the threshold; if 0, every edge is light
  u32 threshold_rank;       // rank of the first threshold among the samples
  u32 expected_light;       // expected number of edges up to the first threshold
  u32 seed;
  u32 index_bits;           // bits of a candidate that hold an index into the worklist, see `candidate_of`
  u32 key_shift;            // layout of a candidate, see `candidate_of`
  u32 id_shift;
  u32 unused;
};

// A CSR slot without its key.
struct Slot {
  u32 neighbour, id;
};

DEVICE Slot slot_at(const FilterBoruvka& g, u32 slot) {
  const uint2 pair = __ldg((const uint2*)g.neighbours + slot);
  return {pair.x, pair.y};
}

// Whether (key, id) of a slot is at most a threshold. The id is read only if the keys are equal.
DEVICE bool slot_upto(const FilterBoruvka& g, const Threshold& t, Key key, u32 slot) {
  return key < t.key || (key == t.key && slot_at(g, slot).id <= t.id);
}

// Whether (key, id) of an edge is at most a threshold.
DEVICE bool edge_upto(const Threshold& t, Key key, u32 edge) {
  return key < t.key || (key == t.key && edge <= t.id);
}

// Whether a slot or an edge belongs to a band.
DEVICE bool slot_in_band(const FilterBoruvka& g, const Band& band, Key key, u32 slot) {
  return slot_upto(g, band.upto, key, slot) && (band.first || !slot_upto(g, band.above, key, slot));
}
DEVICE bool edge_in_band(const Band& band, Key key, u32 edge) {
  return edge_upto(band.upto, key, edge) && (band.first || !edge_upto(band.above, key, edge));
}
