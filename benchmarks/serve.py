"""Requests per second and latency of `coterie serve`, measured with wrk on the same machine.

Needs wrk (`apt install wrk`) and MovieLens-100k in $COTERIE_DATA. Parts: known (recommend to known
users, mmsbm and best), fold-in (20 ratings of an unknown user), reload (mixed load while the model
file is replaced), start (from `coterie app --demo` to the first page). The models are fitted first,
unless --models names a folder with mmsbm.model and best.model.

    python benchmarks/serve.py --only known,fold-in --quiet-machine
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import coterie as ct
from record import Recorder, add_options

PARTS = ("known", "fold-in", "reload", "start")
CONNECTIONS = 4
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}

_KNOWN = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local i = 0
request = function()
  i = i + 1
  return wrk.format(nil, "/recommend", nil, '{"user":' .. (1 + (i * 37) % 943) .. ',"n":10}')
end
"""
_FOLD_IN = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local i = 0
request = function()
  i = i + 1
  local rows = {}
  for j = 1, 20 do
    local item = 1 + (i * 53 + j * 79) % 1682
    rows[j] = '{"item":' .. item .. ',"rating":' .. (1 + (i + j) % 5) .. '}'
  end
  return wrk.format(nil, "/recommend", nil, '{"ratings":[' .. table.concat(rows, ",") .. ']}')
