"""The building blocks of all other kernels: compilation, atomics, prefetching, bitmaps, hashing, sorting and keys."""
