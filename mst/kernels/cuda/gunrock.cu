// A reimplementation of Gunrock's minimum spanning tree, from its description in Fallin et al. (SC '23, section 2) and
// the steps of its operators: a filter over all edges for the smallest weights, a pass over the edges that it lets
// through for the smallest edge of that weight, a pass over the vertices that adds edges, and one that jumps pointers.
// Every round processes all edges. For connected graphs: it ends when one supervertex is left.
//
// Geometry: a thread per slot, vertex or entry of the frontier, as each kernel says; any block size.
//
// Ordering: a launch ends every step. Threads meet in atomic minima and in additions. `add_edges` reads roots and
// writes new ones, each root its own word; of two that chose one edge the upper one hooks, so no cycle arises.
#include "append.cuh"
#include "row_of_slot.cuh"

struct Gunrock {
  const u32* u;             // [m] ends of the edges
  const u32* v;             // [m]
  const u32* offsets;       // [n + 1] CSR rows, each edge in both of its ends' rows
  const u32* neighbours;    // [slots]
  const Key* keys;          // [slots]
  const u32* ids;           // [slots] edge ids
  u32* roots;               // [n] supervertex of each vertex
  u32* new_roots;           // [n] the same after `add_edges`, not yet shortened
  Key* minimum_key;         // [n] smallest key of each supervertex; all ones before a round
  u32* minimum_id;          // [n] smallest id among the edges of that key; NONE before a round
  u32* frontier;            // [slots / 2] slots that lowered a minimum, or equalled it, when they were compared
  unsigned char* chosen;    // [m] 1: of the tree
  u32* counters;            // [2] see Counter
  u32 n, slots, frontier_length, unused;
};

enum Counter { FRONTIER, ADDED };

// A thread per vertex: every vertex is a supervertex.
extern "C" __global__ void initialise(const Gunrock g) {
  const u32 x = thread_index();
  if (x < g.n) g.roots[x] = g.new_roots[x] = x;
}

// A thread per slot, without early exit: lowers minimum_key at both supervertices; appends to the frontier.
extern "C" __global__ void minimum_weights(const Gunrock g) {
  const u32 slot = thread_index();
  bool passes = false;
  if (slot < g.slots) {
    const u32 source = row_of_slot(g.offsets, g.n, slot), other = g.neighbours[slot];
    if (source < other) {
      const u32 a = g.roots[source], b = g.roots[other];
      if (a != b) {
        const Key key = g.keys[slot];
        const Key of_a = atomicMin(g.minimum_key + a, key), of_b = atomicMin(g.minimum_key + b, key);
        passes = key <= of_a || key <= of_b;
      }
    }
  }
  const u32 index = append_in_warp(g.counters + FRONTIER, passes);
  if (passes) g.frontier[index] = slot;
}

// A thread per entry of the frontier: lowers minimum_id if it has the smallest key.
extern "C" __global__ void minimum_edges(const Gunrock g) {
  const u32 i = thread_index();
  if (i >= g.frontier_length) return;
  const u32 slot = g.frontier[i], id = g.ids[slot];
  const u32 a = g.roots[g.u[id]], b = g.roots[g.v[id]];
  const Key key = g.keys[slot];
  if (g.minimum_key[a] == key) atomicMin(g.minimum_id + a, id);
  if (g.minimum_key[b] == key) atomicMin(g.minimum_id + b, id);
}

// A thread per vertex: each supervertex adds its edge and hooks across it. Writes chosen, new_roots, counters[ADDED].
extern "C" __global__ void add_edges(const Gunrock g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 id = g.minimum_id[x];
  if (id == NONE) return;
  const u32 a = g.roots[g.u[id]], b = g.roots[g.v[id]];
  const u32 other = a == x ? b : a;
  if (x < other && g.minimum_id[other] == id) return;
  g.chosen[id] = 1;
  g.new_roots[x] = other;
  atomicAdd(g.counters + ADDED, 1u);
}

// A thread per vertex: pointer jumping to the root. Writes roots and new_roots.
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
