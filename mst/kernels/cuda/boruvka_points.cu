// Borůvka's rounds over points, on a k-d tree whose leaves are blocks of 32 points. mst/kernels/points describes the
// method, and mst/algorithms/cuda/device/points.py launches the kernels.
//
// DIMENSIONS: dimensions of the points. LISTED: nearest neighbours kept in a list for each point. CORES: 1 if the
// weight of an edge is the largest of its length and the core distances of its ends, 0 if it is the length.
//
// Points are numbered by place, in the order of the leaves: block b holds the places from 32 b on, and one warp
// processes a block, one lane per point. Nodes are in heap order: the root is 1, the children of node i are 2 i and
// 2 i + 1, and the last level holds the leaves, each of one block or none.
//
// All distances are squared. They are summed in the order of the dimensions without fused operations, so they equal the
// host's bit for bit; and the distance to a box, rounded in the same way, never exceeds that to a point in the box.
// Edges are ordered by (weight, distance, smaller point, larger point).
//
// Ordering: each step is a launch of its own. Within a step, threads of different blocks share only words lowered by
// atomic minima, the atomically raised length of the list of edges, limits (any value of the step is a valid bound),
// and parents (every value leads to the same root).
#include "append.cuh"

#ifndef DIMENSIONS
#define DIMENSIONS 2
#endif
#ifndef LISTED
#define LISTED 6
#endif
#ifndef CORES
#define CORES 0
#endif

static const u32 LEAF = 32;
// Values of of_node for a node with points of several components, and for a node without points.
static const u32 SEVERAL = 0xffffffffu, EMPTY = 0xfffffffeu;
// Bits of a point's state: EXACT if its candidate is its lightest edge that leaves the component; READ once its list of
// neighbours is used up.
static const u32 EXACT = 1, READ = 2;
static const u64 INFINITE = 0x7ff0000000000000ull;
static const u32 STEPS = 16;  // links that a thread follows in one pass

// Passed by value. Distances are float64.
struct BoruvkaPoints {
  const double* columns;    // [DIMENSIONS][n] coordinates by point, while the tree is built
  const u32* order;         // [n] point of each place so far
  double* frames;           // [nodes of a level][3] least coordinate, scale and dimension by which a node is split
  u32* keys;                // [n] sort key of a place: its node of the level, and its coordinate in the node's frame
  const double* x;          // [DIMENSIONS][n] coordinates by place
  const u32* ids;           // [n] point of each place
  double* boxes;            // [nodes][2][DIMENSIONS] least and greatest coordinates; infinite and -infinite: no points
  const u32* counts;        // [n] number of points with the coordinates of each place; null: one everywhere
  double* core;             // [n] core distances
  double* node_core;        // [nodes] least core distance of a node's points
  u32* near;                // [LISTED][n] places of each point's nearest neighbours, nearest first, padded with NONE
  double* far;              // [LISTED][n] distances of these neighbours, padded with infinity
  u32* ends;                // [n] other end of each point's candidate edge, or NONE
  double* weights;          // [n] weight of the candidate
  double* apart;            // [n] distance between the candidate's ends
  double* bounds;           // [n] lower bound on the weights of other edges that leave the component, except those in a
                            // list not yet used up
  unsigned char* state;     // [n] EXACT and READ
  u32* of;                  // [n] component of each place, named by one of its places
  u32* of_node;             // [nodes] component of all points of a node, or SEVERAL or EMPTY
  u64* limits;              // [n] by component: least weight found in this round, as bits; infinite at first
  u64* distances;           // [n] by component: least distance of its edges with that weight
  u64* pairs;               // [n] by component: first (smaller, larger point) of its edges with that distance
  u32* choices;             // [n] by component: place whose candidate it takes; NONE at first
  u32* parent;              // [n] by component: component that it is linked to; a root is its own parent
  u32* a;                   // [n - 1] edges of the tree: places of the ends
  u32* b;                   // [n - 1]
  double* taken;            // [n - 1] weights of the tree's edges
  u32* counters;            // [2] edges of the tree so far; 1 if some link has not been followed to its root
  u32 n, blocks, levels;    // levels: of inner nodes
  u32 level;                // level of the nodes to be split, or the level below those to be joined
  u32 samples;              // the core distance is the distance of this neighbour, counting the point itself
};

