// Borůvka rounds over records: hook every component to the other end of its lightest record, give the roots new
// dense numbers, relabel the records, drop those inside one component, and offer the rest to the new components.
#pragma once
#include "first_round.cuh"
#include "tail.cuh"

// Items per thread and tile, when there are enough of them.
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 2
#endif
static const u32 TILE = 4;
static const u32 ITEMS = ITEMS_PER_THREAD;

// Where a solve stands; equal in all threads.
struct State {
  u32 stage;
  u32 components;   // of this stage
  u32* hooks;       // of this stage's components
  u32 passive;      // one that takes no offers in this stage and makes no choice, or NONE
};

// Replace every hook by the root that it leads to. Accesses are relaxed, because paths are shortened while others
// follow them: a hook is read as it was published by the last barrier, or as its root, and either leads to the same
// root. Hooks make trees, because the order is total; so a walk is no longer than a tree is high, and waits for nobody.
// It is a pass of its own, so that whoever needs components next finds them in the first-level cache:
// many records share few of them.
DEVICE void follow_all(u32* hooks, u32 count) {
  for (u32 x = thread_index(); x < count; x += thread_count()) {
    u32 hook = load_relaxed(hooks + x);
    if (hook & ROOT) continue;
    while (!(hook & ROOT)) hook = load_relaxed(hooks + hook);
    store_relaxed(hooks + x, hook);
  }
}

DEVICE u32 tile_items(u32 count) { return count > thread_count() ? TILE : 1; }

// Stage 0 over CSR. nearest[] has no cycles but pairs that chose each other, because the order is total; the lower
// end of a pair is the root. Others hook to the neighbour's neighbour: half the path to follow.
DEVICE void hook_vertices(const Plan& plan) {
  const u32 items = tile_items(plan.n), tile = blockDim.x * items;
  for (u64 first = (u64)blockIdx.x * tile; first < plan.n; first += (u64)gridDim.x * tile) {
    u32 hook[TILE];
    u32 roots = 0, chosen = 0;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = first + i * blockDim.x + threadIdx.x;
      hook[i] = NONE;
      if (i < items && v < plan.n) hook[i] = plan.nearest[v];
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 v = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] == v) {
        plan.labels[v] = NONE;
        hook[i] = NONE;
        continue;
      }
      const u32 next = plan.nearest[hook[i]];
      if (next != v) {
        hook[i] = next;
      } else if (v < hook[i]) {
        hook[i] = ROOT;
        roots++;
        continue;
      }
      chosen++;
    }
    Places at = reserve(roots, chosen, 0, &plan.control->roots[0], &plan.control->emitted, nullptr);
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 v = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] != ROOT) {
        plan.forest[at.b++] = plan.choice[v];
        plan.labels[v] = hook[i];
      } else {
        plan.labels[v] = ROOT | at.a++;
      }
    }
  }
}

// For up to `count` components, however many there will be.
DEVICE void clear_best(u64* best, u32 count) {
  const u32 words = count > SPREAD ? count : count << 5 > SPREAD ? SPREAD : count << 5;
  for (u32 x = thread_index(); x < words; x += thread_count()) best[x] = NO_OFFER;
}

