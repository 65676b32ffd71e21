// Filter-Borůvka on one GPU: Borůvka rounds over the lightest edges, then over the heavy edges that leave the giant
// component.
//
// A solve is one cooperative launch of `forest_csr` or `forest_edges`; the host takes no part until it ends. The steps
// are in threshold.cuh, row_minima.cuh, rounds.cuh and finish_in_block.cuh.
//
// Each phase processes a band of edges ordered by (key, id): the first phase takes the edges up to a sampled threshold,
// the last one takes the rest. There are usually two phases. But if nearby edges have similar weights, the lightest
// edges may form many small components instead of a giant one. Most vertices then still have heavy edges to check, and
// `next_rank` inserts a phase with a higher threshold.
//
// A later phase may skip every edge inside the giant component. The earlier phases ran until none of their edges joined
// two components, so the tree path between the ends of a skipped edge consists of lighter edges, and the skipped edge
// is the heaviest of a cycle. This holds for any component, so a wrong guess of the giant costs time only. Nearly all
// remaining edges have an end in the giant; it gets no minimum, because all threads would contend for that one word.
#include "rounds.cuh"
#include "row_minima.cuh"
#include "threshold.cuh"
#include "walk_rows.cuh"

#ifndef BLOCKS_PER_MULTIPROCESSOR
#define BLOCKS_PER_MULTIPROCESSOR 2
#endif
static const u32 GIANT_SAMPLES = 64;
static const u32 HEAVY_ROWS = 16;  // rows outside the giant that a warp takes at a time

// An intermediate phase takes about GROWTH times as many edges as the first phase. It is inserted if more than
// OPEN_LIMIT edges are left, and more than OPEN_SHARE times as many as it would take.
static const float GROWTH = 8.0f, OPEN_SHARE = 1.3f;
#ifndef OPEN_LIMIT
#define OPEN_LIMIT 1048576
#endif

struct SharedMemory {
  u32 hook_offsets[ROUNDS];  // position in component_hooks of each round's first hook
  union {                    // never in use at the same time
    Histogram histogram;
    BlockForest block;
  };
};

// Returns the first phase's threshold: a sampled one, or one above all edges if the solve takes no samples.
DEVICE Threshold find_threshold(const FilterBoruvka& g, Histogram& histogram) {
  if (g.samples) return sample_threshold(g, g.threshold_rank, histogram);
  return {~(Key)0, NONE};
}

// For walk_rows: appends to the worklist the edges of a band that join two components, from the rows of vertices
// outside the giant. An edge between two such vertices has a slot in both rows, and is appended from the lower-numbered
// one.
struct HeavyVisitor {
  static const u32 ITEMS = ITEMS_PER_THREAD;
  const FilterBoruvka& g;
  const Band band;
  const Minima minima;
  const u32 giant;
  Appender appender;
  u32 v, label;  // this lane's row, and the component of its vertex

  __device__ __forceinline__ HeavyVisitor(const FilterBoruvka& argument, const Band& edges, const Minima& lowered)
      : g(argument),
        band(edges),
        minima(lowered),
        giant(lowered.inactive),
        appender(&argument.control->worklist_length[lowered.round], chunk_for(argument.expected_light)) {}

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
      valid[i] = chunk.valid[i] && slot_in_band(g, band, keys[i], chunk.slot[i]);
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
      store_edge(g, minima.round, indices[i], edges[i], (u32)keys[i]);
      candidates[i] = candidate_of(g, edges[i], (u32)keys[i], indices[i]);
    }
    lower_minima(g, minima, valid, edges, candidates);
  }
};

// Fills the worklist of a phase after the first, and lowers the minima of its first round, from the CSR rows listed in
// g.outside. `block_words` is shared memory, [BLOCK_COMPONENTS].
DEVICE void extract_rows(const FilterBoruvka& g, const Band& band, const Round& round, u64* block_words) {
  const Minima minima = begin_minima(round.index, round.components, round.inactive, g.m, block_words);
  HeavyVisitor visitor(g, band, minima);
  walk_rows(g, g.outside, g.control->outside_count, HEAVY_ROWS, visitor);
  publish_minima(g, minima);
  fill_holes(visitor.appender, g.worklist[round.index & 1]);
}

