// The lightest item of a vertex as the number of its place, by compare-and-swap: keys and edge ids are looked up, so
// one word per vertex serves keys of every width and breaks ties by id.
#pragma once
#include "base.cuh"

// Puts `place` into *best if it comes before what is there. `before(a, b)` compares two places in the order.
template <class Before>
DEVICE void offer_place(u32* best, u32 place, const Before& before) {
  u32 seen = load_relaxed(best);
  while (seen == NONE || before(place, seen)) {
    const u32 now = atomicCAS(best, seen, place);
    if (now == seen) return;
    seen = now;
  }
}