#ifndef EMULATED
DEVICE double add(double a, double b) { return __dadd_rn(a, b); }
DEVICE double multiply(double a, double b) { return __dmul_rn(a, b); }
#else
DEVICE double add(double a, double b) { return a + b; }
DEVICE double multiply(double a, double b) { return a * b; }
#endif
DEVICE double lesser(double a, double b) { return a < b ? a : b; }
DEVICE double greater(double a, double b) { return a > b ? a : b; }
DEVICE double number(u64 bits) { return *(const double*)&bits; }
DEVICE u64 bits_of(double x) { return *(const u64*)&x; }

// Returns the first place of a node, which is counted from 0 in its level. The node's places end where the next node's
// begin.
DEVICE u32 first_place(const BoruvkaPoints& t, u32 node, u32 level) {
  const u64 place = ((u64)node * t.blocks >> level) * LEAF;
  return place < t.n ? (u32)place : t.n;
}

// Returns the leaf, counted from 0, that holds a block.
DEVICE u32 leaf_of(const BoruvkaPoints& t, u32 block) {
  return (u32)((((u64)(block + 1) << t.levels) - 1) / t.blocks);
}

// ---- The k-d tree: a node is split at the median in the dimension of the largest spread among 32 sampled points.

// Sorts one number per lane over the lanes of a warp. Call with all lanes.
DEVICE double sorted_in_warp(double x) {
  for (u32 size = 2; size <= 32; size *= 2)
    for (u32 distance = size / 2; distance; distance /= 2) {
      const double other = __shfl_xor_sync(FULL, x, distance);
      const bool lower = !(lane_id() & distance), ascending = !(lane_id() & size);
      x = lower == ascending ? lesser(x, other) : greater(x, other);
    }
  return x;
}

// Chooses the dimension and range of coordinates by which to split each node of the level. The range is the middle two
// thirds of a sample, which nearly always contains the median: only the order near the median matters, so no bits of a
// key are spent on outliers. One warp per node. Writes frames.
extern "C" __global__ void frame_nodes(const BoruvkaPoints t) {
  const u32 nodes = 1u << t.level;
  for (u32 node = warp_index(); node < nodes; node += warp_count()) {
    const u32 first = first_place(t, node, t.level), size = first_place(t, node + 1, t.level) - first;
    if (size == 0) continue;
    const u32 point = t.order[first + (u32)((u64)size * (2 * lane_id() + 1) >> 6)];
    double widest = -1, chosen = 0;
    u32 dimension = 0;
    for (u32 k = 0; k < DIMENSIONS; k++) {
      const double x = t.columns[(u64)k * t.n + point];
      double low = x, high = x;
      for (u32 distance = 16; distance; distance /= 2) {
        low = lesser(low, __shfl_xor_sync(FULL, low, distance));
        high = greater(high, __shfl_xor_sync(FULL, high, distance));
      }
      if (high - low > widest) {
        widest = high - low;
        dimension = k;
        chosen = x;
      }
    }
    chosen = sorted_in_warp(chosen);
    const double low = __shfl_sync(FULL, chosen, 5), high = __shfl_sync(FULL, chosen, 26);
    if (lane_id() == 0) {
      double* frame = t.frames + 3 * (u64)node;
      frame[0] = low;
      frame[1] = high > low ? (double)(1ull << (32 - t.level)) / (high - low) : 1e300;
      frame[2] = dimension;
    }
  }
}

// Computes the sort key of each place: its node in the high bits, its coordinate in the node's frame in the low bits.
// One thread per place. Writes keys.
extern "C" __global__ void key_places(const BoruvkaPoints t) {
  const u32 bits = 32 - t.level;
  const double top = (double)((1ull << bits) - 1);
  for (u64 p = thread_index(); p < t.n; p += thread_count()) {
    const u32 node = leaf_of(t, (u32)p / LEAF) >> (t.levels - t.level);
    const double* frame = t.frames + 3 * (u64)node;
    const double at = (t.columns[(u64)frame[2] * t.n + t.order[p]] - frame[0]) * frame[1];
    const u32 within = at >= top ? (u32)top : at > 0 ? (u32)at : 0;
    t.keys[p] = (u32)((u64)node << bits) | within;
  }
}

