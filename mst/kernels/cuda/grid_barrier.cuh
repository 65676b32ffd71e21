// A barrier for all threads of a cooperative launch.
//
// Ordering: `GridBarrier::sync` publishes all earlier writes. bar.sync makes the block's writes happen before thread
// 0's fence; the fence is cumulative, so the increment after it releases the writes of the whole block. Thread 0 of
// every block then reads the counter with acquire until all blocks have arrived, and bar.sync makes the acquired writes
// visible to its block. The increments of all blocks add up to 2^31: the counter's top bit flips exactly when the last
// block arrives, and its other bits are zero again, so it needs no reset between barriers or launches. The bit cannot
// flip back while a block still waits for it, because the next flip needs that block's arrival.
//
// Progress: kernels that call `sync` are launched cooperatively; such a launch fails if not all blocks can be resident.
// Every thread reaches every barrier, because phases have no early exit, and the bounds of loops around a barrier are
// equal in all threads: they come from kernel arguments or from words that an earlier barrier published. No thread
// waits for another block anywhere else.
#pragma once
#include "base.cuh"

// Phases of filter-Borůvka; the instrumented build (TIMED) records when they end. filter_boruvka.py names them.
enum Phase {
  THRESHOLD,
  ROW_MINIMA,
  COMBINE_PIECES,
  HOOK_VERTICES,
  COMPRESS_VERTICES,
  EXTRACT,
  RESOLVE_TIES,
  HOOK_COMPONENTS,
  COMPRESS_COMPONENTS,
  RELABEL,
  FINISH_IN_BLOCK,
  LIGHT_COMPONENTS,
  MARK_OUTSIDE,
  END
};

struct GridBarrier {
  u32* arrivals;  // one word, zero before the first launch
#if TIMED
  u64* notes;  // (phase << 56 | clock) for each end of a phase

  __device__ __forceinline__ GridBarrier(u32* counter, u64* clock_notes) : arrivals(counter), notes(clock_notes) {
    note(END);
  }

  __device__ __forceinline__ void note(Phase phase) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *notes++ = (u64)phase << 56 | (clock64() & ~0ull >> 8);
  }
#else
  __device__ __forceinline__ GridBarrier(u32* counter, u64*) : arrivals(counter) {}

  __device__ __forceinline__ void note(Phase) {}
#endif

  // Ends `phase`: waits for all threads of the grid.
  __device__ __forceinline__ void sync(Phase phase) {
    __syncthreads();
    if (gridDim.x > 1 && threadIdx.x == 0) {
      const u32 increment = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
      __threadfence();
      const u32 before = atomicAdd(arrivals, increment);
      while (((load_acquire(arrivals) ^ before) & 0x80000000u) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    note(phase);
  }
};
