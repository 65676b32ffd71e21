// Wait-free union-find: Anderson and Woll, "Wait-free Parallel Algorithms for the Union-Find Problem" (STOC '91), as
// used in Shou and He's Listing 4 and by Bhargava and Zaia. An element of `sets` is one 64-bit word, with the rank in
// the high half and the parent in the low half, so one compare-and-swap checks that a root is still a root of the same
// rank.
//
// COMPRESSION: 1 if finds shorten paths by path splitting.
//
// Ordering: a root is linked below a root of larger (rank, number), and this pair only grows towards the root, so no
// cycle arises. A union retries until its compare-and-swap meets the word that it read. It bypasses the first-level
// cache, so a stale word cannot make it retry forever. While no union runs, `find` may use this cache: a launch starts
// with it empty, and shortened paths lead to the same root.
#pragma once
#include "base.cuh"

#ifndef COMPRESSION
#define COMPRESSION 0
#endif

// Returns the element of a vertex that is a set by itself.
DEVICE u64 singleton(u32 x) { return pack(0, x); }

DEVICE u32 parent_cached(const u64* sets, u32 x) { return load_cached((const u32*)(sets + x)); }

// Returns the root of x. Call it while no union runs; other threads may call `find` at the same time.
DEVICE u32 find(u64* sets, u32 x) {
  u32 parent = parent_cached(sets, x);
  while (parent != x) {
    const u32 grandparent = parent_cached(sets, parent);
#if COMPRESSION
    if (grandparent != parent) {
      const u64 element = load_relaxed(sets + x);
      if (low_word(element) == parent) atomicCAS(sets + x, element, pack(high_word(element), grandparent));
    }
#endif
    x = parent;
    parent = grandparent;
  }
  return x;
}

// Returns an element that was the root of x at some moment during the call; other threads may be uniting sets.
DEVICE u32 find_during_unions(u64* sets, u32 x) {
  u64 element = load_relaxed(sets + x);
  while (low_word(element) != x) {
    const u32 parent = low_word(element);
    const u64 above = load_relaxed(sets + parent);
#if COMPRESSION
    const u64 shortened = pack(high_word(element), low_word(above));
    if (shortened != element) atomicCAS(sets + x, element, shortened);
#endif
    x = parent;
    element = above;
  }
  return x;
}

// Unites the sets of a and b if they differ, by linking the root of smaller (rank, number) below the other.
DEVICE void unite_sets(u64* sets, u32 a, u32 b) {
  for (;;) {
    a = find_during_unions(sets, a);
    b = find_during_unions(sets, b);
    if (a == b) return;
    const u64 of_a = load_relaxed(sets + a), of_b = load_relaxed(sets + b);
    const bool a_below = pack(high_word(of_a), a) < pack(high_word(of_b), b);
    const u32 low = a_below ? a : b, high = a_below ? b : a;
    const u32 low_rank = high_word(a_below ? of_a : of_b), high_rank = high_word(a_below ? of_b : of_a);
    if (atomicCAS(sets + low, pack(low_rank, low), pack(low_rank, high)) != pack(low_rank, low)) continue;
    if (low_rank == high_rank) atomicCAS(sets + high, pack(high_rank, high), pack(high_rank + 1, high));
    return;
  }
}
