"""`coterie serve`: the HTTP API of a saved recommender."""

from __future__ import annotations

import os
import secrets
import warnings

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command

TOKEN_VARIABLE = "COTERIE_TOKEN"
_SHORTEST_TOKEN = 16


@command(unused=("seed",))
def run(
    session: Session,
    model: str,
    port: int = 8000,
    host: str = "127.0.0.1",
    allow_host: list[str] | None = None,
    answer_memory: int = 32,
) -> JsonObject:
    """Answer HTTP requests with a saved recommender.

    Routes: /predict, /recommend, /explain, /similar, /health, /metrics and /openapi.json. If the
    model file is replaced, the new model answers from then on. Ctrl-C stops the server after the
    requests in progress.

    Example: coterie serve films.model --port 8000
    """
    from coterie.app.server import one_blas_thread, require_app_extra

    require_app_extra()
    one_blas_thread()
    from coterie.app.api.application import make_api
    from coterie.app.guard import AllowedHosts, is_loopback
    from coterie.app.server import address, listening_socket
    from coterie.app.server import run as serve

    token = _token(required=not is_loopback(host), session=session)
    app = make_api(
        model,
        hosts=AllowedHosts.of(host, allow_host or ()),
        token=token,
        threads=session.threads,
        answer_memory=answer_memory << 20,
    )
    # What a request leaves to the library is said in its answer, not in the terminal.
    warnings.simplefilter("ignore", AssumptionWarning)
    listening = listening_socket(host, port)
    place = address(host, listening.getsockname()[1])

    def started() -> None:
        session.say(f"{model} answers on {place} (stop with Ctrl-C)", important=True)

    serve(app, listening, started)
    session.say("stopped")
    return {"model": model, "address": place}


def _token(*, required: bool, session: Session) -> str | None:
    """Return the token that clients must send; None if none is required."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None:
        if len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable():
            raise InputError(
                f"the token in {TOKEN_VARIABLE} is not {_SHORTEST_TOKEN} or more printable ASCII "
                "characters",
                remedy="use a longer one, for example from `openssl rand -hex 16`",
            )
        return given
    if not required:
        return None
    made = secrets.token_urlsafe(24)
    session.say(f"token: {made} (set {TOKEN_VARIABLE} to use your own)", important=True)
    return made
