"""`coterie serve`: the HTTP API of a saved recommender."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.json_values import JsonObject, as_json
from coterie.cli.session import Session, command

Tokens = Callable[[], Sequence[str]]
TOKEN_VARIABLE = "COTERIE_TOKEN"
_SHORTEST_TOKEN = 16
_DRAIN_SECONDS = 1.0


@command(unused=("seed",))
def run(
    session: Session,
    model: str,
    port: int = 8000,
    host: str = "127.0.0.1",
    allow_host: list[str] | None = None,
    allow_origin: list[str] | None = None,
    token_file: Path | None = None,
    workers: int = 1,
    log: str = "none",
    ratings_log: Path | None = None,
    rules: Path | None = None,
    answer_memory: int = 32,
) -> JsonObject:
    """Answer HTTP requests with a saved recommender.

    Routes: /predict, /recommend, /explain, /similar, /ratings, /health, /livez, /readyz, /metrics
    and /openapi.json. If the model file is replaced, the new model answers from then on. Ctrl-C or
    SIGTERM stops the server after the requests in progress.

    Example: coterie serve films.model --port 8000
    """
    from coterie.app.server import one_blas_thread, require_app_extra

    require_app_extra()
    one_blas_thread()
    from coterie.app.api.application import make_api
    from coterie.app.api.rating_log import RatingLog
    from coterie.app.guard import AllowedHosts, is_loopback
    from coterie.app.server import address, listening_socket, run_workers
    from coterie.app.server import run as serve
    from coterie.recommend.rules import Rules

    for origin in allow_origin or ():
        if not origin.startswith(("http://", "https://")) or origin.count("/") != 2:
            raise InputError(
                f"invalid `allow_origin`: {origin!r}",
                remedy="give the scheme and the host of the web site, as https://films.example",
            )
    if workers > 1 and not hasattr(os, "fork"):
        raise InputError("several `workers` are not possible on this system")
    tokens = _tokens(token_file, required=not is_loopback(host), session=session)
    app = make_api(
        model,
        hosts=AllowedHosts.of(host, allow_host or ()),
        tokens=tokens,
        origins=allow_origin or (),
        threads=session.threads,
        workers=workers,
        answer_memory=answer_memory << 20,
        rules=None if rules is None else Rules.from_file(rules),
        log=RatingLog(Path(f"{model}.ratings") if ratings_log is None else ratings_log),
        logged=_log_request if log == "json" else None,
    )
    state = app.app.state  # type: ignore[attr-defined]
    # What a request leaves to the library is said in its answer, not in the terminal.
    warnings.simplefilter("ignore", AssumptionWarning)
    listening = listening_socket(host, port)
    place = address(host, listening.getsockname()[1])

    def started() -> None:
        session.say(f"{model} answers on {place} (stop with Ctrl-C)", important=True)

    def stopping() -> None:
        app.closing = state.model_file.closing = True

    def be_worker(number: int) -> None:
        state.metrics.be_worker(number)
        state.model_file.refresh()  # one that replaces a killed one must not begin with old answers

    if workers > 1:
        run_workers(
            app, listening, workers, started, be_worker, stopping=stopping, drain=_DRAIN_SECONDS
        )
    else:
        serve(app, listening, started, stopping, _DRAIN_SECONDS)
    session.say("stopped")
    return {"model": model, "address": place}


def _log_request(entry: JsonObject) -> None:
    """Write one line of the access log."""
    line = as_json({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry})
    sys.stderr.write(line + "\n")  # one call, so that lines of several workers do not mix
    sys.stderr.flush()


def _tokens_of(path: Path) -> list[str]:
    """Return the tokens of a file as it is now; none if it cannot be read."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
        return [line for line in lines if _is_token(line)]
    return []


def _is_token(text: str) -> bool:
    usable = len(text) >= _SHORTEST_TOKEN and text.isascii() and text.isprintable()
    return usable and not text.startswith("#")


def _tokens(path: Path | None, *, required: bool, session: Session) -> Tokens | None:
    """Return a function that returns the valid tokens; None if none is required."""
    given = os.environ.get(TOKEN_VARIABLE)
    if path is None and given is None and required:
        given = secrets.token_urlsafe(24)
        session.say(f"token: {given} (set {TOKEN_VARIABLE} to use your own)", important=True)
    if (path is not None and not _tokens_of(path)) or (given is not None and not _is_token(given)):
        raise InputError(
            f"there is no token of {_SHORTEST_TOKEN} or more printable ASCII characters in "
            f"{path or TOKEN_VARIABLE}",
            remedy="use a longer one, for example from `openssl rand -hex 16`",
        )
    if path is not None:
        return lambda: _tokens_of(path)
    return None if given is None else lambda: [given]
