"""`coterie app`: the local web application."""

from __future__ import annotations

from pathlib import Path

from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command


@command(unused=("seed", "threads"))
def run(
    session: Session,
    demo: bool = False,
    port: int = 0,
    no_browser: bool = False,
    private: Path | None = None,
) -> JsonObject:
    """Find groups, recommend and publish in the browser.

    Starts a web application on this computer, prints its address and opens it in the browser.
    Nothing leaves the computer. Ctrl-C stops it and deletes the uploaded files.

    Example: coterie app --demo
    """
    from coterie.app.server import require_app_extra

    require_app_extra()
    from coterie.app.guard import AllowedHosts
    from coterie.app.server import address, listening_socket, open_privately
    from coterie.app.server import run as serve
    from coterie.app.web.application import make_app
    from coterie.app.web.sign_in import SIGN_IN

    host = "127.0.0.1"
    listening = listening_socket(host, port)
    place = address(host, listening.getsockname()[1])

    def renewed(token: str) -> None:
        session.say(f"another browser can be signed in with {place}{SIGN_IN}?token={token}")

    app, sign_in, workspace = make_app(
        hosts=AllowedHosts.of(host),
        renewed=renewed,
        private=None if private is None else private.resolve(),
        demo=demo,
    )

    def started() -> None:
        link = f"{place}{SIGN_IN}?token={sign_in.one_time}"
        session.say(
            f"coterie runs on {link} (this address works once; stop with Ctrl-C)", important=True
        )
        if not no_browser:
            open_privately(link, workspace.folder)

    def stopping() -> None:
        workspace.closing = True

    try:
        serve(app, listening, started, stopping)
    finally:
        workspace.remove_files()
    session.say("stopped; the uploaded files were deleted")
    return {"address": place}
