// Exclusive prefix sums in three steps: each block scans a tile and notes its sum, somebody scans the sums (one block
// here, or the host), and each block adds what lies before its tile.
#pragma once
#include "base.cuh"

static const u32 SCAN_ITEMS = 4;  // per thread

// Exclusive sum over the block's threads; `total` becomes the block's sum. Call with all threads.
DEVICE u32 scan_in_block(u32 x, u32& total) {
  __shared__ u32 sums[32];
  const u32 upto = scan_in_warp(x);
  const u32 warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  __syncthreads();
  if (lane_id() == 31) sums[warp] = upto;
  __syncthreads();
  if (warp == 0) {
    const u32 mine = lane_id() < warps ? sums[lane_id()] : 0;
    const u32 all = scan_in_warp(mine);
    if (lane_id() < warps) sums[lane_id()] = all;
  }
  __syncthreads();
  total = sums[warps - 1];
  return (warp ? sums[warp - 1] : 0) + upto - x;
}

DEVICE void scan_tile(u32* values, u32* sums, u32 length) {
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
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// By one block; the sum of all goes behind the last.
DEVICE void scan_sums_of(u32* sums, u32 tiles) {
  u32 before = 0;
  for (u32 first = 0; first < tiles; first += blockDim.x) {
    const u32 i = first + threadIdx.x;
    const u32 own = i < tiles ? sums[i] : 0;
    u32 total;
    const u32 sum = scan_in_block(own, total);
    if (i < tiles) sums[i] = before + sum;
    before += total;
  }
  if (threadIdx.x == 0) sums[tiles] = before;
}

DEVICE void add_before(u32* values, const u32* sums, u32 length) {
  const u32 first = thread_index() * SCAN_ITEMS;
#pragma unroll
  for (u32 i = 0; i < SCAN_ITEMS; i++)
    if (first + i < length) values[first + i] += sums[blockIdx.x];
}
