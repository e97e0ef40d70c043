"""Check the docstrings of the public API with numpydoc: `python tools/check_docstrings.py`.

Every name in `coterie.__all__` and every public method of its classes must have a docstring that
numpydoc parses and that documents each parameter, with its type, and what is returned.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

from numpydoc.validate import validate

import coterie

# What each code means: https://numpydoc.readthedocs.io/en/latest/validation.html
_CHECKED = {
    "GL01", "GL02", "GL05", "GL06", "GL07", "GL08", "GL10",
    "SS01", "SS02", "SS03", "SS06",
    "PR01", "PR02", "PR03", "PR04", "PR07", "PR10",
    "RT01", "RT03", "YD01",
}  # fmt: skip
_TEXT_STYLE = {
    "GL01",
    "GL02",
    "SS03",
    "SS06",
}  # the summary starts on the first line, as ruff wants
_NO_EXAMPLE_NEEDED = {"CoterieError", "AssumptionWarning", "Progress", "__version__"}


def public_names() -> Iterator[str]:
    """Yield `coterie.Name` and `coterie.Name.method` for everything that is public."""
    for name in coterie.__all__:
        value = getattr(coterie, name)
        if not callable(value):
            continue
        yield f"coterie.{name}"
        if inspect.isclass(value):
            for member, found in inspect.getmembers(value):
                ours = (getattr(found, "__module__", None) or "").startswith("coterie")
                if not member.startswith("_") and inspect.isroutine(found) and ours:
                    yield f"{documented_class(value, member)}.{member}"


def documented_class(kind: type, member: str) -> str:
    """Return the name of the class whose docstring of a method `help` shows."""
    for base in kind.__mro__[1:]:
        if vars(kind).get(member) is not None and vars(kind)[member].__doc__:
            break
        if getattr(vars(base).get(member), "__doc__", None):
            return f"{base.__module__}.{base.__name__}"
    return f"coterie.{kind.__name__}"


def problems(name: str) -> Iterator[str]:
    """Yield what is wrong with the docstring of one public name."""
    report = validate(name)
    for code, message in report["errors"]:
        if code in _CHECKED - _TEXT_STYLE:
            yield f"{name}: {code} {message}"
    is_class_or_function = name.count(".") == 1
    if is_class_or_function and name.split(".")[1] not in _NO_EXAMPLE_NEEDED:
        value = getattr(coterie, name.split(".")[1])
        if ">>>" not in (inspect.getdoc(value) or ""):
            yield f"{name}: EX01 no example"


def main() -> int:
    """Print every problem; the exit code is 1 if there is one."""
    names = list(public_names())
    found = [problem for name in names for problem in problems(name)]
    print("\n".join(found) or f"{len(names)} public docstrings are complete")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
