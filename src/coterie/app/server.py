"""Run an application: the port, the clean end with Ctrl-C, and what is printed."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from coterie.base.errors import InputError, MissingDependencyError

_MOST_CONNECTIONS = 900  # then the one that is silent for longest is closed
_OTHER_FILES = 120  # that a process needs besides connections
_GRACE_SECONDS = 10
_FIRST_REQUEST = 0.3  # seconds after which a new connection counts as idle
_RESTART_SECONDS = 0.5  # before a worker is replaced
HEAD_SECONDS = 20.0  # for the head of a request; the guard limits the body
HEAD_BYTES = 64 << 10


def require_app_extra() -> None:
    """Raise MissingDependencyError if the packages of the extra `[app]` are not installed."""
    try:
        import pydantic  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"the package {error.name} is not installed",
            remedy="install it with pip install 'coterie[app]'",
        ) from None


def one_blas_thread() -> None:
    """Let BLAS use one thread; without effect if NumPy is imported already.

    The vectors and matrices of one request are too small for several threads, which would wait for
    each other while they keep a core busy.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off (40 ms per response) only if the protocol is explicit
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use by another program",
                remedy="choose another with `port=8001`, or `port=0` for a free one",
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise InputError(
                f"port {port} may not be used by this account",
                remedy="choose one above 1023",
            ) from None
        raise InputError(
            f"cannot listen on {host}: {error.strerror or error}", remedy="choose another `host`"
        ) from None
    return made


def address(host: str, port: int) -> str:
    """Return the address of a server for a browser on the same machine.

    >>> address("0.0.0.0", 80), address("::1", 8000)
    ('http://127.0.0.1:80', 'http://[::1]:8000')
    """
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def open_privately(link: str, folder: Path) -> None:
    """Open an address in the browser, which other accounts of the machine must not learn.

    Arguments of a process are visible to everybody, so the browser gets a file of this account
    that leads to the address. Nobody waits for the browser: its command may not return.
    """
    import webbrowser

    from coterie.app.page import filled

    page = folder / "open.html"
    with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(filled("open.html", address=link))
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()


def run_workers(
    app: Any,
    listening: socket.socket,
    workers: int,
    started: Callable[[], None],
    be_worker: Callable[[int], None],
    **more: Any,
) -> None:
    """Answer requests with several processes until Ctrl-C or SIGTERM.

    They are copies of this process, so that they share the memory of what it has loaded. One that
    ends unexpectedly is replaced.
    """
    running: dict[int, int] = {}
    ending = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ending
        ending = True
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)

    def begin(worker: int, first: bool) -> None:
        process = os.fork()
        if process:
            running[process] = worker
            return
        code = 1
        try:
            for one in (signal.SIGTERM, signal.SIGINT):
                signal.signal(one, signal.SIG_DFL)
            be_worker(worker)
            run(app, listening, started if first and not worker else lambda: None, **more)
            code = 0
        finally:
            os._exit(code)

    signal.set_wakeup_fd(-1)  # else the end of a worker would look like a second signal here
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, end)
    for worker in range(workers):
        begin(worker, True)
    while running:
        process, _ = os.wait()
        worker = running.pop(process)
        if not ending:
            time.sleep(_RESTART_SECONDS)
            begin(worker, False)


def run(
    app: Any,
    listening: socket.socket,
    started: Callable[[], None],
    stopping: Callable[[], None] = lambda: None,
    drain: float = 0.0,
) -> None:
    """Answer requests until Ctrl-C or SIGTERM; requests in progress are answered first.

    `started` is called when the server answers, `stopping` when it was asked to end. After SIGTERM
    it answers new requests for another `drain` seconds: a load balancer needs time to notice.
    """
    import uvicorn

    class Server(uvicorn.Server):
        draining = False

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            stopping()
            # Not raised again afterwards, as uvicorn would: this is the usual way to stop.
            if self.should_exit and sig == signal.SIGINT:
                self.force_exit = True
            if sig == signal.SIGTERM and drain and not self.draining:
                self.draining = True
                threading.Timer(drain, self.handle_exit, (signal.SIGINT, None)).start()
            else:
                self.should_exit = True

    config = uvicorn.Config(
        app,
        http=_impatient_protocol(),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        lifespan="on",
    )
    Server(config).run(sockets=[listening])


def _open_files() -> int:
    """Return how many files this process may open."""
    try:
        import resource
    except ImportError:  # Windows
        return 512
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _impatient_protocol() -> Any:
    """Return uvicorn's protocol, with limits on the time and the size of the head of a request.

    Uvicorn has none with httptools: a client that opens many connections and sends half a line on
    each would keep everybody else out (Slowloris), and an endless header would fill the memory.
    If there are too many connections, one that waits for its client is closed: of the client with
    the most connections, the one that was silent for longest.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    most = max(10, min(_MOST_CONNECTIONS, _open_files() - _OTHER_FILES))

    class ImpatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.heard = self.loop.time()
            if len(self.connections) > most:
                self.close_most_silent()
            self.waited_for: Any = self  # the last request when the head was found incomplete
            self.look_again = self.loop.call_later(HEAD_SECONDS / 2, self.end_if_silent)

        in_head = False
        head_size = 0

        @property
        def waits_for_client(self) -> bool:
            return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

        def close_most_silent(self) -> None:
            open_ones = [one for one in self.connections if not one.transport.is_closing()]
            clients = Counter(one.client and one.client[0] for one in open_ones)
            waiting = [one for one in open_ones if one is not self and one.waits_for_client]
            silent = max(
                waiting,
                key=lambda one: (clients[one.client and one.client[0]], -one.heard),
                default=self,
            )
            silent.transport.close()

        def on_message_begin(self) -> None:
            self.in_head, self.head_size = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.in_head = False
            super().on_headers_complete()

        def shutdown(self) -> None:
            # The first request of a new connection may be on its way.
            if self.cycle is None and self.loop.time() - self.heard < _FIRST_REQUEST:
                self.loop.call_later(_FIRST_REQUEST, super().shutdown)
            else:
                super().shutdown()

        def data_received(self, data: bytes) -> None:
            self.heard = self.loop.time()
            super().data_received(data)
            if self.in_head:
                self.head_size += len(data)
                if self.head_size > HEAD_BYTES and not self.transport.is_closing():
                    self.send_400_response("The head of the request is too large.")

        def connection_lost(self, exc: Exception | None) -> None:
            self.look_again.cancel()
            super().connection_lost(exc)

        def end_if_silent(self) -> None:
            answered = self.cycle is None or self.cycle.response_complete
            if answered and self.timeout_keep_alive_task is None:
                if self.waited_for is self.cycle:
                    self.transport.close()
                    return
                self.waited_for = self.cycle
            else:
                self.waited_for = self
            self.look_again = self.loop.call_later(HEAD_SECONDS / 2, self.end_if_silent)

    return ImpatientProtocol
