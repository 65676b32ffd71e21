// The index of a vertex's lightest item, lowered by compare-and-swap. Keys and edge ids are looked up by the index, so
// one word per vertex suffices for keys of every width and for ties.
#pragma once
#include "base.cuh"

// Replaces *lightest by `index` if its item is lighter, or if *lightest is NONE. `lighter(a, b)` is whether item a
// comes before item b in the total order. A failed compare-and-swap means that another thread has stored a lighter
// item.
template <class Lighter>
DEVICE void atomic_argmin(u32* lightest, u32 index, const Lighter& lighter) {
  u32 seen = load_relaxed(lightest);
  while (seen == NONE || lighter(index, seen)) {
    const u32 now = atomicCAS(lightest, seen, index);
    if (now == seen) return;
    seen = now;
  }
}
