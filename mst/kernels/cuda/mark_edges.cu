// The edges of a forest as a bit for each edge of the graph, from which the host reads their ids in ascending order.
#include "base.cuh"

// Passed by value.
struct MarkedEdges {
  const u32* forest;  // [*count] edge ids
  const u32* count;   // on the host
  u32* marked;        // [m / 32, rounded up], zero before
};

// Any number of blocks. Bits are only set atomically, and the host reads them after the kernel's end.
extern "C" __global__ void mark_edges(const MarkedEdges g) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = *g.count;
  __syncthreads();
  for (u64 i = thread_index(); i < count; i += thread_count()) {
    const u32 id = stream(g.forest + i);
    atomicOr(g.marked + (id >> 5), 1u << (id & 31));
  }
}