// Whether vertex v is outside the giant, where g.outside holds a bit per vertex.
DEVICE bool is_outside(const FilterBoruvka& g, u32 v) { return g.outside[v >> 5] >> (v & 31) & 1; }

// Fills the worklist of a phase with the edges of `band` that join two components, and lowers the minima of the first
// round, from the edge list. If `bits`, edges with both ends in the giant are skipped by the bits of g.outside. If
// `labelled`, the label of a vertex is its component; otherwise each vertex is a component. `block_words` is shared
// memory, [BLOCK_COMPONENTS].
DEVICE void extract_edges(const FilterBoruvka& g, const Band& band, const Round& round, bool bits, bool labelled,
                          u64* block_words) {
  const u32 expected = band.first ? g.expected_light : g.m;
  const Minima minima = begin_minima(round.index, round.components, round.inactive, expected, block_words);
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
      valid[i] = valid[i] && edge_in_band(band, keys[i], edges[i].id);
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
    if (bits) {
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
    lower_minima(g, minima, valid, edges, candidates);
  }
  publish_minima(g, minima);
  fill_holes(appender, g.worklist[round.index & 1]);
}

// Returns the hook (ROOT, FINISHED and label) of the finished component that contains component x of `round`. The hooks
// of all rounds must have been compressed.
DEVICE u32 finished_component_of(const FilterBoruvka& g, u32 round, u32 x, const u32* hook_offsets) {
  u32 hook = g.component_hooks[hook_offsets[round] + x];
  while (!(hook & FINISHED)) hook = g.component_hooks[hook_offsets[++round] + (hook & LABEL)];
  return hook;
}

// Returns the hook of the finished component that contains a vertex at the end of a phase, given its label from the
// start of the phase; NONE for an isolated vertex. In the first phase the label is the hook of round 0, which may
// itself be finished.
DEVICE u32 light_component_of(const FilterBoruvka& g, u32 label, bool first) {
  return label == NONE || (first && label & FINISHED) ? label : g.light_component[label & LABEL];
}

// Returns the hook of the most frequent component among GIANT_SAMPLES random vertices, the same in every block; NONE if
// all of them are isolated. After the first phase, other blocks may already be replacing labels in `mark_outside`: a
// replaced label is finished, so `light_component_of` returns it unchanged.
DEVICE u32 find_giant(const FilterBoruvka& g, bool first) {
  __shared__ u32 sampled[GIANT_SAMPLES];
  __shared__ u64 winner;
  if (threadIdx.x == 0) winner = NONE;
  if (threadIdx.x < GIANT_SAMPLES)
    sampled[threadIdx.x] =
        light_component_of(g, load_relaxed(g.labels + __umulhi(hash32(g.seed + threadIdx.x), g.n)), first);
  __syncthreads();
  if (threadIdx.x < GIANT_SAMPLES && sampled[threadIdx.x] != NONE) {
    u32 equal = 0;
    for (u32 i = 0; i < GIANT_SAMPLES; i++) equal += sampled[i] == sampled[threadIdx.x];
    atomicMax(&winner, pack(equal, sampled[threadIdx.x]));
  }
  __syncthreads();
  return low_word(winner);
}