// Each component with an offer either is a root or emits its lightest edge and hooks across it. Two components that
// chose each other chose one record, because the order is total; the lower one is the root. The passive component is
// a root too: Borůvka's rounds stay right when one component makes no choice. Others without an offer are numbered among the finals when those are `wanted`.
DEVICE void hook_components(const Plan& plan, const State& now, bool wanted) {
  Control* control = plan.control;
  const u64* best = plan.best[now.stage & 1];
  const Record* records = plan.records[now.stage & 1];
  const u32 spread = spread_of(now.components);
  const u32 items = tile_items(now.components), tile = blockDim.x * items;
  for (u32 first = blockIdx.x * tile; first < now.components; first += gridDim.x * tile) {
    u64 offer[TILE];
    u32 hook[TILE], id[TILE];
    u32 roots = 0, chosen = 0, finals = 0;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 c = first + i * blockDim.x + threadIdx.x;
      hook[i] = NONE;
      if (i < items && c < now.components) {
        offer[i] = best[c << spread];
        hook[i] = offer[i] != NO_OFFER ? 0 : c == now.passive ? ROOT : FINAL;
      }
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      if (hook[i] != 0) continue;
      const u32 c = first + i * blockDim.x + threadIdx.x;
      const Record record = load_record(records, place_of(plan, offer[i]));
      hook[i] = record.one == c ? record.other : record.one;
      id[i] = record.id;
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 c = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] < FINAL && c < hook[i] && best[hook[i] << spread] == offer[i]) hook[i] = ROOT;
      roots += hook[i] == ROOT;
      finals += hook[i] == FINAL;
      chosen += hook[i] < FINAL;
    }
    Places at = reserve(roots, chosen, wanted ? finals : 0, &control->roots[now.stage], &control->emitted,
                        &control->finals);
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 c = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] == FINAL) {
        now.hooks[c] = wanted ? ROOT | FINAL | at.c++ : ROOT | FINAL;
      } else if (hook[i] == ROOT) {
        now.hooks[c] = ROOT | at.a++;
      } else {
        now.hooks[c] = hook[i];
        plan.forest[at.b++] = id[i];
      }
    }
  }
  // A round at least halves the components, the passive one excepted.
  clear_best(plan.best[(now.stage + 1) & 1], now.components / 2 + 1);
}

// Move the records of stage `from` that still join two components to stage `to`.
DEVICE void relabel_records(const Plan& plan, u32 from, u32 to, const u32* hooks) {
  const u32 length = plan.control->length[from];
  const Record* records = plan.records[from & 1];
  const u32 spread = spread_of(plan.control->roots[from]);
  const u32 items = length > thread_count() ? ITEMS : 1;
  Appender appender(&plan.control->length[to], chunk_for(length));
  for (u64 first = (u64)warp_index() * 32 * items; first < length; first += (u64)warp_count() * 32 * items) {
    Record record[ITEMS];
    bool valid[ITEMS];
    u32 places[ITEMS];
    u64 offers[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      const u64 place = first + i * 32 + lane_id();
      valid[i] = i < items && place < length;
      if (valid[i]) {
        record[i] = load_record(records, (u32)place);
        valid[i] = record[i].one != record[i].other;
      }
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      record[i].one = hooks[record[i].one] & NUMBER;
      record[i].other = hooks[record[i].other] & NUMBER;
      valid[i] = record[i].one != record[i].other;
    }
    appender.place(valid, places);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      const u32 low = low_of(plan, from, (u32)first + i * 32 + lane_id());
      store_record(plan, to, places[i], record[i], low);
      offers[i] = offer_of(plan, record[i], low, places[i]);
    }
    make_offers(plan, to, spread, NONE, valid, record, offers);
  }
  fill_holes(appender, plan.records[to & 1]);
}

DEVICE void finish_offers(const Plan& plan, Grid& grid, u32 stage, u32 components, Phase phase) {
  grid.sync(phase);
  const u32 ties = plan.control->ties[stage];
  if (ties) {
    settle_ties(plan, stage, spread_of(components), ties);
    grid.sync(SETTLE);
  }
}

// Rounds until no record is left. Enter and leave with everything published. `offsets` (shared) remembers where the
// hooks of each stage lie.
DEVICE void contract(const Plan& plan, Grid& grid, State& now, bool wanted, Tail& tail, u32* offsets) {
  for (;;) {
    const u32 length = plan.control->length[now.stage];
    if (length == 0 && !wanted) return;
    if (fits_tail(now.components, length)) {
      if (blockIdx.x == 0) finish_in_block(plan, tail, now.stage, now.components, now.hooks, wanted);
      grid.sync(TAIL);
      return;
    }
    if (length == 0) now.passive = NONE;
    hook_components(plan, now, wanted);
    grid.sync(HOOK);
    if (length == 0) return;
    follow_all(now.hooks, now.components);
    grid.sync(FOLLOW);
    relabel_records(plan, now.stage, now.stage + 1, now.hooks);
    now.passive = NONE;
    now.hooks = now.hooks == plan.labels ? plan.levels : now.hooks + now.components;
    now.components = plan.control->roots[now.stage];
    now.stage++;
    if (threadIdx.x == 0) offsets[now.stage] = (u32)(now.hooks - plan.levels);
    finish_offers(plan, grid, now.stage, now.components, RELABEL);
  }
}
