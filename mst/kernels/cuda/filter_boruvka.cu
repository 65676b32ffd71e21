// Filter-Borůvka on one GPU: the lightest edges first, then the heavy ones that leave the giant component.
//
// A solve is one cooperative launch, `forest_csr` or `forest_edges`, without transfers to the host in between. The
// phases are in the files that this one includes: threshold.cuh, row_minima.cuh, rounds.cuh, finish_in_block.cuh.
//
// The heavy phase may skip every edge inside the giant component: light means (key, id) <= threshold, heavy means above
// it, and the light rounds ran until no light edge joined two components; so the tree path between the ends of a
// skipped edge holds light edges only, and the skipped edge is the largest of a cycle. Any component may be taken for
// the giant. Nearly all heavy edges that are left have an end in it, so it takes no candidates: all threads would
// contend for one word.
#include "rounds.cuh"
#include "row_minima.cuh"
#include "threshold.cuh"
#include "walk_rows.cuh"

#ifndef BLOCKS_PER_MULTIPROCESSOR
#define BLOCKS_PER_MULTIPROCESSOR 2
#endif
static const u32 GIANT_SAMPLES = 64;
static const u32 HEAVY_ROWS = 16;  // rows outside the giant that a warp takes at a time

struct SharedMemory {
  u32 hook_offsets[ROUNDS];  // where the hooks of each round lie in component_hooks
  union {                    // used one after the other
    Histogram histogram;
    BlockForest block;
  };
};

// The threshold of a solve: sampled, or above all edges.
DEVICE Threshold find_threshold(const FilterBoruvka& g, Histogram& histogram) {
  if (g.samples) return sample_threshold(g, histogram);
  return {~(Key)0, NONE};
}

// Appends the heavy slots of rows outside the giant that join two components. An edge between two such rows is taken
// from the lower one.
struct HeavyVisitor {
  static const u32 ITEMS = ITEMS_PER_THREAD;
  const FilterBoruvka& g;
  const u32 round, spread, giant;
  const Threshold threshold;
  Appender appender;
  u32 v, label;  // this lane's row

  __device__ __forceinline__ HeavyVisitor(const FilterBoruvka& argument, const Threshold& t, const Round& round)
      : g(argument),
        round(round.index),
        spread(spread_of(round.components)),
        giant(round.inactive),
        threshold(t),
        appender(&argument.control->worklist_length[round.index], chunk_for(argument.expected_light)) {}

  __device__ __forceinline__ bool wants_row(u32 row) { return (g.labels[row] & LABEL) != giant; }
  __device__ __forceinline__ void begin(u32 row) {
    v = row;
    label = v == NONE ? NONE : g.labels[v] & LABEL;
  }

  __device__ __forceinline__ void visit(const Chunk<ITEMS>& chunk) {
    WorkEdge edges[ITEMS];
    Key keys[ITEMS];
    bool valid[ITEMS], any = false;
    u32 row[ITEMS], indices[ITEMS];
    u64 candidates[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) keys[i] = chunk.valid[i] ? stream(g.keys + chunk.slot[i]) : 0;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      valid[i] = chunk.valid[i] && !is_light_slot(g, threshold, keys[i], chunk.slot[i]);
      any |= valid[i];
    }
    if (!__any_sync(FULL, any)) return;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      row[i] = __shfl_sync(FULL, v, chunk.row[i]);
      edges[i].a = __shfl_sync(FULL, label, chunk.row[i]);
      if (!valid[i]) continue;
      const Slot found = slot_at(g, chunk.slot[i]);
      edges[i].b = found.neighbour;
      edges[i].id = found.id;
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      const bool lower = row[i] < edges[i].b;
      edges[i].b = g.labels[edges[i].b] & LABEL;
      edges[i].key_high = key_high(keys[i]);
      valid[i] = edges[i].b != edges[i].a && (edges[i].b == giant || lower);
    }
    appender.append(valid, indices);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      store_edge(g, round, indices[i], edges[i], (u32)keys[i]);
      candidates[i] = candidate_of(g, edges[i], (u32)keys[i], indices[i]);
    }
    lower_minima(g, round, spread, giant, valid, edges, candidates);
  }
};

// Fills the worklist of the heavy phase, from CSR.
DEVICE void extract_rows(const FilterBoruvka& g, const Threshold& threshold, const Round& round) {
  HeavyVisitor visitor(g, threshold, round);
  walk_rows(g, g.outside, g.control->outside_count, HEAVY_ROWS, visitor);
  fill_holes(visitor.appender, g.worklist[round.index & 1]);
}

// Whether vertex v is outside the giant, by the bits of g.outside.
DEVICE bool is_outside(const FilterBoruvka& g, u32 v) { return g.outside[v >> 5] >> (v & 31) & 1; }

