"""`njit` for kernels: Numba's, with the cache of this package (`kernels/numba/cache.py`).

A small function that must be part of its caller has `forceinline=True`, which LLVM obeys: the same
machine code as `inline="always"`, for which Numba analyses every copy anew, in less time. (Callers
with `fastmath` use `inline="always"`, because a copy must follow their rules.)

Importing this file imports Numba, which takes 0.2 s. Commands import kernels when they work, not
before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from coterie.kernels.numba.cache import KernelCache


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called; the options are those of `numba.njit`.

    With `cache=True`, compiled versions are stored on disk."""

    def compile_function(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        if cache and hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT
            dispatcher._cache = KernelCache(function)
        return dispatcher

    return compile_function
