// The lightest edge of each representative in one 64-bit word that atomicMin lowers: (key, id) if keys have 32 bits,
// else the key, with the smallest id of that key in a second array and by a second pass.
//
// `g` is the argument of a kernel that has
//   u64* minimum        per vertex: the word; all ones: none
//   u32* minimum_id     per vertex, with 64-bit keys: the id; NONE: none
#pragma once
#include "base.cuh"

// The ends are representatives where an edge's minima are taken.
struct Edge {
  u32 a, b, id;
  Key key;
};

// The word that an edge lowers minima to.
DEVICE u64 minimum_word(const Edge& edge) {
#if KEY_BITS == 32
  return pack(edge.key, edge.id);
#else
  return edge.key;
#endif
}

// Whether the edge is the lightest of the representative, once all passes over the minima have ended.
template <class Argument>
DEVICE bool is_minimum(const Argument& g, u32 representative, const Edge& edge) {
#if KEY_BITS == 32
  return g.minimum[representative] == minimum_word(edge);
#else
  return g.minimum[representative] == minimum_word(edge) && g.minimum_id[representative] == edge.id;
#endif
}

// The second pass with 64-bit keys, for one end of an edge, once the pass over the keys has ended.
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
