// Filter-Borůvka on one GPU: the lightest edges first, then the heavy ones that leave the giant component.
//
// A solve is one cooperative launch, `forest_csr` or `forest_edges`: nothing returns to the host in between.
//
// The heavy phase may skip every edge inside the giant component: light means (key, id) <= threshold, heavy means
// above it, and the light rounds ran until no light edge joined two components; so the tree path between the ends
// of a skipped edge holds light edges only, and the skipped edge is the largest of a cycle. Any component may be
// taken for the giant. Nearly all heavy edges that are left meet it, so it takes no offers: all of them would be
// lowering one word.
#include "contract.cuh"
#include "threshold.cuh"

#ifndef BLOCKS_PER_MULTIPROCESSOR
#define BLOCKS_PER_MULTIPROCESSOR 2
#endif
static const u32 GIANT_SAMPLES = 64;
static const u32 HEAVY_ROWS = 16;  // rows outside the giant that a warp takes at a time

struct Scratch {
  u32 offsets[STAGES];
  union {  // used one after the other
    Histogram histogram;
    Tail tail;
  };
};

DEVICE Threshold find_threshold(const Plan& plan, Histogram& histogram) {
  if (plan.samples) return sample_threshold(plan, histogram);
  return {~(Key)0, NONE};
}

// Records between components from the heavy slots of rows outside the giant. An edge between two such rows is taken
// from the lower one.
struct HeavyVisitor {
  static const u32 ITEMS = ITEMS_PER_THREAD;
  const Plan& plan;
  const u32 stage, spread, giant;
  const Threshold threshold;
  Appender appender;
  u32 v, label;  // this lane's row

  __device__ __forceinline__ HeavyVisitor(const Plan& p, const Threshold& t, const State& now)
      : plan(p),
        stage(now.stage),
        spread(spread_of(now.components)),
        giant(now.passive),
        threshold(t),
        appender(&p.control->length[now.stage], chunk_for(p.light)) {}

  __device__ __forceinline__ bool wants(u32 row) { return (plan.labels[row] & NUMBER) != giant; }
  __device__ __forceinline__ void open(u32 row) {
    v = row;
    label = v == NONE ? NONE : plan.labels[v] & NUMBER;
  }

  __device__ __forceinline__ void slots(const Chunk<ITEMS>& chunk) {
    Record record[ITEMS];
    Key keys[ITEMS];
    bool valid[ITEMS], any = false;
    u32 row[ITEMS], places[ITEMS];
    u64 offers[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) keys[i] = chunk.valid[i] ? stream(plan.keys + chunk.slot[i]) : 0;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      valid[i] = chunk.valid[i] && !is_light_slot(plan, threshold, keys[i], chunk.slot[i]);
      any |= valid[i];
    }
    if (!__any_sync(FULL, any)) return;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      row[i] = __shfl_sync(FULL, v, chunk.row[i]);
      record[i].one = __shfl_sync(FULL, label, chunk.row[i]);
      if (!valid[i]) continue;
      const Slot found = slot_at(plan, chunk.slot[i]);
      record[i].other = found.neighbour;
      record[i].id = edge_id(plan, found);
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      const bool lower = row[i] < record[i].other;
      record[i].other = plan.labels[record[i].other] & NUMBER;
      record[i].high = key_high(keys[i]);
      valid[i] = record[i].other != record[i].one && (record[i].other == giant || lower);
    }
    appender.place(valid, places);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      store_record(plan, stage, places[i], record[i], (u32)keys[i]);
      offers[i] = offer_of(plan, record[i], (u32)keys[i], places[i]);
    }
    make_offers(plan, stage, spread, giant, valid, record, offers);
  }
};

DEVICE void extract_rows(const Plan& plan, const Threshold& threshold, const State& now) {
  HeavyVisitor visitor(plan, threshold, now);
  walk_rows(plan, plan.outside, plan.control->outside, HEAVY_ROWS, visitor);
  fill_holes(visitor.appender, plan.records[now.stage & 1]);
}

DEVICE bool is_outside(const Plan& plan, u32 v) { return plan.outside[v >> 5] >> (v & 31) & 1; }

