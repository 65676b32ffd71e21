// Borůvka's rounds over worklists: hook every component to the other end of its lightest edge, give the roots new dense
// labels, relabel the worklist, drop the edges inside one component, and lower the minima of the new components.
#pragma once
#include "append.cuh"
#include "finish_in_block.cuh"
#include "grid_barrier.cuh"

// Edges (ITEMS) and vertices or components (TILE) that a thread processes at a time, at most; see `items_for`.
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 2
#endif
static const u32 ITEMS = ITEMS_PER_THREAD;
static const u32 TILE = 2;
// Steps that a pass of path compression takes along a path; from step PATIENCE on, it stores its position at each step.
#ifndef PATH_STEPS
#define PATH_STEPS 8
#endif
#ifndef PATIENCE
#define PATIENCE 3
#endif

// The current round of a solve, the same in all threads.
struct Round {
  u32 index;
  u32 components;
  u32* hooks;    // [components]
  u32 inactive;  // a component that takes no candidates in this round and chooses no edge, or NONE
};

// Returns how many items a thread processes at a time in a pass over `count` items: the fewest that need one sweep of
// the grid, at most `most`.
DEVICE u32 items_for(u32 count, u32 most) {
  for (u32 items = 1; items < most; items++)
    if (count <= (u64)items * thread_count()) return items;
  return most;
}

// One pass of path compression: replaces every hook by one at least PATH_STEPS steps further along its path, or by the
// word of the root. Returns whether this thread left a path unfinished. Accesses are relaxed, because paths are
// shortened while other threads follow them: a thread reads a hook as published by the last barrier, or a later one of
// the same path, and both lead to the same root. On a long path, a thread stores its position at each step, so that
// threads behind it jump: the length of their steps doubles.
DEVICE bool shorten_paths(u32* hooks, u32 count) {
  bool unfinished = false;
  const u32 items = items_for(count, TILE);
  for (u64 first = thread_index(); first < count; first += (u64)items * thread_count()) {
    u32 hook[TILE];
    bool open = false;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 x = first + (u64)i * thread_count();
      hook[i] = i < items && x < count ? load_relaxed(hooks + x) : ROOT;
      open |= !(hook[i] & ROOT);
    }
    for (u32 step = 1; open && step <= PATH_STEPS; step++) {
      bool follows[TILE];
      open = false;
#pragma unroll
      for (u32 i = 0; i < TILE; i++) {
        follows[i] = !(hook[i] & ROOT);
        if (follows[i]) hook[i] = load_relaxed(hooks + hook[i]);
      }
#pragma unroll
      for (u32 i = 0; i < TILE; i++) {
        if (follows[i] && (hook[i] & ROOT || step >= PATIENCE))
          store_relaxed(hooks + first + (u64)i * thread_count(), hook[i]);
        open |= !(hook[i] & ROOT);
      }
    }
    unfinished |= open;
  }
  return unfinished;
}

// Path compression: replaces every hook of `round` by the word of its root (ROOT and the root's label in the next
// round), and publishes the hooks. Hooks form trees, because the order of edges is total. Each pass multiplies the span
// of a hook by PATH_STEPS or reaches the root, so few passes shorten even a chain of all components; one nearly always
// suffices. `long_paths` holds the last pass of the round that left a path unfinished. A pass runs only if the one
// before it set this word, so a block that reads it late decides as the others did. Compression is a phase of its own
// so that the next phase finds roots in the first-level cache: many edges share few roots.
DEVICE void compress_paths(const FilterBoruvka& g, GridBarrier& grid, u32* hooks, u32 count, u32 round, Phase phase) {
  u32* last = g.control->long_paths + round;
  for (u32 pass = 1;; pass++) {
    if (__any_sync(FULL, shorten_paths(hooks, count)) && lane_id() == 0) store_relaxed(last, pass);
    grid.sync(phase);
    if (load_relaxed(last) < pass) return;
  }
}

