"""The errors that coterie raises.

An error says what is wrong, where (file, line, value) and what to change. The library does not
know the command line: a remedy names a parameter between backticks, as in "set `overwrite`", and
`coterie.cli` writes the name of the option instead.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from os import PathLike


def near_miss(value: str, names: Iterable[str]) -> str:
    """Return "; did you mean …?" for a name that is nearly one of these, else an empty text.

    >>> near_miss("degree_corected", ["simple", "degree-corrected"]), near_miss("x", ["simple"])
    ("; did you mean 'degree-corrected'?", '')
    """
    plain = {name.casefold().replace("_", "-"): name for name in names}
    near = difflib.get_close_matches(value.casefold().replace("_", "-"), plain, 1)
    return f"; did you mean {plain[near[0]]!r}?" if near else ""


class CoterieError(Exception):
    """Base class of the errors that coterie raises.

    `InputError` is about the input or the parameters; it is a ValueError too.
    `PolicyRefusedError` and `LedgerRefusal` say that something may not be published.
    """


class InputError(CoterieError, ValueError):
    """Bad input or usage.

    Parameters
    ----------
    problem : str
        What is wrong, with the value that was seen.
    path : path-like, optional
        The file where it was found.
    line : int, optional
        The line of that file, counted from 1.
    remedy : str, optional
        What to do about it. Parameters stand between backticks.

    Attributes
    ----------
    problem, path, line, remedy
        As given; the text of the error joins them.

    Examples
    --------
    >>> import coterie as ct
    >>> print(ct.InputError("rating 'x' is not a number", path="r.csv", line=7, remedy="fix it"))
    r.csv, line 7: rating 'x' is not a number; fix it
    """

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
        super().__init__(self._text())

    def _text(self) -> str:
        places = (
            str(self.path) if self.path is not None else "",
            f"line {self.line}" if self.line else "",
        )
        where = ", ".join(place for place in places if place)
        remedy = f"; {self.remedy}" if self.remedy is not None else ""
        return f"{where}: " * bool(where) + self.problem + remedy

    def add_file(self, path: str | PathLike[str]) -> None:
        """Say in which file it is, if the error does not say so already.

        Parameters
        ----------
        path : path-like
            The file.
        """
        if self.path is None:
            self.path = path
            self.args = (self._text(),)


class MissingDependencyError(InputError):
    """An optional package is required for this input or call and is not installed."""


class PolicyRefusedError(CoterieError):
    """A release would exceed a limit of the privacy policy; nothing was written.

    Parameters
    ----------
    reasons : list of str
        One sentence per limit that is exceeded, and what would help.

    Attributes
    ----------
    reasons : list of str
        As given.

    See Also
    --------
    Policy : The limits.

    Examples
    --------
    >>> import coterie as ct
    >>> print(ct.PolicyRefusedError(["the smallest class has 3 people, the policy requires 10"]))
    refused by the privacy policy: the smallest class has 3 people, the policy requires 10
    """

    def __init__(self, reasons: list[str]) -> None:
        self.reasons = reasons
        super().__init__("refused by the privacy policy: " + "; ".join(reasons))


class LedgerRefusal(CoterieError):  # noqa: N818  a decision, not a failure
    """The ledger of a dataset allows no further publication, or cannot be trusted.

    Parameters
    ----------
    problem : str
        What is wrong, with the file or the numbers.
    remedy : str, optional
        What to do about it. Parameters stand between backticks.

    Attributes
    ----------
    problem, remedy
        As given; the text of the error joins them.

    Examples
    --------
    >>> import coterie as ct
    >>> print(ct.LedgerRefusal("index.json is damaged", remedy="restore it from a backup"))
    refused by the ledger: index.json is damaged; restore it from a backup
    """

    def __init__(self, problem: str, *, remedy: str | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(
            f"refused by the ledger: {problem}" + (f"; {remedy}" if remedy is not None else "")
        )


class AssumptionWarning(UserWarning):
    """The library assumed or cleaned something and reports it once.

    For example: self-loops were dropped, or a first line was read as a header. To see no such
    warnings, use ``warnings.simplefilter("ignore", ct.AssumptionWarning)``; to stop at them,
    ``"error"`` instead of ``"ignore"``.
    """


class ImportantWarning(AssumptionWarning):
    """A remark that commands print even if they are asked to be quiet."""
