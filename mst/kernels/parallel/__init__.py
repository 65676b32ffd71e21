"""The building blocks of parallel kernels: the work queue, radix sort, compaction, and keys computed while reading."""
