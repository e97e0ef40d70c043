"""`coterie serve` as a process: start, hot reload, clean end, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import uvicorn

from coterie.app import server
from coterie.cli.session import BAD_INPUT


def _serve(start, model, *options: str, **variables: str):
    running = start("serve", str(model), "--port", "0", *options, **variables)
    assert running.address, running.printed
    return running


def test_it_answers_and_stops_with_ctrl_c(start, model_files):
    running = _serve(start, model_files["mmsbm"])
    answer = httpx.post(f"{running.address}/recommend", json={"user": "u1", "n": 3}, timeout=60)
    assert answer.status_code == 200 and len(answer.json()["items"]) == 3
    assert "server" not in answer.headers
    assert running.stop() == 0
    assert "Traceback" not in running.printed


def test_requests_are_answered_while_the_model_is_replaced(start, model_files, tmp_path):
    path = tmp_path / "current.model"
    shutil.copy(model_files["mmsbm"], path)
    running = _serve(start, path)
    failed: list[object] = []
    answered = 0
    ends = threading.Event()

    def ask() -> None:
        nonlocal answered
        with httpx.Client(base_url=running.address, timeout=60) as client:
            while not ends.is_set():
                answer = client.post("/recommend", json={"user": "u1", "n": 2})
                answered += 1
                if answer.status_code != 200:
                    failed.append(answer.text)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for name, kind in (("hard", "GeneralizedKMeans"), ("mmsbm", "MMSBM")):
            shutil.copy(model_files[name], tmp_path / "next")
            (tmp_path / "next").replace(path)
            end = time.monotonic() + 60
            while httpx.get(f"{running.address}/health", timeout=60).json()["model"] != kind:
                assert time.monotonic() < end, "the model was not replaced"
                time.sleep(0.1)
    finally:
        ends.set()
        asking.join()
    assert failed == [] and answered > 0
    assert running.stop(signal.SIGTERM) == 0


def test_another_address_requires_a_token(start, model_files):
    running = _serve(start, model_files["mmsbm"], "--host", "0.0.0.0")
    token = next(line for line in running.lines if line.startswith("token: ")).split()[1]
    assert httpx.get(f"{running.address}/metrics", timeout=60).status_code == 401
    header = {"authorization": f"Bearer {token}"}
    assert httpx.get(f"{running.address}/metrics", headers=header, timeout=60).status_code == 200


def test_the_token_of_the_environment_is_used_and_never_printed(start, model_files):
    secret = "a-token-of-my-own-choice"
    running = _serve(start, model_files["mmsbm"], COTERIE_TOKEN=secret)
    assert httpx.get(f"{running.address}/metrics", timeout=60).status_code == 401
    header = {"authorization": f"Bearer {secret}"}
    assert httpx.get(f"{running.address}/metrics", headers=header, timeout=60).status_code == 200
    running.stop()
    assert secret not in running.printed


def test_what_cannot_be_served_is_one_clear_line(start, model_files, tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item,rating\na,b,3\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments, words, variables in (
            (["serve", str(tmp_path / "ratings.csv")], "is not a saved model", {}),
            (["serve", str(tmp_path / "nothing")], "cannot be read", {}),
            (["serve", str(model_files["mmsbm"]), "--port", port], "is in use", {}),
            (["serve", str(model_files["mmsbm"])], "16 or more", {"COTERIE_TOKEN": "short"}),
            (["app", "--no-browser", "--port", port], "is in use", {}),
        ):
            running = start(*arguments, **variables)
            assert running.stop() == BAD_INPUT
            assert words in running.printed and "Traceback" not in running.printed
            assert running.printed.count("\n") <= 2


@contextlib.contextmanager
def _running(answer):
    """Run an ASGI application with the protocol of both servers; yield its address."""
    listening = server.listening_socket("127.0.0.1", 0)
    config = uvicorn.Config(
        answer, http=server._impatient_protocol(), log_level="warning", lifespan="off"
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        running.should_exit = True
        thread.join(60)


def test_half_a_request_does_not_hold_a_connection(monkeypatch):
    """Slowloris: connections that send half of a head, or nothing, are closed; others are not."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.4)

    async def answer(scope, receive, send):
        await asyncio.sleep(1.0)  # longer than a head may take
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    with _running(answer) as address:
        for start in (b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "):
            with socket.create_connection(address, timeout=60) as slow:
                slow.sendall(start)
                assert slow.recv(100) == b""  # closed by the server
        assert httpx.get(f"http://127.0.0.1:{address[1]}/", timeout=60).text == "done"


def test_the_head_of_a_request_is_limited_in_size_but_not_the_body():
    async def answer(scope, receive, send):
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(size).encode()})

    with _running(answer) as address:
        with socket.create_connection(address, timeout=60) as endless:
            with contextlib.suppress(ConnectionError):  # closed while we send
                endless.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
                for _ in range(64):
                    endless.sendall(b"a" * (1 << 16))
            received = b""
            with contextlib.suppress(ConnectionError):
                received = endless.recv(1000)
            assert received == b"" or received.startswith(b"HTTP/1.1 400")
        with httpx.Client(base_url=f"http://127.0.0.1:{address[1]}", timeout=60) as client:
            for _ in range(2):  # the same connection
                assert client.post("/", content=b"x" * (1 << 20)).text == str(1 << 20)


