// Borůvka's rounds over points, on a k-d tree whose leaves are blocks of 32 points: mst/kernels/points has the method, and
// mst/algorithms/cuda/device/points.py the order of the kernels.
//
// DIMENSIONS: of the points. LISTED: nearest neighbours that are listed for each point. CORES: 1 if an edge weighs at
// least the core distances of its ends.
//
// Points are numbered by place, in the order of the leaves: block `b` has the places from 32 b on, and a warp works for
// the points of a block, one per lane. Nodes are in heap order: the root is 1, the children of `i` are 2 i and 2 i + 1,
// and the last level has the leaves, of one block or none.
//
// Distances are squared and added up in the order of the dimensions without fused operations, so that they are those of
// the host, bit by bit; a bound from a box, rounded as it is, is never above the distance of a point in it. Edges compare
// by (weight, distance, smaller point, larger point).
//
// Ordering: a launch ends every step. Within one, threads of different blocks meet in atomic minima, in the length of the
// list of edges, in limits, of which any value that one had in the step is right, and in parents, of which every value
// leads to the same root.
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
// Components of nodes that have points of several, and no points.
static const u32 SEVERAL = 0xffffffffu, EMPTY = 0xfffffffeu;
// Bits of a point's state: its candidate is its least edge that leaves the component; its list is no longer read.
static const u32 EXACT = 1, READ = 2;
static const u64 INFINITE = 0x7ff0000000000000ull;
static const u32 STEPS = 16;  // of a link that is followed in one pass

// Passed by value. Distances are float64.
struct BoruvkaPoints {
  const double* columns;    // [DIMENSIONS][n] coordinates by point, while the tree is built
  const u32* order;         // [n] point of each place so far
  double* frames;           // [nodes of a level][3] where a node is split: least coordinate, scale, dimension
  u32* keys;                // [n] a node of the level, and a coordinate in its frame
  const double* x;          // [DIMENSIONS][n] coordinates by place
  const u32* ids;           // [n] point of each place
  double* boxes;            // [nodes][2][DIMENSIONS] least and greatest coordinates; infinite and -infinite: no points
  const u32* counts;        // [n] points at the coordinates of each place; null: one everywhere
  double* core;             // [n] core distances
  double* node_core;        // [nodes] least core distance
  u32* near;                // [LISTED][n] places of the nearest neighbours, nearest first; NONE: there are no more
  double* far;              // [LISTED][n] their distances; infinite: there are no more
  u32* ends;                // [n] candidate of each point: the other end, NONE if there is none
  double* weights;          // [n] its weight
  double* apart;            // [n] its distance
  double* bounds;           // [n] no other edge that leaves the component weighs less, but those of a list not yet read
  unsigned char* state;     // [n]
  u32* of;                  // [n] component of each place: a place of it
  u32* of_node;             // [nodes] component of all points of a node, or SEVERAL or EMPTY
  u64* limits;              // [n] of a component: the least weight found in this round, as bits; infinite before
  u64* distances;           // [n] of a component: the least distance of edges of that weight
  u64* pairs;               // [n] of a component: the first ends (smaller, larger point) of those
  u32* choices;             // [n] of a component: the place whose candidate it takes; NONE before
  u32* parent;              // [n] link of a component; a root is its own
  u32* a;                   // [n - 1] edges of the tree: places of the ends
  u32* b;                   // [n - 1]
  double* taken;            // [n - 1] weights of those
  u32* counters;            // [2] edges of the tree; whether links are left to be followed
  u32 n, blocks, levels;    // levels of inner nodes
  u32 level;                // of the nodes that are split, or below those that are joined
  u32 samples;              // the core distance is that of this neighbour, the point itself counted
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

// The first place of a node, counted from 0 in its level; of the next one, the end of its places.
DEVICE u32 first_place(const BoruvkaPoints& t, u32 node, u32 level) {
  const u64 place = ((u64)node * t.blocks >> level) * LEAF;
  return place < t.n ? (u32)place : t.n;
}

// The leaf, counted from 0, of a block.
DEVICE u32 leaf_of(const BoruvkaPoints& t, u32 block) {
  return (u32)((((u64)(block + 1) << t.levels) - 1) / t.blocks);
}

// ---- The k-d tree: nodes are split at the median of the dimension in which a sample of 32 points spreads most.

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

// A warp for a node of the level. The median is nearly always within the middle two thirds of a sample, and only the
// order there matters: the frame has no bits left for outliers. Writes frames.
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

// A thread for a place: its node in the first bits, its coordinate in the frame of that in the others. Writes keys.
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

// Calls `join(node)` for the nodes of levels above `t.level`, as many levels as one block can join; further launches do
// the rest. A block has `blockDim.x` nodes of the first of these levels.
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

// A warp for a leaf. Writes the leaves' boxes.
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

// See join_upwards. Writes the boxes of inner nodes.
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

// ---- Searches of the tree, by a warp for all points of a leaf that need it.

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

// Traverses the tree from a leaf upwards, nearer nodes first: `wanted(node)` says whether a lane wants the node, and
// `visit(block)` is called for the blocks of the other leaves that some lane wants. Call with all lanes.
template <class Wanted, class Visit>
DEVICE void traverse(const BoruvkaPoints& t, u32 leaf, Wanted wanted, Visit visit) {
  const u32 leaves = 1u << t.levels;
  const double* home = t.boxes + (u64)(leaves + leaf) * 2 * DIMENSIONS;
  double center[DIMENSIONS];
  for (u32 k = 0; k < DIMENSIONS; k++) center[k] = (home[k] + home[DIMENSIONS + k]) / 2;
  // Bit h: the sibling of the node's ancestor at height h is left to be visited.
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

// Whether the point at place q, at a finite distance, comes before that at r; an infinite distance is that of no point.
DEVICE bool comes_before(const BoruvkaPoints& t, double to_q, u32 q, double to_r, u32 r) {
  return to_q < to_r || (to_q == to_r && t.ids[q] < t.ids[r]);
}

// A warp for a block: the k smallest by (distance, point) are listed, so that all that is not listed comes after the last
// one, ties included. Writes near, far.
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

// A thread for a place. Writes core.
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

// A warp for a leaf. Writes node_core of the leaves.
extern "C" __global__ void find_least_core_distances(const BoruvkaPoints t) {
  const u32 leaves = 1u << t.levels;
  for (u32 leaf = warp_index(); leaf < leaves; leaf += warp_count()) {
    const u32 p = first_place(t, leaf, t.levels) + lane_id();
    double least = p < first_place(t, leaf + 1, t.levels) ? t.core[p] : number(INFINITE);
    for (u32 distance = 16; distance; distance /= 2) least = lesser(least, __shfl_xor_sync(FULL, least, distance));
    if (lane_id() == 0) t.node_core[leaves + leaf] = least;
  }
}

// See join_upwards. Writes node_core of inner nodes.
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

// Replaces a point's candidate by the edge to place q if that comes first; returns the weight of the one that is left.
DEVICE double offer(const BoruvkaPoints& t, Candidate& best, double weight, double distance, u32 q) {
  const bool first =
      weight < best.weight || (weight == best.weight && comes_before(t, distance, q, best.apart, best.end));
  const double other = first ? best.weight : weight;
  if (first) best = {weight, distance, q};
  return other;
}

// Lowers the limit of a component.
DEVICE void lower_limit(const BoruvkaPoints& t, u32 component, double weight) {
  if (bits_of(weight) < load_relaxed(t.limits + component)) atomicMin(t.limits + component, bits_of(weight));
}

// A thread for a place. Drops a candidate that now lies within the component, and takes one from the list if that leads
// out of it. Lowers limits; writes ends, weights, apart, bounds, state.
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

// A thread for a node, of 2 to 2 leaves - 1. If all its points are of one component, an edge to a point of another one
// in the sibling limits the searches: far clusters have no neighbours outside in their lists. Lowers limits.
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

// A warp for a block: searches for the least edge that leaves the component, for points that may have one within the
// limit. Lowers limits; writes ends, weights, apart, bounds, state.
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

// Whether a place has a candidate that weighs as little as the limit of its component.
DEVICE bool is_least(const BoruvkaPoints& t, u32 p) {
  return t.ends[p] != NONE && bits_of(t.weights[p]) == t.limits[t.of[p]];
}

// The same, and the least distance.
DEVICE bool is_nearest(const BoruvkaPoints& t, u32 p) {
  return is_least(t, p) && (!CORES || bits_of(t.apart[p]) == t.distances[t.of[p]]);
}

// The ends of a place's candidate, by which ties are broken.
DEVICE u64 pair_of(const BoruvkaPoints& t, u32 p) {
  const u32 a = t.ids[p], b = t.ids[t.ends[p]];
  return a < b ? pack(a, b) : pack(b, a);
}

// Three kernels with a thread for a place find the edge that each component takes. Lowers distances.
extern "C" __global__ void find_distances(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count())
    if (is_least(t, (u32)p)) atomicMin(t.distances + t.of[p], bits_of(t.apart[p]));
}

// Lowers pairs.
extern "C" __global__ void find_pairs(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count())
    if (is_nearest(t, (u32)p)) atomicMin(t.pairs + t.of[p], pair_of(t, (u32)p));
}

// Writes choices.
extern "C" __global__ void choose_edges(const BoruvkaPoints t) {
  for (u64 p = thread_index(); p < t.n; p += thread_count())
    if (is_nearest(t, (u32)p) && pair_of(t, (u32)p) == t.pairs[t.of[p]]) t.choices[t.of[p]] = (u32)p;
}

// A thread for a place. Links a component to the one that its edge leads to; of two that take the same edge, the smaller
// one stays a root. Writes parent, a, b, taken; raises counters[0].
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

// A thread for a place. Shortens the links of components. Writes parent; raises counters[1] if more is left.
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

// A warp for a leaf. Writes `of`, of_node of the leaves, and the values of limits, distances, pairs and choices with
// which the next round begins.
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

// See join_upwards. Writes of_node of inner nodes.
extern "C" __global__ void join_components(const BoruvkaPoints t) {
  join_upwards(t, [&](u32 node) {
    const u32 left = t.of_node[2 * node], right = t.of_node[2 * node + 1];
    t.of_node[node] = left == right || right == EMPTY ? left : left == EMPTY ? right : SEVERAL;
  });
}
