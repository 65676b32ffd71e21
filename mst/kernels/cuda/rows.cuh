// Walking CSR rows with the whole grid, however skewed their lengths: a warp takes some rows at a time, lays their
// slots end to end, and walks these in chunks, a slot per lane and item. So lanes are busy whatever the rows are, and
// neighbouring lanes read neighbouring slots. Rows of more than `long_row` slots are cut into pieces, which are
// listed by the first walk and walked like rows afterwards.
//
// A visitor has
//   ITEMS                     slots per lane and chunk
//   open(v)                   before rows: lane l holds the l-th row, NONE when there is none
//   slots(walk, chunk)        a chunk; all lanes together
//   close(walk, piece)        after the rows; `piece` is the number of the only one, or NONE. True to walk again
//   postpone(v, begin, end)   a long row, called by its lane
//   wants(v)                  whether the pieces of a long row are to be walked
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

DEVICE u32 scan_in_warp(u32 x) {
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const u32 other = __shfl_up_sync(FULL, x, distance);
    if (lane_id() >= distance) x += other;
  }
  return x;
}

// The slots of a chunk: each item's slot and the lane that holds its row.
template <u32 ITEMS>
struct Chunk {
  u32 start;  // of the chunk, in the rows laid end to end
  u32 slot[ITEMS], row[ITEMS];
  bool valid[ITEMS];
};

// The rows of a warp laid end to end.
struct Walk {
  u32 offset, length;  // of this lane's row
  u32 base;            // what turns a position of this lane's row into a slot
  u32 total;
  bool alone;          // there is one row only, held by lane 0
};

template <class Row, class Visitor>
DEVICE void walk_rows(const Plan& plan, u32 rows, const Row& row, u32 at_once, u32 pieces, Visitor& visitor) {
  __shared__ u32 holders[BLOCK / 32][32];  // lanes that hold a row with slots, in order
  const u32 ITEMS = Visitor::ITEMS;
  u32* holder = holders[threadIdx.x >> 5];
  u32 first = warp_index() * at_once, piece = warp_index();
  for (;;) {
    u32 v = NONE, begin = 0, end = 0, number = NONE;
    Walk walk;
    if (first < rows) {
      if (lane_id() < at_once && first + lane_id() < rows) {
        v = row(first + lane_id());
        begin = __ldg(plan.offsets + v);
        end = __ldg(plan.offsets + v + 1);
        if (end - begin > plan.long_row) {
          visitor.postpone(v, begin, end);
          v = NONE;
          end = begin;
        }
      }
      first += warp_count() * at_once;
      walk.alone = at_once == 1;
    } else if (piece < pieces) {
      const Piece part = plan.pieces[piece];
      number = piece;
      piece += warp_count();
      if (!visitor.wants(part.row)) continue;
      if (lane_id() == 0) {
        v = part.row;
        begin = part.begin;
        end = part.end;
      }
      walk.alone = true;
    } else {
      return;
    }
    walk.length = end - begin;
    const u32 upto = scan_in_warp(walk.length);
    walk.offset = upto - walk.length;
    walk.base = begin - walk.offset;
    walk.total = __shfl_sync(FULL, upto, 31);
    const u32 filled = __ballot_sync(FULL, walk.length > 0);
    __syncwarp();
    if (walk.length > 0) holder[lanes_below(filled)] = lane_id();
    __syncwarp();
    visitor.open(v);
    do {
      u32 started = 0;  // rows that start before the item's slots
      Chunk<ITEMS> chunk;
      for (chunk.start = 0; chunk.start < walk.total; chunk.start += 32 * ITEMS) {
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
          const u32 from = chunk.start + 32 * i, at = walk.offset - from;
          const u32 starts = or_in_warp(walk.length > 0 && at < 32 ? 1u << at : 0);
          const u32 rank = started + __popc(starts & (2u << lane_id()) - 1);
          started += __popc(starts);
          chunk.valid[i] = from + lane_id() < walk.total;
          chunk.row[i] = chunk.valid[i] ? holder[rank - 1] : 0;
          chunk.slot[i] = __shfl_sync(FULL, walk.base, chunk.row[i]) + from + lane_id();
        }
        visitor.slots(walk, chunk);
      }
    } while (visitor.close(walk, number));
  }
}
