"""Counters of the server in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import Counter

from coterie.app.api.model_file import ModelFile
from coterie.base.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self.cache_hits = 0
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._counts: dict[str, list[int]] = {}

    def record(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]  # counts fractions too
            counts = self._counts.setdefault(route, [0] * (len(_BUCKETS) + 1))
            place = next((i for i, top in enumerate(_BUCKETS) if seconds <= top), len(_BUCKETS))
            counts[place] += 1

    def text(self, model_file: ModelFile) -> str:
        """Return all counters as text."""
        with self._lock:
            requests = sorted(self._requests.items())
            seconds = dict(self._seconds)
            counts = {route: list(found) for route, found in sorted(self._counts.items())}
        times: dict[str, object] = {}
        for route, found in counts.items():
            total = 0
            for top, count in zip((*_BUCKETS, "+Inf"), found, strict=True):
                total += count
                times[f'_bucket{{route="{route}",le="{top}"}}'] = total
            times[f'_sum{{route="{route}"}}'] = f"{seconds[route]:.6f}"
            times[f'_count{{route="{route}"}}'] = total
        current, recommender = model_file.current, model_file.current.recommender
        loaded = round(current.loaded.timestamp(), 3)
        failures = model_file.failures
        asked = {f'{{route="{r}",status="{status}"}}': n for (r, status), n in requests}
        build = {f'{{version="{__version__}"}}': 1}
        families: tuple[tuple[str, str, str, object], ...] = (
            ("requests_total", "counter", "Requests by route and HTTP status.", asked),
            ("request_seconds", "histogram", "Time from the request to the response.", times),
            ("model_users", "gauge", "Users of the model.", len(recommender.users_)),
            ("model_items", "gauge", "Items of the model.", len(recommender.items_)),
            ("model_loaded_timestamp_seconds", "gauge", "When the model was loaded.", loaded),
            ("model_reloads_total", "counter", "Replaced models.", model_file.reloads),
            ("cache_hits_total", "counter", "Requests answered from memory.", self.cache_hits),
            ("model_reload_failures_total", "counter", "Unreadable model files.", failures),
            ("build_info", "gauge", "The version of coterie.", build),
        )
        lines = []
        for name, kind, text, found_values in families:
            values = found_values if isinstance(found_values, dict) else {"": found_values}
            lines += [f"# HELP coterie_{name} {text}", f"# TYPE coterie_{name} {kind}"]
            lines += [f"coterie_{name}{labels} {value}" for labels, value in values.items()]
        return "\n".join(lines) + "\n"
