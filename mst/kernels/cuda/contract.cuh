// Borůvka rounds over records: hook every component to the other end of its lightest record, give the roots new
// dense numbers, relabel the records, drop those inside one component, and offer the rest to the new components.
#pragma once
#include "first_round.cuh"
#include "tail.cuh"

// Components above which hooks are followed once per component rather than once per record end.
#ifndef FOLLOW_ALL
#define FOLLOW_ALL 65536
#endif
// Items per thread and tile, when there are enough of them.
static const u32 TILE = 4;

// Where a solve stands; equal in all threads.
struct State {
  u32 stage;
  u32 components;   // of this stage
  u32* hooks;       // of this stage's components
};

// Follow hooks to the root. Loads are relaxed, because others may shorten the same path at the same time.
DEVICE u32 follow(u32* hooks, u32 x) {
  u32 hook = load_relaxed(hooks + x);
  while (!(hook & ROOT)) hook = load_relaxed(hooks + hook);
  return hook;
}

DEVICE u32 follow_and_shorten(u32* hooks, u32 x) {
  const u32 hook = load_relaxed(hooks + x);
  if (hook & ROOT) return hook;
  const u32 root = follow(hooks, hook);
  store_relaxed(hooks + x, root);
  return root;
}

DEVICE void follow_all(u32* hooks, u32 count) {
  for (u32 x = thread_index(); x < count; x += thread_count()) follow_and_shorten(hooks, x);
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

DEVICE void clear_best(u64* best, u32 count) {
  for (u32 x = thread_index(); x < count; x += thread_count()) best[x] = NO_OFFER;
}

// Each component with an offer either is a root or emits its lightest edge and hooks across it. Two components that
// chose each other chose one record, because the order is total; the lower one is the root. Components without an
// offer are numbered among the finals when those are `wanted`.
DEVICE void hook_components(const Plan& plan, const State& now, bool wanted) {
  Control* control = plan.control;
  const u64* best = plan.best[now.stage & 1];
  const Record* records = plan.records[now.stage & 1];
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
        offer[i] = best[c];
        hook[i] = offer[i] == NO_OFFER ? FINAL : 0;
      }
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      if (hook[i] != 0) continue;
      const u32 c = first + i * blockDim.x + threadIdx.x;
      const Record record = load_record(records, low_word(offer[i]));
      hook[i] = record.one == c ? record.other : record.one;
      id[i] = record.id;
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 c = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] == FINAL) {
        finals++;
      } else if (c < hook[i] && best[hook[i]] == offer[i]) {
        hook[i] = ROOT;
        roots++;
      } else {
        chosen++;
      }
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
  // A round at least halves the components.
  clear_best(plan.best[(now.stage + 1) & 1], now.components / 2);
}

// Move the records of stage `from` that still join two components to stage `to`.
DEVICE void relabel_records(const Plan& plan, u32 from, u32 to, u32* hooks) {
  const u32 length = plan.control->length[from];
  const Record* records = plan.records[from & 1];
  Appender appender(&plan.control->length[to], chunk_for(length));
  for (u64 first = (u64)warp_index() * 32 * UNROLL; first < length; first += (u64)warp_count() * 32 * UNROLL) {
    Record record[UNROLL];
    bool valid[UNROLL];
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
      const u64 place = first + i * 32 + lane_id();
      valid[i] = place < length;
      if (valid[i]) {
        record[i] = load_record(records, (u32)place);
        valid[i] = record[i].one != record[i].other;
      }
    }
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
      if (!valid[i]) continue;
      record[i].one = follow_and_shorten(hooks, record[i].one) & NUMBER;
      record[i].other = follow_and_shorten(hooks, record[i].other) & NUMBER;
      valid[i] = record[i].one != record[i].other;
    }
    u32 places[UNROLL];
    appender.place(valid, places);
#pragma unroll
    for (u32 i = 0; i < UNROLL; i++) {
      if (!valid[i]) continue;
      store_record(plan, to, places[i], record[i], low_of(plan, from, (u32)first + i * 32 + lane_id()));
      offer_record(plan, to, places[i], record[i]);
    }
  }
  fill_holes(appender, plan.records[to & 1]);
}

DEVICE void finish_offers(const Plan& plan, Grid& grid, u32 stage, Phase phase) {
  grid.sync(phase);
  const u32 ties = plan.control->ties[stage];
  if (ties) {
    settle_ties(plan, stage, ties);
    grid.sync(SETTLE);
  }
}

// Rounds until no record is left. Enter and leave with everything published. `offsets` (shared) remembers where the
// hooks of each stage lie. `hooked` tells that the components of this stage have their hooks already.
DEVICE void contract(const Plan& plan, Grid& grid, State& now, bool wanted, bool hooked, u32* offsets) {
  __shared__ Tail tail;
  for (;;) {
    const u32 length = plan.control->length[now.stage];
    if (length == 0 && !wanted) return;
    if (!hooked && fits_tail(now.components, length)) {
      if (blockIdx.x == 0) finish_in_block(plan, tail, now.stage, now.components, now.hooks, wanted);
      grid.sync(TAIL);
      return;
    }
    if (!hooked) {
      hook_components(plan, now, wanted);
      grid.sync(HOOK);
      if (length == 0) return;
      if (now.components > FOLLOW_ALL) {
        follow_all(now.hooks, now.components);
        grid.sync(FOLLOW);
      }
    }
    hooked = false;
    relabel_records(plan, now.stage, now.stage + 1, now.hooks);
    now.hooks = now.hooks == plan.labels ? plan.levels : now.hooks + now.components;
    now.components = plan.control->roots[now.stage];
    now.stage++;
    if (threadIdx.x == 0) offsets[now.stage] = (u32)(now.hooks - plan.levels);
    finish_offers(plan, grid, now.stage, RELABEL);
  }
}
