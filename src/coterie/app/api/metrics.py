"""Counters of the server in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from coterie.app.api.model_file import ModelFile
from coterie.base.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"  # paths that are no route
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Requests by route and status, how long they took, and what else is counted."""

    def __init__(self, routes: Iterable[str] = ()) -> None:
        self._routes = (*routes, OTHER)
        self.cache_hits = 0
        self.in_flight: Callable[[], int] = lambda: 0
        self._lock = threading.Lock()
        self._found: Counter[tuple[str | int, ...]] = Counter()

    def record(self, path: str, status: int, seconds: float) -> None:
        """Count one request."""
        route = path if path in self._routes else OTHER
        bucket = next((i for i, top in enumerate(_BUCKETS) if seconds <= top), len(_BUCKETS))
        with self._lock:
            self._found[route, status] += 1
            self._found[route, "bucket", bucket] += 1
            self._found[route, "seconds"] += seconds  # type: ignore[assignment]  # fractions too

    def text(self, model_file: ModelFile) -> str:
        """Return all counters as text."""
        with self._lock:
            found = Counter(self._found)
        current = model_file.current
        asked = {
            f'{{route="{name[0]}",status="{name[1]}"}}': count
            for name, count in sorted(found.items(), key=str)
            if len(name) == 2 and name[1] != "seconds"
        }
        model = f'{{kind="{current.name}",hash="{current.digest}",version="{current.version}"}}'
        families: list[tuple[str, str, str, Any]] = [
            ("requests_total", "counter", "Requests by route and HTTP status.", asked),
            ("request_seconds", "histogram", "Time per request.", dict(self._times(found))),
            ("in_flight", "gauge", "Requests that are being answered.", self.in_flight()),
            ("cache_hits_total", "counter", "Requests answered from memory.", self.cache_hits),
            ("model_users", "gauge", "Users of the model.", len(current.recommender.users_)),
            ("model_items", "gauge", "Items of the model.", len(current.recommender.items_)),
            ("model_reloads_total", "counter", "Replaced models.", model_file.reloads),
            ("model_reload_failures_total", "counter", "Unreadable files.", model_file.failures),
            ("model_loaded_timestamp_seconds", "gauge", "When.", current.loaded.timestamp()),
            ("model_info", "gauge", "The model that answers.", {model: 1}),
            ("build_info", "gauge", "The version.", {f'{{version="{__version__}"}}': 1}),
        ]
        lines = []
        for name, kind, text, value in families:
            values = value if isinstance(value, dict) else {"": value}
            lines += [f"# HELP coterie_{name} {text}", f"# TYPE coterie_{name} {kind}"]
            lines += [f"coterie_{name}{labels} {value:.15g}" for labels, value in values.items()]
        return "\n".join(lines) + "\n"

    def _times(self, found: Counter[tuple[str | int, ...]]) -> Iterator[tuple[str, float]]:
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
