// The first Borůvka round over CSR needs no atomics: a vertex's lightest edge is the minimum of its row. Slots of a
// row ascend by edge id, so the first lightest slot is also the smallest by (key, edge id).
//
// A row is read by `group` lanes when it is short (up to two batches), by its warp when it is longer, and in pieces by
// any warps when it has more than `long_row` slots; the pieces are listed on the way and read after a barrier.
#pragma once
#include "rows.cuh"

// Keys per lane that are in flight together.
#ifndef NEAREST_ITEMS
#if KEY_BITS == 32
#define NEAREST_ITEMS 12
#else
#define NEAREST_ITEMS 4
#endif
#endif

struct Lowest {
  Key key;
  u32 slot;
};

DEVICE void take_lower(Lowest& a, Key key, u32 slot) {
  if (key < a.key || (key == a.key && slot < a.slot)) {
    a.key = key;
    a.slot = slot;
  }
}

// The lowest of this lane's slots: begin, begin + step, … below end.
DEVICE Lowest lowest_of_lane(const Plan& plan, u32 begin, u32 end, u32 step) {
  Lowest lowest = {~(Key)0, NONE};
  for (u32 first = begin; first < end; first += NEAREST_ITEMS * step) {
    Key keys[NEAREST_ITEMS];
#pragma unroll
    for (u32 i = 0; i < NEAREST_ITEMS; i++) {
      const u32 at = first + i * step;
      keys[i] = at < end ? stream(plan.keys + at) : ~(Key)0;
    }
#pragma unroll
    for (u32 i = 0; i < NEAREST_ITEMS; i++) {
      const u32 at = first + i * step;
      if (at < end && (keys[i] < lowest.key || lowest.slot == NONE)) {
        lowest.key = keys[i];
        lowest.slot = at;
      }
    }
  }
  return lowest;
}

DEVICE void reduce_lowest(Lowest& lowest, u32 width) {
  for (u32 distance = width / 2; distance; distance /= 2) {
    const Key key = __shfl_xor_sync(FULL, lowest.key, distance);
    const u32 slot = __shfl_xor_sync(FULL, lowest.slot, distance);
    take_lower(lowest, key, slot);
  }
}

DEVICE void choose(const Plan& plan, u32 v, u32 slot) {
  u32 nearest = v, id = NONE;
  if (slot != NONE) {
    const Slot s = slot_at(plan, slot);
    nearest = s.neighbour;
    id = edge_id(plan, s);
  }
  plan.nearest[v] = nearest;
  plan.choice[v] = id;
}

// The pieces of a row lie side by side; the first one says how many they are.
DEVICE void cut_row(const Plan& plan, u32 v, u32 begin, u32 end) {
  const u32 pieces = (end - begin + PIECE - 1) / PIECE;
  const u32 first = atomicAdd(&plan.control->pieces, pieces);
  for (u32 i = 0; i < pieces; i++) {
    const u32 from = begin + i * PIECE;
    const Piece piece = {v, from, end - from > PIECE ? from + PIECE : end, i == 0 ? pieces : 0};
    plan.pieces[first + i] = piece;
  }
}

DEVICE void choose_in_rows(const Plan& plan) {
  const u32 group = plan.group, at_once = 32 / group;
  const u32 member = lane_id() & (group - 1), index = lane_id() / group;
  for (u32 first = warp_index() * at_once; first < plan.n; first += warp_count() * at_once) {
    const u32 v = first + index;
    u32 begin = 0, end = 0;
    if (v < plan.n) {
      begin = __ldg(plan.offsets + v);
      end = __ldg(plan.offsets + v + 1);
    }
    const u32 length = end - begin;
    const bool is_long = length > plan.long_row, middle = !is_long && length > 2 * NEAREST_ITEMS * group;
    const bool own = !is_long && !middle;
    Lowest lowest = lowest_of_lane(plan, begin + member, own ? end : begin, group);
    reduce_lowest(lowest, group);
    if (member == 0 && v < plan.n) {
      if (is_long) cut_row(plan, v, begin, end);
      if (own) choose(plan, v, lowest.slot);
    }
    for (u32 left = __ballot_sync(FULL, middle && member == 0); left; left &= left - 1) {
      const u32 source = __ffs(left) - 1;
      const u32 from = __shfl_sync(FULL, begin, source), to = __shfl_sync(FULL, end, source);
      lowest = lowest_of_lane(plan, from + lane_id(), to, 32);
      reduce_lowest(lowest, 32);
      if (lane_id() == 0) choose(plan, first + source / group, lowest.slot);
    }
  }
}

DEVICE void choose_in_pieces(const Plan& plan, u32 pieces) {
  for (u32 i = warp_index(); i < pieces; i += warp_count()) {
    const Piece piece = plan.pieces[i];
    Lowest lowest = lowest_of_lane(plan, piece.begin + lane_id(), piece.end, 32);
    reduce_lowest(lowest, 32);
    if (lane_id() == 0) {
      plan.lightest[i].key = lowest.key;
      plan.lightest[i].slot = lowest.slot;
    }
  }
}

// The lightest of a long row, from its pieces: one warp a row.
DEVICE void join_pieces(const Plan& plan, u32 pieces) {
  for (u32 i = warp_index(); i < pieces; i += warp_count()) {
    const Piece piece = plan.pieces[i];
    if (piece.pieces == 0) continue;
    Lowest lowest = {~(Key)0, NONE};
    for (u32 j = i + lane_id(); j < i + piece.pieces; j += 32)
      take_lower(lowest, plan.lightest[j].key, plan.lightest[j].slot);
    reduce_lowest(lowest, 32);
    if (lane_id() == 0) choose(plan, piece.row, lowest.slot);
  }
}
