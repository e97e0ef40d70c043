"""The process that does the long work of the application.

It reads one task as a line of JSON from standard input, and writes lines of JSON to standard
output: progress, partial results, and in the end the result or what went wrong. SIGINT asks it to
stop and keep the best result so far. `python -m coterie.app.web.worker` starts it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from coterie.base.errors import CoterieError
from coterie.base.json_values import JsonObject, as_json

TASKS = {
    "read": "reading:read",
    "explore": "exploring:explore",
    "frontier": "publishing:frontier",
    "release": "publishing:release",
    "private_release": "publishing:private_release",
    "recommend": "recommending:recommend",
}


def main() -> None:
    """Wait for a task, do it, and report."""
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints does not disturb the protocol

    def send(message: JsonObject) -> None:
        output.write(as_json(message).replace("\n", " ") + "\n")
        output.flush()

    from coterie.app.web.tasks import reading  # noqa: F401  imports what most tasks need

    send({"event": "ready"})
    line = sys.stdin.readline()
    if not line:
        return
    order: JsonObject = json.loads(line)
    send({"event": "started"})
    send(_result(order, send, stop))


def _result(order: JsonObject, send: Any, stop: threading.Event) -> JsonObject:
    """Run a task and return the last message."""
    from importlib import import_module

    from coterie.app.web.tasks.context import TaskContext

    module, _, name = TASKS[order["task"]].partition(":")
    context = TaskContext(order["settings"], Path(order["folder"]), send, stop)
    shown = {str(k): str(v) for k, v in order.get("shown", {}).items()}
    try:
        task = getattr(import_module(f"coterie.app.web.tasks.{module}"), name)
        with context.remembered_remarks():
            result = task(context)
    except CoterieError as error:
        return {"event": "failed", "message": _readable(str(error), shown)}
    except MemoryError:
        return {"event": "failed", "message": "there is not enough memory for this data"}
    except OSError as error:
        text = error.strerror or str(error)
        return {"event": "failed", "message": f"{text}; free some space and try again"}
    except Exception as error:
        import traceback

        traceback.print_exc()
        text = f"{type(error).__name__}: {error}; the terminal shows more"
        return {"event": "failed", "message": _readable(text, shown)}
    remarks = [_readable(text, shown) for text in context.remarks]
    return {"event": "finished", "result": result, "remarks": remarks}


def _readable(text: str, shown: dict[str, str]) -> str:
    """Write the user's names of files instead of temporary paths, and no backticks."""
    for path, name in shown.items():
        text = text.replace(path, name)
    return text.replace("`", "")


if __name__ == "__main__":
    main()