// Fills the worklist of a phase, from the edge list: light edges, or heavy ones with an end outside the giant. If
// `labelled`, ends become the labels of their components; else components are vertices.
DEVICE void extract_edges(const FilterBoruvka& g, const Threshold& threshold, const Round& round, bool heavy,
                          bool labelled) {
  const u32 spread = spread_of(round.components);
  Appender appender(&g.control->worklist_length[round.index], chunk_for(g.expected_light));
  for (u64 base = (u64)warp_index() * 32 * ITEMS; base < g.m; base += (u64)warp_count() * 32 * ITEMS) {
    WorkEdge edges[ITEMS];
    Key keys[ITEMS];
    bool valid[ITEMS], any = false;
    u32 indices[ITEMS];
    u64 candidates[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      const u64 edge = base + i * 32 + lane_id();
      valid[i] = edge < g.m;
      keys[i] = valid[i] ? stream(g.edge_keys + edge) : 0;
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      edges[i].id = (u32)base + i * 32 + lane_id();
      valid[i] = valid[i] && is_light_edge(threshold, keys[i], edges[i].id) != heavy;
      any |= valid[i];
    }
    if (!__any_sync(FULL, any)) continue;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      edges[i].a = stream(g.u + edges[i].id);
      edges[i].b = stream(g.v + edges[i].id);
      edges[i].key_high = key_high(keys[i]);
    }
    if (heavy) {
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++)
        valid[i] = valid[i] && (is_outside(g, edges[i].a) || is_outside(g, edges[i].b));
    }
    if (labelled) {
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++) {
        if (!valid[i]) continue;
        edges[i].a = g.labels[edges[i].a] & LABEL;
        edges[i].b = g.labels[edges[i].b] & LABEL;
      }
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) valid[i] = valid[i] && edges[i].a != edges[i].b;
    appender.append(valid, indices);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      store_edge(g, round.index, indices[i], edges[i], (u32)keys[i]);
      candidates[i] = candidate_of(g, edges[i], (u32)keys[i], indices[i]);
    }
    lower_minima(g, round.index, spread, round.inactive, valid, edges, candidates);
  }
  fill_holes(appender, g.worklist[round.index & 1]);
}

// The hook (ROOT, FINISHED and label) of the finished component that component x of `round` became part of. The hooks
// of all rounds have been compressed.
DEVICE u32 finished_component_of(const FilterBoruvka& g, u32 round, u32 x, const u32* hook_offsets) {
  u32 hook = g.component_hooks[hook_offsets[round] + x];
  while (!(hook & FINISHED)) hook = g.component_hooks[hook_offsets[++round] + (hook & LABEL)];
  return hook;
}

// The same for a vertex, from its hook of round 0 and light_component; NONE stays NONE.
DEVICE u32 light_component_of(const FilterBoruvka& g, u32 hook) {
  return hook & FINISHED ? hook : g.light_component[hook & LABEL];
}

// Returns the most frequent component (as a hook) of some random vertices, the same in every block; NONE when all were
// isolated. Other blocks may be replacing labels by components in `mark_outside`, which changes nothing here.
DEVICE u32 find_giant(const FilterBoruvka& g) {
  __shared__ u32 sampled[GIANT_SAMPLES];
  __shared__ u64 winner;
  if (threadIdx.x == 0) winner = NONE;
  if (threadIdx.x < GIANT_SAMPLES)
    sampled[threadIdx.x] =
        light_component_of(g, load_relaxed(g.labels + __umulhi(hash32(g.seed + threadIdx.x), g.n)));
  __syncthreads();
  if (threadIdx.x < GIANT_SAMPLES && sampled[threadIdx.x] != NONE) {
    u32 equal = 0;
    for (u32 i = 0; i < GIANT_SAMPLES; i++) equal += sampled[i] == sampled[threadIdx.x];
    atomicMax(&winner, pack(equal, sampled[threadIdx.x]));
  }
  __syncthreads();
  return low_word(winner);
}

// Replaces the labels of all vertices, hooks of round 0, by their components, and writes to outside the vertices that
// lie outside the giant: a list of them, or a bit per vertex. Isolated vertices are not among them.
template <bool LIST>
DEVICE void mark_outside(const FilterBoruvka& g, u32 giant) {
  const u32 items = tile_items(g.n), tile = blockDim.x * items;
  for (u64 first = (u64)blockIdx.x * tile; first < g.n; first += (u64)gridDim.x * tile) {
    u32 label[TILE], outside = 0;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = first + i * blockDim.x + threadIdx.x;
      label[i] = i < items && v < g.n ? g.labels[v] : NONE;
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = first + i * blockDim.x + threadIdx.x;
      label[i] = light_component_of(g, label[i]);
      if (i < items && v < g.n) store_relaxed(g.labels + v, label[i]);
      outside += label[i] != NONE && label[i] != giant;
    }
    if (LIST) {
      Ranges at = reserve(outside, 0, 0, &g.control->outside_count, nullptr, nullptr);
#pragma unroll
      for (u32 i = 0; i < TILE; i++)
        if (label[i] != NONE && label[i] != giant) g.outside[at.a++] = (u32)first + i * blockDim.x + threadIdx.x;
    } else {
#pragma unroll
      for (u32 i = 0; i < TILE; i++) {
        const u64 v = first + i * blockDim.x + threadIdx.x;
        const u32 votes = __ballot_sync(FULL, label[i] != NONE && label[i] != giant);
        if (lane_id() == 0 && i < items && v < g.n) g.outside[v >> 5] = votes;
      }
      reserve(outside, 0, 0, &g.control->outside_count, nullptr, nullptr);
    }
  }
}

