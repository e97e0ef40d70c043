"""The guard in front of both applications: who may ask, from where, and how much.

A web page that the user visits can send requests to 127.0.0.1, and a name server can make a foreign
name point to 127.0.0.1 (DNS rebinding). So the guard checks the headers Host and Origin of every
request before anything else looks at it.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from coterie.app.problem import ProblemError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_OWN_PAGES = ("same-origin", "none")  # "none": typed or opened by the user

_SOON = {"retry-after": "1"}
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With "no-referrer", browsers send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# No inline script and no inline style; nothing is loaded from anywhere else.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def is_loopback(host: str) -> bool:
    """Return whether a server on this host can only be reached from this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class AllowedHosts:
    """The names under which a server may be asked.

    Parameters
    ----------
    names : frozenset of str
        Host names in lower case, without port.
    any_address : bool
        Whether every IP address is allowed. A name server cannot change what an address means,
        so this is safe against DNS rebinding.
    """

    names: frozenset[str]
    any_address: bool = False

    @classmethod
    def of(cls, host: str, more: Iterable[str] = ()) -> AllowedHosts:
        """Return what is allowed for a server that listens on `host`.

        >>> AllowedHosts.of("127.0.0.1").allows("evil.example:80")
        False
        >>> AllowedHosts.of("0.0.0.0", ["films.example"]).allows("films.example")
        True
        """
        names = {name.lower() for name in (*_LOOPBACK_NAMES, _in_url(host), *more)}
        return cls(frozenset(names), any_address=host in ("0.0.0.0", "::"))

    def allows(self, netloc: str) -> bool:
        """Return whether a Host header, or the host of an Origin, is allowed."""
        try:
            parts = urlsplit(f"//{netloc}")
            name, _ = parts.hostname, parts.port
        except ValueError:
            return False
        if not name or parts.username is not None or parts.path or parts.query:
            return False
        if _in_url(name) in self.names:
            return True
        if not self.any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _in_url(host: str) -> str:
    """Return a host as it stands in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class Finished(NamedTuple):
    """A request that was answered or refused."""

    request_id: str
    client: str
    method: str
    path: str
    status: int
    seconds: float


def _request_id(given: str) -> str:
    """Return the id that the client gave, or a new one."""
    usable = 0 < len(given) <= 128 and given.isascii() and given.isprintable()
    return given if usable else uuid.uuid4().hex


class Guard:
    """ASGI middleware that refuses what must not be answered and adds security headers.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    hosts : AllowedHosts
        The names under which the server may be asked.
    max_body : int
        Maximum size of a request body in bytes.
    tokens : callable, optional
        Returns the tokens that are valid now; one of them is required as `Authorization: Bearer
        TOKEN`.
    origins : iterable of str
        Other web sites whose pages may ask, such as ``"https://films.example"``.
    began : callable, optional
        Called before each request.
    finished : callable, optional
        Called with a `Finished` after each request, also after a refused one.
    open_paths : tuple of str
        Paths that need no token.
    large_paths : mapping of str to int, optional
        Paths with a maximum of their own.
    body_seconds : float
        Maximum time for receiving a body.
    max_requests : int
        Maximum number of requests that are answered at the same time. One whose body has not
        arrived yet does not count: whoever sends nothing must not keep others out.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: AllowedHosts,
        max_body: int,
        tokens: Callable[[], Sequence[str]] | None = None,
        origins: Iterable[str] = (),
        began: Callable[[], None] | None = None,
        finished: Callable[[Finished], None] | None = None,
        open_paths: tuple[str, ...] = (),
        large_paths: Mapping[str, int] | None = None,
        body_seconds: float = 60.0,
        max_requests: int = 256,
    ) -> None:
        self.app = app
        self.hosts = hosts
        self.max_body = max_body
        self.tokens = tokens
        self.origins = frozenset(origins)
        self.began, self.finished = began, finished
        self.closing = False  # ask clients to close their connections
        self.open_paths = open_paths
        self.large_paths = dict(large_paths or {})
        self.body_seconds = body_seconds
        self.max_requests = max_requests
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # no websockets
        if self.began is not None:
            self.began()
        started = counted = False
        status, began = 499, time.perf_counter()  # 499: the client has gone
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get("x-request-id", ""))

        def count() -> None:
            nonlocal counted
            if self.in_flight >= self.max_requests:
                raise ProblemError(
                    503, "too many requests at the same time; try again", headers=_SOON
                )
            counted = True
            self.in_flight += 1

        async def guarded_send(message: Message) -> None:
            nonlocal started, status
            if message["type"] == "http.response.start":
                started, status = True, message["status"]
                answered = MutableHeaders(raw=message["headers"])
                for name, value in SECURITY_HEADERS.items():
                    answered.setdefault(name, value)
                answered.setdefault("content-security-policy", PAGE_POLICY)
                answered["x-request-id"] = request_id
                if self.closing:
                    answered["connection"] = "close"
                message["headers"] = answered.raw
            await send(message)

        try:
            self._check(scope)
            later = scope["method"] not in ("GET", "HEAD")  # when the body is complete
            if not later:
                count()
            received = self._limited(receive, self._limit(scope), count if later else None)
            await self.app(scope, received, guarded_send)
        except ProblemError as problem:
            if started:
                raise
            await problem.response()(scope, receive, guarded_send)
        finally:
            self.in_flight -= counted
            if self.finished is not None:
                client = (scope.get("client") or ("",))[0]
                seconds = time.perf_counter() - began
                self.finished(
                    Finished(request_id, client, scope["method"], scope["path"], status, seconds)
                )

    def _check(self, scope: Scope) -> None:
        """Raise ProblemError for a request that must not be answered."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.hosts.allows(hosts[0]):
            raise ProblemError(
                421,
                "this server is not called by the name in the header Host; use the address that "
                "it printed, or allow the name with --allow-host",
            )
        trusted = headers.get("origin", "") in self.origins
        for origin in () if trusted else headers.getlist("origin"):
            scheme, _, netloc = origin.partition("://")
            if scheme not in ("http", "https") or netloc.lower() != hosts[0].lower():
                raise ProblemError(403, "requests from other web sites are refused")
        navigates = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        own = headers.get("sec-fetch-site", "none") in _OWN_PAGES
        if not (own or trusted or navigates):
            raise ProblemError(403, "requests from other web sites are refused")
        length = headers.get("content-length")
        if length is not None and not (length.isascii() and length.isdigit() and len(length) < 20):
            raise ProblemError(400, "the header Content-Length is not a number")
        limit = self._limit(scope)
        if length is not None and int(length) > limit:
            raise _too_large(limit)
        # The browser asks first, without a token; the middleware for other sites answers.
        asks_first = trusted and scope["method"] == "OPTIONS"
        if self.tokens is not None and scope["path"] not in self.open_paths and not asks_first:
            kind, _, given = headers.get("authorization", "").partition(" ")
            sent = given.strip().encode()
            right = [hmac.compare_digest(sent, token.encode()) for token in self.tokens()]
            if kind.lower() != "bearer" or not any(right):
                raise ProblemError(
                    401,
                    "a token is required: send the header Authorization: Bearer TOKEN",
                    headers={"www-authenticate": "Bearer"},
                )

    def _limited(self, receive: Receive, limit: int, count: Callable[[], None] | None) -> Receive:
        """Return `receive` with limits on the size of a body and on the time it may take.

        `count` is called when the body is complete."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + self.body_seconds
        size, complete = 0, False

        async def limited() -> Message:
            nonlocal size, complete
            if complete:
                return await receive()  # waits until the client goes away
            try:
                async with asyncio.timeout_at(ends):
                    message = await receive()
            except TimeoutError:
                raise ProblemError(408, "the request did not arrive in time") from None
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                complete = not message.get("more_body", False)
                if size > limit:
                    raise _too_large(limit)
                if complete and count is not None:
                    count()
            return message

        return limited

    def _limit(self, scope: Scope) -> int:
        return self.large_paths.get(scope["path"], self.max_body)


def _too_large(limit: int) -> ProblemError:
    return ProblemError(
        413,
        f"this is larger than {limit / (1 << 20):.3g} MB, the maximum",
        headers={"connection": "close"},
    )
