// The lightest edge of each representative, found by atomicMin on one 64-bit word. The word is (key, id) if keys have
// 32 bits; else it is the key, and a second pass finds the smallest id with that key in a second array.
//
// `g`, a kernel's argument, has the members
//   u64* minimum        [n] the word of each representative; all ones: none
//   u32* minimum_id     [n] with 64-bit keys, the id; NONE: none
#pragma once
#include "base.cuh"

// An edge between a and b; these are representatives while minima are taken.
struct Edge {
  u32 a, b, id;
  Key key;
};

// Returns the word of an edge, to which it may lower a minimum.
DEVICE u64 minimum_word(const Edge& edge) {
#if KEY_BITS == 32
  return pack(edge.key, edge.id);
#else
  return edge.key;
#endif
}

// Whether the edge is the lightest of the representative. Call it after all passes that lower minima.
template <class Argument>
DEVICE bool is_minimum(const Argument& g, u32 representative, const Edge& edge) {
#if KEY_BITS == 32
  return g.minimum[representative] == minimum_word(edge);
#else
  return g.minimum[representative] == minimum_word(edge) && g.minimum_id[representative] == edge.id;
#endif
}

// The second pass with 64-bit keys, for one end of an edge: lowers minimum_id if the edge has the smallest key. Call it
// after the pass over the keys.
template <class Argument>
DEVICE void lower_minimum_id(const Argument& g, u32 representative, const Edge& edge) {
  if (g.minimum[representative] == edge.key) atomicMin(g.minimum_id + representative, edge.id);
}

// Sets the minimum of a representative to none.
template <class Argument>
DEVICE void reset_minimum(const Argument& g, u32 representative) {
  g.minimum[representative] = NO_CANDIDATE;
#if KEY_BITS == 64
  g.minimum_id[representative] = NONE;
#endif
}