// Calls `join(node)` for the nodes above `t.level`, level by level upwards. A block starts with `blockDim.x` nodes of
// the level above `t.level` and ends with a single node; further launches join the remaining levels. The block's
// barrier publishes each level before the next one reads it.
template <class Join>
DEVICE void join_upwards(const BoruvkaPoints& t, Join join) {
  u32 level = t.level;
  for (u32 width = blockDim.x; width && level; width /= 2) {
    level--;
    const u64 node = (u64)blockIdx.x * width + threadIdx.x;
    if (threadIdx.x < width && node < 1u << level) join((1u << level) + (u32)node);
    __syncthreads();
  }
}

// Writes the bounding boxes of the leaves. One warp per leaf.
extern "C" __global__ void box_leaves(const BoruvkaPoints t) {
  const u32 leaves = 1u << t.levels;
  for (u32 leaf = warp_index(); leaf < leaves; leaf += warp_count()) {
    const u32 first = first_place(t, leaf, t.levels), end = first_place(t, leaf + 1, t.levels);
    double* box = t.boxes + (u64)(leaves + leaf) * 2 * DIMENSIONS;
    const u32 p = first + lane_id();
    for (u32 k = 0; k < DIMENSIONS; k++) {
      double low = p < end ? t.x[(u64)k * t.n + p] : number(INFINITE), high = p < end ? low : -low;
      for (u32 distance = 16; distance; distance /= 2) {
        low = lesser(low, __shfl_xor_sync(FULL, low, distance));
        high = greater(high, __shfl_xor_sync(FULL, high, distance));
      }
      if (lane_id() == 0) {
        box[k] = low;
        box[DIMENSIONS + k] = high;
      }
    }
  }
}

// Writes the bounding boxes of inner nodes from those of their children. Launched as `join_upwards` says.
extern "C" __global__ void join_boxes(const BoruvkaPoints t) {
  join_upwards(t, [&](u32 node) {
    double* box = t.boxes + (u64)node * 2 * DIMENSIONS;
    const double* left = t.boxes + (u64)node * 4 * DIMENSIONS;
    const double* right = left + 2 * DIMENSIONS;
    for (u32 k = 0; k < DIMENSIONS; k++) {
      box[k] = lesser(left[k], right[k]);
      box[DIMENSIONS + k] = greater(left[DIMENSIONS + k], right[DIMENSIONS + k]);
    }
  });
}

// ---- Searches of the tree: a warp searches for all points of its block together.

DEVICE void load_point(const BoruvkaPoints& t, u32 p, double (&x)[DIMENSIONS]) {
#pragma unroll
  for (u32 k = 0; k < DIMENSIONS; k++) x[k] = t.x[(u64)k * t.n + p];
}

DEVICE double distance_to(const BoruvkaPoints& t, u32 p, const double (&x)[DIMENSIONS]) {
  double total = 0;
#pragma unroll
  for (u32 k = 0; k < DIMENSIONS; k++) {
    const double difference = x[k] - t.x[(u64)k * t.n + p];
    total = add(total, multiply(difference, difference));
  }
  return total;
}

DEVICE double distance_to_box(const BoruvkaPoints& t, u32 node, const double (&x)[DIMENSIONS]) {
  const double* box = t.boxes + (u64)node * 2 * DIMENSIONS;
  double total = 0;
#pragma unroll
  for (u32 k = 0; k < DIMENSIONS; k++) {
    const double difference = greater(greater(box[k] - x[k], x[k] - box[DIMENSIONS + k]), 0);
    total = add(total, multiply(difference, difference));
  }
  return total;
}

