"""Errors as problem documents (RFC 9457): JSON that says what is wrong and what to do."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from starlette.requests import Request
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


async def problem_response(request: Request, error: Exception) -> Response:
    """Answer a ProblemError; a handler of Starlette."""
    assert isinstance(error, ProblemError)
    return error.response()


def storage_problem(error: OSError) -> ProblemError:
    """Return the problem of a file that could not be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    text = "the disk is full" if full else f"the file cannot be stored: {error.strerror}"
    return ProblemError(507, f"{text}; free some space and try again")