// Replaces the label of every vertex by its component at the end of a phase, and writes to g.outside which vertices lie
// outside the giant: a list if LIST, else a bit per vertex. Isolated vertices are left out. No two threads share a
// vertex.
template <bool LIST>
DEVICE void mark_outside(const FilterBoruvka& g, u32 giant, bool first) {
  const u32 items = items_for(g.n, TILE), tile = blockDim.x * items;
  for (u64 start = (u64)blockIdx.x * tile; start < g.n; start += (u64)gridDim.x * tile) {
    u32 label[TILE], outside = 0;
    u64 slots = 0;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = start + i * blockDim.x + threadIdx.x;
      label[i] = i < items && v < g.n ? g.labels[v] : NONE;
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = start + i * blockDim.x + threadIdx.x;
      label[i] = light_component_of(g, label[i], first);
      if (i < items && v < g.n) store_relaxed(g.labels + v, label[i]);
      outside += label[i] != NONE && label[i] != giant;
    }
    if (LIST) {
      Ranges at = reserve(outside, 0, 0, &g.control->outside_count, nullptr, nullptr);
#pragma unroll
      for (u32 i = 0; i < TILE; i++)
        if (label[i] != NONE && label[i] != giant) {
          const u32 v = (u32)start + i * blockDim.x + threadIdx.x;
          g.outside[at.a++] = v;
          slots += __ldg(g.offsets + v + 1) - __ldg(g.offsets + v);
        }
      for (u32 distance = 16; distance; distance /= 2) slots += __shfl_xor_sync(FULL, slots, distance);
      if (lane_id() == 0 && slots) atomicAdd(&g.control->open_slots, slots);
    } else {
#pragma unroll
      for (u32 i = 0; i < TILE; i++) {
        const u64 v = start + i * blockDim.x + threadIdx.x;
        const u32 votes = __ballot_sync(FULL, label[i] != NONE && label[i] != giant);
        if (lane_id() == 0 && i < items && v < g.n) g.outside[v >> 5] = votes;
      }
      reserve(outside, 0, 0, &g.control->outside_count, nullptr, nullptr);
    }
  }
}

// Relabels the vertices between two phases. `start` is the first round of the previous phase whose components are not
// the vertices themselves; they have since been united to `components` components, those of round `next`. Overwrites
// light_component, labels and outside and their counters, and resets the minima of round `next`. Returns the giant's
// label, or LABEL if there is none.
template <bool CSR>
DEVICE u32 label_components(const FilterBoruvka& g, GridBarrier& grid, const Round& start, u32 next, u32 components,
                            bool first, const u32* hook_offsets) {
  for (u32 c = thread_index(); c < start.components; c += thread_count())
    g.light_component[c] = finished_component_of(g, start.index, c, hook_offsets);
  reset_minima(g.minima[next & 1], components);
  if (thread_index() == 0) {
    g.control->outside_count = 0;
    g.control->open_slots = 0;
  }
  grid.sync(LIGHT_COMPONENTS);
  if (thread_index() == 0) g.control->finished = 0;
  const u32 giant = find_giant(g, first);
  if (!first) grid.sync(LIGHT_COMPONENTS);
  mark_outside<CSR>(g, giant, first);
  grid.sync(MARK_OUTSIDE);
  return giant & LABEL;
}

// Returns the rank among the samples of the next band's upper end, or g.samples if that band takes all remaining edges.
// `rank` is the rank of the previous band's upper end; `crossing` is the share of all edges that have an end outside
// the giant. All threads compute the same value.
DEVICE u32 next_rank(const FilterBoruvka& g, u32 rank, float crossing) {
  const float open = crossing * g.m * (1.0f - (float)rank / g.samples);
  const float step = GROWTH * g.expected_light;
  if (open <= OPEN_LIMIT || open <= step * OPEN_SHARE) return g.samples;
  const float next = rank + 1 + g.samples * (step / (crossing * g.m));
  return next < 0.9f * g.samples ? (u32)next : g.samples;
}

// Counters for the host: the first round of the first phase; the components and the vertices outside the giant at the
// end of that phase; the first round of the last phase, NONE if there was only one; and the number of phases.
struct PhaseCounters {
  u32 light_round, light_components, outside, heavy_round, count;
};

// Writes the host's counters and resets the device's counters for the next solve; block 0 alone does this. Call it
// after the last grid barrier, when no thread will read a counter again. The end of the kernel publishes both, and the
// host and the next launch wait for it.
DEVICE void report_counters(const FilterBoruvka& g, const PhaseCounters& phases, u32 last) {
  if (blockIdx.x > 0) return;
  Control* control = g.control;
  if (threadIdx.x == 0) {
    u32 ties = 0;
    for (u32 round = 0; round <= last; round++) ties += control->ties[round];
    g.counters[0] = control->forest_edges;
    g.counters[1] = last;
    g.counters[2] = control->worklist_length[phases.light_round];
    g.counters[3] = phases.light_components;
    g.counters[4] = phases.outside;
    g.counters[5] = ties;
    g.counters[6] = phases.heavy_round == NONE ? 0 : control->worklist_length[phases.heavy_round];
    g.counters[7] = control->roots[0];
    g.counters[8] = phases.count;
  }
  __syncthreads();
  u32* words = &control->forest_edges;
  for (u32 i = threadIdx.x; i < CONTROL_WORDS; i += blockDim.x) words[i] = 0;
}

