// Kernels that check a forest on the device; mst/algorithms/cuda/_proof.py says what they prove. They share nothing
// with the solvers' kernels but these words.
//
// Ordering: threads of a launch meet in atomicMin and atomicAdd alone, whose outcome does not depend on their order,
// and what one launch writes is read by later ones only. No thread waits for another.
#include "base.cuh"

struct Prove {
  const u32* one;         // ends of the forest's edges that still join two components, ascending in the order
  const u32* other;
  u32* chosen;            // per component: the place of its lightest edge
  const u32* parent;      // per node of the tree of components: the node above, itself at the top
  const u32* heaviest;    // per node: 1 + the rank of the edge that it chose, or 0
  const Key* tree_keys;   // of the forest's edges, by rank
  const u32* tree_ids;
  const u32* u;           // the graph
  const u32* v;
  const Key* keys;
  u32* found;             // edges between two trees, edges below their path, and the smallest id of each kind
  u64 count;              // items of a launch
};

// Every component's lightest edge: places ascend in the order.
extern "C" __global__ void choose(const Prove p) {
  for (u64 i = thread_index(); i < p.count; i += thread_count()) {
    atomicMin(p.chosen + p.one[i], (u32)i);
    atomicMin(p.chosen + p.other[i], (u32)i);
  }
}

DEVICE void report(const Prove& p, u32 kind, u32 edge) {
  atomicAdd(p.found + kind, 1u);
  atomicMin(p.found + 2 + kind, edge);
}

// Both ends of an edge climb until they meet. Its path's heaviest edge is the heaviest that was chosen on the way.
extern "C" __global__ void check(const Prove p) {
  for (u64 i = thread_index(); i < p.count; i += thread_count()) {
    const u32 edge = (u32)i;
    u32 a = stream(p.u + edge), b = stream(p.v + edge), heaviest = 0;
    bool apart = false;
    while (a != b) {
      const u32 above_a = p.parent[a], above_b = p.parent[b];
      if (above_a == a || above_b == b) {
        apart = true;
        break;
      }
      const u32 x = p.heaviest[a], y = p.heaviest[b], higher = x > y ? x : y;
      if (higher > heaviest) heaviest = higher;
      a = above_a;
      b = above_b;
    }
    if (apart) {
      report(p, 0, edge);
    } else if (heaviest) {
      const Key key = stream(p.keys + edge), limit = p.tree_keys[heaviest - 1];
      if (key < limit || (key == limit && edge < p.tree_ids[heaviest - 1])) report(p, 1, edge);
    }
  }
}
