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
        recommender = model_file.current.recommender
        lines = [
            "# HELP coterie_requests_total Requests by route and HTTP status.",
            "# TYPE coterie_requests_total counter",
            *(
                f'coterie_requests_total{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in requests
            ),
            "# HELP coterie_request_seconds Time from the request to the response.",
            "# TYPE coterie_request_seconds histogram",
        ]
        for route, found in counts.items():
            total = 0
            for top, count in zip((*_BUCKETS, "+Inf"), found, strict=True):
                total += count
                lines.append(
                    f'coterie_request_seconds_bucket{{route="{route}",le="{top}"}} {total}'
                )
            lines.append(f'coterie_request_seconds_sum{{route="{route}"}} {seconds[route]:.6f}')
            lines.append(f'coterie_request_seconds_count{{route="{route}"}} {total}')
        for name, kind, text, value in (
            ("model_users", "gauge", "Users of the model.", len(recommender.users_)),
            ("model_items", "gauge", "Items of the model.", len(recommender.items_)),
            (
                "model_loaded_timestamp_seconds",
                "gauge",
                "When the model was loaded.",
                round(model_file.current.loaded.timestamp(), 3),
            ),
            ("model_reloads_total", "counter", "Replaced models.", model_file.reloads),
            ("cache_hits_total", "counter", "Requests answered from memory.", self.cache_hits),
            (
                "model_reload_failures_total",
                "counter",
                "Model files that could not be read.",
                model_file.failures,
            ),
        ):
            lines += [
                f"# HELP coterie_{name} {text}",
                f"# TYPE coterie_{name} {kind}",
                f"coterie_{name} {value}",
            ]
        lines += [
            "# HELP coterie_build_info The version of coterie.",
            "# TYPE coterie_build_info gauge",
            f'coterie_build_info{{version="{__version__}"}} 1',
        ]
        return "\n".join(lines) + "\n"
