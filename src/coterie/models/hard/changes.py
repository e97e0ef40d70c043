"""What happens to blocks from one clustering to the next: blocks split, merge, appear and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from coterie.base.json_values import JsonObject

_LARGE = 0.3  # share of a block from which on a part of it counts in an event


class Event(NamedTuple):
    """What happened to blocks between two periods."""

    period: str  # the first one with the new blocks; "" without periods
    kind: str  # "splits", "merge", "appears", "ends" or "nodes move"
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    n_nodes: int

    def __str__(self) -> str:
        old, new = (", ".join(map(str, blocks)) for blocks in (self.before, self.after))
        people = f"{self.n_nodes:,} node" + "s" * (self.n_nodes != 1)
        text = {
            "splits": f"block {old} splits into {new} ({people})",
            "merge": f"blocks {old} merge into {new} ({people})",
            "appears": f"block {new} appears ({people})",
            "ends": f"block {old} ends ({people})",
            "nodes move": f"{people} change their block",
        }[self.kind]
        return f"{self.period}: {text}" if self.period else text[0].upper() + text[1:]


@dataclass(frozen=True)
class BlockChanges:
    """How blocks differ from earlier ones; what `BlockModel.diff` returns.

    Attributes
    ----------
    events : list of Event
        The blocks that appear, split, merge and end, and how many nodes change their block.
    moved : list of (node id, block, block)
        The nodes that changed their block, with the earlier and the present one.
    new, gone : list of node ids
        The nodes that only this graph has, and those that it no longer has.
    description_length : float
        Of the present blocks, in nats.
    earlier_length : float or None
        Of the earlier blocks on the present graph, by the same model; new nodes are in the block
        that most of their neighbours are in. None for a hierarchy.
    """

    events: list[Event]
    moved: list[tuple[Any, Any, Any]]
    new: list[Any]
    gone: list[Any]
    description_length: float
    earlier_length: float | None

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """Return what changed, in sentences.

        Returns
        -------
        list of str
            One per event, the new and gone nodes, and the change of the description length.
        """
        said = [f"{event}." for event in self.events] or ["No node changes its block."]
        for nodes, what in ((self.new, "new"), (self.gone, "no longer there")):
            if nodes:
                said.append(
                    f"{len(nodes):,} node{'s' * (len(nodes) != 1)} "
                    f"{'is' if len(nodes) == 1 else 'are'} {what}."
                )
        if self.earlier_length is None:
            return said
        gain = self.earlier_length - self.description_length
        word = "shorter" if gain >= 0 else "longer"
        said.append(
            f"The description of this graph is {abs(gain):,.1f} nats {word} than with the earlier "
            "blocks."
        )
        return said

    def as_json(self) -> JsonObject:
        """Return the changes as JSON.

        Returns
        -------
        dict
            The attributes, by their names.
        """
        return {
            "events": [event._asdict() for event in self.events],
            "moved": [list(row) for row in self.moved],
            "new": self.new,
            "gone": self.gone,
            "description_length": self.description_length,
            "earlier_length": self.earlier_length,
        }


def block_events(names: tuple[str, ...], labels: list[np.ndarray]) -> list[Event]:
    """Return what happened to blocks from each period to the next."""
    events: list[Event] = []
    for period, before, after in zip(names[1:], labels, labels[1:], strict=False):
        if after is before:
            continue
        old, into = np.unique(before, return_inverse=True)
        new, now = np.unique(after, return_inverse=True)
        shared = np.zeros((len(old), len(new)), np.int64)
        np.add.at(shared, (into, now), 1)
        stays = shared >= _LARGE * shared.sum(axis=1, keepdims=True)  # a large part of the old one
        comes = shared >= _LARGE * shared.sum(axis=0, keepdims=True)  # … of the new one
        for r in range(len(old)):
            parts = tuple(int(new[s]) for s in np.flatnonzero(stays[r] & comes[r]))
            if len(parts) > 1:
                count = int(shared[r].sum())
                events.append(Event(period, "splits", (int(old[r]),), parts, count))
            elif not parts and old[r] not in new:
                events.append(Event(period, "ends", (int(old[r]),), (), int(shared[r].sum())))
        for s in range(len(new)):
            parts = tuple(int(old[r]) for r in np.flatnonzero(stays[:, s] & comes[:, s]))
            count = int(shared[:, s].sum())
            if len(parts) > 1:
                events.append(Event(period, "merge", parts, (int(new[s]),), count))
            elif not parts and new[s] not in old:
                events.append(Event(period, "appears", (), (int(new[s]),), count))
        moved = int((before != after).sum())
        if moved:
            events.append(Event(period, "nodes move", (), (), moved))
    return events