// Records from the edge list: light edges, or heavy ones with an end outside the giant. Ends become components when
// these are `labelled`.
DEVICE void extract_edges(const Plan& plan, const Threshold& threshold, const State& now, bool heavy, bool labelled) {
  const u32 spread = spread_of(now.components);
  Appender appender(&plan.control->length[now.stage], chunk_for(plan.light));
  for (u64 base = (u64)warp_index() * 32 * ITEMS; base < plan.m; base += (u64)warp_count() * 32 * ITEMS) {
    Record record[ITEMS];
    Key keys[ITEMS];
    bool valid[ITEMS], any = false;
    u32 places[ITEMS];
    u64 offers[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      const u64 edge = base + i * 32 + lane_id();
      valid[i] = edge < plan.m;
      keys[i] = valid[i] ? stream(plan.edge_keys + edge) : 0;
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      record[i].id = (u32)base + i * 32 + lane_id();
      valid[i] = valid[i] && is_light_edge(threshold, keys[i], record[i].id) != heavy;
      any |= valid[i];
    }
    if (!__any_sync(FULL, any)) continue;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      record[i].one = stream(plan.u + record[i].id);
      record[i].other = stream(plan.v + record[i].id);
      record[i].high = key_high(keys[i]);
    }
    if (heavy) {
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++)
        valid[i] = valid[i] && (is_outside(plan, record[i].one) || is_outside(plan, record[i].other));
    }
    if (labelled) {
#pragma unroll
      for (u32 i = 0; i < ITEMS; i++) {
        if (!valid[i]) continue;
        record[i].one = plan.labels[record[i].one] & NUMBER;
        record[i].other = plan.labels[record[i].other] & NUMBER;
      }
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) valid[i] = valid[i] && record[i].one != record[i].other;
    appender.place(valid, places);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      store_record(plan, now.stage, places[i], record[i], (u32)keys[i]);
      offers[i] = offer_of(plan, record[i], (u32)keys[i], places[i]);
    }
    make_offers(plan, now.stage, spread, now.passive, valid, record, offers);
  }
  fill_holes(appender, plan.records[now.stage & 1]);
}

// The component, as a final hook, that component x of stage `stage` ended in. All hooks have been followed.
DEVICE u32 final_of(const Plan& plan, u32 stage, u32 x, const u32* offsets) {
  u32 hook = plan.levels[offsets[stage] + x];
  while (!(hook & FINAL)) hook = plan.levels[offsets[++stage] + (hook & NUMBER)];
  return hook;
}

// The same for a vertex whose hook of stage 0 is known; NONE stays NONE.
DEVICE u32 composed(const Plan& plan, u32 hook) { return hook & FINAL ? hook : plan.composed[hook & NUMBER]; }

// Most frequent component among some random vertices, the same in every block; NONE when all were isolated. Labels
// may be replaced by their components meanwhile, which changes nothing here.
DEVICE u32 find_giant(const Plan& plan) {
  __shared__ u32 sampled[GIANT_SAMPLES];
  __shared__ u64 winner;
  if (threadIdx.x == 0) winner = NONE;
  if (threadIdx.x < GIANT_SAMPLES)
    sampled[threadIdx.x] =
        composed(plan, load_relaxed(plan.labels + __umulhi(mix(plan.seed + threadIdx.x), plan.n)));
  __syncthreads();
  if (threadIdx.x < GIANT_SAMPLES && sampled[threadIdx.x] != NONE) {
    u32 equal = 0;
    for (u32 i = 0; i < GIANT_SAMPLES; i++) equal += sampled[i] == sampled[threadIdx.x];
    atomicMax(&winner, pack(equal, sampled[threadIdx.x]));
  }
  __syncthreads();
  return low_word(winner);
}

// Components of all vertices, and which vertices lie outside the giant: a list of rows, or a bit per vertex.
template <bool LIST>
DEVICE void mark_outside(const Plan& plan, u32 giant) {
  const u32 items = tile_items(plan.n), tile = blockDim.x * items;
  for (u64 first = (u64)blockIdx.x * tile; first < plan.n; first += (u64)gridDim.x * tile) {
    u32 label[TILE], outside = 0;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = first + i * blockDim.x + threadIdx.x;
      label[i] = i < items && v < plan.n ? plan.labels[v] : NONE;
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = first + i * blockDim.x + threadIdx.x;
      label[i] = composed(plan, label[i]);
      if (i < items && v < plan.n) store_relaxed(plan.labels + v, label[i]);
      outside += label[i] != NONE && label[i] != giant;
    }
    if (LIST) {
      Places at = reserve(outside, 0, 0, &plan.control->outside, nullptr, nullptr);
#pragma unroll
      for (u32 i = 0; i < TILE; i++)
        if (label[i] != NONE && label[i] != giant) plan.outside[at.a++] = (u32)first + i * blockDim.x + threadIdx.x;
    } else {
#pragma unroll
      for (u32 i = 0; i < TILE; i++) {
        const u64 v = first + i * blockDim.x + threadIdx.x;
        const u32 votes = __ballot_sync(FULL, label[i] != NONE && label[i] != giant);
        if (lane_id() == 0 && i < items && v < plan.n) plan.outside[v >> 5] = votes;
      }
      reserve(outside, 0, 0, &plan.control->outside, nullptr, nullptr);
    }
  }
}