// Round 0 over CSR: hooks every vertex across its lightest edge and appends these edges to the forest. The only cycles
// in lightest_neighbour are pairs that chose each other, because the order is total; the lower end of a pair is the
// root. Other vertices hook to the neighbour's neighbour, which halves the path. Writes labels: the hook of each
// vertex, NONE if it is isolated. Each thread writes only its own vertices.
DEVICE void hook_vertices(const FilterBoruvka& g) {
  const u32 items = items_for(g.n, TILE), tile = blockDim.x * items;
  for (u64 first = (u64)blockIdx.x * tile; first < g.n; first += (u64)gridDim.x * tile) {
    u32 hook[TILE];
    u32 roots = 0, chosen = 0;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u64 v = first + i * blockDim.x + threadIdx.x;
      hook[i] = NONE;
      if (i < items && v < g.n) hook[i] = g.lightest_neighbour[v];
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 v = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] == v) {
        g.labels[v] = NONE;
        hook[i] = NONE;
        continue;
      }
      const u32 next = g.lightest_neighbour[hook[i]];
      if (next != v) {
        hook[i] = next;
      } else if (v < hook[i]) {
        hook[i] = ROOT;
        roots++;
        continue;
      }
      chosen++;
    }
    Ranges at = reserve(roots, chosen, 0, &g.control->roots[0], &g.control->forest_edges, nullptr);
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 v = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] != ROOT) {
        g.forest[at.b++] = g.lightest_id[v];
        g.labels[v] = hook[i];
      } else {
        g.labels[v] = ROOT | at.a++;
      }
    }
  }
}

// Resets the minima of up to `count` components: every word that may hold one, for any spread.
DEVICE void reset_minima(u64* minima, u32 count) {
  const u32 words = count > SPREAD ? count : count << 5 > SPREAD ? SPREAD : count << 5;
  for (u32 x = thread_index(); x < words; x += thread_count()) minima[x] = NO_CANDIDATE;
}

// Hooks each component with a candidate across its lightest edge, and appends this edge to the forest. Two components
// that chose each other chose the same edge, because the order is total; the lower one becomes the root instead. The
// inactive component is also a root: Borůvka's rounds stay correct if one component chooses no edge. Other components
// without a candidate are finished, and are labelled as such if `label_finished`. Writes hooks, each by one thread;
// resets the minima of the next round.
DEVICE void hook_components(const FilterBoruvka& g, const Round& round, bool label_finished) {
  Control* control = g.control;
  const u64* minima = g.minima[round.index & 1];
  const WorkEdge* worklist = g.worklist[round.index & 1];
  const u32 spread = spread_of(round.components);
  const u32 items = items_for(round.components, TILE), tile = blockDim.x * items;
  for (u32 first = blockIdx.x * tile; first < round.components; first += gridDim.x * tile) {
    u64 candidate[TILE];
    u32 hook[TILE], id[TILE];
    u32 roots = 0, chosen = 0, finished = 0;
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 c = first + i * blockDim.x + threadIdx.x;
      hook[i] = NONE;
      if (i < items && c < round.components) {
        candidate[i] = minima[c << spread];
        hook[i] = candidate[i] != NO_CANDIDATE ? 0 : c == round.inactive ? ROOT : FINISHED;
      }
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      if (hook[i] != 0) continue;
      const u32 c = first + i * blockDim.x + threadIdx.x;
      const WorkEdge edge = load_edge(worklist, index_of(g, candidate[i]));
      hook[i] = edge.a == c ? edge.b : edge.a;
      id[i] = edge.id;
    }
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 c = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] < FINISHED && c < hook[i] && minima[hook[i] << spread] == candidate[i]) hook[i] = ROOT;
      roots += hook[i] == ROOT;
      finished += hook[i] == FINISHED;
      chosen += hook[i] < FINISHED;
    }
    Ranges at = reserve(roots, chosen, label_finished ? finished : 0, &control->roots[round.index],
                        &control->forest_edges, &control->finished);
#pragma unroll
    for (u32 i = 0; i < TILE; i++) {
      const u32 c = first + i * blockDim.x + threadIdx.x;
      if (hook[i] == NONE) continue;
      if (hook[i] == FINISHED) {
        round.hooks[c] = label_finished ? ROOT | FINISHED | at.c++ : ROOT | FINISHED;
      } else if (hook[i] == ROOT) {
        round.hooks[c] = ROOT | at.a++;
      } else {
        round.hooks[c] = hook[i];
        g.forest[at.b++] = id[i];
      }
    }
  }
  // A round at least halves the number of components, not counting the inactive one.
  reset_minima(g.minima[(round.index + 1) & 1], round.components / 2 + 1);
}

