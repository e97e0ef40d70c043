"""All attacks on one published graph, beside the two controls that say whether they have power."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.risk.attacks import (
    SEED_COUNTS,
    Matching,
    bold_attack,
    choose_seeds,
    degree_attack,
    deleted_copy,
    fingerprint_attack,
    naive_copy,
    seeded_attack,
    vertex_refinement,
)
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine


class Target(NamedTuple):
    """A published graph under attack, and who is who in it."""

    graph: Graph
    truth: np.ndarray  # int32[n]: original node -> published node


class Claims(NamedTuple):
    """What the attacks on one target claimed."""

    seeded: list[Matching]  # careful, by number of seeds
    bold: list[Matching]  # a claim for everybody: from the most seeds, then from none
    with_blocks: list[Matching]  # the same, had labels been published; none without blocks


def attack(
    original: Graph,
    target: Target,
    engine: Engine | None = None,
    *,
    rng: RandomState = 0,
    callback: Callback = silent,
) -> dict[str, Any]:
    """The figures of `coterie attack`: the target's, and the same for each control."""
    figures, _ = attack_all(original, {"target": target}, engine, rng=rng, callback=callback)
    result: dict[str, Any] = figures.pop("target")
    result["controls"] = figures
    return result


def attack_all(
    original: Graph,
    targets: dict[str, Target],
    engine: Engine | None = None,
    *,
    rng: RandomState = 0,
    callback: Callback = silent,
) -> tuple[dict[str, Any], dict[str, Claims]]:
    """Every attack on every target and on both controls, with the same seeds for all."""
    battery = AttackSuite(original, rng)
    return battery.run({**targets, **battery.controls}, engine, callback=callback)


class AttackSuite:
    """The attacks of somebody who holds `original`: seeds and controls are chosen once, and are the
    same for every target."""

    def __init__(self, original: Graph, rng: RandomState = 0) -> None:
        random = as_generator(rng)
        self.original = original
        self.controls = {
            "naive": Target(*naive_copy(original, random)),
            "deleted_10": Target(*deleted_copy(original, random)),
        }
        self._seeds = [choose_seeds(original, k, random) for k in usable_seeds(original)]
        self._orders = random.integers(2**63, size=len(self._seeds) + 1)

    def run(
        self,
        targets: dict[str, Target],
        engine: Engine | None = None,
        *,
        blocks: np.ndarray | None = None,
        callback: Callback = silent,
    ) -> tuple[dict[str, Any], dict[str, Claims]]:
        """The figures by target, and what was claimed.

        `blocks` (of the people) adds an attacker who knows the block of everybody and of every
        published node.
        """
        last = len(self._seeds) - 1
        # What takes longest first, so that no thread is left alone with it at the end.
        jobs = [(name, i) for i in range(last, -2, -1) for name in reversed(targets)]
        done: list[tuple[str, int]] = []

        def run(job: tuple[str, int]) -> list[Matching]:
            name, i = job
            callback(Progress("attacking", len(done), len(jobs), note=name))
            if i < 0:
                found = _without_seeds(self.original, targets[name], blocks)
            else:
                found = self._seeded(targets[name], i)
            done.append(job)
            return found

        found = dict(zip(jobs, (engine or LocalEngine(1)).map(run, jobs), strict=True))
        claims = {
            name: Claims(
                [found[name, i][0] for i in range(last + 1)],
                [found[name, last][1], found[name, -1][0]],
                found[name, -1][1:],
            )
            for name in targets
        }
        figures = {
            name: _figures(self.original, target, claims[name], as_generator(int(self._orders[-1])))
            for name, target in targets.items()
        }
        return figures, claims

    def _seeded(self, target: Target, i: int) -> list[Matching]:
        """The careful attack, and from the most seeds the bold one that carries on from it."""
        order = as_generator(int(self._orders[i]))
        careful = seeded_attack(self.original, *target, self._seeds[i], order)
        if i < len(self._seeds) - 1:
            return [careful]
        return [careful, bold_attack(self.original, *target, careful, order)]


def _without_seeds(original: Graph, target: Target, blocks: np.ndarray | None) -> list[Matching]:
    found = [fingerprint_attack(original, target.graph)]
    if blocks is not None:
        published = np.empty(target.graph.n_nodes, blocks.dtype)
        published[target.truth] = blocks
        found.append(fingerprint_attack(original, target.graph, (blocks, published)))
    return found


def _figures(
    original: Graph, target: Target, claims: Claims, rng: np.random.Generator
) -> dict[str, Any]:
    return {
        "seeded": [
            {"attack": f"{len(claim.seeds)} known", **claim.figures(target.truth)}
            for claim in claims.seeded
        ],
        "bold": [
            {
                "attack": f"{len(claim.seeds) or 'nobody'} known, everybody claimed",
                **claim.figures(target.truth),
            }
            for claim in claims.bold
        ],
        "with_blocks": [claim.figures(target.truth) for claim in claims.with_blocks],
        "vertex_refinement": {
            f"H{depth}": vertex_refinement(original, target.graph, target.truth, depth)
            for depth in (1, 2)
        },
        "degree": degree_attack(original, target.graph, target.truth, rng),
    }


def usable_seeds(graph: Graph) -> list[int]:
    """10, 50 and 200 seeds, as far as they are a fifth of the people at most; at least one number.

    >>> usable_seeds(Graph.from_edges([0], [1], n_nodes=300))
    [10, 50]
    """
    fitting = [k for k in SEED_COUNTS if 5 * k <= graph.n_nodes]
    return fitting or [max(1, graph.n_nodes // 5)]
