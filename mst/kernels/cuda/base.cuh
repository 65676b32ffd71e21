// Words, warp and grid primitives that every kernel here leans on. No system header is included, so that the
// sources compile under NVRTC alone.
//
// Memory ordering, once for all kernels
// -------------------------------------
// Kernels are sequences of phases. Within a phase, threads of different blocks communicate only through
// (a) atomic read-modify-writes whose order does not matter (a minimum, an addition that hands out disjoint places, a
//     hook: every order makes the same sets), and
// (b) single words of 32 or 64 bits of which every value, old or new, is right: a parent or a label that leads to
//     the same root, a minimum that only falls. They are read and written with relaxed operations, or through the
//     first-level cache where a file says why an old value will do.
// Everything else that one thread writes and another reads is separated by `Grid::sync` or by a kernel's end.
//
// `Grid::sync` publishes: bar.sync makes the block's writes happen before thread 0's fence, and that fence is
// cumulative, so the increment that follows it releases the writes of the whole block. Thread 0 of every block
// then reads the counter with acquire until all blocks have arrived, and bar.sync hands what it acquired to its
// block. The shares of all blocks add up to 2^31, so the top bit of the counter flips exactly when the last block
// arrives, and the rest of it is zero again: the counter needs no reset between barriers or launches. The bit cannot
// flip back while a block still waits for it, because the next flip needs that block's own arrival.
//
// Forward progress: kernels that call `Grid::sync` are launched cooperatively, which fails instead of starting
// fewer blocks than asked for; so all blocks are resident and each barrier is reached by every thread, because
// phases have no early exit and loop bounds that surround a barrier are equal in all threads (they come from
// kernel arguments or from words that were published by an earlier barrier). Nothing else spins on another block.
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

#define FULL 0xffffffffu
#define DEVICE static __device__ __forceinline__

static const u32 NONE = 0xffffffffu;
static const u64 NO_OFFER = ~0ull;

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
// A word that others may be changing, from whatever cache: an older value must do.
DEVICE u32 load_cached(const u32* p) {
  u32 x;
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
DEVICE void store_relaxed(u32* p, u32 x) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(x) : "memory");
}
#endif

DEVICE u32 lane_id() { return threadIdx.x & 31; }
DEVICE u32 warp_index() { return (blockIdx.x * blockDim.x + threadIdx.x) >> 5; }
DEVICE u32 warp_count() { return (gridDim.x * blockDim.x) >> 5; }
DEVICE u32 thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE u32 thread_count() { return gridDim.x * blockDim.x; }
DEVICE u32 lanes_below(u32 votes) { return __popc(votes & ((1u << lane_id()) - 1)); }

// High and low words. A 32-bit key has no low word.
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

// Streaming loads of input that is read once per pass: they should not push labels out of the second-level cache.
template <class T>
DEVICE T stream(const T* p) {
  return __ldcs(p);
}

// What a barrier ends, for the instrumented build (TIMED), which notes when.
enum Phase { THRESHOLD, NEAREST, JOIN, HOOK_VERTICES, FOLLOW_VERTICES, EXTRACT, SETTLE, HOOK, FOLLOW, RELABEL, TAIL, COMPOSE, OUTSIDE, END };

// A barrier for all threads of a cooperative grid; the argument is above.
struct Grid {
  u32* arrivals;
#if TIMED
  u64* times;
#endif

#if TIMED
  __device__ __forceinline__ Grid(u32* counter, u64* notes) : arrivals(counter), times(notes) { note(END); }

  __device__ __forceinline__ void note(Phase phase) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *times++ = (u64)phase << 56 | (clock64() & ~0ull >> 8);
  }
#else
  __device__ __forceinline__ Grid(u32* counter, u64*) : arrivals(counter) {}

  __device__ __forceinline__ void note(Phase) {}
