// Kernels that check a forest on the device; mst/algorithms/cuda/device/proof.py describes the proof. They share
// nothing with the solvers' kernels but base.cuh.
//
// Ordering: threads of a launch share only words changed by atomicMin and atomicAdd, whose outcome does not depend on
// the order; a later launch reads them. No thread waits for another.
//
// Launch: any number of blocks and threads, because both kernels stride over `count` items.
#include "base.cuh"

struct ProveForest {
  const u32* a;           // [count] ends of the forest's edges that still join two components, ascending in the order
  const u32* b;           // [count]
  u32* lightest;          // [components] row of each component's lightest edge; NONE before the launch
  const u32* parent;      // [nodes of the tree of components] the node above; a root is its own. The leaves are the
                          // vertices, and all at one depth: a component that chose no edge has a parent like the others
  const u32* heaviest;    // [nodes] 1 + the rank of the edge that the component chose, or 0
  const Key* tree_keys;   // [forest edges] by rank
  const u32* tree_ids;    // [forest edges]
  const u32* u;           // [m] the graph's edges
  const u32* v;           // [m]
  const Key* keys;        // [m]
  u32* violations;        // [4] edges between two trees, edges lighter than their path; smallest id of each kind
  u64 count;              // items of a launch
};

// Finds the lightest edge of every component, which is the one with the lowest row. An item is a row of a and b. Lowers
// lightest.
extern "C" __global__ void choose_lightest(const ProveForest p) {
  for (u64 i = thread_index(); i < p.count; i += thread_count()) {
    atomicMin(p.lightest + p.a[i], (u32)i);
    atomicMin(p.lightest + p.b[i], (u32)i);
  }
}

enum Violation { APART, LIGHTER };

// Adds an edge to the violations of its kind.
DEVICE void count_violation(const ProveForest& p, u32 kind, u32 edge) {
  atomicAdd(p.violations + kind, 1u);
  atomicMin(p.violations + 2 + kind, edge);
}

// Checks each edge of the graph against the forest, one item per edge. The ends climb the tree of components in step
// until they meet; the heaviest edge on the forest's path between them is the heaviest edge chosen on the way. An edge
// is a violation if its ends do not meet, or if it comes before that heaviest edge. Writes only violations.
extern "C" __global__ void check_edges(const ProveForest p) {
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
      count_violation(p, APART, edge);
    } else if (heaviest) {
      const Key key = stream(p.keys + edge), limit = p.tree_keys[heaviest - 1];
      if (key < limit || (key == limit && edge < p.tree_ids[heaviest - 1])) count_violation(p, LIGHTER, edge);
    }
  }
}
