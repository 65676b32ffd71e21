// Exclusive prefix sums in three steps: each block scans a tile and stores the tile's sum; one block, or the host,
// scans the tiles' sums; each block adds to its tile the sum of all earlier tiles. Each step is a launch of its own.
//
// The first and third step are launched with one block per tile, of SCAN_ITEMS * blockDim.x elements.
#pragma once
#include "base.cuh"

static const u32 SCAN_ITEMS = 4;  // elements per thread

// Returns the sum of `x` over the block's threads before this one; `total` becomes the sum over all its threads. Call
// with all threads of the block.
DEVICE u32 scan_in_block(u32 x, u32& total) {
  __shared__ u32 sums[32];
  const u32 upto = scan_in_warp(x);
  const u32 warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  __syncthreads();
  if (lane_id() == 31) sums[warp] = upto;
  __syncthreads();
  if (warp == 0) {
    const u32 own = lane_id() < warps ? sums[lane_id()] : 0;
    const u32 all = scan_in_warp(own);
    if (lane_id() < warps) sums[lane_id()] = all;
  }
  __syncthreads();
  total = sums[warps - 1];
  return (warp ? sums[warp - 1] : 0) + upto - x;
}

// First step: replaces values[0 … length) by their exclusive sums within their tile; tile_sums[tile] becomes the tile's
// sum.
DEVICE void scan_tile(u32* values, u32* tile_sums, u32 length) {
  const u32 first = thread_index() * SCAN_ITEMS;
  u32 own[SCAN_ITEMS], sum = 0, total;
#pragma unroll
  for (u32 i = 0; i < SCAN_ITEMS; i++) {
    own[i] = first + i < length ? values[first + i] : 0;
    sum += own[i];
  }
  u32 before = scan_in_block(sum, total);
#pragma unroll
  for (u32 i = 0; i < SCAN_ITEMS; i++) {
    if (first + i < length) values[first + i] = before;
    before += own[i];
  }
  if (threadIdx.x == 0) tile_sums[blockIdx.x] = total;
}

// Second step, by one block: replaces tile_sums[0 … tiles) by its exclusive sums; tile_sums[tiles] becomes the total.
DEVICE void scan_tile_sums(u32* tile_sums, u32 tiles) {
  u32 before = 0;
  for (u32 first = 0; first < tiles; first += blockDim.x) {
    const u32 i = first + threadIdx.x;
    const u32 own = i < tiles ? tile_sums[i] : 0;
    u32 total;
    const u32 sum = scan_in_block(own, total);
    if (i < tiles) tile_sums[i] = before + sum;
    before += total;
  }
  if (threadIdx.x == 0) tile_sums[tiles] = before;
}

// Third step: turns values[0 … length) into exclusive sums over all tiles.
DEVICE void add_tile_sum(u32* values, const u32* tile_sums, u32 length) {
  const u32 first = thread_index() * SCAN_ITEMS;
#pragma unroll
  for (u32 i = 0; i < SCAN_ITEMS; i++)
    if (first + i < length) values[first + i] += tile_sums[blockIdx.x];
}
