"""Building blocks for kernels: random numbers, alias tables, memory access."""
