// The last rounds in one block: records in registers, components in shared memory, barriers of one multiprocessor.
//
// A round of the whole grid costs several grid barriers and several trips to the second-level cache, however little
// is left; here it costs five block barriers. Minima are exact at once, over (key, edge id), because a record can
// tell by itself whether it is the minimum of an end.
#pragma once
#include "records.cuh"

#ifndef TAIL_COMPONENTS
#define TAIL_COMPONENTS 1024
#endif
static const u32 TAIL_ITEMS = 4;  // records per thread

struct Tail {
  u64 best[TAIL_COMPONENTS];
#if KEY_BITS == 64
  u32 best_id[TAIL_COMPONENTS];
#endif
  u32 partner[TAIL_COMPONENTS];
  u32 parent[TAIL_COMPONENTS];
  u32 emitted, finals;
};

DEVICE bool fits_tail(u32 components, u32 length) {
  return components <= TAIL_COMPONENTS && length <= TAIL_ITEMS * blockDim.x;
}

DEVICE u32 tail_root(const Tail& tail, u32 c) {
  while (tail.parent[c] != c) c = tail.parent[c];
  return c;
}

// One block. Emits the forest of the records of a stage. When they are `wanted`, components get final numbers.
DEVICE void finish_in_block(const Plan& plan, Tail& tail, u32 stage, u32 components, u32* hooks, bool wanted) {
  const u32 length = plan.control->length[stage];
  u32 one[TAIL_ITEMS], other[TAIL_ITEMS], id[TAIL_ITEMS];
  u64 value[TAIL_ITEMS];
  bool live[TAIL_ITEMS], any = false;
#pragma unroll
  for (u32 i = 0; i < TAIL_ITEMS; i++) {
    const u32 place = i * blockDim.x + threadIdx.x;
    live[i] = false;
    if (place < length) {
      const Record record = load_record(plan.records[stage & 1], place);
      one[i] = record.one;
      other[i] = record.other;
      id[i] = record.id;
#if KEY_BITS == 32
      value[i] = pack(record.high, record.id);
#else
      value[i] = pack(record.high, low_of(plan, stage, place));
#endif
      live[i] = record.one != record.other;
      any |= live[i];
    }
  }
  for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
    tail.best[c] = NO_OFFER;
    tail.partner[c] = NONE;
    tail.parent[c] = c;
#if KEY_BITS == 64
    tail.best_id[c] = NONE;
#endif
  }
  if (threadIdx.x == 0) {
    tail.emitted = plan.control->emitted;
    tail.finals = plan.control->finals;
  }
  while (__syncthreads_or(any)) {
#pragma unroll
    for (u32 i = 0; i < TAIL_ITEMS; i++) {
      if (!live[i]) continue;
      atomicMin(&tail.best[one[i]], value[i]);
      atomicMin(&tail.best[other[i]], value[i]);
    }
    __syncthreads();
#if KEY_BITS == 64
#pragma unroll
    for (u32 i = 0; i < TAIL_ITEMS; i++) {
      if (!live[i]) continue;
      if (tail.best[one[i]] == value[i]) atomicMin(&tail.best_id[one[i]], id[i]);
      if (tail.best[other[i]] == value[i]) atomicMin(&tail.best_id[other[i]], id[i]);
    }
    __syncthreads();
#endif
#pragma unroll
    for (u32 i = 0; i < TAIL_ITEMS; i++) {
      if (!live[i]) continue;
      bool first = tail.best[one[i]] == value[i], second = tail.best[other[i]] == value[i];
#if KEY_BITS == 64
      first = first && tail.best_id[one[i]] == id[i];
      second = second && tail.best_id[other[i]] == id[i];
#endif
      if (first) tail.partner[one[i]] = other[i];
      if (second) tail.partner[other[i]] = one[i];
      if (first || second) plan.forest[atomicAdd(&tail.emitted, 1u)] = id[i];
    }
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
      const u32 partner = tail.partner[c];
      if (partner != NONE && !(c < partner && tail.partner[partner] == c)) tail.parent[c] = partner;
    }
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
      tail.best[c] = NO_OFFER;
      tail.partner[c] = NONE;
#if KEY_BITS == 64
      tail.best_id[c] = NONE;
#endif
    }
    any = false;
#pragma unroll
    for (u32 i = 0; i < TAIL_ITEMS; i++) {
      if (!live[i]) continue;
      one[i] = tail_root(tail, one[i]);
      other[i] = tail_root(tail, other[i]);
      live[i] = one[i] != other[i];
      any |= live[i];
    }
  }
  if (wanted) {
    for (u32 c = threadIdx.x; c < components; c += blockDim.x)
      if (tail.parent[c] == c) tail.best[c] = atomicAdd(&tail.finals, 1u);
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x)
      hooks[c] = ROOT | FINAL | (u32)tail.best[tail_root(tail, c)];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    plan.control->emitted = tail.emitted;
    plan.control->finals = tail.finals;
  }
}
