"""What all other kernels are made of: compilation, atomics, prefetching, bitmaps, hashing, sorting and keys."""