// Between the phases: what the light edges joined becomes the components of stage `stage`. Returns the giant.
template <bool CSR>
DEVICE u32 compose(const Plan& plan, Grid& grid, u32 stage, u32 components, const u32* offsets) {
  const u32 first = plan.control->roots[0];
  for (u32 c = thread_index(); c < first; c += thread_count()) plan.composed[c] = final_of(plan, 1, c, offsets);
  clear_best(plan.best[stage & 1], components);
  grid.sync(COMPOSE);
  const u32 giant = find_giant(plan);
  mark_outside<CSR>(plan, giant);
  grid.sync(OUTSIDE);
  return giant & NUMBER;
}

// Tell the host, and leave the counters as the next solve wants them. Everybody has passed the last barrier, and reads
// no counter behind it. The host's words and the counters are published by the kernel's end, which the host and the
// next launch wait for.
DEVICE void report(const Plan& plan, u32 last, u32 light_stage, u32 heavy_stage) {
  if (blockIdx.x > 0) return;
  Control* control = plan.control;
  if (threadIdx.x == 0) {
    u32 ties = 0;
    for (u32 stage = 0; stage <= last; stage++) ties += control->ties[stage];
    plan.status[0] = control->emitted;
    plan.status[1] = last;
    plan.status[2] = control->length[light_stage];
    plan.status[3] = control->finals;
    plan.status[4] = control->outside;
    plan.status[5] = ties;
    plan.status[6] = heavy_stage == NONE ? 0 : control->length[heavy_stage];
    plan.status[7] = control->roots[0];
  }
  __syncthreads();
  u32* words = &control->emitted;
  for (u32 i = threadIdx.x; i < COUNTERS; i += blockDim.x) words[i] = 0;
}

// Light edges, then heavy ones. There is one loop for both, to keep the code small. Enter with everything published:
// with CSR, after the first round, whose roots are the components of stage 1.
template <bool CSR>
DEVICE void two_phases(const Plan& plan, Grid& grid, const Threshold& threshold, State now, Scratch& scratch) {
  const bool filtered = plan.samples > 0;
  u32 heavy_stage = NONE;
  const u32 light_stage = now.stage;
  if (threadIdx.x == 0) scratch.offsets[now.stage] = 0;
  for (bool heavy = false;; heavy = true) {
    if (CSR && heavy)
      extract_rows(plan, threshold, now);
    else
      extract_edges(plan, threshold, now, heavy, CSR || heavy);
    finish_offers(plan, grid, now.stage, now.components, EXTRACT);
    contract(plan, grid, now, filtered && !heavy, scratch.tail, scratch.offsets);
    const u32 components = plan.control->finals;
    if (heavy || !filtered || components <= 1) break;
    heavy_stage = now.stage + 1;
    const u32 giant = compose<CSR>(plan, grid, heavy_stage, components, scratch.offsets);
    now = {heavy_stage, components, plan.levels, giant};
  }
  grid.sync(END);
  report(plan, now.stage, light_stage, heavy_stage);
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_MULTIPROCESSOR) forest_csr(const Plan plan) {
  __shared__ Scratch scratch;
  Grid grid(&plan.control->arrivals, plan.control->times);
  const Threshold threshold = find_threshold(plan, scratch.histogram);
  grid.note(THRESHOLD);
  choose_in_rows(plan);
  clear_best(plan.best[1], plan.n / 2 + 1);
  grid.sync(NEAREST);
  if (const u32 pieces = plan.control->pieces) {
    choose_in_pieces(plan, pieces);
    grid.sync(NEAREST);
    join_pieces(plan, pieces);
    grid.sync(JOIN);
  }
  hook_vertices(plan);
  grid.sync(HOOK_VERTICES);
  follow_all(plan.labels, plan.n);
  grid.sync(FOLLOW_VERTICES);
  two_phases<true>(plan, grid, threshold, {1, plan.control->roots[0], plan.levels, NONE}, scratch);
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_MULTIPROCESSOR) forest_edges(const Plan plan) {
  __shared__ Scratch scratch;
  Grid grid(&plan.control->arrivals, plan.control->times);
  clear_best(plan.best[0], plan.n);
  const Threshold threshold = find_threshold(plan, scratch.histogram);
  grid.sync(THRESHOLD);
  two_phases<false>(plan, grid, threshold, {0, plan.n, plan.labels, NONE}, scratch);
}
