// Whose row a slot lies in, by binary search in the offsets.
#pragma once
#include "base.cuh"

// The last v with offsets[v] <= slot; `slot` lies in a row.
DEVICE u32 owner_of(const u32* offsets, u32 n, u32 slot) {
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
