// Appending to lists in global memory: threads take disjoint ranges of indices from one contended counter.
#pragma once
#include "base.cuh"

// Returns the index in the list for the item of each lane that `appends`, by one addition per warp. Call with all
// lanes.
DEVICE u32 append_in_warp(u32* length, bool appends) {
  const u32 votes = __ballot_sync(FULL, appends);
  u32 base = 0;
  if (lane_id() == 0 && votes) base = atomicAdd(length, (u32)__popc(votes));
  return __shfl_sync(FULL, base, 0) + lanes_below(votes);
}

// Appends the items of one warp. It reserves at least `chunk` indices at a time, so that the contended length of the
// list does not limit the speed. Reserved indices that are never used are holes of the list.
struct Appender {
  u32* length;  // length of the list, including holes
  u32 chunk, next, end;

  __device__ __forceinline__ Appender(u32* list_length, u32 indices) : length(list_length), chunk(indices), next(0), end(0) {}

  // Writes to `indices` the index in the list for each valid item of each lane. Call with all lanes.
  template <u32 N>
  __device__ __forceinline__ void append(const bool (&valid)[N], u32 (&indices)[N]) {
    u32 votes[N], wanted = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
      votes[i] = __ballot_sync(FULL, valid[i]);
      wanted += __popc(votes[i]);
    }
    const u32 left = end - next;
    u32 start = next, more = 0;
    if (wanted > left) {
      more = wanted - left;
      const u32 reserved = more > chunk ? more : chunk;
      if (lane_id() == 0) start = atomicAdd(length, reserved);
      start = __shfl_sync(FULL, start, 0);
      end = start + reserved;
    }
    u32 before = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
      const u32 k = before + lanes_below(votes[i]);
      indices[i] = k < left ? next + k : start + (k - left);
      before += __popc(votes[i]);
    }
    next = more ? start + more : next + wanted;
  }
};

// Returns the number of indices to reserve at a time for a list of about `items` items: an eighth of a warp's expected
// share, so that holes are at most about an eighth of the list. A power of two up to 256.
DEVICE u32 chunk_for(u32 items) {
  const u32 share = items / (8 * warp_count());
  return share < 2 ? 1 : share > 256 ? 256 : 1u << (31 - __clz(share));
}

struct Ranges {
  u32 a, b, c;  // first index of this thread's range in each of three lists
};

// Reserves `a`, `b` and `c` indices for this thread in three lists and raises the lists' lengths, by one addition per
// block and list. A length may be null if no thread wants an index in the list. Call with all threads of the block.
DEVICE Ranges reserve(u32 a, u32 b, u32 c, u32* length_a, u32* length_b, u32* length_c) {
  __shared__ u64 totals[32];
  __shared__ u32 bases[3];
  const u32 warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const u64 own = (u64)c << 40 | (u64)b << 20 | a;  // a block's counts stay below 2^20
  const u64 upto = scan_in_warp(own);
  __syncthreads();
  if (lane_id() == 31) totals[warp] = upto;
  __syncthreads();
  if (warp == 0) {
    const u64 total = lane_id() < warps ? totals[lane_id()] : 0;
    const u64 all = scan_in_warp(total);
    if (lane_id() < warps) totals[lane_id()] = all - total;
    const u64 sum = __shfl_sync(FULL, all, 31);
    if (lane_id() < 3) {
      const u32 wanted = (u32)(sum >> (20 * lane_id())) & 0xfffffu;
      u32* length = lane_id() == 0 ? length_a : lane_id() == 1 ? length_b : length_c;
      bases[lane_id()] = wanted ? atomicAdd(length, wanted) : 0;
    }
  }
  __syncthreads();
  const u64 before = totals[warp] + upto - own;
  Ranges ranges;
  ranges.a = bases[0] + ((u32)before & 0xfffffu);
  ranges.b = bases[1] + ((u32)(before >> 20) & 0xfffffu);
  ranges.c = bases[2] + ((u32)(before >> 40) & 0xfffffu);
  return ranges;
}
