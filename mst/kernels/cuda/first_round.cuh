// The first Borůvka round over CSR needs no atomics: a vertex's lightest edge is the minimum of its row. Slots of a
// row ascend by edge id, so the first lightest slot is also the smallest by (key, edge id).
#pragma once
#include "records.cuh"
#include "rows.cuh"

// Slots per lane that are in flight together.
#ifndef NEAREST_ITEMS
#define NEAREST_ITEMS 4
#endif

DEVICE void reduce_lightest(Key& key, u32& slot, u32 width) {
  for (u32 distance = width / 2; distance; distance /= 2) {
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

// Row minima, and the light edges as records between vertices (stage 0). A row is walked twice, the second time for
// its light slots except the minimum: that one joins its ends anyway. Rows of a whole warp are walked once, and keep
// it: there are few light slots in long rows, and the second walk would not find them cached.
struct NearestVisitor {
  static const u32 ITEMS = NEAREST_ITEMS;
  const Plan& plan;
  const Threshold light;
  Appender appender;
  Key key;
  u32 slot;
  Choice choice;
  bool minimising, collecting;

  __device__ __forceinline__ NearestVisitor(const Plan& p)
      : plan(p), light(p.control->threshold), appender(&p.control->length[0], chunk_for(p.light)) {}

  __device__ __forceinline__ bool wants(u32) { return true; }

  __device__ __forceinline__ void open(u32) {
    key = ~(Key)0;
    slot = NONE;
    minimising = true;
    collecting = plan.group == 32;
  }

  __device__ __forceinline__ void slots(u32 v, u32 first, u32 end, u32 step) {
    Key keys[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      const u32 at = first + i * step;
      keys[i] = at < end ? __ldg(plan.keys + at) : ~(Key)0;
    }
    if (minimising) {
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = first + i * step;
        if (at < end && (keys[i] < key || slot == NONE)) {
          key = keys[i];
          slot = at;
        }
      }
    }
    if (collecting) collect(v, first, end, step, keys);
  }

  __device__ __forceinline__ void collect(u32 v, u32 first, u32 end, u32 step, const Key (&keys)[ITEMS]) {
    bool valid[ITEMS], any = false;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      const u32 at = first + i * step;
      valid[i] = at < end && (minimising || at != slot) && is_light_slot(plan, light, keys[i], at);
      any |= valid[i];
    }
    if (!__any_sync(FULL, any)) return;
    Slot found[ITEMS];
    u32 places[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++)
      if (valid[i]) found[i] = slot_at(plan, first + i * step);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) valid[i] = valid[i] && v < found[i].neighbour;
    appender.place(valid, places);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      const Record record = {v, found[i].neighbour, key_high(keys[i]), edge_id(plan, found[i])};
      store_record(plan, 0, places[i], record, (u32)keys[i]);
    }
  }

  // Pieces know no minimum of their row yet, so their light slots are all kept.
  __device__ __forceinline__ bool close(u32 v, u32 width, u32 piece) {
    const bool leader = v != NONE && (lane_id() & (width - 1)) == 0;
    if (minimising) {
      reduce_lightest(key, slot, width);
      if (leader && piece == NONE) choice = choice_at(plan, v, slot);
      if (leader && piece != NONE) {
        plan.lightest[piece].key = key;
        plan.lightest[piece].slot = slot;
      }
      if (piece != NONE) slot = NONE;
      minimising = false;
      if (!collecting) {
        collecting = true;
        return true;
      }
    }
    if (leader && piece == NONE) note_choice(plan, v, choice);
    return false;
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
    reduce_lightest(key, slot, 32);
    if (lane_id() == 0) note_choice(plan, piece.row, choice_at(plan, piece.row, slot));
  }
}