// Appends the edges of round `from` that still join two components to the worklist of round `to`, with that round's
// labels for ends, and lowers its minima. `hooks` are the compressed hooks of round `from`; `block_words` is shared
// memory, [BLOCK_COMPONENTS].
DEVICE void relabel_worklist(const FilterBoruvka& g, u32 from, u32 to, const u32* hooks, u64* block_words) {
  const u32 length = g.control->worklist_length[from];
  const WorkEdge* worklist = g.worklist[from & 1];
  const Minima minima = begin_minima(to, g.control->roots[from], NONE, length, block_words);
  const u32 items = items_for(length, ITEMS);
  Appender appender(&g.control->worklist_length[to], chunk_for(length));
  for (u64 first = (u64)warp_index() * 32 * items; first < length; first += (u64)warp_count() * 32 * items) {
    WorkEdge edges[ITEMS];
    bool valid[ITEMS];
    u32 indices[ITEMS];
    u64 candidates[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      const u64 index = first + i * 32 + lane_id();
      valid[i] = i < items && index < length;
      if (valid[i]) {
        edges[i] = load_edge(worklist, (u32)index);
        valid[i] = edges[i].a != edges[i].b;
      }
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      edges[i].a = hooks[edges[i].a] & LABEL;
      edges[i].b = hooks[edges[i].b] & LABEL;
      valid[i] = edges[i].a != edges[i].b;
    }
    appender.append(valid, indices);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
      if (!valid[i]) continue;
      const u32 key_low = key_low_of(g, from, (u32)first + i * 32 + lane_id());
      store_edge(g, to, indices[i], edges[i], key_low);
      candidates[i] = candidate_of(g, edges[i], key_low, indices[i]);
    }
    lower_minima(g, minima, valid, edges, candidates);
  }
  publish_minima(g, minima);
  fill_holes(appender, g.worklist[to & 1]);
}

// Ends `phase` by a barrier and resolves ties, so that the round's minima are final.
DEVICE void finish_minima(const FilterBoruvka& g, GridBarrier& grid, u32 round, u32 components, Phase phase) {
  grid.sync(phase);
  const u32 ties = g.control->ties[round];
  if (ties) {
    resolve_ties(g, round, spread_of(components), ties);
    grid.sync(RESOLVE_TIES);
  }
}

// Runs rounds until no edge is left, the last ones in a single block; `round` becomes the last round. All writes are
// published on entry and on return. Writes the shared hook_offsets: the hooks of round r begin at
// component_hooks[hook_offsets[r]].
DEVICE void boruvka_rounds(const FilterBoruvka& g, GridBarrier& grid, Round& round, bool label_finished,
                           BlockForest& block, u32* hook_offsets) {
  for (;;) {
    const u32 length = g.control->worklist_length[round.index];
    if (length == 0 && !label_finished) return;
    if (fits_block(round.components, length)) {
      if (blockIdx.x == 0) finish_in_block(g, block, round.index, round.components, round.hooks, label_finished);
      grid.sync(FINISH_IN_BLOCK);
      return;
    }
    if (length == 0) round.inactive = NONE;
    hook_components(g, round, label_finished);
    grid.sync(HOOK_COMPONENTS);
    if (length == 0) return;
    compress_paths(g, grid, round.hooks, round.components, round.index, COMPRESS_COMPONENTS);
    relabel_worklist(g, round.index, round.index + 1, round.hooks, block.minimum);
    round.inactive = NONE;
    round.hooks = round.hooks == g.labels ? g.component_hooks : round.hooks + round.components;
    round.components = g.control->roots[round.index];
    round.index++;
    if (threadIdx.x == 0) hook_offsets[round.index] = (u32)(round.hooks - g.component_hooks);
    finish_minima(g, grid, round.index, round.components, RELABEL);
  }
}
