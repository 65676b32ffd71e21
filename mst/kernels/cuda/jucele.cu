// A reimplementation of Jucele GPU: Vasconcellos, Caceres, Mongelli and Song, "A Parallel Algorithm for Minimum
// Spanning Tree on GPU" (SBAC-PADW '17), as Fallin et al. (SC '23, section 2) describe it, for connected graphs.
//
// The lightest edges of all vertices form a strut. An edge chosen by both of its ends is a zero difference; each
// component of the strut has one. When only one is left, the tree is complete. Until then, components get new labels,
// which become the ends of edges. The edge list keeps its length; edges inside a component are marked. Components are
// found by labels that spread along the strut's edges, or by pointer jumping.
//
// Launch: one thread per edge or per vertex, as each kernel says; blocks of any size.
//
// Ordering: each step is a launch of its own. Lightest edges are lowered by compare-and-swap, degrees raised by atomic
// addition, labels lowered by atomic minima. Labels stop spreading after a launch that sees equal labels across every
// edge. Pointer jumping shortens paths in place: every value that a reader may see lies on the path to the root.
#include "argmin.cuh"

struct Jucele {
  const u32* u;             // [m] ends and keys of the input's edges
  const u32* v;             // [m]
  const Key* keys;          // [m]
  u32* ends[2];             // [m] each: from round 1 on, labels of the ends; NONE for an edge inside a component
  u32* lightest;            // [n] edge that each vertex chose, or NONE
  u32* degree;              // [m] the number of ends that chose the edge; zero between rounds
  uint2* strut;             // [n] ends of the strut's edges
  u32* component;           // [n] smallest label seen, or parent in the strut; at the end the root
  u32* new_label;           // [n] vertex of the next round that each root becomes
  unsigned char* chosen;    // [m] 1 if the edge belongs to the tree
  u32* zero_differences;    // [1] number of zero differences in this round
  u32* changed;             // [1] set by a step that changed some component
  u32* arrivals;            // [1] number of edges of the strut, later of vertices of the next round
  u32 n, m, from_input, side;  // n: vertices of this round; from_input: ends are u and v; side: the end processed
};

// Orders edges by (key, id); the id of an edge is its index.
struct Lighter {
  const Jucele& g;
  __device__ __forceinline__ bool operator()(u32 a, u32 b) const {
    const Key key_a = g.keys[a], key_b = g.keys[b];
    return key_a < key_b || (key_a == key_b && a < b);
  }
};

// Returns the first (side 0) or second (side 1) end of an edge in this round.
DEVICE u32 end_of(const Jucele& g, u32 side, u32 edge) {
  return g.from_input ? (side ? g.v : g.u)[edge] : g.ends[side][edge];
}

// Lowers lightest at one end of every edge, with one thread per edge. Launched for side 0 and then for side 1, after
// the caller has set lightest to NONE.
extern "C" __global__ void find_lightest(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  const u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  if (a != b) atomic_argmin(g.lightest + (g.side ? b : a), edge, Lighter{g});
}

// Adds 1 to the degree of each vertex's lightest edge, with one thread per vertex.
extern "C" __global__ void mark_strut(const Jucele g) {
  const u32 x = thread_index();
  if (x < g.n && g.lightest[x] != NONE) atomicAdd(g.degree + g.lightest[x], 1u);
}

// Marks the strut's edges in chosen, counts edges of degree 2, and resets degrees, with one thread per edge.
extern "C" __global__ void count_zero_differences(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  const u32 degree = g.degree[edge];
  if (degree == 0) return;
  g.degree[edge] = 0;
  g.chosen[edge] = 1;
  if (degree == 2) atomicAdd(g.zero_differences, 1u);
}

// Sets the label of each vertex to itself, and appends the vertex's lightest edge to the strut; of a zero difference,
// only the lower end appends. One thread per vertex. Writes component, strut and arrivals.
extern "C" __global__ void list_strut(const Jucele g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  g.component[x] = x;
  const u32 edge = g.lightest[x];
  if (edge == NONE) return;
  const u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  const u32 other = a == x ? b : a;
  if (other < x && g.lightest[other] == edge) return;
  uint2 ends;
  ends.x = a;
  ends.y = b;
  g.strut[atomicAdd(g.arrivals, 1u)] = ends;
}

// Lowers the larger label of each strut edge's ends to the smaller one, with one thread per edge of the strut. Writes
// component and changed.
extern "C" __global__ void spread_labels(const Jucele g) {
  const u32 i = thread_index();
  if (i >= g.arrivals[0]) return;
  const uint2 ends = g.strut[i];
  const u32 a = load_relaxed(g.component + ends.x), b = load_relaxed(g.component + ends.y);
  if (a == b) return;
  atomicMin(g.component + (a < b ? ends.y : ends.x), a < b ? a : b);
  g.changed[0] = 1;
}

// Hooks each vertex to the other end of its lightest edge, or to itself if it is the lower end of a zero difference.
// One thread per vertex. Writes component.
extern "C" __global__ void hook_vertices(const Jucele g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 edge = g.lightest[x];
  if (edge == NONE) {
    g.component[x] = x;
    return;
  }
  const u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  const u32 other = a == x ? b : a;
  g.component[x] = x < other && g.lightest[other] == edge ? x : other;
}

// Takes one step of pointer jumping, with one thread per vertex. Writes component and changed.
extern "C" __global__ void jump_pointers(const Jucele g) {
  const u32 x = thread_index();
  if (x >= g.n) return;
  const u32 parent = load_relaxed(g.component + x), grandparent = load_relaxed(g.component + parent);
  if (parent == grandparent) return;
  store_relaxed(g.component + x, grandparent);
  g.changed[0] = 1;
}

// Gives each root a new label, in the order in which threads arrive. One thread per vertex. Writes new_label and
// arrivals.
extern "C" __global__ void label_roots(const Jucele g) {
  const u32 x = thread_index();
  if (x < g.n && g.component[x] == x) g.new_label[x] = atomicAdd(g.arrivals, 1u);
}

// Replaces the ends of each edge by their new labels, or by NONE inside a component. One thread per edge. Writes ends.
extern "C" __global__ void relabel_edges(const Jucele g) {
  const u32 edge = thread_index();
  if (edge >= g.m) return;
  u32 a = end_of(g, 0, edge), b = end_of(g, 1, edge);
  if (a == b) {
    if (g.from_input) g.ends[0][edge] = g.ends[1][edge] = NONE;
    return;
  }
  a = g.component[a];
  b = g.component[b];
  g.ends[0][edge] = a == b ? NONE : g.new_label[a];
  g.ends[1][edge] = a == b ? NONE : g.new_label[b];
}
