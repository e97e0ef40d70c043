"""Errors as problem documents (RFC 9457): JSON that says what is wrong and what to do."""

from __future__ import annotations

import errno
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from coterie.base.json_values import JsonObject

PROBLEM_TYPE = "application/problem+json"


class ProblemError(Exception):
    """A request that cannot be answered, and why.

    Parameters
    ----------
    status : int
        The HTTP status, 400 to 599.
    detail : str
        What is wrong and what to do.
    errors : sequence of mappings, optional
        One entry per wrong field of the request: `field` and `problem`.
    headers : mapping, optional
        Further headers of the response.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Return the problem document."""
        body: JsonObject = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            body["errors"] = [dict(error) for error in self.errors]
        # ASCII, so that no text of a request can make the response impossible to encode
        return Response(
            json.dumps(body), self.status, headers=self.headers, media_type=PROBLEM_TYPE
        )


Show = Callable[[Request, ProblemError], Response]
Handler = Callable[[Request, Exception], Awaitable[Response]]


def problem_handlers(show: Show, unexpected: str) -> dict[Any, Handler]:
    """Return the handlers for Starlette: whatever is raised, `show` answers with a problem."""

    async def answer(request: Request, error: Exception) -> Response:
        return show(request, _as_problem(error, request) or ProblemError(500, unexpected))

    kinds = (ProblemError, HTTPException, ClientDisconnect, OSError, Exception)
    return dict.fromkeys(kinds, answer)


def _as_problem(error: Exception, request: Request) -> ProblemError | None:
    """Return what is wrong; None for an unexpected error, whose details nobody is told."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, HTTPException):
        allowed = (error.headers or {}).get("Allow")
        detail = {
            404: "there is nothing at this address",
            405: f"{request.method} is not possible here; use {allowed}",
        }.get(error.status_code, error.detail)
        return ProblemError(error.status_code, detail, headers=error.headers)
    if isinstance(error, ClientDisconnect):
        return ProblemError(400, "the request was interrupted")  # nobody reads this
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        text = "the disk is full" if full else f"the file cannot be stored: {error.strerror}"
        return ProblemError(507, f"{text}; free some space and try again")
    return None
