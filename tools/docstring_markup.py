"""Griffe extension: show the reStructuredText marks of NumPy docstrings as Markdown.

mkdocstrings reads the sections of a docstring but leaves roles, citations and references as they
are. mkdocs.yml loads this file.
"""

from __future__ import annotations

import re
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
