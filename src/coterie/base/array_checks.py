"""Checks of arrays that come from a file, before a kernel uses them.

A kernel does not check its indices: a label that is too large would read or write memory that
belongs to something else. A checksum shows accidents, but not a file that was made on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from coterie.base.errors import InputError


class ArrayError(ValueError):
    """An array from a file does not have the type, shape or values that it must have."""


def check_array(
    name: str,
    array: Any,
    dtype: Any,
    shape: tuple[int | None, ...],
    *,
    low: float | None = None,
    below: float | None = None,
) -> np.ndarray:
    """Return the array if it has this type, this shape (None: any length) and values in range.

    Values must be at least `low` and less than `below`; floating-point numbers must be finite.

    >>> try:
    ...     check_array("labels", np.array([0, 3]), np.int64, (2,), low=0, below=3)
    ... except ArrayError as error:
    ...     print(error)
    labels: the value 3 is not below 3
    """
    if not isinstance(array, np.ndarray):
        raise ArrayError(f"{name}: missing")
    if array.dtype != np.dtype(dtype):
        raise ArrayError(f"{name}: the type is {array.dtype}, not {np.dtype(dtype)}")
    fits = len(array.shape) == len(shape) and all(
        wanted is None or wanted == found for wanted, found in zip(shape, array.shape, strict=False)
    )
    if not fits:
        expected = " x ".join("any" if n is None else f"{n:,}" for n in shape)
        raise ArrayError(f"{name}: the shape is {array.shape}, not {expected}")
    if not array.size:
        return array
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ArrayError(f"{name}: not all numbers are finite")
    if low is not None and array.min() < low:
        raise ArrayError(f"{name}: the value {array.min()} is less than {low:g}")
    if below is not None and array.max() >= below:
        raise ArrayError(f"{name}: the value {array.max()} is not below {below:g}")
    return array


def check_like(name: str, array: Any, like: np.ndarray) -> np.ndarray:
    """Return the array if it has the type and shape of another one, and finite numbers."""
    return check_array(name, array, like.dtype, like.shape)


@contextmanager
def file_errors(path: str | PathLike[str], what: str, remedy: str) -> Iterator[None]:
    """Turn the errors of unpacking a malformed file into an InputError with its name.

    `what` is the kind of file, such as "checkpoint".
    """
    try:
        yield
    except InputError:
        raise
    except (
        ArrayError,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        said = str(error) if isinstance(error, ArrayError) else f"{type(error).__name__}: {error}"
        shown = said if len(said) <= 200 else said[:197] + "..."
        raise InputError(
            f"damaged or altered {what} ({shown})", path=path, remedy=remedy
        ) from error
