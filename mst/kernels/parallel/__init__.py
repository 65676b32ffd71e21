"""Building blocks of parallel kernels, whether their workers are threads or ranks."""
