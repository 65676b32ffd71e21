// A walk over listed CSR rows by the whole grid, balanced for skewed lengths. A warp takes some rows at a time,
// concatenates their slots, and visits the slots in chunks, one slot per lane and item. So all lanes are busy whatever
// the lengths of rows, and neighbouring lanes read neighbouring slots. Listed rows of more than `long_row` slots are
// skipped; instead, the pieces of every long row of the graph that the visitor wants are visited, listed or not.
//
// Warps share nothing except the list to which their visitor appends; an earlier barrier has published the list of rows
// and the pieces.
//
// A visitor has these members, called by all lanes:
//   ITEMS               slots per lane and chunk
//   begin(row)          called before the slots of new rows; `row` is the row that this lane holds, or NONE
//   visit(chunk)        called with each chunk of the slots of these rows
//   wants_row(row)      whether to visit the pieces of a long row; equal in all lanes
#pragma once
#include "filter_boruvka.cuh"

#ifndef BLOCK
#define BLOCK 512  // threads of a block
#endif

// Returns the bitwise or of x over the lanes of a warp. Call with all lanes.
DEVICE u32 or_in_warp(u32 x) {
#if defined(EMULATED) || __CUDA_ARCH__ >= 800
  return __reduce_or_sync(FULL, x);
#else
  for (u32 distance = 16; distance; distance /= 2) x |= __shfl_xor_sync(FULL, x, distance);
  return x;
#endif
}

// A chunk of slots, ITEMS for each lane.
template <u32 ITEMS>
struct Chunk {
  u32 slot[ITEMS], row[ITEMS];  // slot of each item, and the lane that holds the slot's row
  bool valid[ITEMS];            // false past the last slot
};

// Walks the first `rows` rows of `list`, then the pieces of long rows. A warp takes up to `most_at_once` rows at a
// time, at most 32. If there are fewer rows than warps, several warps share each row. Call with all threads of the
// grid.
template <class Visitor>
DEVICE void walk_rows(const FilterBoruvka& g, const u32* list, u32 rows, u32 most_at_once, Visitor& visitor) {
  __shared__ u32 row_lanes[BLOCK / 32][32];  // per warp: lanes that hold a row with slots, in order
  const u32 ITEMS = Visitor::ITEMS;
  u32* row_lane = row_lanes[threadIdx.x >> 5];
  const u32 pieces = g.control->pieces;
  const u32 share = (rows + warp_count() - 1) / warp_count(), sharers = rows < warp_count() ? warp_count() / (rows + !rows) : 1;
  const u32 rows_at_once = share < most_at_once ? share : most_at_once;
  u32 first = warp_index() * rows_at_once, part = 0, piece = warp_index();
  if (sharers > 1) {  // each warp has a part of one row, or none
    part = warp_index() / (rows + !rows);
    first = part < sharers ? warp_index() % (rows + !rows) : rows;
  }
  for (;;) {
    u32 v = NONE, begin = 0, end = 0;
    if (first < rows) {
      if (lane_id() < rows_at_once && first + lane_id() < rows) {
        v = list[first + lane_id()];
        begin = __ldg(g.offsets + v);
        end = __ldg(g.offsets + v + 1);
        if (end - begin > g.long_row) end = begin;
        const u64 length = end - begin;
        end = begin + (u32)(length * (part + 1) / sharers);
        begin += (u32)(length * part / sharers);
      }
      first += warp_count() * rows_at_once;
    } else if (piece < pieces) {
      const RowPiece p = g.pieces[piece];
      piece += warp_count();
      if (!visitor.wants_row(p.row)) continue;
      if (lane_id() == 0) {
        v = p.row;
        begin = p.begin;
        end = p.end;
      }
    } else {
      return;
    }
    const u32 length = end - begin, upto = scan_in_warp(length), offset = upto - length;
    const u32 total = __shfl_sync(FULL, upto, 31);
    const u32 filled = __ballot_sync(FULL, length > 0);
    __syncwarp();
    if (length > 0) row_lane[lanes_below(filled)] = lane_id();
    __syncwarp();
    visitor.begin(v);
    u32 started = 0;  // rows that start before the item's slots
    Chunk<ITEMS> chunk;
    for (u32 start = 0; start < total; start += 32 * ITEMS) {
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++) {
        const u32 from = start + 32 * i, at = offset - from;
        const u32 starts = or_in_warp(length > 0 && at < 32 ? 1u << at : 0);
        const u32 rank = started + __popc(starts & (2u << lane_id()) - 1);
        started += __popc(starts);
        chunk.valid[i] = from + lane_id() < total;
        chunk.row[i] = chunk.valid[i] ? row_lane[rank - 1] : 0;
        chunk.slot[i] = __shfl_sync(FULL, begin - offset, chunk.row[i]) + from + lane_id();
      }
      visitor.visit(chunk);
    }
  }
}
