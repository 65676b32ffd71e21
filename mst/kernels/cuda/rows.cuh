// Walking CSR rows with the whole grid, however skewed their lengths.
//
// A row is walked by `group` lanes when it is short (up to 16 slots a lane), by its warp when it is longer, and in
// pieces by any warps when it has more than `long_row` slots. The pieces are listed by the first walk.
//
// A visitor has
//   open(v)                            before a row: all lanes that walk it; v == NONE for lanes without a row
//   slots(v, slot, end, step)          UNROLL slots: slot, slot + step, … below end; all lanes of the warp together
//   close(v, width)                    after a row, all lanes together; groups of `width` lanes walked one row each
//   close_piece(i)                     after a piece, all lanes together
//   postpone(v, begin, end)            a long row, called by one lane of its group
//   wants(v)                           whether a long row's pieces are to be walked
#pragma once
#include "plan.cuh"

static const u32 UNROLL = 4;
#ifndef PIECE
#define PIECE 512
#endif

template <class Visitor>
DEVICE void walk_with_warp(Visitor& visitor, u32 v, u32 begin, u32 end) {
  visitor.open(v);
  for (u32 slot = begin + lane_id(); __any_sync(FULL, slot < end); slot += 32 * UNROLL)
    visitor.slots(v, slot, end, 32);
}

// All rows row(0 … rows - 1), except that of long ones only their pieces are listed.
template <class Row, class Visitor>
DEVICE void walk_rows(const Plan& plan, u32 rows, const Row& row, Visitor& visitor) {
  const u32 group = plan.group, at_once = 32 / group;
  const u32 member = lane_id() & (group - 1), index = lane_id() / group;
  for (u32 first = warp_index() * at_once; first < rows; first += warp_count() * at_once) {
    u32 v = NONE, begin = 0, end = 0;
    if (first + index < rows) {
      v = row(first + index);
      begin = __ldg(plan.offsets + v);
      end = __ldg(plan.offsets + v + 1);
      if (end - begin > plan.long_row) {
        if (member == 0) visitor.postpone(v, begin, end);
        v = NONE;
        end = begin;
      }
    }
    const bool middle = end - begin > 16 * group;
    u32 left = __ballot_sync(FULL, middle && member == 0);
    const u32 own = middle ? NONE : v;
    visitor.open(own);
    for (u32 slot = middle ? end : begin + member; __any_sync(FULL, slot < end); slot += group * UNROLL)
      visitor.slots(own, slot, end, group);
    visitor.close(own, group);
    for (; left; left &= left - 1) {
      const u32 source = __ffs(left) - 1;
      const u32 one = __shfl_sync(FULL, v, source);
      walk_with_warp(visitor, one, __shfl_sync(FULL, begin, source), __shfl_sync(FULL, end, source));
      visitor.close(one, 32);
    }
  }
}

template <class Visitor>
DEVICE void walk_pieces(const Plan& plan, Visitor& visitor) {
  const u32 pieces = plan.control->pieces;
  for (u32 i = warp_index(); i < pieces; i += warp_count()) {
    const Piece piece = plan.pieces[i];
    if (!visitor.wants(piece.row)) continue;
    walk_with_warp(visitor, piece.row, piece.begin, piece.end);
    visitor.close_piece(i);
  }
}