// Traverses the tree from `leaf` upwards, nearer nodes first. `wanted(node)` returns whether this lane has to search
// the node; `visit(block)` is called with the block of every other leaf that some lane has to search. Call with all
// lanes.
template <class Wanted, class Visit>
DEVICE void traverse(const BoruvkaPoints& t, u32 leaf, Wanted wanted, Visit visit) {
  const u32 leaves = 1u << t.levels;
  const double* home = t.boxes + (u64)(leaves + leaf) * 2 * DIMENSIONS;
  double center[DIMENSIONS];
  for (u32 k = 0; k < DIMENSIONS; k++) center[k] = (home[k] + home[DIMENSIONS + k]) / 2;
  // Bit h is set while the sibling of the node's ancestor at height h has not been visited.
  u32 pending = leaves - 1, node = leaves + leaf, height = 0;
  while (pending) {
    const u32 next = __ffs(pending) - 1;
    pending &= pending - 1;
    node = (node >> (next - height)) ^ 1;
    height = next;
    bool open = __any_sync(FULL, wanted(node));
    while (open && height) {
      const u32 left = 2 * node, right = left + 1;
      const bool to_left = __any_sync(FULL, wanted(left)), to_right = __any_sync(FULL, wanted(right));
      open = to_left || to_right;
      if (!open) break;
      height--;
      node = to_left ? left : right;
      if (to_left && to_right) {
        pending |= 1u << height;
        if (distance_to_box(t, right, center) < distance_to_box(t, left, center)) node = right;
      }
    }
    if (open) visit((u32)((u64)(node - leaves) * t.blocks >> t.levels));
  }
}

// Whether the point at place q comes before the point at place r by (distance, point). The distance to q is finite; an
// infinite distance to r means that there is no such point.
DEVICE bool comes_before(const BoruvkaPoints& t, double to_q, u32 q, double to_r, u32 r) {
  return to_q < to_r || (to_q == to_r && t.ids[q] < t.ids[r]);
}

// Lists the LISTED nearest neighbours of each point by (distance, point), so every other point comes after the last one
// listed, even at an equal distance. One warp per block. Writes near and far.
extern "C" __global__ void find_neighbours(const BoruvkaPoints t) {
  for (u32 own = warp_index(); own < t.blocks; own += warp_count()) {
    const u32 p = own * LEAF + lane_id();
    const bool valid = p < t.n;
    double x[DIMENSIONS], far[LISTED];
    u32 near[LISTED];
    load_point(t, valid ? p : own * LEAF, x);
#pragma unroll
    for (u32 i = 0; i < LISTED; i++) {
      far[i] = number(INFINITE);
      near[i] = NONE;
    }
    auto visit = [&](u32 block) {
      const u32 end = block * LEAF + LEAF < t.n ? block * LEAF + LEAF : t.n;
#pragma unroll 4
      for (u32 q = block * LEAF; q < end; q++) {
        const double distance = distance_to(t, q, x);
        if (!valid || q == p || !comes_before(t, distance, q, far[LISTED - 1], near[LISTED - 1])) continue;
        bool placed = false;
#pragma unroll
        for (u32 i = LISTED - 1; i > 0; i--) {
          if (placed) continue;
          placed = !comes_before(t, distance, q, far[i - 1], near[i - 1]);
          far[i] = placed ? distance : far[i - 1];
          near[i] = placed ? q : near[i - 1];
        }
        if (!placed) {
          far[0] = distance;
          near[0] = q;
        }
      }
    };
    visit(own);
    traverse(
        t, leaf_of(t, own),
        [&](u32 node) {
          const double distance = distance_to_box(t, node, x);
          return valid && distance < number(INFINITE) && distance <= far[LISTED - 1];
        },
        visit);
    if (!valid) continue;
#pragma unroll
    for (u32 i = 0; i < LISTED; i++) {
      t.near[(u64)i * t.n + p] = near[i];
      t.far[(u64)i * t.n + p] = far[i];
    }
  }
}

// Writes the core distance of each point, from the list of its neighbours. One thread per place.
extern "C" __global__ void find_core_distances(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count()) {
    u32 reached = t.counts ? t.counts[p] : 1;
    double core = 0;
    for (u32 i = 0; reached < t.samples && i < LISTED; i++) {
      const u32 q = t.near[i * (u64)t.n + p];
      reached += t.counts ? t.counts[q] : 1;
      core = t.far[i * (u64)t.n + p];
    }
    t.core[p] = core;
  }
}