#endif

  __device__ __forceinline__ void sync(Phase phase) {
    __syncthreads();
    if (gridDim.x > 1 && threadIdx.x == 0) {
      const u32 share = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
      __threadfence();
      const u32 before = atomicAdd(arrivals, share);
      while (((load_acquire(arrivals) ^ before) & 0x80000000u) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    note(phase);
  }
};

// One of the few mixing functions that a 32-bit counter needs to become a sample position.
DEVICE u32 mix(u32 x) {
  x = (x ^ (x >> 16)) * 0x45d9f3bu;
  x = (x ^ (x >> 16)) * 0x45d9f3bu;
  return x ^ (x >> 16);
}

// Hands out places in a global list to whole warps: `chunk` places are taken from the tail at once, so that its one
// contended counter is not the limit. Call `place` with all lanes together.
struct Appender {
  u32* tail;
  u32 chunk, next, end;

  __device__ __forceinline__ Appender(u32* counter, u32 places) : tail(counter), chunk(places), next(0), end(0) {}

  // Places for the valid items of all lanes.
  template <u32 N>
  __device__ __forceinline__ void place(const bool (&valid)[N], u32 (&places)[N]) {
    u32 votes[N], wanted = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
      votes[i] = __ballot_sync(FULL, valid[i]);
      wanted += __popc(votes[i]);
    }
    const u32 room = end - next;
    u32 start = next, more = 0;
    if (wanted > room) {
      more = wanted - room;
      const u32 taken = more > chunk ? more : chunk;
      if (lane_id() == 0) start = atomicAdd(tail, taken);
      start = __shfl_sync(FULL, start, 0);
      end = start + taken;
    }
    u32 before = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) {
      const u32 k = before + lanes_below(votes[i]);
      places[i] = k < room ? next + k : start + (k - room);
      before += __popc(votes[i]);
    }
    next = more ? start + more : next + wanted;
  }
};

// Places per grab: a warp's expected share of `records` / 8, so that at most about an eighth of the list is holes.
DEVICE u32 chunk_for(u32 records) {
  const u32 share = records / (8 * warp_count());
  return share < 2 ? 1 : share > 256 ? 256 : 1u << (31 - __clz(share));
}

template <class T>
DEVICE T scan_in_warp(T x) {
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const T other = __shfl_up_sync(FULL, x, distance);
    if (lane_id() >= distance) x += other;
  }
  return x;
}

// Three counts per thread become three disjoint ranges of places: one addition per block and counter.
struct Places {
  u32 a, b, c;
};

DEVICE Places reserve(u32 a, u32 b, u32 c, u32* tail_a, u32* tail_b, u32* tail_c) {
  __shared__ u64 totals[32];
  __shared__ u32 bases[3];
  const u32 warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const u64 own = (u64)c << 40 | (u64)b << 20 | a;  // a block's counts stay below 2^20
  const u64 upto = scan_in_warp(own);
  __syncthreads();
  if (lane_id() == 31) totals[warp] = upto;
  __syncthreads();
  if (warp == 0) {
    const u64 mine = lane_id() < warps ? totals[lane_id()] : 0;
    const u64 all = scan_in_warp(mine);
    if (lane_id() < warps) totals[lane_id()] = all - mine;
    const u64 sum = __shfl_sync(FULL, all, 31);
    if (lane_id() < 3) {
      const u32 taken = (u32)(sum >> (20 * lane_id())) & 0xfffffu;
      u32* tail = lane_id() == 0 ? tail_a : lane_id() == 1 ? tail_b : tail_c;
      bases[lane_id()] = taken ? atomicAdd(tail, taken) : 0;
    }
  }
  __syncthreads();
  const u64 before = totals[warp] + upto - own;
  Places places;
  places.a = bases[0] + ((u32)before & 0xfffffu);
  places.b = bases[1] + ((u32)(before >> 20) & 0xfffffu);
  places.c = bases[2] + ((u32)(before >> 40) & 0xfffffu);
  return places;
}
