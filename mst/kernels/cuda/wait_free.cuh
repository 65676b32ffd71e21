// Wait-free union-find: Anderson and Woll, "Wait-free Parallel Algorithms for the Union-Find Problem" (STOC '91), as
// Shou-He's Listing 4 and Bhargava-Zaia use it. A record is (rank, parent) in one 64-bit word, so that one
// compare-and-swap checks that a root is still one of that rank.
//
// COMPRESSION: split paths during find.
//
// Ordering: a set hooks below one of larger (rank, number), and that pair only grows towards the root, so no cycle
// arises. A join retries until its compare-and-swap meets the record that it read; it reads past the first-level
// cache, so a stale record cannot make it retry for ever. Where no join runs at the same time, `find` may use that
// cache: a launch starts with it empty, and shortened paths lead to the same root.
#pragma once
#include "base.cuh"

#ifndef COMPRESSION
#define COMPRESSION 0
#endif

DEVICE u64 new_set(u32 x) { return pack(0, x); }

DEVICE u32 parent_cached(const u64* sets, u32 x) { return load_cached((const u32*)(sets + x)); }

// Root of x while no join runs.
DEVICE u32 find(u64* sets, u32 x) {
  u32 next = parent_cached(sets, x);
  while (next != x) {
    const u32 after = parent_cached(sets, next);
#if COMPRESSION
    if (after != next) {
      const u64 record = load_relaxed(sets + x);
      if (low_word(record) == next) atomicCAS(sets + x, record, pack(high_word(record), after));
    }
#endif
    x = next;
    next = after;
  }
  return x;
}

// Root of x while others join.
DEVICE u32 find_fresh(u64* sets, u32 x) {
  u64 record = load_relaxed(sets + x);
  while (low_word(record) != x) {
    const u32 next = low_word(record);
    const u64 above = load_relaxed(sets + next);
#if COMPRESSION
    const u64 shortened = pack(high_word(record), low_word(above));
    if (shortened != record) atomicCAS(sets + x, record, shortened);
#endif
    x = next;
    record = above;
  }
  return x;
}

DEVICE void join(u64* sets, u32 a, u32 b) {
  for (;;) {
    a = find_fresh(sets, a);
    b = find_fresh(sets, b);
    if (a == b) return;
    const u64 one = load_relaxed(sets + a), other = load_relaxed(sets + b);
    const bool a_below = pack(high_word(one), a) < pack(high_word(other), b);
    const u32 low = a_below ? a : b, high = a_below ? b : a;
    const u32 low_rank = high_word(a_below ? one : other), high_rank = high_word(a_below ? other : one);
    if (atomicCAS(sets + low, pack(low_rank, low), pack(low_rank, high)) != pack(low_rank, low)) continue;
    if (low_rank == high_rank) atomicCAS(sets + high, pack(high_rank, high), pack(high_rank + 1, high));
    return;
  }
}
