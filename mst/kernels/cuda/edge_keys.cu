// Facts of an edge list, and the keys of its weights, each found in one pass over the edges.
//
// WEIGHT: the type of weights, 0 int32, 1 int64, 2 float32, 3 float64.
// KEY_BITS: bits of the keys that `write_keys` writes.
// WIDE: 1 if `survey_edges` reads ends of 64 bits and writes ends of 32 bits.
//
// Keys are unsigned integers in the order of the weights. The key of an integer has its sign bit flipped. The key of a
// float has all bits flipped if the float is negative, else its sign bit set; -0.0 has the key of 0.0. The least key is
// subtracted from 32-bit keys. Doubles have 32-bit keys if all are exact as floats, as have 64-bit integers in a range
// below 2^32.
#include "base.cuh"

#ifndef WEIGHT
#define WEIGHT 0
#endif
#ifndef WIDE
#define WIDE 0
#endif

#if WEIGHT == 0
typedef u32 Word;
#elif WEIGHT == 1
typedef u64 Word;
#elif WEIGHT == 2
typedef u32 Word;
#else
typedef u64 Word;
#endif

static const u32 NOT_A_NUMBER = 1, INEXACT = 2;  // flags: some weight is NaN; some double is not exact as a float
static const u32 EDGES_PER_THREAD = 4;           // in flight

// Passed by value.
struct EdgeKeys {
  u32* u;              // [m]
  u32* v;              // [m]
  const Word* w;       // [m]
  const u64* wide_u;   // WIDE: [m]
  const u64* wide_v;   // WIDE: [m]
  u64* facts;          // [6], zero before: the largest end; the complement of the least key and the largest key; the
                       // same of doubles as floats; flags
  Key* keys;           // [m]
  u64 low;             // the least key, for `write_keys`
  u32 m;
  u32 unused;
};

// Returns the key of a weight, before the least key is subtracted; both are bits.
template <class Bits>
DEVICE Bits key_of_bits(Bits bits) {
  const Bits top = (Bits)1 << (8 * sizeof(Bits) - 1);
#if WEIGHT < 2
  return bits ^ top;
#else
  if (bits == top) bits = 0;
  return bits & top ? ~bits : bits | top;
#endif
}

// Returns the bits of the float nearest to a double, which is given by its bits.
DEVICE u32 float_of_double(u64 bits) {
  const double x = *(const double*)&bits;
  const float nearest = (float)x;
  return *(const u32*)&nearest;
}

DEVICE u64 larger(u64 a, u64 b) { return a > b ? a : b; }

// Raises a fact of the block, in shared memory, to the largest x of the warp's lanes.
DEVICE void raise_in_warp(u64* fact, u64 x) {
  for (u32 distance = 16; distance; distance /= 2) x = larger(x, __shfl_xor_sync(FULL, x, distance));
  if (lane_id() == 0) atomicMax(fact, x);
}

// Finds the facts, and with WIDE writes the ends as 32 bits. Any number of blocks. Words of `facts` are only raised
// atomically, and the host reads them after the kernel's end.
extern "C" __global__ void survey_edges(const EdgeKeys g) {
  __shared__ u64 facts[6];
  if (threadIdx.x < 6) facts[threadIdx.x] = 0;
  __syncthreads();
  u64 end = 0, least = 0, most = 0, least_float = 0, most_float = 0, flags = 0;
  for (u64 first = thread_index(); first < g.m; first += (u64)EDGES_PER_THREAD * thread_count()) {
#if WIDE
    u64 a[EDGES_PER_THREAD], b[EDGES_PER_THREAD];
#else
    u32 a[EDGES_PER_THREAD], b[EDGES_PER_THREAD];
#endif
    Word w[EDGES_PER_THREAD];
#pragma unroll
    for (u32 i = 0; i < EDGES_PER_THREAD; i++) {
      const u64 edge = first + (u64)i * thread_count();
      const u64 at = edge < g.m ? edge : first;
#if WIDE
      a[i] = stream(g.wide_u + at);
      b[i] = stream(g.wide_v + at);
#else
      a[i] = stream(g.u + at);
      b[i] = stream(g.v + at);
#endif
      w[i] = stream(g.w + at);
    }
#if WIDE
#pragma unroll
    for (u32 i = 0; i < EDGES_PER_THREAD; i++) {
      const u64 edge = first + (u64)i * thread_count();
      if (edge < g.m) g.u[edge] = (u32)a[i], g.v[edge] = (u32)b[i];
    }
#endif
#pragma unroll
    for (u32 i = 0; i < EDGES_PER_THREAD; i++) {
      end = larger(end, a[i] > b[i] ? a[i] : b[i]);
      const Word key = key_of_bits(w[i]);
      least = larger(least, (u64)(Word)~key);
      most = larger(most, key);
#if WEIGHT == 2
      if ((w[i] & 0x7fffffffu) > 0x7f800000u) flags |= NOT_A_NUMBER;
#elif WEIGHT == 3
      if ((w[i] & ~0ull >> 1) > 0x7ff0000000000000ull) flags |= NOT_A_NUMBER;
      const u32 bits = float_of_double(w[i]);
      if ((double)*(const float*)&bits != *(const double*)&w[i]) flags |= INEXACT;
      const u32 narrow = key_of_bits(bits);
      least_float = larger(least_float, (u32)~narrow);
      most_float = larger(most_float, narrow);
#endif
    }
  }
  raise_in_warp(facts + 0, end);
  raise_in_warp(facts + 1, least);
  raise_in_warp(facts + 2, most);
#if WEIGHT == 3
  raise_in_warp(facts + 3, least_float);
  raise_in_warp(facts + 4, most_float);
#endif
#if WEIGHT >= 2
  for (u32 distance = 16; distance; distance /= 2) flags |= __shfl_xor_sync(FULL, flags, distance);
  if (lane_id() == 0 && flags) atomicOr(facts + 5, flags);
#endif
  __syncthreads();
  if (threadIdx.x < 5 && facts[threadIdx.x]) atomicMax(g.facts + threadIdx.x, facts[threadIdx.x]);
  if (threadIdx.x == 5 && facts[5]) atomicOr(g.facts + 5, facts[5]);
}

// Writes the keys of the weights. Any number of blocks.
extern "C" __global__ void write_keys(const EdgeKeys g) {
  for (u64 edge = thread_index(); edge < g.m; edge += thread_count()) {
    const Word w = stream(g.w + edge);
#if KEY_BITS == 64
    g.keys[edge] = key_of_bits(w);
#elif WEIGHT == 3
    g.keys[edge] = key_of_bits(float_of_double(w)) - (u32)g.low;
#else
    g.keys[edge] = (Key)(key_of_bits(w) - (Word)g.low);
#endif
  }
}
