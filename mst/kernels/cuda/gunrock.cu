// A reimplementation of Gunrock's minimum spanning tree, from its description in Fallin et al. (SC '23, section 2) and
// the steps of its operators: a filter over all edges for the smallest weights, a pass over what it lets through for
// the smallest edge of that weight, a pass over the vertices that adds edges, and one that follows roots. All
// edges come in every round. For connected graphs: it ends when one supervertex is left.
//
// Ordering: a launch ends every step. Threads meet in atomic minima and in additions. `add_edges` reads roots and
// writes new ones, each root its own word; of two that chose one edge the upper one hooks, so no cycle arises.
#include "owner.cuh"

struct Gunrock {
  const u32* u;
  const u32* v;
  const u32* offsets;
  const u32* neighbours;
  const Key* keys;
  const u32* ids;
  u32* roots;
  u32* new_roots;
  Key* weight;            // smallest key of each root
  u32* edge;              // smallest id among the edges of that key
  u32* frontier;          // slots that lowered a minimum, or equalled it
  unsigned char* chosen;  // per edge
  u32* counters;          // length of the frontier, edges added
  u32 n, slots, length, unused;
};

enum Counter { FRONTIER, ADDED };

extern "C" __global__ void initialise(const Gunrock g) {
  const u32 x = thread_index();
  if (x < g.n) g.roots[x] = g.new_roots[x] = x;
}

extern "C" __global__ void minimum_weights(const Gunrock g) {
  const u32 slot = thread_index();
  bool passes = false;
  if (slot < g.slots) {
    const u32 source = owner_of(g.offsets, g.n, slot), other = g.neighbours[slot];
    if (source < other) {
      const u32 a = g.roots[source], b = g.roots[other];
      if (a != b) {
        const Key key = g.keys[slot];
        const Key of_a = atomicMin(g.weight + a, key), of_b = atomicMin(g.weight + b, key);
        passes = key <= of_a || key <= of_b;
      }
    }
  }
  const u32 votes = __ballot_sync(FULL, passes);
  u32 base = 0;
  if (lane_id() == 0 && votes) base = atomicAdd(g.counters + FRONTIER, (u32)__popc(votes));
  base = __shfl_sync(FULL, base, 0);
  if (passes) g.frontier[base + lanes_below(votes)] = slot;
}

extern "C" __global__ void minimum_edges(const Gunrock g) {
  const u32 i = thread_index();
  if (i >= g.length) return;
  const u32 slot = g.frontier[i], id = g.ids[slot];
  const u32 a = g.roots[g.u[id]], b = g.roots[g.v[id]];
  const Key key = g.keys[slot];
  if (g.weight[a] == key) atomicMin(g.edge + a, id);
  if (g.weight[b] == key) atomicMin(g.edge + b, id);
}

extern "C" __global__ void add_edges(const Gunrock g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 id = g.edge[x];
  if (id == NONE) return;
  const u32 a = g.roots[g.u[id]], b = g.roots[g.v[id]];
  const u32 other = a == x ? b : a;
  if (x < other && g.edge[other] == id) return;
  g.chosen[id] = 1;
  g.new_roots[x] = other;
  atomicAdd(g.counters + ADDED, 1u);
}

extern "C" __global__ void jump_pointers(const Gunrock g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  u32 root = load_relaxed(g.new_roots + x), next = load_relaxed(g.new_roots + root);
  while (next != root) {
    root = next;
    next = load_relaxed(g.new_roots + root);
  }
  store_relaxed(g.new_roots + x, root);
  g.roots[x] = root;
}