def test_silent_connections_do_not_keep_others_out(start, model_files):
    """Idle sockets, half heads and half bodies: more than the server accepts of all together."""
    running = _serve(start, model_files["mmsbm"])
    place = ("127.0.0.1", int(running.address.rpartition(":")[2]))
    body = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n"
    body += b"Content-Type: application/json\r\n\r\n{"
    silent: list[socket.socket] = []
    try:
        for begin in (b"", b"GET / HTTP/1.1\r\nX-Slow: ", body):
            for _ in range(400):
                silent.append(socket.create_connection(place, timeout=60))
                with contextlib.suppress(ConnectionError):
                    silent[-1].sendall(begin)
            began = time.monotonic()
            for _ in range(10):
                answer = httpx.post(
                    f"{running.address}/recommend", json={"user": "u1", "n": 1}, timeout=60
                )
                assert answer.status_code == 200
            assert time.monotonic() - began < 20
    finally:
        for one in silent:
            one.close()
    assert running.stop() == 0


def test_killed_workers_are_replaced_and_lose_no_count_and_no_rating(start, model_files, tmp_path):
    log = tmp_path / "ratings"
    options = ("--workers", "2", "--ratings-log", str(log))
    running = _serve(start, model_files["mmsbm"], *options)

    def starts() -> str:
        text = httpx.get(f"{running.address}/metrics", timeout=60).text
        return re.search(r"coterie_worker_starts_total (\d+)", text)[1]

    end = time.monotonic() + 60
    while starts() != "2":
        assert time.monotonic() < end
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
    workers = children.read_text().split()
    assert len(workers) == 2
    for _ in range(20):  # of new connections: some are answered by each
        asked = httpx.post(f"{running.address}/recommend", json={"user": "u1"}, timeout=60)
        assert asked.status_code == 200
    rating = {"user": "somebody", "item": "i1", "rating": 5}
    asked = httpx.post(f"{running.address}/ratings", json={"ratings": [rating]}, timeout=60)
    assert asked.json() == {"accepted": 1}
    for worker in workers:
        os.kill(int(worker), signal.SIGKILL)
    while starts() != "4":
        assert time.monotonic() < end
        time.sleep(0.1)
    text = httpx.get(f"{running.address}/metrics", timeout=60).text
    assert 'coterie_requests_total{route="/recommend",status="200"} 20' in text
    time.sleep(1.5)
    for _ in range(10):  # the rating is in the answers of both
        asked = httpx.post(f"{running.address}/recommend", json={"user": "somebody"}, timeout=60)
        assert not asked.json()["unseen"] and asked.headers["x-model"].endswith("+1")
    assert running.stop(signal.SIGTERM) == 0
    assert "Traceback" not in running.printed


def test_tokens_of_a_file_are_replaced_without_a_restart(start, model_files, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("# old\nfirst-token-of-many\nsecond-token-of-many\n")
    options = ("--token-file", str(path), "--workers", "2")
    running = _serve(start, model_files["mmsbm"], *options)

    def status(token: str) -> int:
        """Ask over several connections, so that every worker answers; all must agree."""
        header = {"authorization": f"Bearer {token}"}
        asked = [httpx.get(f"{running.address}/metrics", headers=header) for _ in range(8)]
        (found,) = {answer.status_code for answer in asked}
        return found

    assert status("first-token-of-many") == status("second-token-of-many") == 200
    assert status("# old") == status("third-token-of-many") == 401
    path.write_text("third-token-of-many\n")
    assert status("third-token-of-many") == 200
    assert status("first-token-of-many") == 401
    path.unlink()  # then nobody is let in
    assert status("third-token-of-many") == 401
    running.stop()
    assert "third-token-of-many" not in running.printed


def test_sigterm_ends_the_server_without_a_broken_answer(start, model_files):
    """For a second it answers, says on /readyz that it ends, and asks clients to close."""
    running = _serve(start, model_files["mmsbm"], "--log", "json")
    broken, answered = [], []
    ends = threading.Event()

    def ask() -> None:
        while not ends.is_set():
            try:
                with httpx.Client(base_url=running.address, timeout=60) as client:
                    for _ in range(20):
                        answer = client.post("/recommend", json={"user": "u1", "n": 2})
                        answered.append(answer.status_code)
            except httpx.ConnectError:
                return  # it has ended
            except httpx.HTTPError as error:
                broken.append(repr(error))

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for one in asking:
        one.start()
    time.sleep(0.5)
    running.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert httpx.get(f"{running.address}/readyz", timeout=60).status_code == 503
    assert httpx.get(f"{running.address}/livez", timeout=60).headers["connection"] == "close"
    assert running.process.wait(timeout=30) == 0
    ends.set()
    for one in asking:
        one.join()
    assert not broken and set(answered) == {200}
    entries = [json.loads(line) for line in running.lines if line.startswith("{")]
    assert {one["status"] for one in entries} == {200, 503} and len(entries) > len(answered)
    assert set(entries[0]) >= {"time", "request_id", "method", "path", "seconds", "model"}
