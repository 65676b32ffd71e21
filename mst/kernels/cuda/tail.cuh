// The last rounds in one block: components in shared memory, records in registers, barriers of one multiprocessor.
//
// A round of the whole grid costs several grid barriers and several trips to the second-level cache, however little
// is left. Here a record stays with one thread, which can tell by itself whether it is the minimum of an end; so
// minima are exact at once, over (key, edge id), and records need no places.
#pragma once
#include "records.cuh"

#ifndef TAIL_COMPONENTS
#define TAIL_COMPONENTS 1024
#endif
// Records per thread.
#ifndef TAIL_ITEMS
#define TAIL_ITEMS 4
#endif

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
  u32 next = tail.parent[c];
  while (next != c) {
    c = next;
    next = tail.parent[c];
  }
  return c;
}

// The guard may read an older, larger minimum, and then the atomic decides.
DEVICE void lower_in_block(u64* slot, u64 value) {
  if (*(volatile u64*)slot > value) atomicMin(slot, value);
}

// The key of a record and, if that is a word, its id.
DEVICE u64 tail_value(const Plan& plan, u32 stage, u32 place, const Record& record) {
#if KEY_BITS == 32
  return pack(record.high, record.id);
#else
  return pack(record.high, low_of(plan, stage, place));
#endif
}

DEVICE bool is_tail_minimum(const Tail& tail, u32 c, u64 value, u32 id) {
#if KEY_BITS == 32
  return tail.best[c] == value;
#else
  return tail.best[c] == value && tail.best_id[c] == id;
#endif
}

// One block, so that barriers of the block are all that orders it: between two of them a word of the shared arrays is
// either lowered atomically, or written by the one thread that owns its component and read by that thread alone, or
// only read. `partner` is written by the record that holds the minimum of a component, and there is one. What the
// block reads of the grid was published by the last grid barrier, and the next one publishes what it writes.
//
// Emits the forest of the records of a stage. When they are `wanted`, components get final numbers.
DEVICE void finish_in_block(const Plan& plan, Tail& tail, u32 stage, u32 components, u32* hooks, bool wanted) {
  const u32 length = plan.control->length[stage];
  u32 ends[TAIL_ITEMS];  // two halves; a record whose ends are equal is dead
  u64 value[TAIL_ITEMS];
#if KEY_BITS == 64
  u32 id[TAIL_ITEMS];
#endif
#pragma unroll
  for (u32 i = 0; i < TAIL_ITEMS; i++) {
    const u32 place = i * blockDim.x + threadIdx.x;
    ends[i] = 0;
    if (place >= length) continue;
    const Record record = load_record(plan.records[stage & 1], place);
    if (record.one == record.other) continue;  // a hole, whose low word nobody wrote
    ends[i] = record.one << 16 | record.other;
#if KEY_BITS == 64
    id[i] = record.id;
#endif
    value[i] = tail_value(plan, stage, place, record);
  }
  for (u32 c = threadIdx.x; c < components; c += blockDim.x) tail.parent[c] = c;
  if (threadIdx.x == 0) {
    tail.emitted = plan.control->emitted;
    tail.finals = plan.control->finals;
  }
  for (;;) {
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
      tail.best[c] = NO_OFFER;
      tail.partner[c] = NONE;
#if KEY_BITS == 64
      tail.best_id[c] = NONE;
#endif
    }
    __syncthreads();
    bool any = false;
#pragma unroll
    for (u32 i = 0; i < TAIL_ITEMS; i++) {
      u32 one = ends[i] >> 16, other = ends[i] & 0xffff;
      if (one == other) continue;
      one = tail_root(tail, one);
      other = tail_root(tail, other);
      ends[i] = one << 16 | other;
      if (one == other) continue;
      any = true;
      lower_in_block(&tail.best[one], value[i]);
      lower_in_block(&tail.best[other], value[i]);
    }
    if (!__syncthreads_or(any)) break;
#if KEY_BITS == 64
#pragma unroll
    for (u32 i = 0; i < TAIL_ITEMS; i++) {
      const u32 one = ends[i] >> 16, other = ends[i] & 0xffff;
      if (one == other) continue;
      if (tail.best[one] == value[i]) atomicMin(&tail.best_id[one], id[i]);
      if (tail.best[other] == value[i]) atomicMin(&tail.best_id[other], id[i]);
    }
    __syncthreads();
#endif
#pragma unroll
    for (u32 i = 0; i < TAIL_ITEMS; i++) {
      const u32 one = ends[i] >> 16, other = ends[i] & 0xffff;
      if (one == other) continue;
#if KEY_BITS == 32
      const u32 edge = low_word(value[i]);
#else
      const u32 edge = id[i];
#endif
      const bool first = is_tail_minimum(tail, one, value[i], edge);
      const bool second = is_tail_minimum(tail, other, value[i], edge);
      if (first) tail.partner[one] = other;
      if (second) tail.partner[other] = one;
      if (first || second) plan.forest[atomicAdd(&tail.emitted, 1u)] = edge;
    }
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
      const u32 partner = tail.partner[c];
      if (partner != NONE && !(c < partner && tail.partner[partner] == c)) tail.parent[c] = partner;
    }
    __syncthreads();
    // Paths are shortened once a round. Roots wait in `partner`, so that no parent changes while it is followed.
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) tail.partner[c] = tail_root(tail, c);
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) tail.parent[c] = tail.partner[c];
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
