"""Code for Numba: arrays in, arrays out. Kernels import nothing from the rest of coterie.

The folders mirror the packages that use them: `kernels/hard` belongs to `models/hard`, and the
header of each file names the module that calls it. Some kernels return statistics; others update
the arrays that their docstrings mark IN/OUT or OUT.

Kernels are single-threaded and release the GIL (`nogil=True`); the engine runs them on several
shards at once. So no kernel depends on Numba's threading layer, and a result never depends on
the number of threads.
"""
