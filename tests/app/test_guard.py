"""The guard: who may ask, from where, and how much."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from coterie.app.guard import AllowedHosts, Guard, is_loopback
from coterie.app.problem import problem_handlers


async def _echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


def _application() -> Starlette:
    routes = [Route("/", _echo, methods=["GET", "POST"])]
    handlers = problem_handlers(lambda request, problem: problem.response(), "an error")
    return Starlette(routes=routes, exception_handlers=handlers)


def _client(**options) -> TestClient:
    guard = Guard(_application(), hosts=AllowedHosts.of("127.0.0.1"), max_body=1000, **options)
    return TestClient(guard, base_url="http://127.0.0.1:8000")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:8000", "127.0.0.1"]
)
def test_names_of_this_machine_are_answered(host):
    assert _client().get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "user@127.0.0.1",
        "127.0.0.1/x",
        "127.0.0.1:port",
        "10.0.0.1",
        "",
        "[",
    ],
)
def test_dns_rebinding_is_refused(host):
    """A foreign name that points to this machine is in the header Host."""
    answer = _client().get("/", headers={"host": host})
    assert answer.status_code == 421
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_public_server_answers_to_addresses_and_named_hosts_only():
    hosts = AllowedHosts.of("0.0.0.0", ["films.example"])
    assert hosts.allows("10.1.2.3:80") and hosts.allows("[fe80::1]:80")
    assert hosts.allows("films.example") and not hosts.allows("other.example")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "file://127.0.0.1:8000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    ],
)
def test_requests_from_other_web_sites_are_refused(headers):
    assert _client().post("/", headers=headers).status_code == 403


def test_a_second_origin_cannot_hide_behind_the_first():
    headers = [("origin", "http://127.0.0.1:8000"), ("origin", "http://evil.example")]
    assert _client().post("/", headers=headers).status_code == 403


def test_requests_of_our_own_pages_are_answered():
    headers = {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}
    assert _client().post("/", headers=headers).status_code == 200


def test_the_token_is_required():
    client = _client(tokens=lambda: ["a-secret-of-some-length"], open_paths=())
    assert client.get("/").status_code == 401
    for wrong in ("Bearer", "Bearer x", "Basic a-secret-of-some-length", "Bearer é"):
        assert client.get("/", headers={"authorization": wrong.encode()}).status_code == 401
    right = {"authorization": "Bearer a-secret-of-some-length"}
    assert client.get("/", headers=right).status_code == 200


def test_bodies_are_limited_with_and_without_content_length():
    client = _client()
    assert client.post("/", content=b"x" * 1000).text == "1000"
    assert client.post("/", content=b"x" * 1001).status_code == 413

    def parts():
        for _ in range(30):
            yield b"x" * 100

    assert client.post("/", content=parts()).status_code == 413
    for wrong in ("-1", "9" * 5000, "+5"):
        assert client.post("/", headers={"content-length": wrong}).status_code == 400


def test_a_body_that_does_not_arrive_ends():
    """A client that sends a part and then nothing (Slowloris) does not hold a connection."""

    async def ask() -> list[dict]:
        hosts = AllowedHosts.of("127.0.0.1")
        guard = Guard(_application(), hosts=hosts, max_body=1000, body_seconds=0.05)
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
        }
        sent: list[dict] = []
        waited = asyncio.Event()

        async def receive() -> dict:
            await waited.wait()
            return {}

        async def send(message: dict) -> None:
            sent.append(message)

        await guard(scope, receive, send)
        return sent

    assert asyncio.run(ask())[0]["status"] == 408


def test_every_answer_has_security_headers():
    for answer in (_client().get("/"), _client().get("/", headers={"host": "evil"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"


def test_loopback_addresses():
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("127.1.2.3")
    assert not is_loopback("0.0.0.0") and not is_loopback("192.168.0.1")
    assert not is_loopback("films.example")


def test_more_requests_at_once_than_allowed_are_refused_but_not_unfinished_bodies():
    """Counted is what is being answered, not what has not arrived."""
    answering, arriving = asyncio.Event(), asyncio.Event()

    async def application(scope, receive, send):
        while (await receive()).get("more_body"):
            continue
        if scope["path"] == "/slow":
            await answering.wait()
        await PlainTextResponse("done")(scope, receive, send)

    guard = Guard(application, hosts=AllowedHosts.of("x"), max_body=99, max_requests=2)

    async def ask(path: str, body: Any = None) -> int:
        scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"host", b"x")]}
        seen = []

        async def receive():
            if body is not None:
                await body.wait()
            return {"type": "http.request", "body": b""}

        async def send(message):
            seen.append(message.get("status"))

        await guard(scope, receive, send)
        return seen[0]

    async def all_together():
        late = [asyncio.create_task(ask("/", arriving)) for _ in range(50)]
        slow = [asyncio.create_task(ask("/slow")) for _ in range(1)]
        await asyncio.sleep(0.05)
        assert guard.in_flight == 1 and await ask("/") == 200
        slow += [asyncio.create_task(ask("/slow"))]
        await asyncio.sleep(0.05)
        assert guard.in_flight == 2 and await ask("/") == 503
        answering.set()
        assert await asyncio.gather(*slow) == [200, 200]
        arriving.set()
        assert set(await asyncio.gather(*late)) == {200}
        assert guard.in_flight == 0

    asyncio.run(all_together())
