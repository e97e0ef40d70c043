"""Divide the nodes of each block into classes of similar degree."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def cut_by_degree(block, degree, minimum, factor):
    """Return the class of every node (int64); nodes must be sorted by block, then by degree.

    A class is complete once it has `minimum` nodes and the next degree is at least `factor` times
    its first degree. If fewer than `minimum` nodes remain at the end of a block, they join the
    class before them.
    """
    n = len(block)
    classes = np.empty(n, np.int64)
    current = first = 0
    block_start = 0
    for i in range(n):
        if i > 0 and block[i] != block[i - 1]:
            current += 1
            first = block_start = i
        elif (
            i - first >= minimum
            and degree[i] > degree[i - 1]  # equal degrees stay together
            and degree[i] >= factor * degree[first]
        ):
            current += 1
            first = i
        classes[i] = current
        last_of_block = i + 1 == n or block[i + 1] != block[i]
        if last_of_block and i + 1 - first < minimum and first > block_start:
            for j in range(first, i + 1):
                classes[j] = current - 1
            current -= 1
            first = i  # the next node belongs to another block
    return classes
