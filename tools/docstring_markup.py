"""Griffe extension: NumPy docstrings as Markdown; overriding methods inherit theirs.

mkdocstrings reads the sections of a docstring but leaves roles, citations and references as they
are. mkdocs.yml loads this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|exc|data):`~?([^`]+)`")
_CITATION = re.compile(r"\[(\d+)\]_")
_REFERENCE = re.compile(r"^( *)\.\. \[(\d+)\] *", re.MULTILINE)
_SEE_ALSO = re.compile(r"^( *)See Also\n\1-+\n((?:.+\n?)+)", re.MULTILINE)
_SEE_ENTRY = re.compile(r"^( *)([\w.]+(?:, [\w.]+)*) : ", re.MULTILINE)
_DOUBLE_TICKS = re.compile(r"``([^`\n]+)``")


def as_markdown(text: str) -> str:
    """Replace reStructuredText marks.

    >>> as_markdown("A :class:`Graph`, see [1]_.")
    'A `Graph`, see [1].'
    >>> as_markdown(".. [1] Karrer & Newman")
    '- [1] Karrer & Newman'
    >>> print(as_markdown("See Also\\n--------\\nPolicy : The limits."))
    See Also
    --------
    - `Policy`: The limits.
    """
    text = _SEE_ALSO.sub(lambda found: _SEE_ENTRY.sub(r"\1- `\2`: ", found[0]), text)
    text = _ROLE.sub(r"`\1`", text)
    text = _CITATION.sub(r"[\1]", text)
    text = _DOUBLE_TICKS.sub(r"`\1`", text)
    return _REFERENCE.sub(r"\1- [\2] ", text)


class DocstringMarkup(griffe.Extension):
    """Rewrite every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Give every method without a docstring that of the base class, as `help` does."""
        for module in (pkg, *_modules(pkg)):
            for kind in module.classes.values():
                if not kind.is_alias:
                    _inherit_docstrings(kind)


def _modules(parent: griffe.Module) -> Iterator[griffe.Module]:
    for module in parent.modules.values():
        if not module.is_alias:
            yield module
            yield from _modules(module)


def _inherit_docstrings(kind: griffe.Class) -> None:
    for name, method in kind.functions.items():
        if method.docstring is None:
            found = (base.members[name].docstring for base in kind.mro() if name in base.members)
            method.docstring = next((text for text in found if text is not None), None)
