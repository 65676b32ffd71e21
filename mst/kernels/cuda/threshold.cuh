// The threshold between two phases of filter-Borůvka: the rank-th smallest (key, edge id) of a random sample. Every
// block finds it by itself, which saves a barrier of the grid, by radix selection: from the top byte down, a histogram
// over the samples that share the bytes found so far gives the next byte.
#pragma once
#include "filter_boruvka.cuh"

static const u32 SAMPLES_PER_THREAD = 8;  // at most

// Returns a pseudo-random number for a 32-bit counter, so that positions of samples need no table and no state.
DEVICE u32 hash32(u32 x) {
  x = (x ^ (x >> 16)) * 0x45d9f3bu;
  x = (x ^ (x >> 16)) * 0x45d9f3bu;
  return x ^ (x >> 16);
}

// The state of `select_word`, in shared memory.
struct Histogram {
  u32 bins[256];           // the number of active samples with each digit
  u32 digit, rank, equal;  // the selected digit; the wanted rank among the samples with this digit; their number
};

// Adds 1 to the bin of each active lane's digit: by a single addition if all digits are equal, as leading digits often
// are. Call with all lanes.
DEVICE void count_digit(u32* bins, u32 digit, bool active) {
  const u32 votes = __ballot_sync(FULL, active);
  if (votes == 0) return;
  const u32 first = __shfl_sync(FULL, digit, __ffs(votes) - 1);
  if (__ballot_sync(FULL, active && digit == first) == votes) {
    if (lane_id() == 0) atomicAdd(bins + first, (u32)__popc(votes));
  } else if (active) {
    atomicAdd(bins + digit, 1u);
  }
}

// Selects the rank-th smallest (from 0 on) of the active words of all threads of the block; words[i] is sample
// i * blockDim.x + threadIdx.x. `word` becomes the selected word; only samples equal to it stay active, `rank` becomes
// the rank among them, and their number is returned. Call with all threads of the block.
DEVICE u32 select_word(Histogram& h, const u32 (&words)[SAMPLES_PER_THREAD], bool (&active)[SAMPLES_PER_THREAD],
                       u32 samples, u32& rank, u32& word) {
  word = 0;
#pragma unroll 1
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) h.bins[i] = 0;
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < SAMPLES_PER_THREAD; i++)
      if (i * blockDim.x < samples) count_digit(h.bins, words[i] >> shift & 255, active[i]);
    __syncthreads();
    if (threadIdx.x < 32) {
      u32 own[8], sum = 0;
#pragma unroll
      for (u32 i = 0; i < 8; i++) sum += own[i] = h.bins[8 * lane_id() + i];
      u32 below = scan_in_warp(sum) - sum;
#pragma unroll
      for (u32 i = 0; i < 8; i++) {
        if (below <= rank && rank < below + own[i]) {
          h.digit = 8 * lane_id() + i;
          h.rank = rank - below;
          h.equal = own[i];
        }
        below += own[i];
      }
    }
    __syncthreads();
    rank = h.rank;
    word |= h.digit << shift;
#pragma unroll
    for (u32 i = 0; i < SAMPLES_PER_THREAD; i++) active[i] = active[i] && (words[i] >> shift & 255) == h.digit;
  }
  return h.equal;
}

// Returns the sample of the given rank, the same in every block. Every call draws the same samples, with replacement.
// Ids are compared only if the selected key was sampled more than once. Call with all threads of the block.
DEVICE Threshold sample_threshold(const FilterBoruvka& g, u32 rank, Histogram& h) {
  u32 at[SAMPLES_PER_THREAD], words[SAMPLES_PER_THREAD];
  Key keys[SAMPLES_PER_THREAD];
  bool active[SAMPLES_PER_THREAD];
#pragma unroll
  for (u32 i = 0; i < SAMPLES_PER_THREAD; i++) {
    const u32 sample = i * blockDim.x + threadIdx.x;
    active[i] = sample < g.samples;
    at[i] = __umulhi(hash32(g.seed + sample), g.m);
    keys[i] = active[i] ? __ldg(g.edge_keys + at[i]) : 0;
    words[i] = key_high(keys[i]);
  }
  u32 word;
  u32 equal = select_word(h, words, active, g.samples, rank, word);
  Threshold t = {word, NONE};
#if KEY_BITS == 64
#pragma unroll
  for (u32 i = 0; i < SAMPLES_PER_THREAD; i++) words[i] = low_word(keys[i]);
  equal = select_word(h, words, active, g.samples, rank, word);
  t.key = t.key << 32 | word;
#endif
  if (equal > 1) select_word(h, at, active, g.samples, rank, t.id);
  return t;
}