// Runs all phases; a single loop keeps the code small. `round` is the first round of the first phase: with CSR round 1,
// since `forest_csr` has taken round 0, over the vertices, itself. All earlier writes must be visible to all threads.
template <bool CSR>
DEVICE void all_phases(const FilterBoruvka& g, GridBarrier& grid, const Threshold& threshold, Round round,
                       SharedMemory& shared) {
  PhaseCounters counters = {round.index, 0, 0, NONE, 1};
  Band band = {threshold, threshold, true};
  u32 rank = g.threshold_rank;
  bool mostly_outside = false;  // then reading the edge list is cheaper: nearly all rows would hold each edge twice
  for (bool last = g.samples == 0;; counters.count++) {
    Round start = round;
    if (threadIdx.x == 0) shared.hook_offsets[round.index] = 0;
    if (CSR && !band.first && !mostly_outside)
      extract_rows(g, band, round, shared.block.minimum);
    else
      extract_edges(g, band, round, !CSR && !band.first, CSR || !band.first, shared.block.minimum);
    finish_minima(g, grid, round.index, round.components, EXTRACT);
    boruvka_rounds(g, grid, round, !last, shared.block, shared.hook_offsets);
    if (last) break;
    const u32 components = g.control->finished;
    if (band.first) counters.light_components = components;
    if (components <= 1) break;
    if (!CSR && band.first) start = {1, g.control->roots[0], g.component_hooks, NONE};
    const u32 next = round.index + 1;
    const u32 giant = label_components<CSR>(g, grid, start, next, components, band.first, shared.hook_offsets);
    const u32 outside = g.control->outside_count;
    if (band.first) counters.outside = outside;
    counters.heavy_round = next;
    round = {next, components, g.component_hooks, giant};
    mostly_outside = outside > g.n / 2;
    // Without CSR, degrees are unknown: this estimate treats the two ends of an edge as independent random vertices.
    const float crossing = CSR ? (float)g.control->open_slots / g.m : 2.0f * outside / g.n;
    rank = counters.count + 1 < PHASES ? next_rank(g, rank, crossing < 1.0f ? crossing : 1.0f) : g.samples;
    last = rank == g.samples;
    band.above = band.upto;
    band.first = false;
    if (last)
      band.upto = {~(Key)0, NONE};
    else
      band.upto = sample_threshold(g, rank, shared.histogram);
  }
  grid.sync(END);
  report_counters(g, counters, round.index);
}

// Finds the minimum spanning forest of a graph given as CSR rows and edge list; the first round takes the minimum of
// each row. Launch cooperatively with any number of blocks of BLOCK threads. Only reads the graph; writes forest and
// counters, and overwrites the workspace. All of control except arrivals must be zero, and is zero again at the end.
// Grid barriers separate the steps; within a step, threads share words only through atomics, as each step says.
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
  compress_paths(g, grid, g.labels, g.n, 0, COMPRESS_VERTICES);
  all_phases<true>(g, grid, threshold, {1, g.control->roots[0], g.component_hooks, NONE}, shared);
}

// Finds the minimum spanning forest from the edge list alone: every round takes minima over a worklist. Launch,
// arguments and ordering are those of `forest_csr`.
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_MULTIPROCESSOR) forest_edges(const FilterBoruvka g) {
  __shared__ SharedMemory shared;
  GridBarrier grid(&g.control->arrivals, g.control->clock_notes);
  reset_minima(g.minima[0], g.n);
  const Threshold threshold = find_threshold(g, shared.histogram);
  grid.sync(THRESHOLD);
  all_phases<false>(g, grid, threshold, {0, g.n, g.labels, NONE}, shared);
}
