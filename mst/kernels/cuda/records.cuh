// Records of a stage, and the minimum that each component takes over its records in the order of (key, edge id).
//
// A minimum is one 64-bit word, (high word of the key, place of the record), lowered by atomicMin. Two records of
// one component whose high words are equal need more: the low word of a 64-bit key, then the edge id. Whoever
// comes second of the two sees the other's high word, in the guard or in what its atomicMin returns, and notes the
// one that lost; after the barrier `settle_ties` offers the noted records again, by compare-and-swap in the full
// order. So the full minimum is found. Ties are rare where weights spread, and nothing is paid for them there.
#pragma once
#include "plan.cuh"

// Read a minimum before trying to lower it.
#ifndef GUARDED
#define GUARDED 1
#endif

// A hook is the number of a component of the same stage, or, with ROOT set, of one of the next stage; with FINAL
// set too, of one that no light edge leaves. An isolated vertex keeps NONE.
static const u32 ROOT = 1u << 31;
static const u32 FINAL = 1u << 30;
static const u32 NUMBER = FINAL - 1;

DEVICE u32 low_of(const Plan& plan, u32 stage, u32 place) {
#if KEY_BITS == 32
  return 0;
#else
  return plan.low[stage & 1][place];
#endif
}

// Offer a record to a component. Returns the place of a record of equal high word that lost to another: at any
// time, every record offered with the smallest high word is either the minimum or has been returned.
DEVICE u32 offer(u64* slot, u64 value) {
#if GUARDED
  const u64 current = load_relaxed(slot);
  if (high_word(current) < high_word(value)) return NONE;
  if (high_word(current) == high_word(value) && current != NO_OFFER) return low_word(value);
#endif
  const u64 seen = atomicMin(slot, value);
  if (high_word(seen) != high_word(value) || seen == NO_OFFER) return NONE;
  return low_word(seen > value ? seen : value);
}

// Past the capacity only the fact matters, so the contended counter is left alone.
DEVICE void note_tie(const Plan& plan, u32 stage, u32 component, u32 place) {
  u32* count = plan.control->ties + stage;
  if (load_relaxed(count) > TIE_CAPACITY) return;
  const u32 at = atomicAdd(count, 1u);
  if (at < TIE_CAPACITY) plan.ties[at] = pack(component, place);
}

DEVICE void store_record(const Plan& plan, u32 stage, u32 place, const Record& record, u32 low) {
  *(uint4*)(plan.records[stage & 1] + place) = make_uint4(record.one, record.other, record.high, record.id);
#if KEY_BITS == 64
  plan.low[stage & 1][place] = low;
#endif
}

// Offer a record, already stored, at both ends.
DEVICE void offer_record(const Plan& plan, u32 stage, u32 place, const Record& record) {
  u64* best = plan.best[stage & 1];
  const u64 value = pack(record.high, place);
  const u32 lost_one = offer(best + record.one, value), lost_other = offer(best + record.other, value);
  if (lost_one != NONE) note_tie(plan, stage, record.one, lost_one);
  if (lost_other != NONE) note_tie(plan, stage, record.other, lost_other);
}

DEVICE Record load_record(const Record* records, u32 place) {
  const uint4 r = *(const uint4*)(records + place);
  Record record;
  record.one = r.x;
  record.other = r.y;
  record.high = r.z;
  record.id = r.w;
  return record;
}

// Places that a warp took and did not fill become records that join a component to itself: relabelling drops them.
DEVICE void fill_holes(const Appender& appender, Record* records) {
  for (u32 place = appender.next + lane_id(); place < appender.end; place += 32)
    *(uint4*)(records + place) = make_uint4(0, 0, 0, 0);
}

// Put the record at `place` in front of the component's equal-word record if it is smaller in the full order.
DEVICE void settle(const Plan& plan, u32 stage, u32 component, u32 place) {
  const Record* records = plan.records[stage & 1];
  u64* slot = plan.best[stage & 1] + component;
  const u32 high = records[place].high, low = low_of(plan, stage, place), id = records[place].id;
  const u64 value = pack(high, place);
  u64 seen = load_relaxed(slot);
  while (high_word(seen) == high && low_word(seen) != place) {
    const u32 rival = low_word(seen), rival_low = low_of(plan, stage, rival);
    if (rival_low < low || (rival_low == low && records[rival].id < id)) break;
    const u64 before = atomicCAS(slot, seen, value);
    if (before == seen) break;
    seen = before;
  }
}

// Whole grid, between two barriers. When the notes overflowed, every record is offered again.
DEVICE void settle_ties(const Plan& plan, u32 stage, u32 ties) {
  if (ties <= TIE_CAPACITY) {
    for (u32 i = thread_index(); i < ties; i += thread_count())
      settle(plan, stage, high_word(plan.ties[i]), low_word(plan.ties[i]));
    return;
  }
  const u32 length = plan.control->length[stage];
  for (u32 place = thread_index(); place < length; place += thread_count()) {
    const Record record = load_record(plan.records[stage & 1], place);
    if (record.one == record.other) continue;
    settle(plan, stage, record.one, place);
    settle(plan, stage, record.other, place);
  }
}