// Writes the least core distance of each leaf. One warp per leaf.
extern "C" __global__ void find_least_core_distances(const BoruvkaPoints t) {
  const u32 leaves = 1u << t.levels;
  for (u32 leaf = warp_index(); leaf < leaves; leaf += warp_count()) {
    const u32 p = first_place(t, leaf, t.levels) + lane_id();
    double least = p < first_place(t, leaf + 1, t.levels) ? t.core[p] : number(INFINITE);
    for (u32 distance = 16; distance; distance /= 2) least = lesser(least, __shfl_xor_sync(FULL, least, distance));
    if (lane_id() == 0) t.node_core[leaves + leaf] = least;
  }
}

// Writes the least core distance of inner nodes from those of their children. Launched as `join_upwards` says.
extern "C" __global__ void join_core_distances(const BoruvkaPoints t) {
  join_upwards(t, [&](u32 node) { t.node_core[node] = lesser(t.node_core[2 * node], t.node_core[2 * node + 1]); });
}

// ---- A round

struct Candidate {
  double weight, apart;
  u32 end;
};

DEVICE double weight_of(const BoruvkaPoints& t, double distance, u32 p, u32 q) {
#if CORES
  return greater(distance, greater(t.core[p], t.core[q]));
#else
  return distance;
#endif
}

// Replaces the candidate `best` by the edge to place q if this edge comes first; returns the weight of the edge that
// was not kept.
DEVICE double offer(const BoruvkaPoints& t, Candidate& best, double weight, double distance, u32 q) {
  const bool first =
      weight < best.weight || (weight == best.weight && comes_before(t, distance, q, best.apart, best.end));
  const double other = first ? best.weight : weight;
  if (first) best = {weight, distance, q};
  return other;
}

// Lowers the limit of a component to at most `weight`.
DEVICE void lower_limit(const BoruvkaPoints& t, u32 component, double weight) {
  if (bits_of(weight) < load_relaxed(t.limits + component)) atomicMin(t.limits + component, bits_of(weight));
}

// Keeps the candidate of each point if it still leaves the point's component; else replaces it by the lightest such
// edge to a listed neighbour, if any. One thread per place. Lowers limits; writes ends, weights, apart, bounds and
// state.
extern "C" __global__ void read_lists(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count()) {
    const u32 own = t.of[p];
    u32 end = t.ends[p];
    if (end != NONE && t.of[end] != own) {
      lower_limit(t, own, t.weights[p]);
      continue;
    }
    u32 state = t.state[p] & ~EXACT;
    Candidate best = {number(INFINITE), number(INFINITE), NONE};
    if (!(state & READ)) {
      for (u32 i = 0; i < LISTED; i++) {
        const u32 q = t.near[i * (u64)t.n + p];
        if (q == NONE) break;
        if (t.of[q] == own) continue;
        const double distance = t.far[i * (u64)t.n + p];
        offer(t, best, weight_of(t, distance, (u32)p, q), distance, q);
        if (!CORES) break;
      }
      double beyond = t.far[(LISTED - 1) * (u64)t.n + p];
#if CORES
      beyond = greater(beyond, t.core[p]);
#endif
      t.bounds[p] = beyond;
      if (best.end == NONE)
        state |= READ;
      else if (best.weight <= beyond)
        state |= EXACT;
    }
    t.ends[p] = best.end;
    t.weights[p] = best.weight;
#if CORES
    t.apart[p] = best.apart;
#endif
    t.state[p] = (unsigned char)state;
    if (best.end != NONE) lower_limit(t, own, best.weight);
  }
}

