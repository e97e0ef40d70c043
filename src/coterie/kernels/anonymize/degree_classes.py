"""Cutting the nodes of every block into classes of like degree."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def cut_by_degree(block, degree, minimum, factor):
    """int64: the class of every node, where the nodes come sorted by block, then by degree.

    A class closes once it has `minimum` nodes and the next degree is `factor` times its first. The
    rest of a block that is too small for a class of its own stays with the class before it.
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
        ends = i + 1 == n or block[i + 1] != block[i]
        if ends and i + 1 - first < minimum and first > block_start:
            for j in range(first, i + 1):
                classes[j] = current - 1
            current -= 1
            first = i  # the next node is of another block
    return classes
