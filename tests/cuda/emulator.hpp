// Runs CUDA kernels on the host, so that their logic is tested where there is no GPU.
//
// A block is a thread of the operating system, a CUDA thread is a fiber in it, resumed in random order; fibers
// switch at barriers, at warp exchanges and, now and then, at atomics and relaxed accesses. Blocks of one launch
// run at the same time, as in a cooperative launch. Timing, caches and weak memory are not modelled.
#pragma once
#define EMULATED

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static thread_local

struct Dim {
  unsigned x, y, z;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emulator {
struct Fiber {
  ucontext_t context;
  jmp_buf point;
  bool started = false, finished = false;
  Dim thread;
  std::vector<char> stack;
};

// A barrier of a fixed number of fibers, at which each may give a word to all.
struct Barrier {
  unsigned expected = 0, arrived = 0, round = 0;
  uint64_t given[32], seen[2][32];
};

struct Block {
  std::vector<Fiber> fibers;
  std::vector<Barrier> warps;
  Barrier barrier;
  jmp_buf scheduler;
  unsigned current = 0;
  uint32_t random = 1;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
};

static thread_local Block* block;
static thread_local Dim block_index, block_size, grid_size;

static inline uint32_t next_random() {
  uint32_t& x = block->random;
  x ^= x << 13;
  x ^= x >> 17;
  return x ^= x << 5;
}

static inline void pause() {
  Fiber& self = block->fibers[block->current];
  if (_setjmp(self.point) == 0) _longjmp(block->scheduler, 1);
}

static inline void maybe_pause() {
  if ((next_random() & 15) == 0) pause();
}

static void enter() {
  block->body(block->argument);
  block->fibers[block->current].finished = true;
  _longjmp(block->scheduler, 1);
}

static void run_block(unsigned index, unsigned blocks, unsigned threads, void (*body)(void*), void* argument,
                      uint32_t seed) {
  Block own;
  block = &own;
  block_index = {index, 0, 0};
  block_size = {threads, 1, 1};
  grid_size = {blocks, 1, 1};
  own.random = seed * 2654435761u + index * 40503u + 1;
  own.body = body;
  own.argument = argument;
  own.fibers.resize(threads);
  own.warps.resize(threads / 32);
  for (Barrier& warp : own.warps) warp.expected = 32;
  own.barrier.expected = threads;
  std::vector<unsigned> ready(threads);
  for (unsigned i = 0; i < threads; i++) {
    own.fibers[i].thread = {i, 0, 0};
    own.fibers[i].stack.resize(64 << 10);
    ready[i] = i;
  }
  volatile unsigned left = threads;
  while (left) {
    const unsigned pick = next_random() % left;
    own.current = ready[pick];
    Fiber& fiber = own.fibers[own.current];
    if (_setjmp(own.scheduler) == 0) {
      if (fiber.started) _longjmp(fiber.point, 1);
      fiber.started = true;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.data();
      fiber.context.uc_stack.ss_size = fiber.stack.size();
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, enter, 0);
      setcontext(&fiber.context);
    }
    for (unsigned i = 0; i < left; i++)
      if (own.fibers[ready[i]].finished) {
        ready[i] = ready[left - 1];
        left = left - 1;
        break;
      }
  }
}

template <class Arguments>
static void launch(unsigned blocks, unsigned threads, uint32_t seed, void (*kernel)(const Arguments),
                   const Arguments& arguments) {
  struct Call {
    void (*kernel)(const Arguments);
    const Arguments* arguments;
  } call = {kernel, &arguments};
  std::vector<std::thread> pool;
  for (unsigned i = 0; i < blocks; i++)
    pool.emplace_back([=, &call] {
      run_block(i, blocks, threads, [](void* p) { ((Call*)p)->kernel(*((Call*)p)->arguments); }, &call, seed);
    });
  for (std::thread& thread : pool) thread.join();
}

static inline Dim& thread_in_block() { return block->fibers[block->current].thread; }

static inline void wait_at(Barrier& m) {
  const unsigned round = m.round;
  if (++m.arrived == m.expected) {
    m.arrived = 0;
    m.round++;
  }
  while (m.round == round) pause();
}

// Gives a word, waits for the warp, returns the words of all lanes.
static inline const uint64_t* exchange(uint64_t word) {
  Barrier& m = block->warps[thread_in_block().x >> 5];
  const unsigned round = m.round, lane = thread_in_block().x & 31;
  m.given[lane] = word;
  if (++m.arrived == m.expected) {
    m.arrived = 0;
    memcpy(m.seen[round & 1], m.given, sizeof m.given);
    m.round++;
  }
  while (m.round == round) pause();
  return m.seen[round & 1];
}

template <class T>
static inline uint64_t word_of(T x) {
  uint64_t word = 0;
  memcpy(&word, &x, sizeof x);
  return word;
}
template <class T>
static inline T value_of(uint64_t word) {
  T x;
  memcpy(&x, &word, sizeof x);
  return x;
}
}  // namespace emulator

