"""The two usual kinds of routes: pages and forms.

A wrong value in a form is a problem, never an error of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from coterie.app.problem import ProblemError
from coterie.base.errors import InputError


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

    def choice(self, name: str, allowed: Collection[str]) -> str:
        """Return a field that must be one of several; the first is the default."""
        value = self.text(name, next(iter(allowed)))
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


def page_route(path: str, show: Callable[[Request], str | Response]) -> Route:
    """Return a route to a page or a part of one; `show` runs on a thread and returns HTML."""

    async def answer(request: Request) -> Response:
        found = await asyncio.to_thread(show, request)
        return HTMLResponse(found) if isinstance(found, str) else found

    return Route(path, answer)


def form_route(path: str, take: Callable[[Form], Awaitable[str]]) -> Route:
    """Return a route for a form; `take` returns the page that is shown next."""

    async def answer(request: Request) -> Response:
        return RedirectResponse(await take(await Form.of(request)), 303)

    return Route(path, answer, methods=["POST"])


@contextmanager
def problems_of_input(words: Mapping[str, str] = {}) -> Iterator[None]:
    """Turn an InputError of the library into a problem of the form.

    Its text is shown without backticks, and with other words where `words` has them."""
    try:
        yield
    except InputError as error:
        text = str(error).replace("`", "")
        for name, word in words.items():
            text = text.replace(name, word)
        raise ProblemError(422, text) from None