// Finds an upper bound for the search of a component: if all points of a node belong to it, an edge from one of them to
// a point of another component in the sibling node. This helps clusters far from all others, whose lists hold no
// neighbour outside. One thread per node, 2 to 2 leaves - 1. Lowers limits.
extern "C" __global__ void look_across(const BoruvkaPoints t) {
  for (u32 node = 2 + thread_index(); node < 2u << t.levels; node += thread_count()) {
    const u32 own = t.of_node[node], level = 31 - __clz(node), other = (node ^ 1) - (1u << level);
    if (own >= EMPTY || t.of_node[node ^ 1] == own || t.of_node[node ^ 1] == EMPTY) continue;
    const u32 here = node - (1u << level);
    const u32 p = (u32)(((u64)first_place(t, here, level) + first_place(t, here + 1, level)) / 2);
    const u32 first = first_place(t, other, level), last = first_place(t, other + 1, level) - 1;
    u32 q = (u32)(((u64)first + last) / 2);
    if (t.of[q] == own) q = t.of[first] == own ? last : first;
    if (t.of[q] == own) continue;
    double x[DIMENSIONS];
    load_point(t, p, x);
    lower_limit(t, own, weight_of(t, distance_to(t, q, x), p, q));
  }
}

// Searches the tree for the lightest edge that leaves the component, for each point that may have one within the
// component's limit. One warp per block. Lowers limits; writes ends, weights, apart, bounds and state.
extern "C" __global__ void search_tree(const BoruvkaPoints t) {
  for (u32 block = warp_index(); block < t.blocks; block += warp_count()) {
    const u32 p = block * LEAF + lane_id(), at = p < t.n ? p : block * LEAF;
    const u32 own = t.of[at];
    double radius = number(load_relaxed(t.limits + own));
    const bool active = p < t.n && !(t.state[at] & EXACT) && t.bounds[at] <= radius && t.bounds[at] < number(INFINITE);
    if (!__any_sync(FULL, active)) continue;
    double x[DIMENSIONS], rest = number(INFINITE), pruned = number(INFINITE);
    load_point(t, at, x);
#if CORES
    const double core = t.core[at];
    Candidate best = {t.weights[at], t.apart[at], t.ends[at]};
#else
    Candidate best = {t.weights[at], t.weights[at], t.ends[at]};
#endif
    radius = lesser(radius, best.weight);
    auto visit = [&](u32 there) {
      const u32 end = there * LEAF + LEAF < t.n ? there * LEAF + LEAF : t.n;
      bool found = false;
#pragma unroll 4
      for (u32 q = there * LEAF; q < end; q++) {
        const double distance = distance_to(t, q, x);
        if (!active || t.of[q] == own || q == best.end) continue;
        rest = lesser(rest, offer(t, best, weight_of(t, distance, at, q), distance, q));
        found |= best.end == q;
      }
      if (found) lower_limit(t, own, best.weight);
      radius = lesser(lesser(radius, best.weight), number(load_relaxed(t.limits + own)));
    };
    visit(block);
    traverse(
        t, leaf_of(t, block),
        [&](u32 node) {
          if (!active || t.of_node[node] == own) return false;
          double distance = distance_to_box(t, node, x);
#if CORES
          distance = greater(distance, greater(core, t.node_core[node]));
#endif
          const bool wanted = distance < number(INFINITE) && distance <= radius;
          if (!wanted) pruned = lesser(pruned, distance);
          return wanted;
        },
        visit);
    if (!active) continue;
    t.ends[p] = best.end;
    t.weights[p] = best.weight;
#if CORES
    t.apart[p] = best.apart;
#endif
    t.bounds[p] = lesser(rest, pruned);
    t.state[p] = READ | (best.end != NONE && best.weight < pruned ? EXACT : 0);
  }
}

// Whether a place has a candidate with the least weight of its component.
DEVICE bool is_least(const BoruvkaPoints& t, u32 p) {
  return t.ends[p] != NONE && bits_of(t.weights[p]) == t.limits[t.of[p]];
}

// Whether a place has a candidate with the least weight and, among those, the least distance of its component.
DEVICE bool is_nearest(const BoruvkaPoints& t, u32 p) {
  return is_least(t, p) && (!CORES || bits_of(t.apart[p]) == t.distances[t.of[p]]);
}

