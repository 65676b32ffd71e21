// The last rounds in one block: components in shared memory, edges in registers, barriers of one multiprocessor.
//
// A round of the whole grid costs several grid barriers and several accesses to the second-level cache, even for few
// edges. Here an edge stays with one thread, which checks whether it is the minimum of an end; so minima are exact at
// once, over (key, edge id), and need no indices.
#pragma once
#include "worklist.cuh"

// Edges per thread.
#ifndef BLOCK_ITEMS
#define BLOCK_ITEMS 4
#endif

// In shared memory.
struct BlockForest {
  u64 minimum[BLOCK_COMPONENTS];  // per root: see `word_in_block`
#if KEY_BITS == 64
  u32 minimum_id[BLOCK_COMPONENTS];
#endif
  u32 partner[BLOCK_COMPONENTS];  // per root: the root across its lightest edge, or NONE
  u32 parent[BLOCK_COMPONENTS];
  u32 forest_edges, finished;     // of Control
};

// Whether a round of `components`, with `length` entries in its worklist, can be finished in one block.
DEVICE bool fits_block(u32 components, u32 length) {
  return components <= BLOCK_COMPONENTS && length <= BLOCK_ITEMS * blockDim.x;
}

// The root of component c.
DEVICE u32 root_in_block(const BlockForest& block, u32 c) {
  u32 parent = block.parent[c];
  while (parent != c) {
    c = parent;
    parent = block.parent[c];
  }
  return c;
}

// Lowers a minimum to `word`. The guard may read an older, larger minimum, and then the atomic decides.
DEVICE void lower_in_block(u64* minimum, u64 word) {
  if (*(volatile u64*)minimum > word) atomicMin(minimum, word);
}

// The word by which the edge at `index` of the worklist is compared: its key and, if that has 32 bits, its id.
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

// One block, so that barriers of the block are all that orders it: between two of them a word of the shared arrays is
// either lowered atomically, or written by the one thread that owns its component and read by that thread alone, or
// only read. `partner` is written by the one edge that is the minimum of a component. Words of the grid that the block
// reads were published by the last grid barrier, and the next one publishes those that it writes.
//
// Appends the forest of the round's worklist to g.forest. If `label_finished`, writes hooks[0 … components): ROOT |
// FINISHED | the label that the component's root gets from control's `finished`. Call with all threads of the block.
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
    if (edge.a == edge.b) continue;  // a hole, whose key_low was not written
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
    // Paths are shortened once per round. Roots are first written to `partner`, so that no parent changes while it is
    // followed.
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
