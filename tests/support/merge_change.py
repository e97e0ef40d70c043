"""The change of a merge, as the kernels compute it."""

from __future__ import annotations

from coterie.kernels.hard.description import change_of
from coterie.kernels.hard.description_state import block_part, forget
from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def merge_change(model, blocks, upper, scratch, r, b):
    """Return how the description length changes if block r becomes part of block b."""
    part = block_part(blocks, r, scratch)
    change = change_of(model, blocks, upper, scratch, part, r, b)
    forget(scratch, part.m)
    return change
