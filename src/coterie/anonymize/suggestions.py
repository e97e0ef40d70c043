"""Parameters that would make a refused release acceptable; each is tried before it is suggested."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from coterie.anonymize.policy import Policy
from coterie.base.progress import Callback, Progress
from coterie.data import Graph

_MAX_TRIALS = 3


class Change(NamedTuple):
    """Parameters of the anonymizer to change; None leaves one as it is."""

    min_class_size: int | None = None
    max_edge_probability: float | None = None
    n_blocks: int | None = None

    def parameters(self) -> dict[str, float]:
        """Return the changed parameters by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def text(self) -> str:
        """Return the changed parameters between backticks.

        >>> Change(min_class_size=10, n_blocks=15).text()
        '`min_class_size=10` `n_blocks=15`'
        """
        return " ".join(f"`{name}={value:g}`" for name, value in self.parameters().items())


def suggest(
    changes: list[Change], passes: Callable[[Change], bool], callback: Callback
) -> list[str]:
    """Try up to three changes, each with a whole release, and describe the outcome."""
    tried: list[str] = []
    for change in changes[:_MAX_TRIALS]:
        callback(Progress("trying other parameters", len(tried), note=change.text()))
        if passes(change):
            return [f"{change.text()} would pass (tried)"]
        tried.append(change.text())
    return [f"tried without success: {'; '.join(tried)}"] if tried else []


def possible_changes(
    graph: Graph, policy: Policy, *, n_blocks: int, min_class_size: int, max_edge_probability: float
) -> list[Change]:
    """Return changes that are worth trying, the smallest first; none if the graph is too small."""
    least = max(min_class_size, policy.min_class_size)
    if graph.n_nodes < 2 * least or not graph.n_edges:
        return []
    needed = Change()
    if least > min_class_size:
        needed = needed._replace(min_class_size=least)
    if max_edge_probability > policy.edge_probability:
        needed = needed._replace(max_edge_probability=round(0.95 * policy.edge_probability, 3))
    most = graph.n_nodes // (2 * least)
    fewer = (min(n_blocks - 1, most), min(n_blocks // 2, most // 2), min(n_blocks // 8, most // 4))
    changes = [needed._replace(n_blocks=k) for k in dict.fromkeys(fewer) if k > 0]
    return [needed, *changes] if needed != Change() and n_blocks <= most else changes
