// Records of a stage, and the minimum that each component takes over its records in the order of (key, edge id).
//
// A minimum is one 64-bit word, lowered by atomicMin: an offer is the place of a record below a prefix of its (key,
// edge id), as many bits as the place leaves. Where keys and graph are small the prefix is all of it, and the
// minimum exact. Else two records of one component may have equal prefixes. Whoever comes second of the two sees
// the other's prefix, in the guard or in what its atomicMin returns, and notes the one that lost; after the barrier
// `settle_ties` offers the noted records again, by compare-and-swap in the full order. So the full minimum is found.
#pragma once
#include "plan.cuh"

// Words that the minima of few components may take.
#ifndef SPREAD
#define SPREAD 65536
#endif
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

// Minima of few components lie apart, so that all slices of the second-level cache share the load: component c of
// n has its minimum at c << spread_of(n).
DEVICE u32 spread_of(u32 components) {
  if (components >= SPREAD) return 0;
  const u32 spread = __clz(components - 1) - __clz(SPREAD - 1);
  return spread > 5 ? 5 : spread;
}

DEVICE u64 offer_of(const Plan& plan, const Record& record, u32 low, u32 place) {
#if KEY_BITS == 32
  const u64 prefix = (u64)record.high << plan.key_shift | record.id >> plan.id_shift;
#else
  const u64 prefix = (u64)record.high << plan.key_shift | (u64)low >> plan.id_shift;
#endif
  return prefix << plan.place_bits | place;
}

DEVICE u64 prefix_of(const Plan& plan, u64 offer) { return offer >> plan.place_bits; }
DEVICE u32 place_of(const Plan& plan, u64 offer) { return (u32)(offer & ((1ull << plan.place_bits) - 1)); }

// Past the capacity only the fact matters, so the contended counter is left alone. An old value of it, read relaxed,
// costs one more addition; each note has a place of its own, and is read after the next barrier.
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

// Lower the minima at both ends of some records, all accesses of a kind in flight together. The `passive` component
// takes no offers. Of two records with one prefix the loser is noted: at any time, every record offered with the
// smallest prefix is either the minimum or noted.
template <u32 N>
DEVICE void make_offers(const Plan& plan, u32 stage, u32 spread, u32 passive, const bool (&valid)[N], const Record (&records)[N],
                        const u64 (&offers)[N]) {
  u64* best = plan.best[stage & 1];
  u64 seen[2 * N];
  bool tied = false;
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++) {
    const u32 end = i & 1 ? records[i / 2].other : records[i / 2].one;
    seen[i] = 0;
    if (valid[i / 2] && end != passive) seen[i] = GUARDED ? load_relaxed(best + (end << spread)) : NO_OFFER;
  }
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++) {
    const u32 end = i & 1 ? records[i / 2].other : records[i / 2].one;
    if (seen[i] > offers[i / 2]) seen[i] = atomicMin(best + (end << spread), offers[i / 2]);
  }
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++)
    tied |= valid[i / 2] && seen[i] != NO_OFFER && prefix_of(plan, seen[i]) == prefix_of(plan, offers[i / 2]);
  if (!tied) return;
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++) {
    const u32 end = i & 1 ? records[i / 2].other : records[i / 2].one;
    if (!valid[i / 2] || end == passive || seen[i] == NO_OFFER) continue;
    if (prefix_of(plan, seen[i]) != prefix_of(plan, offers[i / 2])) continue;
    note_tie(plan, stage, end, place_of(plan, seen[i] > offers[i / 2] ? seen[i] : offers[i / 2]));
  }
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

// Put the record at `place` in front of the component's minimum if that has the same prefix and is larger. Records
// were published by the barrier before, and no offer is made meanwhile, so a minimum only moves down the full order:
// a compare-and-swap that fails has lost to a smaller record, and there are no more tries than records of a prefix.
DEVICE void settle(const Plan& plan, u32 stage, u32 spread, u32 component, u32 place) {
  const Record* records = plan.records[stage & 1];
  u64* slot = plan.best[stage & 1] + (component << spread);
  const Record record = load_record(records, place);
  const u32 low = low_of(plan, stage, place);
  const u64 offer = offer_of(plan, record, low, place);
  u64 seen = load_relaxed(slot);
  while (prefix_of(plan, seen) == prefix_of(plan, offer) && seen != offer && seen != NO_OFFER) {
    const u32 rival = place_of(plan, seen), rival_low = low_of(plan, stage, rival);
    const Record other = load_record(records, rival);
    if (other.high < record.high) break;
    if (other.high == record.high && (rival_low < low || (rival_low == low && other.id < record.id))) break;
    const u64 before = atomicCAS(slot, seen, offer);
    if (before == seen) break;
    seen = before;
  }
}

// Whole grid, between two barriers. When the notes overflowed, every record is offered again.
DEVICE void settle_ties(const Plan& plan, u32 stage, u32 spread, u32 ties) {
  if (ties <= TIE_CAPACITY) {
    for (u32 i = thread_index(); i < ties; i += thread_count())
      settle(plan, stage, spread, high_word(plan.ties[i]), low_word(plan.ties[i]));
    return;
  }
  const u32 length = plan.control->length[stage];
  for (u32 place = thread_index(); place < length; place += thread_count()) {
    const Record record = load_record(plan.records[stage & 1], place);
    if (record.one == record.other) continue;
    settle(plan, stage, spread, record.one, place);
    settle(plan, stage, spread, record.other, place);
  }
}