// Returns the ends (smaller point, larger point) of a place's candidate, which break ties.
DEVICE u64 pair_of(const BoruvkaPoints& t, u32 p) {
  const u32 a = t.ids[p], b = t.ids[t.ends[p]];
  return a < b ? pack(a, b) : pack(b, a);
}

// Three kernels find the edge that each component takes. This one lowers distances to the least distance among the
// candidates of least weight. One thread per place.
extern "C" __global__ void find_distances(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count())
    if (is_least(t, (u32)p)) atomicMin(t.distances + t.of[p], bits_of(t.apart[p]));
}

// Lowers pairs to the first ends among the candidates of least weight and distance. One thread per place.
extern "C" __global__ void find_pairs(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count())
    if (is_nearest(t, (u32)p)) atomicMin(t.pairs + t.of[p], pair_of(t, (u32)p));
}

// Writes to choices the place whose candidate each component takes. One thread per place. An edge that leaves a
// component has only one end in it, so only one thread writes each choice.
extern "C" __global__ void choose_edges(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count())
    if (is_nearest(t, (u32)p) && pair_of(t, (u32)p) == t.pairs[t.of[p]]) t.choices[t.of[p]] = (u32)p;
}

// Links each component to the one at the other end of its edge; of two components that take the same edge, the smaller
// stays a root. One thread per place. Writes parent, a, b and taken; raises counters[0].
extern "C" __global__ void link_components(const BoruvkaPoints t) {
  for (u64 first = thread_index() & ~31u; first < t.n; first += thread_count()) {
    const u32 own = (u32)first + lane_id();
    const u32 p = own < t.n && t.of[own] == own ? t.choices[own] : NONE;
    const u32 other = p == NONE ? NONE : t.of[t.ends[p]];
    const bool taken = p != NONE && (own > other || t.pairs[other] != t.pairs[own]);
    const u32 at = append_in_warp(t.counters, taken);
    if (!taken) continue;
    t.parent[own] = other;
    t.a[at] = p;
    t.b[at] = t.ends[p];
    t.taken[at] = t.weights[p];
  }
}

// Shortens the path of each component to its root by up to STEPS links. One thread per place. Writes parent; sets
// counters[1] to 1 if some path has not reached its root.
extern "C" __global__ void follow_links(const BoruvkaPoints t) {
  for (u64 own = thread_index(); own < t.n; own += thread_count()) {
    if (t.of[own] != own) continue;
    u32 top = load_relaxed(t.parent + own), next = load_relaxed(t.parent + top);
    for (u32 i = 0; i < STEPS && next != top; i++) {
      top = next;
      next = load_relaxed(t.parent + top);
    }
    store_relaxed(t.parent + own, next);
    if (next != top) store_relaxed(t.counters + 1, 1);
  }
}

// Writes the new component of each place to `of` and of each leaf to of_node, and resets limits, distances, pairs and
// choices for the next round. One warp per leaf.
extern "C" __global__ void relabel(const BoruvkaPoints t) {
  const u32 leaves = 1u << t.levels;
  for (u32 leaf = warp_index(); leaf < leaves; leaf += warp_count()) {
    const u32 p = first_place(t, leaf, t.levels) + lane_id();
    const bool valid = p < first_place(t, leaf + 1, t.levels);
    u32 component = valid ? t.parent[t.of[p]] : EMPTY;
    const u32 common = __shfl_sync(FULL, component, 0);
    const bool several = __any_sync(FULL, valid && component != common);
    if (lane_id() == 0) t.of_node[leaves + leaf] = several ? SEVERAL : common;
    if (!valid) continue;
    t.of[p] = component;
    t.limits[p] = INFINITE;
#if CORES
    t.distances[p] = INFINITE;
#endif
    t.pairs[p] = NO_CANDIDATE;
    t.choices[p] = NONE;
  }
}

// Writes of_node of inner nodes from those of their children. Launched as `join_upwards` says.
extern "C" __global__ void join_components(const BoruvkaPoints t) {
  join_upwards(t, [&](u32 node) {
    const u32 left = t.of_node[2 * node], right = t.of_node[2 * node + 1];
    t.of_node[node] = left == right || right == EMPTY ? left : left == EMPTY ? right : SEVERAL;
  });
}
