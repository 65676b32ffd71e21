"""What kernels for many workers are made of: the work queue, radix sort, compaction, and keys made while reading."""