end
"""


@contextmanager
def served(model: Path, *options: str) -> Iterator[tuple[str, int]]:
    """Run `coterie serve` and yield its address and process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "coterie", "serve", str(model), "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    printed = ""
    while line := process.stderr.readline():
        printed += line
        if found := re.search(r"http://\S+", line):
            break
    else:
        raise SystemExit(printed)
    try:
        yield found[0], process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def load(address: str, script: str, seconds: int) -> dict[str, Any]:
    """Run wrk and return its figures; latencies in milliseconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        done = subprocess.run(
            [
                *("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s"),
                *("--latency", "--timeout", "30s", "-s", file.name, address),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    text = done.stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    broken = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text
    )
    failed = sum(int(n) for m in (refused, broken) if m for n in m.groups())
    return {
        "requests": int(re.search(r"(\d+) requests in", text)[1]),  # type: ignore[index]
        "requests_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        "median_ms": _latency(text, "50%"),
        "p99_ms": _latency(text, "99%"),
        "failed": failed,
    }


def _latency(text: str, share: str) -> float:
    found = re.search(rf"{re.escape(share)}\s+([\d.]+)(us|ms|s|m)\b", text)
    assert found is not None, text
    return float(found[1]) * _UNITS[found[2]]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Return the memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def measure(model: Path, script: str, seconds: int, memory: int) -> dict[str, Any]:
    """Measure one kind of request; with the CPU time of the server per request.

    `memory` is the size of the memory of answers in MB; 0 computes every answer.
    """
    with served(model, "--answer-memory", str(memory)) as (address, pid):
        load(address, script, 2)
        before = cpu_seconds(pid)
        found = load(address, script, seconds)
        used = cpu_seconds(pid) - before
    return found | {"cpu_ms_per_request": 1e3 * used / max(found["requests"], 1)}


class SteadyLoad(threading.Thread):
    """One client that asks at a fixed rate, so that minutes of load leave the machine usable."""

    def __init__(self, address: str, number: int, rate: float, ends: float) -> None:
        super().__init__()
        self.host = urlsplit(address).netloc
        self.number, self.rate, self.ends = number, rate, ends
        self.milliseconds: list[float] = []
        self.failed: list[str] = []

    def run(self) -> None:
        """Ask until the end; a connection that breaks counts as a failed request."""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        due, i = time.monotonic(), 1000 * self.number
        while (now := time.monotonic()) < self.ends:
            if now < due:
                time.sleep(due - now)
            due += 1 / self.rate
            i += 1
            path, body = mixed_request(i)
            start = time.perf_counter()
            try:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.failed.append(f"{path}: {answer.status}")
            except OSError as error:
                self.failed.append(f"{path}: {error!r}")
                connection.close()
            self.milliseconds.append(1e3 * (time.perf_counter() - start))
        connection.close()


def mixed_request(i: int) -> tuple[str, str]:
    """Return the i-th request of the mixed load: all routes in turn."""
    user, item = 1 + (i * 37) % 943, 1 + (i * 53) % 1682
    ratings = [{"item": 1 + (i * 53 + j * 79) % 1682, "rating": 1 + (i + j) % 5} for j in range(20)]
    path, body = (
        ("/recommend", {"user": user}),
        ("/predict", {"pairs": [{"user": user, "item": item}]}),
        ("/recommend", {"ratings": ratings}),
        ("/similar", {"item": item}),
        ("/explain", {"user": user, "item": item}),
    )[i % 5]
    return path, json.dumps(body)


def reload_under_load(model: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Mixed load while the model file is replaced; the memory at the end of each period."""
    seconds, every, rate = given.reload_seconds, given.every, given.rate
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "current.model"
        shutil.copy(model, current)
        with served(current) as (address, pid):
            ends = time.monotonic() + seconds
            clients = [
                SteadyLoad(address, number, rate / CONNECTIONS, ends)
                for number in range(CONNECTIONS)
            ]
            for client in clients:
                client.start()
            memory, replaced = [], 0
            while time.monotonic() + every <= ends + 1:
                shutil.copy(model, Path(folder) / "next")
                (Path(folder) / "next").replace(current)
                replaced += 1
                time.sleep(every)
                memory.append(round(resident_mb(pid), 1))
            for client in clients:
                client.join()
            health = json.loads(urlopen(f"{address}/health").read())
    took = sorted(ms for client in clients for ms in client.milliseconds)
    return {
        "requests": len(took),
        "requests_per_second": len(took) / seconds,
        "failed": sum(len(client.failed) for client in clients),
        "median_ms": took[len(took) // 2],
        "p99_ms": took[int(0.99 * len(took))],
        "max_ms": took[-1],
        "seconds": seconds,
        "replaced": replaced,
        "reloads": health["reloads"],
        "memory_first_mb": memory[0],
        "memory_second_mb": memory[min(1, len(memory) - 1)],
        "memory_last_mb": memory[-1],
        "memory_mb": memory,
    }


def first_page() -> float:
    """Return the seconds from the command `coterie app --demo` to its first page."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "coterie", "app", "--demo", "--no-browser"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        link = re.search(r"http://\S+", process.stderr.readline())
        assert link is not None
        opener = build_opener(HTTPCookieProcessor())
        page = opener.open(Request(link[0])).read()
        assert b"Which data?" in page
        return time.perf_counter() - start
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def fitted(folder: Path) -> dict[str, Path]:
    """Return the model files, fitted to MovieLens-100k if they are not there."""
    files = {name: folder / f"{name}.model" for name in ("mmsbm", "best")}
    for name, path in files.items():
        if not path.exists():
            ratings = ct.read_ratings(Path(os.environ["COTERIE_DATA"]) / "ml-100k" / "u.data.gz")
            ct.Recommender(name).fit(ratings).save(path)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--seconds", type=int, default=20, help="per kind of request")
    parser.add_argument("--reload-seconds", type=int, default=600, help="of the part reload")
    parser.add_argument("--every", type=int, default=30, help="seconds between two replacements")
    parser.add_argument("--rate", type=float, default=50, help="requests per second of reload")
    parser.add_argument("--reload-models", default="best", help="of the part reload")
    parser.add_argument("--models", type=Path, help="folder with mmsbm.model and best.model")
    add_options(parser)
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed: apt install wrk")
    parts = given.only.split(",")
    recorder = Recorder("serve", given)
    with tempfile.TemporaryDirectory() as made:
        folder = given.models or Path(made)
        models = fitted(folder) if set(parts) - {"start"} else {}
        shared: dict[str, Any] = {
            "data": "MovieLens-100k",
            "threads": f"one server, {CONNECTIONS} connections of wrk on the same machine",
        }
        if "known" in parts:
            rows = [
                {
                    "model": name,
                    "remembers_answers": bool(memory),
                    **measure(models[name], _KNOWN, given.seconds, memory),
                }
                for name in ("mmsbm", "best")
                for memory in (0, 32)
            ]
            recorder.add("known", rows, title="Recommend to known users",
                         asked="POST /recommend, all users in turn", **shared)  # fmt: skip
            print(json.dumps(rows, indent=1))
        if "fold-in" in parts:
            rows = [
                {"model": name, **measure(models[name], _FOLD_IN, given.seconds, 0)}
                for name in ("mmsbm", "best")
            ]
            recorder.add("fold-in", rows, title="Recommend to somebody with 20 ratings",
                         asked="POST /recommend with 20 ratings", **shared)  # fmt: skip
            print(json.dumps(rows, indent=1))
        if "reload" in parts:
            rows = [
                {
                    "model": name,
                    **reload_under_load(models[name], given),
                }
                for name in given.reload_models.split(",")
            ]
            recorder.add("reload", rows, title="Mixed load while the model is replaced",
                         asked=f"a new model file every {given.every} s", **shared)  # fmt: skip
            print(json.dumps(rows, indent=1))
        if "start" in parts:
            first_page()
            rows = [{"seconds": first_page()} for _ in range(3)]
            recorder.add("start", rows, title="From the command to the first page",
                         asked="coterie app --demo --no-browser, caches warm",
                         data="demo network", threads="one process")  # fmt: skip
            print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
