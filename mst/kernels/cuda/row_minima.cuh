// The minima of filter-Borůvka's first round over CSR. It needs no atomics, because a vertex's lightest edge is the
// minimum of its row. Slots of a row ascend by edge id, so the first slot with the least key is the smallest by
// (key, edge id).
//
// A short row is read by a group of `lanes_per_row` lanes, a longer one by the whole warp. A row of more than
// `long_row` slots is split into pieces, which are listed first and read by any warps after a barrier.
#pragma once
#include "filter_boruvka.cuh"

#ifndef PIECE
#define PIECE 512  // slots of a piece
#endif

// Keys per lane that are in flight together.
#ifndef ROW_ITEMS
#if KEY_BITS == 32
#define ROW_ITEMS 12
#else
#define ROW_ITEMS 4
#endif
#endif

static const u32 LANE_SLOTS = 24;  // a row is short if it has at most so many slots per lane

// Replaces `a` by the slot (key, slot) if that is lighter.
DEVICE void take_lighter(LightestSlot& a, Key key, u32 slot) {
  if (key < a.key || (key == a.key && slot < a.slot)) {
    a.key = key;
    a.slot = slot;
  }
}

// Returns the lightest of this lane's slots: begin, begin + step, … below end.
DEVICE LightestSlot lightest_of_lane(const FilterBoruvka& g, u32 begin, u32 end, u32 step) {
  LightestSlot lightest = {~(Key)0, NONE};
  for (u32 first = begin; first < end; first += ROW_ITEMS * step) {
    Key keys[ROW_ITEMS];
#pragma unroll
    for (u32 i = 0; i < ROW_ITEMS; i++) {
      const u32 at = first + i * step;
      keys[i] = at < end ? stream(g.keys + at) : ~(Key)0;
    }
#pragma unroll
    for (u32 i = 0; i < ROW_ITEMS; i++) {
      const u32 at = first + i * step;
      if (at < end && (keys[i] < lightest.key || lightest.slot == NONE)) {
        lightest.key = keys[i];
        lightest.slot = at;
      }
    }
  }
  return lightest;
}

// Writes the lightest slot of each group of `width` lanes, a power of two, to all of its lanes. Call with all lanes.
DEVICE void reduce_lightest(LightestSlot& lightest, u32 width) {
  for (u32 distance = width / 2; distance; distance /= 2) {
    const Key key = __shfl_xor_sync(FULL, lightest.key, distance);
    const u32 slot = __shfl_xor_sync(FULL, lightest.slot, distance);
    take_lighter(lightest, key, slot);
  }
}

// Writes lightest_neighbour and lightest_id of vertex v; `slot` is its lightest slot, or NONE if it has no edge.
DEVICE void store_lightest(const FilterBoruvka& g, u32 v, u32 slot) {
  u32 neighbour = v, id = NONE;
  if (slot != NONE) {
    const Slot s = slot_at(g, slot);
    neighbour = s.neighbour;
    id = s.id;
  }
  g.lightest_neighbour[v] = neighbour;
  g.lightest_id[v] = id;
}

// Lists the pieces of a long row at consecutive indices; the first one holds their number.
DEVICE void split_row(const FilterBoruvka& g, u32 v, u32 begin, u32 end) {
  const u32 pieces = (end - begin + PIECE - 1) / PIECE;
  const u32 first = atomicAdd(&g.control->pieces, pieces);
  for (u32 i = 0; i < pieces; i++) {
    const u32 from = begin + i * PIECE;
    const RowPiece piece = {v, from, end - from > PIECE ? from + PIECE : end, i == 0 ? pieces : 0};
    g.pieces[first + i] = piece;
  }
}

// Writes lightest_neighbour and lightest_id of every row except long rows, which it splits into pieces.
DEVICE void find_row_minima(const FilterBoruvka& g) {
  const u32 group = g.lanes_per_row, rows_at_once = 32 / group;
  const u32 member = lane_id() & (group - 1), index = lane_id() / group;
  for (u32 first = warp_index() * rows_at_once; first < g.n; first += warp_count() * rows_at_once) {
    const u32 v = first + index;
    u32 begin = 0, end = 0;
    if (v < g.n) {
      begin = __ldg(g.offsets + v);
      end = __ldg(g.offsets + v + 1);
    }
    const u32 length = end - begin;
    const bool is_long = length > g.long_row, by_warp = !is_long && length > LANE_SLOTS * group;
    const bool by_group = !is_long && !by_warp;
    LightestSlot lightest = lightest_of_lane(g, begin + member, by_group ? end : begin, group);
    reduce_lightest(lightest, group);
    if (member == 0 && v < g.n) {
      if (is_long) split_row(g, v, begin, end);
      if (by_group) store_lightest(g, v, lightest.slot);
    }
    for (u32 left = __ballot_sync(FULL, by_warp && member == 0); left; left &= left - 1) {
      const u32 source = __ffs(left) - 1;
      const u32 from = __shfl_sync(FULL, begin, source), to = __shfl_sync(FULL, end, source);
      lightest = lightest_of_lane(g, from + lane_id(), to, 32);
      reduce_lightest(lightest, 32);
      if (lane_id() == 0) store_lightest(g, first + source / group, lightest.slot);
    }
  }
}

// Writes the lightest slot of each piece to piece_minima. One warp per piece.
DEVICE void find_piece_minima(const FilterBoruvka& g, u32 pieces) {
  for (u32 i = warp_index(); i < pieces; i += warp_count()) {
    const RowPiece piece = g.pieces[i];
    LightestSlot lightest = lightest_of_lane(g, piece.begin + lane_id(), piece.end, 32);
    reduce_lightest(lightest, 32);
    if (lane_id() == 0) {
      g.piece_minima[i].key = lightest.key;
      g.piece_minima[i].slot = lightest.slot;
    }
  }
}

// Finds the lightest slot of each long row among its pieces' minima. One warp per long row. Writes lightest_neighbour
// and lightest_id.
DEVICE void combine_pieces(const FilterBoruvka& g, u32 pieces) {
  for (u32 i = warp_index(); i < pieces; i += warp_count()) {
    const RowPiece piece = g.pieces[i];
    if (piece.pieces == 0) continue;
    LightestSlot lightest = {~(Key)0, NONE};
    for (u32 j = i + lane_id(); j < i + piece.pieces; j += 32)
      take_lighter(lightest, g.piece_minima[j].key, g.piece_minima[j].slot);
    reduce_lightest(lightest, 32);
    if (lane_id() == 0) store_lightest(g, piece.row, lightest.slot);
  }
}
