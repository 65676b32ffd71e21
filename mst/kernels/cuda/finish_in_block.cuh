// The last rounds of a phase in one block, with components in shared memory and edges in registers.
//
// A round by the whole grid costs several grid barriers and several accesses to the second-level cache, even for few
// edges. Here a round needs only barriers of the block. An edge stays with one thread, which itself checks whether the
// edge is the minimum of an end; so minima need no indices, and are exact over (key, edge id).
#pragma once
#include "worklist.cuh"

// Edges per thread.
#ifndef BLOCK_ITEMS
#define BLOCK_ITEMS 4
#endif

// In shared memory.
struct BlockForest {
  u64 minimum[BLOCK_COMPONENTS];  // least word of each root's edges, see `word_in_block`
#if KEY_BITS == 64
  u32 minimum_id[BLOCK_COMPONENTS];
#endif
  u32 partner[BLOCK_COMPONENTS];  // root at the other end of each root's lightest edge, or NONE
  u32 parent[BLOCK_COMPONENTS];
  u32 forest_edges, finished;     // of Control
};

// Whether a round of `components`, with `length` entries in its worklist, can be finished in one block.
DEVICE bool fits_block(u32 components, u32 length) {
  return components <= BLOCK_COMPONENTS && length <= BLOCK_ITEMS * blockDim.x;
}

// Returns the root of component c.
DEVICE u32 root_in_block(const BlockForest& block, u32 c) {
  u32 parent = block.parent[c];
  while (parent != c) {
    c = parent;
    parent = block.parent[c];
  }
  return c;
}

// Lowers a minimum to at most `word`. The guard may read an outdated, larger minimum; then the atomic decides.
DEVICE void lower_in_block(u64* minimum, u64 word) {
  if (*(volatile u64*)minimum > word) atomicMin(minimum, word);
}

// Returns the word by which the edge at `index` of the worklist is compared: (key, id) if keys have 32 bits, else the
// key.
DEVICE u64 word_in_block(const FilterBoruvka& g, u32 round, u32 index, const WorkEdge& edge) {
#if KEY_BITS == 32
  return pack(edge.key_high, edge.id);
#else
  return pack(edge.key_high, key_low_of(g, round, index));
#endif
}

// Whether an edge is the lightest of root c.
DEVICE bool is_minimum_in_block(const BlockForest& block, u32 c, u64 word, u32 id) {
#if KEY_BITS == 32
  return block.minimum[c] == word;
#else
  return block.minimum[c] == word && block.minimum_id[c] == id;
#endif
}

// Appends the forest of the round's worklist to g.forest. If `label_finished`, writes hooks[0 … components): ROOT |
// FINISHED | a label, which the component's root takes from the counter `finished`. Call with all threads of one block.
//
// Barriers of the block alone order its threads. Between two barriers, a word of the shared arrays is lowered
// atomically, or is read and written only by the thread that owns its component, or is only read; `partner` of a
// component is written by the thread that has its lightest edge. The last grid barrier has published the global words
// that the block reads, and the next one publishes the words that it writes.
DEVICE void finish_in_block(const FilterBoruvka& g, BlockForest& block, u32 round, u32 components, u32* hooks,
                            bool label_finished) {
  const u32 length = g.control->worklist_length[round];
  u32 ends[BLOCK_ITEMS];  // two halves; an edge whose ends are equal is dropped
  u64 word[BLOCK_ITEMS];
#if KEY_BITS == 64
  u32 id[BLOCK_ITEMS];
#endif
#pragma unroll
  for (u32 i = 0; i < BLOCK_ITEMS; i++) {
    const u32 index = i * blockDim.x + threadIdx.x;
    ends[i] = 0;
    if (index >= length) continue;
    const WorkEdge edge = load_edge(g.worklist[round & 1], index);
    if (edge.a == edge.b) continue;  // a hole has no key_low
    ends[i] = edge.a << 16 | edge.b;
#if KEY_BITS == 64
    id[i] = edge.id;
#endif
    word[i] = word_in_block(g, round, index, edge);
  }
  for (u32 c = threadIdx.x; c < components; c += blockDim.x) block.parent[c] = c;
  if (threadIdx.x == 0) {
    block.forest_edges = g.control->forest_edges;
    block.finished = g.control->finished;
  }
  for (;;) {
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
      block.minimum[c] = NO_CANDIDATE;
      block.partner[c] = NONE;
#if KEY_BITS == 64
      block.minimum_id[c] = NONE;
#endif
    }
    __syncthreads();
    bool any = false;
#pragma unroll
    for (u32 i = 0; i < BLOCK_ITEMS; i++) {
      u32 a = ends[i] >> 16, b = ends[i] & 0xffff;
      if (a == b) continue;
      a = root_in_block(block, a);
      b = root_in_block(block, b);
      ends[i] = a << 16 | b;
      if (a == b) continue;
      any = true;
      lower_in_block(&block.minimum[a], word[i]);
      lower_in_block(&block.minimum[b], word[i]);
    }
    if (!__syncthreads_or(any)) break;
#if KEY_BITS == 64
#pragma unroll
    for (u32 i = 0; i < BLOCK_ITEMS; i++) {
      const u32 a = ends[i] >> 16, b = ends[i] & 0xffff;
      if (a == b) continue;
      if (block.minimum[a] == word[i]) atomicMin(&block.minimum_id[a], id[i]);
      if (block.minimum[b] == word[i]) atomicMin(&block.minimum_id[b], id[i]);
    }
    __syncthreads();
#endif
#pragma unroll
    for (u32 i = 0; i < BLOCK_ITEMS; i++) {
      const u32 a = ends[i] >> 16, b = ends[i] & 0xffff;
      if (a == b) continue;
#if KEY_BITS == 32
      const u32 edge = low_word(word[i]);
#else
      const u32 edge = id[i];
#endif
      const bool of_a = is_minimum_in_block(block, a, word[i], edge);
      const bool of_b = is_minimum_in_block(block, b, word[i], edge);
      if (of_a) block.partner[a] = b;
      if (of_b) block.partner[b] = a;
      if (of_a || of_b) g.forest[atomicAdd(&block.forest_edges, 1u)] = edge;
    }
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) {
      const u32 partner = block.partner[c];
      if (partner != NONE && !(c < partner && block.partner[partner] == c)) block.parent[c] = partner;
    }
    __syncthreads();
    // Paths are shortened once per round. Roots go to `partner` first, so that no parent changes while others follow
    // it.
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) block.partner[c] = root_in_block(block, c);
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x) block.parent[c] = block.partner[c];
  }
  if (label_finished) {
    for (u32 c = threadIdx.x; c < components; c += blockDim.x)
      if (block.parent[c] == c) block.minimum[c] = atomicAdd(&block.finished, 1u);
    __syncthreads();
    for (u32 c = threadIdx.x; c < components; c += blockDim.x)
      hooks[c] = ROOT | FINISHED | (u32)block.minimum[root_in_block(block, c)];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    g.control->forest_edges = block.forest_edges;
    g.control->finished = block.finished;
  }
}
