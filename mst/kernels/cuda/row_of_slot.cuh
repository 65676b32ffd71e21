// The CSR row that contains a slot, found by binary search in the offsets.
#pragma once
#include "base.cuh"

// Returns the last row with offsets[row] <= slot. `offsets` has n + 1 entries; one of the n rows contains `slot`.
DEVICE u32 row_of_slot(const u32* offsets, u32 n, u32 slot) {
  u32 low = 0, high = n;
  while (high - low > 1) {
    const u32 middle = low + (high - low) / 2;
    if (__ldg(offsets + middle) <= slot)
      low = middle;
    else
      high = middle;
  }
  return low;
}
