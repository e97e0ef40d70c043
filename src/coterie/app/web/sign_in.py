"""Sign in with the address that the command printed, once; then with a cookie of the browser.

The command opens the browser with a file that only its owner can read: arguments of a process can
be read by every account of the machine, so the address must not be one.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from coterie.app.page import filled

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

SIGN_IN = "/sign-in"
_OPEN = ("/style.css", "/sign-in.js")


class SignIn:
    """ASGI middleware: nothing is answered without the cookie, which the one-time address sets.

    Parameters
    ----------
    app : ASGI application
        What is protected.
    renewed : callable
        Called with the next one-time token whenever one was used.
    """

    def __init__(self, app: ASGIApp, renewed: Callable[[str], None]) -> None:
        self.app = app
        self.one_time = secrets.token_urlsafe(24)
        self._renewed = renewed
        self._session = secrets.token_urlsafe(32)
        # A name of our own: cookies of one host are sent to every port of it.
        self.cookie = f"coterie-{secrets.token_hex(4)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _OPEN or self._signed_in(scope):
            if scope["type"] == "http" and scope["path"] == SIGN_IN:
                await RedirectResponse("/", 303)(scope, receive, send)
                return
            await self.app(scope, receive, send)
            return
        answer = await self._refuse_or_sign_in(Request(scope, receive))
        await answer(scope, receive, send)

    def _signed_in(self, scope: Scope) -> bool:
        try:
            found = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(
            found.value.encode(), self._session.encode()
        )

    async def _refuse_or_sign_in(self, request: Request) -> Response:
        """Answer a browser without the cookie.

        The address shows a page that sends the token on. Only this uses it up, so that a program
        that looks at addresses in advance does not."""
        query = request.url.query
        if request.method == "POST":
            query = (await request.body()).decode("latin-1")
        given = parse_qs(query).get("token", [""])[0]
        right = hmac.compare_digest(given.encode(), self.one_time.encode())
        if request.url.path != SIGN_IN or request.method not in ("GET", "POST") or not right:
            return HTMLResponse(filled("sign_in.html", token=""), 401)
        if request.method == "GET":
            return HTMLResponse(filled("sign_in.html", token=given))
        self.one_time = secrets.token_urlsafe(24)
        self._renewed(self.one_time)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer
