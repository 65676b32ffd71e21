// The worklist of a round, and the lightest edge of each component in the order of (key, edge id).
//
// A component's minimum is one 64-bit word, lowered by atomicMin to the smallest candidate of its edges. The low bits
// of a candidate are the edge's index in the worklist; the remaining high bits are a prefix of its (key, edge id). If
// keys and graph are small, the prefix is complete and the minimum exact. Otherwise two edges of a component may tie,
// that is, have equal prefixes. Of two tied edges, the second to arrive sees the other's prefix, in the guard or as the
// result of its atomicMin, and notes the edge that lost. After the barrier, `resolve_ties` compares the minimum with
// the noted edges in the full order and lowers it by compare-and-swap, so the exact minimum is found.
#pragma once
#include "filter_boruvka.cuh"

// Words over which the minima of few components are spread.
#ifndef SPREAD
#define SPREAD 65536
#endif

// Most components whose words fit a block's shared memory. At most 65536, as `finish_in_block` packs two into a word.
#ifndef BLOCK_COMPONENTS
#define BLOCK_COMPONENTS 1024
#endif
// With more edges than this, the threads of the grid contend for the minima of so few components.
#ifndef CONTENDING_EDGES
#define CONTENDING_EDGES 32768
#endif

// A hook is a component's word in the forest of its round. Without the bit ROOT, it is the component that this one is
// linked to. With ROOT alone, its low bits are the root's label in the next round; with ROOT and FINISHED, they are the
// label of a component that no edge of the phase leaves, counted among such components. An isolated vertex keeps NONE.
static const u32 ROOT = 1u << 31;
static const u32 FINISHED = 1u << 30;
static const u32 LABEL = FINISHED - 1;

// Returns the low word of the key of the edge at `index` of a round's worklist.
DEVICE u32 key_low_of(const FilterBoruvka& g, u32 round, u32 index) {
#if KEY_BITS == 32
  return 0;
#else
  return g.key_low[round & 1][index];
#endif
}

// Minima of few components are spread out, so that all slices of the second-level cache share the load: component c of
// n has its minimum at c << spread_of(n).
DEVICE u32 spread_of(u32 components) {
  if (components >= SPREAD) return 0;
  const u32 spread = __clz(components - 1) - __clz(SPREAD - 1);
  return spread > 5 ? 5 : spread;
}

// Returns the candidate of an edge at `index` of the worklist: the word to which it may lower minima.
DEVICE u64 candidate_of(const FilterBoruvka& g, const WorkEdge& edge, u32 key_low, u32 index) {
#if KEY_BITS == 32
  const u64 prefix = (u64)edge.key_high << g.key_shift | edge.id >> g.id_shift;
#else
  const u64 prefix = (u64)edge.key_high << g.key_shift | (u64)key_low >> g.id_shift;
#endif
  return prefix << g.index_bits | index;
}

// Return the two parts of a candidate: the prefix of (key, edge id), and the index in the worklist.
DEVICE u64 prefix_of(const FilterBoruvka& g, u64 candidate) { return candidate >> g.index_bits; }
DEVICE u32 index_of(const FilterBoruvka& g, u64 candidate) { return (u32)(candidate & ((1ull << g.index_bits) - 1)); }

// Notes for `resolve_ties` the ends at which N edges tied for the minimum of their component. `tied` has a bit per end;
// `seen` holds the minima that the candidates met. Each note gets its own index and is read after the next barrier. A
// warp reserves indices by one addition, since all warps raise the same counter. Once the capacity is exceeded, the
// counter is no longer raised; an outdated value, read relaxed, costs one more addition. Call with all lanes.
template <u32 N>
DEVICE void note_ties(const FilterBoruvka& g, u32 round, u32 tied, const WorkEdge (&edges)[N], const u64 (&seen)[2 * N],
                      const u64 (&candidates)[N]) {
  const u32 upto = scan_in_warp(__popc(tied));
  u32* count = g.control->ties + round;
  u32 at = TIE_CAPACITY;
  if (lane_id() == 31 && load_relaxed(count) <= TIE_CAPACITY) at = atomicAdd(count, upto);
  at = __shfl_sync(FULL, at, 31) + upto - __popc(tied);
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++) {
    if (!(tied >> i & 1)) continue;
    const u64 heavier = seen[i] > candidates[i / 2] ? seen[i] : candidates[i / 2];
    if (at < TIE_CAPACITY) g.ties[at] = pack(i & 1 ? edges[i / 2].b : edges[i / 2].a, index_of(g, heavier));
    at++;
  }
}

// Writes an edge to `index` of the worklist of a round.
DEVICE void store_edge(const FilterBoruvka& g, u32 round, u32 index, const WorkEdge& edge, u32 key_low) {
  *(uint4*)(g.worklist[round & 1] + index) = make_uint4(edge.a, edge.b, edge.key_high, edge.id);
#if KEY_BITS == 64
  g.key_low[round & 1][index] = key_low;
#endif
}

// The minima of a round while its edges lower them.
struct Minima {
  u32 round;
  u32 components;
  u32 spread;        // component c has its minimum at c << spread
  u32 inactive;      // a component that takes no candidates, or NONE
  u64* block_words;  // [components] in shared memory: minima of this block alone; or null
};

// Returns the minima of a round with `components` components, to be lowered by up to `edges` edges; component
// `inactive` takes no candidates. If many edges share few components, each block first lowers minima of its own in
// `block_words`, [BLOCK_COMPONENTS], and `publish_minima` merges them into the grid's. Call with all threads of the
// block.
DEVICE Minima begin_minima(u32 round, u32 components, u32 inactive, u32 edges, u64* block_words) {
  Minima minima = {round, components, spread_of(components), inactive, nullptr};
  if (components <= BLOCK_COMPONENTS && edges > CONTENDING_EDGES) {
    minima.block_words = block_words;
    __syncthreads();  // block_words may have served as other shared memory
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) block_words[c] = NO_CANDIDATE;
    __syncthreads();
  }
  return minima;
}

// Lowers the minima at both ends of N edges; all reads are issued together, then all atomics. A minimum is read first,
// to skip needless atomics. Of two edges with equal prefixes, the one with the larger candidate is noted, so every edge
// that has arrived with the smallest prefix is either the minimum or noted. Call with all lanes.
template <u32 N>
DEVICE void lower_minima(const FilterBoruvka& g, const Minima& minima, const bool (&valid)[N],
                         const WorkEdge (&edges)[N], const u64 (&candidates)[N]) {
  u64* words = g.minima[minima.round & 1];
  u64 seen[2 * N];
  u32 tied = 0;
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++) {
    const u32 end = i & 1 ? edges[i / 2].b : edges[i / 2].a;
    seen[i] = 0;
    if (valid[i / 2] && end != minima.inactive)
      seen[i] = minima.block_words ? *(volatile u64*)(minima.block_words + end)
                                   : load_relaxed(words + (end << minima.spread));
  }
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++) {
    const u32 end = i & 1 ? edges[i / 2].b : edges[i / 2].a;
    if (seen[i] > candidates[i / 2])
      seen[i] = minima.block_words ? atomicMin(minima.block_words + end, candidates[i / 2])
                                   : atomicMin(words + (end << minima.spread), candidates[i / 2]);
  }
#pragma unroll
  for (u32 i = 0; i < 2 * N; i++) {
    const u32 end = i & 1 ? edges[i / 2].b : edges[i / 2].a;
    const bool takes = valid[i / 2] && end != minima.inactive && seen[i] != NO_CANDIDATE;
    tied |= (u32)(takes && prefix_of(g, seen[i]) == prefix_of(g, candidates[i / 2])) << i;
  }
  if (__any_sync(FULL, tied)) note_ties(g, minima.round, tied, edges, seen, candidates);
}

// Lowers the minima of the grid to those of this block, if it has any. Call with all threads of the block.
DEVICE void publish_minima(const FilterBoruvka& g, const Minima& minima) {
  if (!minima.block_words) return;
  const Minima all = {minima.round, minima.components, minima.spread, NONE, nullptr};
  __syncthreads();
  for (u32 first = 0; first < minima.components; first += blockDim.x) {
    const u32 c = first + threadIdx.x;
    const u64 candidates[1] = {c < minima.components ? minima.block_words[c] : NO_CANDIDATE};
    const bool valid[1] = {candidates[0] != NO_CANDIDATE};
    const WorkEdge edges[1] = {{c, NONE, 0, 0}};
    lower_minima(g, all, valid, edges, candidates);
  }
}

// Returns the edge at `index` of a worklist.
DEVICE WorkEdge load_edge(const WorkEdge* worklist, u32 index) {
  const uint4 r = *(const uint4*)(worklist + index);
  WorkEdge edge;
  edge.a = r.x;
  edge.b = r.y;
  edge.key_high = r.z;
  edge.id = r.w;
  return edge;
}

// Writes an edge from a component to itself at each index that this warp reserved but did not use; relabelling drops
// it.
DEVICE void fill_holes(const Appender& appender, WorkEdge* worklist) {
  for (u32 index = appender.next + lane_id(); index < appender.end; index += 32)
    *(uint4*)(worklist + index) = make_uint4(0, 0, 0, 0);
}

// Lowers the minimum of a component to the edge at `index` if this edge has the same prefix and is lighter. The edges
// were published by the previous barrier, and `lower_minima` does not run at the same time, so a minimum only falls in
// the full order: a failed compare-and-swap has lost to a lighter edge, and attempts are bounded by the number of edges
// with the prefix.
DEVICE void resolve_tie(const FilterBoruvka& g, u32 round, u32 spread, u32 component, u32 index) {
  const WorkEdge* worklist = g.worklist[round & 1];
  u64* minimum = g.minima[round & 1] + (component << spread);
  const WorkEdge edge = load_edge(worklist, index);
  const u32 key_low = key_low_of(g, round, index);
  const u64 candidate = candidate_of(g, edge, key_low, index);
  u64 seen = load_relaxed(minimum);
  while (prefix_of(g, seen) == prefix_of(g, candidate) && seen != candidate && seen != NO_CANDIDATE) {
    const u32 rival = index_of(g, seen), rival_key_low = key_low_of(g, round, rival);
    const WorkEdge other = load_edge(worklist, rival);
    if (other.key_high < edge.key_high) break;
    if (other.key_high == edge.key_high &&
        (rival_key_low < key_low || (rival_key_low == key_low && other.id < edge.id)))
      break;
    const u64 before = atomicCAS(minimum, seen, candidate);
    if (before == seen) break;
    seen = before;
  }
}

// Makes the minima of a round exact. The whole grid calls it, between two barriers. `ties` is the number of notes; if
// it exceeds the capacity, every edge of the worklist is tried instead.
DEVICE void resolve_ties(const FilterBoruvka& g, u32 round, u32 spread, u32 ties) {
  if (ties <= TIE_CAPACITY) {
    for (u32 i = thread_index(); i < ties; i += thread_count())
      resolve_tie(g, round, spread, high_word(g.ties[i]), low_word(g.ties[i]));
    return;
  }
  const u32 length = g.control->worklist_length[round];
  for (u32 index = thread_index(); index < length; index += thread_count()) {
    const WorkEdge edge = load_edge(g.worklist[round & 1], index);
    if (edge.a == edge.b) continue;
    resolve_tie(g, round, spread, edge.a, index);
    resolve_tie(g, round, spread, edge.b, index);
  }
}
