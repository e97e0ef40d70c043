"""Read the forms of the pages; a wrong value is a problem, never an error of the server."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request

from coterie.app.problem import ProblemError


def whole_number(text: str, most: int) -> int | None:
    """Return a number of ASCII digits, at most `most`; None if the text is anything else.

    >>> whole_number("12", 99), whole_number("100", 99), whole_number("9" * 5000, 99)
    (12, None, None)
    """
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        return None
    return int(text) if int(text) <= most else None


class Form:
    """The fields of a form that was sent."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self._fields = fields

    @classmethod
    async def of(cls, request: Request) -> Form:
        """Read the form of a request."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/x-www-form-urlencoded":
            raise ProblemError(415, "send a form")
        body = await request.body()
        try:
            return cls(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=200))
        except ValueError:
            raise ProblemError(400, "the form cannot be read") from None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a field as text without blanks around it."""
        value = self._fields.get(name, [""])[0].strip()
        if value:
            return value[:1000]
        if default is None:
            raise ProblemError(422, f"the field {name} is empty")
        return default

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """Return a field that must be one of several."""
        value = self.text(name, allowed[0])
        if value not in allowed:
            raise ProblemError(422, f"{name} must be one of {', '.join(allowed)}")
        return value

    def number(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """Return a field that must be a whole number in a range."""
        text = self.text(name, None if default is None else str(default))
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        found = whole_number(digits, max(abs(low), abs(high)))
        if found is None or not low <= sign * found <= high:
            raise ProblemError(
                422, f"{name.replace('_', ' ')} must be a whole number from {low:,} to {high:,}"
            )
        return sign * found

    def items(self) -> list[tuple[str, str]]:
        """Return every field with its first value."""
        return [(name, values[0]) for name, values in self._fields.items()]
