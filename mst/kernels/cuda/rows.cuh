// Walking listed CSR rows with the whole grid, however skewed their lengths: a warp takes some rows at a time, lays
// their slots end to end, and walks these in chunks, a slot per lane and item. So lanes are busy whatever the rows
// are, and neighbouring lanes read neighbouring slots. Rows of more than `long_row` slots are walked by their pieces.
//
// Warps share nothing here but their visitor's list, whose places are handed out by atomic additions; the rows' list and
// the pieces were published by a barrier before.
//
// A visitor has
//   ITEMS               slots per lane and chunk
//   open(v)             before rows: lane l holds the l-th row, NONE when there is none
//   slots(chunk)        a chunk; all lanes together
//   wants(v)            whether the pieces of a long row are to be walked
#pragma once
#include "plan.cuh"

#ifndef PIECE
#define PIECE 512
#endif
#ifndef BLOCK
#define BLOCK 512
#endif

DEVICE u32 or_in_warp(u32 x) {
#if defined(EMULATED) || __CUDA_ARCH__ >= 800
  return __reduce_or_sync(FULL, x);
#else
  for (u32 distance = 16; distance; distance /= 2) x |= __shfl_xor_sync(FULL, x, distance);
  return x;
#endif
}

// The slots of a chunk: each item's slot and the lane that holds its row.
template <u32 ITEMS>
struct Chunk {
  u32 slot[ITEMS], row[ITEMS];
  bool valid[ITEMS];
};

template <class Visitor>
DEVICE void walk_rows(const Plan& plan, const u32* list, u32 rows, u32 at_once, Visitor& visitor) {
  __shared__ u32 holders[BLOCK / 32][32];  // lanes that hold a row with slots, in order
  const u32 ITEMS = Visitor::ITEMS;
  u32* holder = holders[threadIdx.x >> 5];
  const u32 pieces = plan.control->pieces;
  u32 first = warp_index() * at_once, piece = warp_index();
  for (;;) {
    u32 v = NONE, begin = 0, end = 0;
    if (first < rows) {
      if (lane_id() < at_once && first + lane_id() < rows) {
        v = list[first + lane_id()];
        begin = __ldg(plan.offsets + v);
        end = __ldg(plan.offsets + v + 1);
        if (end - begin > plan.long_row) end = begin;
      }
      first += warp_count() * at_once;
    } else if (piece < pieces) {
      const Piece part = plan.pieces[piece];
      piece += warp_count();
      if (!visitor.wants(part.row)) continue;
      if (lane_id() == 0) {
        v = part.row;
        begin = part.begin;
        end = part.end;
      }
    } else {
      return;
    }
    const u32 length = end - begin, upto = scan_in_warp(length), offset = upto - length;
    const u32 total = __shfl_sync(FULL, upto, 31);
    const u32 filled = __ballot_sync(FULL, length > 0);
    __syncwarp();
    if (length > 0) holder[lanes_below(filled)] = lane_id();
    __syncwarp();
    visitor.open(v);
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
        chunk.row[i] = chunk.valid[i] ? holder[rank - 1] : 0;
        chunk.slot[i] = __shfl_sync(FULL, begin - offset, chunk.row[i]) + from + lane_id();
      }
      visitor.slots(chunk);
    }
  }
}
