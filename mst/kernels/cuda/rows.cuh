// Walking CSR rows with the whole grid, however skewed their lengths.
//
// A row is walked by `group` lanes when it is short (up to 16 slots a lane), by its warp when it is longer, and in
// pieces by any warps when it has more than `long_row` slots. The pieces are listed by the first walk.
//
// A visitor has
//   open(v)                     before rows: every lane names the row it helps to walk, NONE for no row
//   slots(v, slot, end, step)   ITEMS slots: slot, slot + step, … below end; all lanes of the warp together
//   close(v, width, piece)      after rows: each was walked by `width` lanes; `piece` is its number, else NONE.
//                               True to have the same rows walked again
//   postpone(v, begin, end)     a long row, called by one lane of its group
//   wants(v)                    whether a long row's pieces are to be walked
#pragma once
#include "plan.cuh"

#ifndef PIECE
#define PIECE 512
#endif

// Rows row(0 … rows - 1), long ones excepted, then the first `pieces` pieces. There is one loop for groups, whole
// warps and pieces, so that the visitor's code is there once: it is large, and instructions are cached too.
template <class Row, class Visitor>
DEVICE void walk_rows(const Plan& plan, u32 rows, const Row& row, u32 pieces, Visitor& visitor) {
  const u32 group = plan.group, at_once = 32 / group;
  const u32 member = lane_id() & (group - 1), index = lane_id() / group;
  u32 first = warp_index() * at_once, piece = warp_index(), middle_rows = 0;
  u32 group_row = NONE, group_begin = 0, group_end = 0;
  for (;;) {
    u32 v = NONE, begin = 0, end = 0, width = 32, number = NONE;
    if (middle_rows) {
      const u32 source = __ffs(middle_rows) - 1;
      middle_rows &= middle_rows - 1;
      v = __shfl_sync(FULL, group_row, source);
      begin = __shfl_sync(FULL, group_begin, source);
      end = __shfl_sync(FULL, group_end, source);
    } else if (first < rows) {
      width = group;
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
      first += warp_count() * at_once;
      group_row = v;
      group_begin = begin;
      group_end = end;
      const bool middle = end - begin > 16 * group;
      middle_rows = __ballot_sync(FULL, middle && member == 0);
      if (middle) {
        v = NONE;
        end = begin;
      }
    } else if (piece < pieces) {
      number = piece;
      piece += warp_count();
      const Piece part = plan.pieces[number];
      if (!visitor.wants(part.row)) continue;
      v = part.row;
      begin = part.begin;
      end = part.end;
    } else {
      return;
    }
    visitor.open(v);
    do {
      for (u32 slot = begin + (lane_id() & (width - 1)); __any_sync(FULL, slot < end); slot += width * Visitor::ITEMS)
        visitor.slots(v, slot, end, width);
    } while (visitor.close(v, width, number));
  }
}
