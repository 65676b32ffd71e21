// The first Borůvka round over CSR needs no atomics: a vertex's lightest edge is the minimum of its row. Slots of a
// row ascend by edge id, so the first lightest slot is also the smallest by (key, edge id).
#pragma once
#include "records.cuh"
#include "rows.cuh"

// Slots per lane and chunk.
#ifndef NEAREST_ITEMS
#define NEAREST_ITEMS 4
#endif

DEVICE void reduce_lightest(Key& key, u32& slot) {
  for (u32 distance = 16; distance; distance /= 2) {
    const Key other_key = __shfl_xor_sync(FULL, key, distance);
    const u32 other_slot = __shfl_xor_sync(FULL, slot, distance);
    if (other_key < key || (other_key == key && other_slot < slot)) {
      key = other_key;
      slot = other_slot;
    }
  }
}

// The slot chosen by a row, read early and noted late, so that nothing waits for it in between.
struct Choice {
  u32 nearest, id;
};

DEVICE Choice choice_at(const Plan& plan, u32 v, u32 slot) {
  Choice choice = {v, NONE};
  if (slot != NONE) {
    const Slot s = slot_at(plan, slot);
    choice.nearest = s.neighbour;
    choice.id = edge_id(plan, s);
  }
  return choice;
}

DEVICE void note_choice(const Plan& plan, u32 v, const Choice& choice) {
  plan.nearest[v] = choice.nearest;
  plan.choice[v] = choice.id;
}

// Row minima, and the light edges as records between vertices (stage 0). Rows that fit in a chunk are read once: the
// light slots are taken when the minima are known, these excepted, since they join their ends anyway. Else rows are
// walked again for their light slots. A row that is walked alone is long and has few light slots, so they are taken
// at once, its minimum too.
struct NearestVisitor {
  static const u32 ITEMS = NEAREST_ITEMS;
  const Plan& plan;
  const Threshold light;
  Appender appender;
  Key* staged;         // (shared) the keys of a chunk
  Key ahead[ITEMS];    // of the next chunk, when a row is walked alone
  u32 v;               // this lane's row …
  Key key;             // … and its minimum so far
  u32 slot;
  Choice choice;
  bool minimising;

  __device__ __forceinline__ NearestVisitor(const Plan& p, const Threshold& threshold, void* scratch)
      : plan(p),
        light(threshold),
        appender(&p.control->length[0], chunk_for(p.light)),
        staged((Key*)scratch + (threadIdx.x >> 5) * 32 * ITEMS) {}

  __device__ __forceinline__ bool wants(u32) { return true; }

  __device__ __forceinline__ void open(u32 row) {
    v = row;
    key = ~(Key)0;
    slot = NONE;
    minimising = true;
  }

  __device__ __forceinline__ Key load(u32 at) const { return stream(plan.keys + at); }

  __device__ __forceinline__ void slots(const Walk& walk, const Chunk<ITEMS>& chunk) {
    Key keys[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++)
      if (chunk.valid[i]) keys[i] = walk.alone && chunk.start ? ahead[i] : load(chunk.slot[i]);
    if (walk.alone) {
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++) {
        const u32 next = chunk.slot[i] + 32 * ITEMS;
        if (chunk.start + 32 * (ITEMS + i) + lane_id() < walk.total) ahead[i] = load(next);
        if (chunk.valid[i] && (keys[i] < key || slot == NONE)) {
          key = keys[i];
          slot = chunk.slot[i];
        }
      }
      collect(chunk, keys, false);
      return;
    }
    if (minimising) {
      __syncwarp();
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++)
        if (chunk.valid[i]) staged[32 * i + lane_id()] = keys[i];
      __syncwarp();
      const u32 stop = chunk.start + 32 * ITEMS, end = walk.offset + walk.length;
      u32 at = walk.offset > chunk.start ? walk.offset : chunk.start;
      for (; at < (end < stop ? end : stop); at++) {
        const Key one = staged[at - chunk.start];
        if (one < key || slot == NONE) {
          key = one;
          slot = walk.base + at;
        }
      }
    }
    const bool complete = walk.total <= 32 * ITEMS;
    if (complete) choice = choice_at(plan, v, slot);
    if (complete || !minimising) collect(chunk, keys, true);
  }

  __device__ __forceinline__ void collect(const Chunk<ITEMS>& chunk, const Key (&keys)[ITEMS], bool but_minima) {
    bool valid[ITEMS], any = false;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      const u32 minimum = __shfl_sync(FULL, slot, chunk.row[i]);
      valid[i] = chunk.valid[i] && !(but_minima && chunk.slot[i] == minimum) &&
                 is_light_slot(plan, light, keys[i], chunk.slot[i]);
      any |= valid[i];
    }
    if (!__any_sync(FULL, any)) return;
    Slot found[ITEMS];
    u32 row[ITEMS], places[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (valid[i]) found[i] = slot_at(plan, chunk.slot[i]);
      row[i] = __shfl_sync(FULL, v, chunk.row[i]);
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) valid[i] = valid[i] && row[i] < found[i].neighbour;
    appender.place(valid, places);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      const Record record = {row[i], found[i].neighbour, key_high(keys[i]), edge_id(plan, found[i])};
      store_record(plan, 0, places[i], record, (u32)keys[i]);
    }
  }

  __device__ __forceinline__ bool close(const Walk& walk, u32 piece) {
    if (walk.alone) {
      reduce_lightest(key, slot);
      if (piece != NONE && lane_id() == 0) {
        plan.lightest[piece].key = key;
        plan.lightest[piece].slot = slot;
      }
    }
    if (walk.alone || (minimising && walk.total > 32 * ITEMS) || walk.total == 0) choice = choice_at(plan, v, slot);
    if (v != NONE && piece == NONE && minimising) note_choice(plan, v, choice);
    const bool again = minimising && !walk.alone && walk.total > 32 * ITEMS;
    minimising = false;
    return again;
  }

  // The pieces of a row lie side by side; the first one says how many they are.
  __device__ __forceinline__ void postpone(u32 v, u32 begin, u32 end) {
    const u32 pieces = (end - begin + PIECE - 1) / PIECE;
    const u32 first = atomicAdd(&plan.control->pieces, pieces);
    for (u32 i = 0; i < pieces; i++) {
      const u32 from = begin + i * PIECE;
      const Piece piece = {v, from, end - from > PIECE ? from + PIECE : end, i == 0 ? pieces : 0};
      plan.pieces[first + i] = piece;
    }
  }
};

// The lightest of a long row, from its pieces: one warp a row.
DEVICE void join_pieces(const Plan& plan) {
  const u32 pieces = plan.control->pieces;
  for (u32 i = warp_index(); i < pieces; i += warp_count()) {
    const Piece piece = plan.pieces[i];
    if (piece.pieces == 0) continue;
    Key key = ~(Key)0;
    u32 slot = NONE;
    for (u32 j = i + lane_id(); j < i + piece.pieces; j += 32) {
      const Lightest one = plan.lightest[j];
      if (one.key < key || (one.key == key && one.slot < slot)) {
        key = one.key;
        slot = one.slot;
      }
    }
    reduce_lightest(key, slot);
    if (lane_id() == 0) note_choice(plan, piece.row, choice_at(plan, piece.row, slot));
  }
}
