// A reimplementation of Gunrock's minimum spanning tree, from its description in Fallin et al. (SC '23, section 2) and
// the steps of its operators. A round has four steps: a filter over all edges finds the smallest weights; a pass over
// the edges that passed the filter finds the smallest edge of each weight; a pass over the vertices adds edges; and a
// last pass jumps pointers. Every round processes all edges. Only for connected graphs: it ends when one supervertex is
// left.
//
// Launch: one thread per slot, vertex or entry of the frontier, as each kernel says; blocks of any size.
//
// Ordering: each step is a launch of its own. Threads share only words changed by atomic minima and additions.
// `add_edges` reads roots and writes new_roots, each root its own word. Of two roots that chose the same edge, only the
// upper one hooks, so no cycle arises.
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
  u32* new_roots;           // [n] parent of each supervertex after `add_edges`, before pointer jumping
  Key* minimum_key;         // [n] smallest key of each supervertex; all ones before a round
  u32* minimum_id;          // [n] smallest id among the edges of that key; NONE before a round
  u32* frontier;            // [slots / 2] slots whose key was at most a minimum when the two were compared
  unsigned char* chosen;    // [m] 1 if the edge belongs to the tree
  u32* counters;            // [2] see Counter
  u32 n, slots, frontier_length, unused;
};

enum Counter { FRONTIER, ADDED };

// Makes every vertex a supervertex, with one thread per vertex.
extern "C" __global__ void initialise(const Gunrock g) {
  const u32 x = thread_index();
  if (x < g.n) g.roots[x] = g.new_roots[x] = x;
}

// Lowers minimum_key at both supervertices of each edge, and appends slots to the frontier. One thread per slot; no
// lane exits early.
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

// Lowers minimum_id where an edge of the frontier has the smallest key. One thread per entry of the frontier.
extern "C" __global__ void minimum_edges(const Gunrock g) {
  const u32 i = thread_index();
  if (i >= g.frontier_length) return;
  const u32 slot = g.frontier[i], id = g.ids[slot];
  const u32 a = g.roots[g.u[id]], b = g.roots[g.v[id]];
  const Key key = g.keys[slot];
  if (g.minimum_key[a] == key) atomicMin(g.minimum_id + a, id);
  if (g.minimum_key[b] == key) atomicMin(g.minimum_id + b, id);
}

// Adds the lightest edge of each supervertex and hooks the supervertex across it. One thread per vertex. Writes chosen,
// new_roots and counters[ADDED].
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

// Follows the path of each vertex to its root, with one thread per vertex. Writes roots and new_roots.
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
