"""Numba only: arrays in, arrays out. Imports nothing of ours.

Kernels are single-threaded and release the GIL (`nogil=True`); the engine runs them on several
shards at once. So no kernel depends on Numba's threading layer, and a result never depends on
the number of threads.
"""
