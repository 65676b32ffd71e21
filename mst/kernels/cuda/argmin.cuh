// The lightest item of a vertex as its index, by compare-and-swap: keys and edge ids are looked up, so one word per
// vertex serves keys of every width and breaks ties by id.
#pragma once
#include "base.cuh"

// Puts `index` into *lightest if it is lighter than the index there, or if that is NONE. `lighter(a, b)` compares two
// items in the total order.
template <class Lighter>
DEVICE void atomic_argmin(u32* lightest, u32 index, const Lighter& lighter) {
  u32 seen = load_relaxed(lightest);
  while (seen == NONE || lighter(index, seen)) {
    const u32 now = atomicCAS(lightest, seen, index);
    if (now == seen) return;
    seen = now;
  }
}
