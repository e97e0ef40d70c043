"""Counters of the server in the text format of Prometheus.

They are in memory that all worker processes share, one row per worker, so that every worker answers
/metrics for all of them and a worker that is killed loses no count.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Iterable, Iterator

import numpy as np

from coterie.app.api.model_file import ModelFile
from coterie.base.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"  # paths that are no route
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_STATUSES = (200, 204, 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 499, 500, 503, 507)
_TOTALS = {  # of all workers: kind, and what it says
    "in_flight": ("gauge", "Requests that are being answered."),
    "cache_hits_total": ("counter", "Requests answered from memory."),
    "ratings_received_total": ("counter", "Ratings written to the log."),
    "worker_starts_total": ("counter", "Worker processes that were started."),
}


class Metrics:
    """Requests by route and status, how long they took, and what else is counted."""

    def __init__(self, routes: Iterable[str] = (), workers: int = 1) -> None:
        self._routes = (*routes, OTHER)
        names: list[tuple[str | int, ...]] = [(name,) for name in _TOTALS]
        for route in self._routes:
            names += [(route, status) for status in _STATUSES]
            names += [(route, "bucket", i) for i in range(len(_BUCKETS) + 1)]
            names.append((route, "seconds"))
        self._place = {name: i for i, name in enumerate(names)}
        memory = mmap.mmap(-1, 8 * workers * len(names))  # shared with processes made by fork
        self._all = np.frombuffer(memory, np.float64).reshape(workers, len(names))
        self._lock = threading.Lock()
        self._start = time.time()
        self._own = self._all[0]
        if workers == 1:
            self.be_worker(0)

    def be_worker(self, number: int) -> None:
        """Count in the row of one worker from now on."""
        self._own = self._all[number]
        self._own[self._place["in_flight",]] = 0  # of a worker that was killed
        self.add("worker_starts_total")

    def add(self, name: str, amount: float = 1) -> None:
        """Add to one of the totals."""
        with self._lock:
            self._own[self._place[name,]] += amount

    def record(self, path: str, status: int, seconds: float) -> None:
        """Count one request."""
        route = path if path in self._routes else OTHER
        bucket = next((i for i, top in enumerate(_BUCKETS) if seconds <= top), len(_BUCKETS))
        with self._lock:
            self._own[self._place[route, status if status in _STATUSES else 500]] += 1
            self._own[self._place[route, "bucket", bucket]] += 1
            self._own[self._place[route, "seconds"]] += seconds

    def text(self, model_file: ModelFile) -> str:
        """Return all counters as text."""
        sums = self._all.sum(axis=0)
        found = {name: sums[place] for name, place in self._place.items()}
        current = model_file.current
        asked = {
            f'{{route="{route}",status="{status}"}}': found[route, status]
            for route in self._routes
            for status in _STATUSES
            if found[route, status]
        }
        model = f'{{kind="{current.name}",hash="{current.digest}",version="{current.version}"}}'
        families = [
            ("requests_total", "counter", "Requests by route and HTTP status.", asked),
            ("request_seconds", "histogram", "Time per request.", dict(self._times(found))),
            *((name, *said, {"": found[name,]}) for name, said in _TOTALS.items()),
            ("model_info", "gauge", "The model that answers.", {model: 1}),
            ("build_info", "gauge", "The version.", {f'{{version="{__version__}"}}': 1}),
        ]
        for name, text, value in (  # of the worker that answers
            ("model_users", "Users of the model.", len(current.recommender.users_)),
            ("model_items", "Items of the model.", len(current.recommender.items_)),
            ("model_reloads_total", "Replaced models.", model_file.reloads),
            ("model_reload_failures_total", "Unreadable model files.", model_file.failures),
            ("model_ratings_applied", "Ratings of the log in the model.", current.applied),
            ("model_loaded_timestamp_seconds", "Time.", current.loaded.timestamp()),
        ):
            kind = "counter" if name.endswith("total") else "gauge"
            families.append((name, kind, text, {"": value}))
        families = [(f"coterie_{name}", *rest) for name, *rest in families]  # type: ignore[misc]
        families += _process(self._start)
        lines = []
        for name, kind, text, values in families:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{labels} {value:.15g}" for labels, value in values.items()]
        return "\n".join(lines) + "\n"

    def _times(self, found: dict[tuple[str | int, ...], float]) -> Iterator[tuple[str, float]]:
        """Return the buckets, the sum and the number of the times of each route."""
        for route in self._routes:
            total = 0.0
            counts = [found[route, "bucket", i] for i in range(len(_BUCKETS) + 1)]
            if not sum(counts):
                continue
            for top, count in zip((*_BUCKETS, "+Inf"), counts, strict=True):
                total += count
                yield f'_bucket{{route="{route}",le="{top}"}}', total
            yield f'_sum{{route="{route}"}}', found[route, "seconds"]
            yield f'_count{{route="{route}"}}', total


def _process(start: float) -> Iterator[tuple[str, str, str, dict[str, float]]]:
    """Return what Prometheus calls process_*: of the worker that answers."""
    times = os.times()
    yield "process_start_time_seconds", "gauge", "When the process started.", {"": start}
    yield "process_cpu_seconds_total", "counter", "Processor time.", {"": times.user + times.system}
    if os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        yield (
            "process_resident_memory_bytes",
            "gauge",
            "Memory.",
            {"": pages * os.sysconf("SC_PAGE_SIZE")},
        )
        yield "process_open_fds", "gauge", "Open files.", {"": len(os.listdir("/proc/self/fd"))}
