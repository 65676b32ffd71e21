// Types, memory operations and warp primitives for all kernels in this folder. Includes no system header, so that the
// sources compile under NVRTC alone.
//
// Memory ordering in all kernels
// ------------------------------
// Kernels are sequences of phases. Within a phase, threads of different blocks communicate only through
// (a) atomic read-modify-writes whose order does not matter: a minimum, an addition that reserves disjoint ranges, or a
//     hook, since every order of hooks makes the same sets; and
// (b) single words of 32 or 64 bits for which an old value is as good as a new one: a parent or label that leads to the
//     same root, or a minimum that only falls. They are read and written by relaxed operations, or read through the
//     first-level cache where a file explains why outdated values do no harm.
// All other communication between threads is separated by `GridBarrier::sync` or by the end of a kernel.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef KEY_BITS
#define KEY_BITS 32
#endif
#if KEY_BITS == 32
typedef u32 Key;
#else
typedef u64 Key;
#endif

#define FULL 0xffffffffu  // all 32 lanes of a warp
#define DEVICE static __device__ __forceinline__

// Stands for no index, no edge id and no vertex.
static const u32 NONE = 0xffffffffu;
// Stands for no candidate for a minimum; larger than every candidate.
static const u64 NO_CANDIDATE = ~0ull;

#ifndef EMULATED
DEVICE u32 load_acquire(const u32* p) {
  u32 x;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
DEVICE u32 load_relaxed(const u32* p) {
  u32 x;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
DEVICE u64 load_relaxed(const u64* p) {
  u64 x;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
  return x;
}
// Loads a word, which other threads may be changing, through the first-level cache; the value may be outdated.
DEVICE u32 load_cached(const u32* p) {
  u32 x;
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
DEVICE void store_relaxed(u32* p, u32 x) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(x) : "memory");
}
#endif

// Indices of a lane in its warp and of a warp or thread in the grid, and the numbers of warps and threads of the grid.
// Blocks are one-dimensional and consist of whole warps.
DEVICE u32 lane_id() { return threadIdx.x & 31; }
DEVICE u32 warp_index() { return (blockIdx.x * blockDim.x + threadIdx.x) >> 5; }
DEVICE u32 warp_count() { return (gridDim.x * blockDim.x) >> 5; }
DEVICE u32 thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE u32 thread_count() { return gridDim.x * blockDim.x; }
// Returns the number of lanes below this one whose bit is set in `votes`.
DEVICE u32 lanes_below(u32 votes) { return __popc(votes & ((1u << lane_id()) - 1)); }

// High and low words of 64-bit numbers and of keys; the high word of a 32-bit key is the key.
DEVICE u32 high_word(u64 x) { return (u32)(x >> 32); }
DEVICE u32 low_word(u64 x) { return (u32)x; }
DEVICE u32 key_high(Key key) {
#if KEY_BITS == 32
  return key;
#else
  return high_word(key);
#endif
}
DEVICE u64 pack(u32 high, u32 low) { return (u64)high << 32 | low; }

// Loads input that is read once per pass, by a streaming load that should not evict labels from the second-level cache.
template <class T>
DEVICE T stream(const T* p) {
  return __ldcs(p);
}

// Returns the inclusive prefix sum of x over the lanes of a warp. Call with all lanes.
template <class T>
DEVICE T scan_in_warp(T x) {
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const T other = __shfl_up_sync(FULL, x, distance);
    if (lane_id() >= distance) x += other;
  }
  return x;
}
