"""Cut sorted degrees: blocks into classes of similar degree, classes into groups for averages."""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit


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


@njit(nogil=True, cache=True)
def cut_into_groups(block, label, degree, minimum, spread):
    """Return the group of every node (int64); nodes must be sorted by block, class and degree.

    A class is cut from its largest degree downwards. A group is complete once it has `minimum`
    nodes and its largest degree x is hidden: the other degrees of the group exceed the next lower
    degree of the block by at least (spread - 1) x in total, or at least `minimum` nodes of the
    block have a degree between x / spread and x * spread. Otherwise its size is doubled: if people
    were added one by one, x would follow from the number that was needed. A rest that is no
    complete group joins the group above it.
    """
    n = len(block)
    group = np.empty(n, np.int64)
    current = -1
    end = n
    while end > 0:
        first = end - 1  # the class is first..last
        while first > 0 and label[first - 1] == label[end - 1]:
            first -= 1
        top = end
        while end > first:
            largest = degree[end - 1]
            near = 0
            i = end - 1
            while near < minimum and i >= 0 and block[i] == block[end - 1]:
                if degree[i] * spread < largest:
                    break
                near += 1
                i -= 1
            i = end
            while near < minimum and i < n and block[i] == block[end - 1]:
                if degree[i] > largest * spread:
                    break
                near += 1
                i += 1
            start = end
            others = -largest  # sum of the degrees of the group without the largest
            wanted = minimum
            hidden = False
            while start > first and not hidden:
                while start > first and end - start < wanted:
                    start -= 1
                    others += degree[start]
                lower = degree[start]
                if start > 0 and block[start - 1] == block[start]:
                    lower = degree[start - 1]
                rest = end - 1 - start
                hidden = rest + 1 >= minimum and (
                    near >= minimum or others - rest * lower >= (spread - 1.0) * largest
                )
                wanted *= 2
            if start - first < minimum:
                start = first
            if hidden or end == top:
                current += 1
            for j in range(start, end):
                group[j] = current
            end = start
        end = first
    return current - group