#define threadIdx (emulator::thread_in_block())
#define blockIdx (emulator::block_index)
#define blockDim (emulator::block_size)
#define gridDim (emulator::grid_size)

static inline void __syncthreads() { emulator::wait_at(emulator::block->barrier); }
static inline void __syncwarp(unsigned mask = ~0u) {
  (void)mask;
  emulator::exchange(0);
}
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }


static inline int __syncthreads_or(int x) {
  static thread_local int any[2];
  static thread_local unsigned turn;
  __syncthreads();
  if (threadIdx.x == 0) any[++turn & 1] = 0;
  __syncthreads();
  if (x) any[turn & 1] = 1;
  __syncthreads();
  return any[turn & 1];
}

static inline unsigned __ballot_sync(unsigned, bool vote) {
  const uint64_t* all = emulator::exchange(vote);
  unsigned votes = 0;
  for (int i = 0; i < 32; i++) votes |= (unsigned)all[i] << i;
  return votes;
}
static inline int __any_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) != 0; }
template <class T>
static inline T __shfl_sync(unsigned, T x, unsigned lane) {
  return emulator::value_of<T>(emulator::exchange(emulator::word_of(x))[lane & 31]);
}
template <class T>
static inline T __shfl_up_sync(unsigned, T x, unsigned distance) {
  const unsigned lane = threadIdx.x & 31;
  const uint64_t* all = emulator::exchange(emulator::word_of(x));
  return emulator::value_of<T>(all[lane >= distance ? lane - distance : lane]);
}
template <class T>
static inline T __shfl_xor_sync(unsigned, T x, unsigned distance) {
  const unsigned lane = threadIdx.x & 31;
  return emulator::value_of<T>(emulator::exchange(emulator::word_of(x))[lane ^ distance]);
}
static inline unsigned __reduce_or_sync(unsigned, unsigned x) {
  const uint64_t* all = emulator::exchange(x);
  unsigned bits = 0;
  for (int i = 0; i < 32; i++) bits |= (unsigned)all[i];
  return bits;
}

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((uint64_t)x * y >> 32); }

template <class T>
static inline T __ldg(const T* p) {
  return *p;
}
template <class T>
static inline T __ldcs(const T* p) {
  return *p;
}

template <class T>
static inline T atomicAdd(T* p, T x) {
  emulator::maybe_pause();
  return __atomic_fetch_add(p, x, __ATOMIC_RELAXED);
}
template <class T>
static inline T atomicOr(T* p, T x) {
  emulator::maybe_pause();
  return __atomic_fetch_or(p, x, __ATOMIC_RELAXED);
}
template <class T>
static inline T atomicCAS(T* p, T expected, T x) {
  emulator::maybe_pause();
  __atomic_compare_exchange_n(p, &expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
static inline T atomicMin(T* p, T x) {
  emulator::maybe_pause();
  T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (x < seen && !__atomic_compare_exchange_n(p, &seen, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
template <class T>
static inline T atomicMax(T* p, T x) {
  emulator::maybe_pause();
  T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (x > seen && !__atomic_compare_exchange_n(p, &seen, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}

static inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

static inline unsigned load_acquire(const unsigned* p) {
  const unsigned x = __atomic_load_n(p, __ATOMIC_ACQUIRE);
  std::this_thread::yield();
  return x;
}
static inline unsigned load_relaxed(const unsigned* p) {
  emulator::maybe_pause();
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline unsigned long long load_relaxed(const unsigned long long* p) {
  emulator::maybe_pause();
  return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline unsigned load_cached(const unsigned* p) { return load_relaxed(p); }
static inline void store_relaxed(unsigned* p, unsigned x) {
  emulator::maybe_pause();
  __atomic_store_n(p, x, __ATOMIC_RELAXED);
}