// Between the phases: the `components` that the light edges left become those of `round`, whose minima are reset.
// Writes light_component, labels and outside. Returns the giant's label, which is LABEL if there is none.
template <bool CSR>
DEVICE u32 label_light_components(const FilterBoruvka& g, GridBarrier& grid, u32 round, u32 components,
                                  const u32* hook_offsets) {
  const u32 first = g.control->roots[0];
  for (u32 c = thread_index(); c < first; c += thread_count())
    g.light_component[c] = finished_component_of(g, 1, c, hook_offsets);
  reset_minima(g.minima[round & 1], components);
  grid.sync(LIGHT_COMPONENTS);
  const u32 giant = find_giant(g);
  mark_outside<CSR>(g, giant);
  grid.sync(MARK_OUTSIDE);
  return giant & LABEL;
}

// Writes the host's counters, and resets those of the device for the next solve. Every thread has passed the last
// barrier, and reads no counter after it. The host's words and the counters are published by the kernel's end, which
// the host and the next launch wait for.
DEVICE void report_counters(const FilterBoruvka& g, u32 last, u32 light_round, u32 heavy_round) {
  if (blockIdx.x > 0) return;
  Control* control = g.control;
  if (threadIdx.x == 0) {
    u32 ties = 0;
    for (u32 round = 0; round <= last; round++) ties += control->ties[round];
    g.counters[0] = control->forest_edges;
    g.counters[1] = last;
    g.counters[2] = control->worklist_length[light_round];
    g.counters[3] = control->finished;
    g.counters[4] = control->outside_count;
    g.counters[5] = ties;
    g.counters[6] = heavy_round == NONE ? 0 : control->worklist_length[heavy_round];
    g.counters[7] = control->roots[0];
  }
  __syncthreads();
  u32* words = &control->forest_edges;
  for (u32 i = threadIdx.x; i < CONTROL_WORDS; i += blockDim.x) words[i] = 0;
}

// Light edges, then heavy ones. One loop serves both, to keep the code small. Enter with everything published: with
// CSR, after the first round, whose roots are the components of round 1.
template <bool CSR>
DEVICE void two_phases(const FilterBoruvka& g, GridBarrier& grid, const Threshold& threshold, Round round,
                       SharedMemory& shared) {
  const bool filtered = g.samples > 0;
  u32 heavy_round = NONE;
  const u32 light_round = round.index;
  if (threadIdx.x == 0) shared.hook_offsets[round.index] = 0;
  for (bool heavy = false;; heavy = true) {
    if (CSR && heavy)
      extract_rows(g, threshold, round);
    else
      extract_edges(g, threshold, round, heavy, CSR || heavy);
    finish_minima(g, grid, round.index, round.components, EXTRACT);
    boruvka_rounds(g, grid, round, filtered && !heavy, shared.block, shared.hook_offsets);
    const u32 components = g.control->finished;
    if (heavy || !filtered || components <= 1) break;
    heavy_round = round.index + 1;
    const u32 giant = label_light_components<CSR>(g, grid, heavy_round, components, shared.hook_offsets);
    round = {heavy_round, components, g.component_hooks, giant};
  }
  grid.sync(END);
  report_counters(g, round.index, light_round, heavy_round);
}

// The forest of a graph with CSR rows and an edge list: the first round takes the minimum of each row. A cooperative
// launch of any number of blocks of BLOCK threads. Reads the graph; control is zero but for arrivals, and is left so.
// Writes forest, counters and, as workspace, all else.
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_MULTIPROCESSOR) forest_csr(const FilterBoruvka g) {
  __shared__ SharedMemory shared;
  GridBarrier grid(&g.control->arrivals, g.control->clock_notes);
  const Threshold threshold = find_threshold(g, shared.histogram);
  grid.note(THRESHOLD);
  find_row_minima(g);
  reset_minima(g.minima[1], g.n / 2 + 1);
  grid.sync(ROW_MINIMA);
  if (const u32 pieces = g.control->pieces) {
    find_piece_minima(g, pieces);
    grid.sync(ROW_MINIMA);
    combine_pieces(g, pieces);
    grid.sync(COMBINE_PIECES);
  }
  hook_vertices(g);
  grid.sync(HOOK_VERTICES);
  compress_paths(g.labels, g.n);
  grid.sync(COMPRESS_VERTICES);
  two_phases<true>(g, grid, threshold, {1, g.control->roots[0], g.component_hooks, NONE}, shared);
}

// The same from the edge list alone: every round takes minima over a worklist.
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_MULTIPROCESSOR) forest_edges(const FilterBoruvka g) {
  __shared__ SharedMemory shared;
  GridBarrier grid(&g.control->arrivals, g.control->clock_notes);
  reset_minima(g.minima[0], g.n);
  const Threshold threshold = find_threshold(g, shared.histogram);
  grid.sync(THRESHOLD);
  two_phases<false>(g, grid, threshold, {0, g.n, g.labels, NONE}, shared);
}
