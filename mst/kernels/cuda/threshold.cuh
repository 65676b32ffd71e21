// The threshold between light and heavy edges: the rank-th smallest (key, edge id) of a random sample, found by
// every block for itself, which needs no barrier of the grid. Bits are decided from the top, each by counting, in a barrier, how many sampled words lie below a candidate.
#pragma once
#include "plan.cuh"

static const u32 PER_THREAD = 8;  // samples, at most

// The rank-th smallest word among the active ones. `rank` becomes the rank among those equal to it, which stay active.
DEVICE u32 select_word(const u32 (&words)[PER_THREAD], bool (&active)[PER_THREAD], u32 samples, u32& rank) {
  u32 found = 0, smaller = 0;
  for (int bit = 31; bit >= 0; bit--) {
    const u32 candidate = found | 1u << bit;
    u32 below = 0;
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++)
      if (i * blockDim.x < samples) below += __syncthreads_count(active[i] && words[i] < candidate);
    if (below <= rank) {
      found = candidate;
      smaller = below;
    }
  }
#pragma unroll
  for (u32 i = 0; i < PER_THREAD; i++) active[i] = active[i] && words[i] == found;
  rank -= smaller;
  return found;
}

// `id_at` gives the edge id of a position. Ids are compared only where a sampled key came twice.
template <class Id>
DEVICE Threshold sample_threshold(const Plan& plan, const Id& id_at) {
  u32 at[PER_THREAD], words[PER_THREAD];
  Key keys[PER_THREAD];
  bool active[PER_THREAD];
#pragma unroll
  for (u32 i = 0; i < PER_THREAD; i++) {
    const u32 sample = i * blockDim.x + threadIdx.x;
    active[i] = sample < plan.samples;
    at[i] = __umulhi(mix(plan.seed + sample), plan.slots);
    keys[i] = active[i] ? __ldg(plan.keys + at[i]) : 0;
    words[i] = key_high(keys[i]);
  }
  u32 rank = plan.rank;
  Threshold t;
  t.key = select_word(words, active, plan.samples, rank);
#if KEY_BITS == 64
#pragma unroll
  for (u32 i = 0; i < PER_THREAD; i++) words[i] = low_word(keys[i]);
  t.key = t.key << 32 | select_word(words, active, plan.samples, rank);
#endif
  t.id = NONE;
  u32 equal = 0;
#pragma unroll
  for (u32 i = 0; i < PER_THREAD; i++)
    if (i * blockDim.x < plan.samples) equal += __syncthreads_count(active[i]);
  if (equal > 1) {
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++) words[i] = active[i] ? id_at(at[i]) : 0;
    t.id = select_word(words, active, plan.samples, rank);
  }
  return t;
}
