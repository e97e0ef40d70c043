"""The library's own errors; the command line turns each into its exit code.

An error names the value seen, where it came from, and what to do about it.
"""

from __future__ import annotations

from os import PathLike


class CoterieError(Exception):
    """Anything coterie refuses to do. `exit_code` is what the command line returns."""

    exit_code = 1


class InputError(CoterieError, ValueError):
    """Bad input or usage.

    >>> print(InputError("rating 'x' is not a number", path="r.csv", line=7, remedy="mend it"))
    r.csv, line 7: rating 'x' is not a number; mend it
    """

    exit_code = 2

    def __init__(
        self,
        problem: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.remedy = remedy
        where = ", ".join(
            part
            for part in (str(path) if path is not None else "", f"line {line}" if line else "")
            if part
        )
        super().__init__(
            f"{where}: " * bool(where) + problem + (f"; {remedy}" if remedy is not None else "")
        )


class MissingDependencyError(InputError):
    """An optional package is needed for this input or call and is not installed."""


class PolicyRefusedError(CoterieError):
    """A release would pass a limit of the privacy policy; nothing was written."""

    exit_code = 3

    def __init__(self, reasons: list[str]) -> None:
        self.reasons = reasons
        super().__init__("refused by the privacy policy: " + "; ".join(reasons))


class AssumptionWarning(UserWarning):
    """The library assumed or cleaned something and says so once."""
