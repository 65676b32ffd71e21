// Sorts the edge ids of a forest: sets a bit for each edge of the forest, then lists the numbers of the set bits.
#include "grid_barrier.cuh"
#include "scan.cuh"

// Passed by value.
struct MarkedEdges {
  const u32* forest;  // [*count] edge ids
  const u32* count;   // on the host
  u32* marked;        // [words] zero before
  // Of `list_edges`:
  u64* ids;           // [*count]
  u32* sums;          // [blocks] workspace: bits set in each block's words
  u32* control;       // of the solve: begins with the grid barrier's word
  u32 words;          // m / 32, rounded up
  u32 unused;
};

// Sets the bit of each edge of the forest. Bits are set atomically, and read only after the kernel's end or a barrier
// of the grid.
DEVICE void set_bits(const MarkedEdges& g) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = *g.count;
  __syncthreads();
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const u32 id = stream(g.forest + i);
    atomicOr(g.marked + (id >> 5), 1u << (id & 31));
  }
}

// Sets the bits only; the host lists the ids. Any number of blocks.
extern "C" __global__ void mark_edges(const MarkedEdges g) { set_bits(g); }

// Writes the ids, ascending, to device memory. A cooperative launch of any number of blocks, each for a range of words.
extern "C" __global__ void list_edges(const MarkedEdges g) {
  GridBarrier grid(g.control, nullptr);
  set_bits(g);
  grid.sync(END);
  const u64 first = (u64)g.words * blockIdx.x / gridDim.x, last = (u64)g.words * (blockIdx.x + 1) / gridDim.x;
  u32 own = 0, total;
  for (u64 i = first + threadIdx.x; i < last; i += blockDim.x) own += __popc(g.marked[i]);
  scan_in_block(own, total);
  if (threadIdx.x == 0) g.sums[blockIdx.x] = total;
  grid.sync(END);
  own = 0;
  for (u32 block = threadIdx.x; block < blockIdx.x; block += blockDim.x) own += g.sums[block];
  u32 at;
  scan_in_block(own, at);
  for (u64 tile = first; tile < last; tile += blockDim.x) {
    const u64 i = tile + threadIdx.x;
    u32 word = i < last ? g.marked[i] : 0;
    u64* next = g.ids + at + scan_in_block(__popc(word), total);
    for (; word; word &= word - 1) *next++ = 32 * i + __ffs(word) - 1;
    at += total;
  }
}
