// The last rounds in one block: components in shared memory, barriers of one multiprocessor.
//
// A round of the whole grid costs several grid barriers and several trips to the second-level cache, however little
// is left. Here a record is always handled by the same thread, which can tell by itself whether it is the minimum of
// an end; so minima are exact at once, over (key, edge id), and records need no places.
#pragma once
#include "records.cuh"

#ifndef TAIL_COMPONENTS
#define TAIL_COMPONENTS 2048
#endif
#ifndef TAIL_RECORDS
#define TAIL_RECORDS 8192
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
  return components <= TAIL_COMPONENTS && length <= TAIL_RECORDS;
}

DEVICE u32 tail_root(const Tail& tail, u32 c) {
  while (tail.parent[c] != c) c = tail.parent[c];
  return c;
}

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

// One block. Emits the forest of the records of a stage. When they are `wanted`, components get final numbers.
DEVICE void finish_in_block(const Plan& plan, Tail& tail, u32 stage, u32 components, u32* hooks, bool wanted) {
  Record* records = plan.records[stage & 1];
  const u32 length = plan.control->length[stage];
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
    for (u32 place = threadIdx.x; place < length; place += blockDim.x) {
      Record record = load_record(records, place);
      if (record.one == record.other) continue;
      record.one = tail_root(tail, record.one);
      record.other = tail_root(tail, record.other);
      store_record(plan, stage, place, record, low_of(plan, stage, place));
      if (record.one == record.other) continue;
      any = true;
      const u64 value = tail_value(plan, stage, place, record);
      lower_in_block(&tail.best[record.one], value);
      lower_in_block(&tail.best[record.other], value);
    }
    if (!__syncthreads_or(any)) break;
#if KEY_BITS == 64
    for (u32 place = threadIdx.x; place < length; place += blockDim.x) {
      const Record record = load_record(records, place);
      if (record.one == record.other) continue;
      const u64 value = tail_value(plan, stage, place, record);
      if (tail.best[record.one] == value) atomicMin(&tail.best_id[record.one], record.id);
      if (tail.best[record.other] == value) atomicMin(&tail.best_id[record.other], record.id);
    }
    __syncthreads();
#endif
    for (u32 place = threadIdx.x; place < length; place += blockDim.x) {
      const Record record = load_record(records, place);
      if (record.one == record.other) continue;
      const u64 value = tail_value(plan, stage, place, record);
      const bool first = is_tail_minimum(tail, record.one, value, record.id);
      const bool second = is_tail_minimum(tail, record.other, value, record.id);
      if (first) tail.partner[record.one] = record.other;
      if (second) tail.partner[record.other] = record.one;
      if (first || second) plan.forest[atomicAdd(&tail.emitted, 1u)] = record.id;
    }
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
      const u32 partner = tail.partner[c];
      if (partner != NONE && !(c < partner && tail.partner[partner] == c)) tail.parent[c] = partner;
    }
    __syncthreads();
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
