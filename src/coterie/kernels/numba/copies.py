"""Copy values between arrays without the checks of `target[:] = values`.

Numba compiles the text of the error message of such an assignment, too: five seconds per process.
"""

from __future__ import annotations

from coterie.kernels.numba.compile import njit


@njit(forceinline=True, cache=True)
def copy_into(target, values):
    """Copy `values` to the beginning of `target` (1-d), converted to its type."""
    for i in range(len(values)):
        target[i] = values[i]
