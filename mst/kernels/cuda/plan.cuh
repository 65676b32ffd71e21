// What the kernels of filter-Borůvka work on: the graph, the workspace, the settings, and the counters of a solve.
#pragma once
#include "base.cuh"

// Interleaved rows give the neighbour and the edge id of a slot in one access.
#ifndef INTERLEAVED
#define INTERLEAVED 1
#endif

// Lists of one solve are numbered by stage: stage s has its components, its records and its minima. Each of the
// two phases takes at most 31 rounds, because a round at least halves the components that still have edges.
static const u32 STAGES = 72;
static const u32 TIE_CAPACITY = 1u << 20;

// An edge between two components of its stage. `id` is the edge id, `high` the high word of its key.
struct Record {
  u32 one, other, high, id;
};

struct Threshold {
  Key key;
  u32 id;
};

// A piece of a row that is too long for one warp. The first piece of a row carries the number of its pieces.
struct Piece {
  u32 row, begin, end, pieces;
};

struct Lightest {
  Key key;
  u32 slot;
};

// The barrier's word is never reset; the counters are zero before a solve, and it leaves them so.
struct Control {
  u32 arrivals;           // grid barrier
  u32 unused[7];
  u32 emitted;            // forest edges so far
  u32 finals;             // components that no light edge leaves
  u32 outside;            // rows outside the giant component
  u32 pieces;             // pieces of long rows
  u32 length[STAGES];     // records of a stage, holes included
  u32 roots[STAGES];      // components that a stage leaves to the next
  u32 ties[STAGES];       // offers of a stage that tied
  u64 times[4 * STAGES];  // when barriers ended, in the instrumented build
};
static const u32 COUNTERS = 4 + 3 * STAGES;

// Passed by value: it lies in constant memory.
struct Plan {
  const u32* u;           // the edge list
  const u32* v;
  const Key* edge_keys;
  const u32* offsets;     // CSR, when there is one: rows
  const Key* keys;        // per slot
  const u32* neighbours;  // or (neighbour, edge id) pairs
  const u32* ids;         // unless interleaved
  u32* nearest;           // CSR: neighbour across each vertex's lightest edge, itself when it has none
  u32* choice;            // CSR: id of that edge
  u32* labels;            // per vertex: hook, then component
  u32* levels;            // hooks of the components of stages 1, 2, …
  u64* best[2];           // per component: the smallest offer
  Record* records[2];
  u32* low[2];            // low words of the records' keys; unused with 32-bit keys
  u64* ties;              // (component, place) of offers that tied
  u32* composed;          // per component of stage 1: where the light phase left it
  u32* outside;           // CSR: rows outside the giant; edge list: a bit per vertex
  Piece* pieces;
  Lightest* lightest;     // per piece
  u32* forest;            // edge ids
  Control* control;
  u32* status;            // on the host: what `report` writes
  u32 n;
  u32 m;
  u32 group;              // lanes per row in the first round, a power of two up to 32
  u32 long_row;           // slots above which a row is cut into pieces
  u32 samples;            // weights sampled for the threshold; 0 for none: every edge is light
  u32 rank;               // of the threshold among the samples
  u32 light;              // expected number of light edges
  u32 seed;
  u32 place_bits;         // of an offer: places of records lie below 2^place_bits
  u32 key_shift;          // of an offer: see `offer_of`
  u32 id_shift;
  u32 unused;
};

// A slot of a CSR row. The edge id is read with the neighbour when rows are interleaved, else when asked for.
struct Slot {
  u32 neighbour, id;
};

DEVICE Slot slot_at(const Plan& plan, u32 slot) {
  Slot s;
#if INTERLEAVED
  const uint2 pair = __ldg((const uint2*)plan.neighbours + slot);
  s.neighbour = pair.x;
  s.id = pair.y;
#else
  s.neighbour = __ldg(plan.neighbours + slot);
  s.id = slot;
#endif
  return s;
}

DEVICE u32 edge_id(const Plan& plan, const Slot& s) {
#if INTERLEAVED
  return s.id;
#else
  return __ldg(plan.ids + s.id);
#endif
}

// Light is (key, id) <= threshold; the id is looked up only where keys are equal.
DEVICE bool is_light_slot(const Plan& plan, const Threshold& t, Key key, u32 slot) {
  return key < t.key || (key == t.key && edge_id(plan, slot_at(plan, slot)) <= t.id);
}

DEVICE bool is_light_edge(const Threshold& t, Key key, u32 edge) {
  return key < t.key || (key == t.key && edge <= t.id);
}
