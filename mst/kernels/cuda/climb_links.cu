// Kernels that climb the reconstruction tree of a forest; mst/kernels/cuda/climbing.py calls them.
//
// Ordering: threads of a launch meet in atomicMin alone, whose outcome does not depend on their order, and words that one
// launch writes are read by later ones only. No thread waits for another.
//
// All kernels stride over `count` items, so there may be any number of blocks and threads.
#include "base.cuh"

struct ClimbLinks {
  const u64* links;     // [n] low word: the parent; high word: the rank of the edge that linked it, n or more at a root
  const u32* x;         // [count] pairs of vertices
  const u32* y;         // [count]
  const u64* of_ranks;  // [edges] the value of the edge of each rank, any 64 bits
  u64* values;          // [count]
  u32* roots;           // [n]
  u32* lowest;          // [n] the smallest vertex of the cluster of each root; NONE before
  u32* firsts;          // [n] 1 for a vertex that is the smallest of its cluster, else 0
  const u32* numbers;   // [n] inclusive prefix sums of firsts
  u64* labels;          // [n]
  u64 count;            // items of a launch
  u64 same;             // the value of a vertex with itself
  u64 apart;            // the value of two vertices that no path joins
  u32 edges;            // of the forest
  u32 limit;            // edges of lower ranks make the clusters
};

// An item is a pair: its ends climb, that of the lower rank first, until they meet. Writes the value of the edge that
// joined them to values.
extern "C" __global__ void join_pairs(const ClimbLinks p) {
  for (u64 i = thread_index(); i < p.count; i += thread_count()) {
    u32 x = stream(p.x + i), y = stream(p.y + i);
    u64 value = p.same;
    if (x != y) {
      u64 a = p.links[x], b = p.links[y];
      while (true) {
        const bool by_x = high_word(a) < high_word(b);
        const u32 rank = high_word(by_x ? a : b), parent = low_word(by_x ? a : b);
        if (rank >= p.edges || parent == (by_x ? y : x)) {
          value = rank < p.edges ? p.of_ranks[rank] : p.apart;
          break;
        }
        if (by_x) {
          x = parent;
          a = p.links[x];
        } else {
          y = parent;
          b = p.links[y];
        }
      }
    }
    p.values[i] = value;
  }
}

// An item is a vertex. Writes the root of its cluster to roots, and lowers lowest there.
extern "C" __global__ void find_roots(const ClimbLinks p) {
  for (u64 i = thread_index(); i < p.count; i += thread_count()) {
    const u32 x = (u32)i;
    u32 root = x;
    for (u64 link = p.links[root]; high_word(link) < p.limit; link = p.links[root]) root = low_word(link);
    p.roots[x] = root;
    if (x < load_relaxed(p.lowest + root)) atomicMin(p.lowest + root, x);
  }
}

// An item is a vertex. Reads roots and lowest, writes firsts.
extern "C" __global__ void mark_firsts(const ClimbLinks p) {
  for (u64 i = thread_index(); i < p.count; i += thread_count()) p.firsts[i] = p.lowest[p.roots[i]] == (u32)i;
}

// An item is a vertex. Writes the number of its cluster to labels.
extern "C" __global__ void number_vertices(const ClimbLinks p) {
  for (u64 i = thread_index(); i < p.count; i += thread_count()) p.labels[i] = p.numbers[p.lowest[p.roots[i]]] - 1;
}
