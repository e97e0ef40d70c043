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
import time
from pathlib import Path
from typing import Any

from coterie.app.web.tasks.context import NO_RESULT, TaskContext
from coterie.base.errors import CoterieError
from coterie.base.json_values import JsonObject, as_json
from coterie.base.machine import physical_memory

TASKS = {
    "read": "reading:read",
    "explore": "exploring:explore",
    "frontier": "publishing:frontier",
    "release": "publishing:release",
    "private_release": "publishing:private_release",
    "recommend": "recommending:recommend",
}


# The library names its options; the pages have none of these.
_WORDS_FOR_OPTIONS = {
    "set format if it is not text": "give a text file, Excel, Parquet, GraphML or GML",
    "set weighted if it holds weights": "if it matters, choose the columns below",
    "set weighted to read them": "weights are not used here",
    "fix or remove the line, or set separator": "fix or remove the line, or choose the columns "
    "below",
}
_ORDER = "order.json"
_PATIENCE = 1.5  # seconds from a stop until the search must have ended
_PATIENCE_AGAIN = 20.0  # until it must have restored its last state
_MEMORY_SHARE = 0.9  # of the memory of the machine that a task may take


def main() -> None:
    """Wait for a task, do it, and report."""
    limit_memory(int(_MEMORY_SHARE * physical_memory()))
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints does not disturb the protocol
    sending = threading.RLock()

    def send(message: JsonObject) -> None:
        with sending:
            output.write(as_json(message).replace("\n", " ") + "\n")
            output.flush()

    def restart(order: JsonObject) -> None:
        """Run the task again in this process, to describe what it has found so far."""
        path = Path(order["folder"]) / _ORDER
        path.write_text(json.dumps(order | {"restarted": True}), encoding="utf-8")
        sending.acquire()
        os.dup2(output.fileno(), 1)
        os.execv(sys.executable, [sys.executable, "-m", "coterie.app.web.worker", str(path)])

    from coterie.app.web.tasks import reading  # noqa: F401  imports what most tasks need

    send({"event": "ready"})
    line = sys.stdin.readline() if len(sys.argv) < 2 else Path(sys.argv[1]).read_text("utf-8")
    if not line:
        return
    order: JsonObject = json.loads(line)
    if order.get("restarted"):
        stop.set()
    send({"event": "started"})
    send(_result(order, send, stop, restart))


def limit_memory(size: int) -> None:
    """Let this process fail with MemoryError instead of taking the whole machine.

    A compressed file of a few megabytes can become a terabyte when it is read.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    least = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_AS, (least, most))


def _end_late_search(context: TaskContext, order: JsonObject, restart: Any) -> None:
    """End a search that does not notice a stop: a kernel can run for minutes."""
    context.stop.wait()
    began = time.monotonic()
    while True:
        if not context.searching:
            began = time.monotonic()
        elif time.monotonic() - began > (_PATIENCE_AGAIN if context.restarted else _PATIENCE):
            if context.restarted:
                context.send({"event": "failed", "message": NO_RESULT})
                os._exit(0)
            restart(order)
        time.sleep(0.05)


def _result(order: JsonObject, send: Any, stop: threading.Event, restart: Any) -> JsonObject:
    """Run a task and return the last message."""
    from importlib import import_module

    module, _, name = TASKS[order["task"]].partition(":")
    context = TaskContext(order["settings"], Path(order["folder"]), send, stop)
    context.earlier = Path(order["earlier"]) if order.get("earlier") else None
    context.restarted = bool(order.get("restarted"))
    late = (context, order, restart)
    threading.Thread(target=_end_late_search, args=late, daemon=True).start()
    shown = {str(k): str(v) for k, v in order.get("shown", {}).items()}
    try:
        task = getattr(import_module(f"coterie.app.web.tasks.{module}"), name)
        with context.remembered_remarks():
            result = task(context)
    except CoterieError as error:
        return {"event": "failed", "message": _readable(str(error), shown)}
    except KeyboardInterrupt:
        return {"event": "failed", "message": NO_RESULT}
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
    text = text.replace("`", "")
    for option, words in _WORDS_FOR_OPTIONS.items():
        text = text.replace(option, words)
    return text


if __name__ == "__main__":
    main()
