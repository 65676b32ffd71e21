"""What all other kernels are made of: compilation, atomics, hashing, sorting, keys."""
