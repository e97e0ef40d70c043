"""The risk of a release: A1 to A4, and how the risk grows if more than the graph is published."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from coterie.anonymize.attacks.attack import AttackComparison, AttackResult, Controls, GraphAttacks
from coterie.anonymize.attacks.catalogue import ATTACKS, compare_attacks
from coterie.anonymize.attacks.suite import AttackSuite, AveragingResult, averaging_attack
from coterie.anonymize.draw.models import ReleaseModel
from coterie.anonymize.figures import NOT_IN_JSON, Private
from coterie.anonymize.published_graph import PublishedGraph
from coterie.anonymize.risk.disclosure import (
    AttributeInference,
    CellDisclosure,
    ClassRisk,
    cell_disclosure,
    class_risk,
)
from coterie.anonymize.risk.left_out_edges import EdgeInference, LeftOutEdges
from coterie.base.progress import Callback, silent
from coterie.engine import Engine

WORST_CASE_AUC = 0.86  # docs/explanation/privacy-details.md, "The worst case"


@dataclass(frozen=True, repr=False)
class AttackRisk(Private):
    """A4: the people whom attacks identify in the release."""

    worst: GraphAttacks  # all attacks on the draw in which the seeded attack found the most
    controls: Controls
    draws: list[list[AttackResult]]  # the seeded attacks on each draw
    attacks_have_power: bool  # whether the seeded attack finds anybody in the naive copy
    averaging: list[AveragingResult]
    every_draw: list[GraphAttacks] = field(default_factory=list, metadata=NOT_IN_JSON)

    def all_comparisons(self) -> list[AttackComparison]:
        """Return each attack on the release, next to the same attack on the controls."""
        return compare_attacks(self.worst, self.controls)

    def comparisons(self) -> list[AttackComparison]:
        """Return the attacks that are compared with luck."""
        return [row for row in self.all_comparisons() if row.expected is not None]

    def pooled(self) -> list[AttackComparison]:
        """Return the same attacks with their hits on all draws together, which the policy limits.

        One draw alone would be too coarse: of many draws, one has the most hits by luck.
        """
        draws = [compare_attacks(found, self.controls) for found in self.every_draw or [self.worst]]
        return [
            rows[0]._replace(
                found=sum(row.found for row in rows),
                naive=sum(row.naive for row in rows),
                expected=sum(row.expected or 0.0 for row in rows),
                deviation=math.hypot(*(row.deviation for row in rows)),
            )
            for rows in zip(*draws, strict=True)
            if rows[0].expected is not None
        ]


@dataclass(frozen=True)
class Membership:
    """Whether somebody who knows everything but one edge can tell that it is in the data.

    It is not measured for each release: this would take hundreds of them.
    """

    worst_case_auc: float = WORST_CASE_AUC  # 1/2: guessing; 1: always right
    measured_by: str = "benchmarks/membership.py"
    statement: str = (
        "Somebody who knows every connection but one can tell from a release whether it is in the "
        f"data: in the worst case that was measured, with an AUC of {WORST_CASE_AUC:.2f}. Only a "
        "differentially private sketch bounds this."
    )


@dataclass(frozen=True, repr=False)
class Risk(Private):
    """The risk of a release: what attackers can find out from it.

    Attributes
    ----------
    class_size : ClassRisk
        A1: a person among the members of the class.
    disclosed_edges : CellDisclosure
        A2: original edges that the edge probabilities of their cells disclose.
    edge_inference : EdgeInference or None
        A3: the advantage of fitted over held-out edges; None if it was not measured.
    attacks : AttackRisk
        A4: the people whom attacks identify, next to controls.
    attribute_inference : list of AttributeInference
        How often each released column is guessed right from the class, next to people left out.
    membership : Membership or None
        Whether somebody can tell that one edge is in the data, in the worst case.
    """

    class_size: ClassRisk
    disclosed_edges: CellDisclosure
    edge_inference: EdgeInference | None
    attacks: AttackRisk
    attribute_inference: list[AttributeInference] = field(default_factory=list)
    membership: Membership | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Name the attribute that replaces one of an earlier version."""
            new = _RENAMED.get(name)
            hint = "" if new is None else f"; it is called {new!r} now"
            raise AttributeError(f"'Risk' object has no attribute {name!r}{hint}")


_RENAMED = {
    "a1": "class_size",
    "a2": "disclosed_edges",
    "a3": "edge_inference",
    "a4": "attacks",
}


@dataclass(frozen=True)
class PublicationLevel:
    """The risk if the graph and everything up to this level is published. All are shares."""

    level: str  # what is published
    class_mean: float  # A1
    class_worst: float  # A1
    disclosed_edges: float | None  # A2: original edges with a probability of 90 % or more
    people_found: float  # A4
    why: str


def assess_risk(
    model: ReleaseModel,
    releases: list[PublishedGraph],
    suite: AttackSuite,
    engine: Engine,
    *,
    edge_probability: float,
    controls: Controls,
    left_out: LeftOutEdges | None,
    callback: Callback = silent,
) -> Risk:
    """Compute A1 and A2, run the attacks on each release, and add results computed before."""
    original, classes = suite.original, model.classes
    return Risk(
        class_risk(classes.label),
        cell_disclosure(
            original,
            classes,
            model.cells(original),
            edge_probability,
            [] if left_out is None else left_out.samples,
        ),
        None if left_out is None else left_out.inference,
        attack_risk(model, releases, suite, controls, engine, callback),
        membership=Membership(),
    )


def attack_risk(
    model: ReleaseModel,
    releases: list[PublishedGraph],
    suite: AttackSuite,
    controls: Controls,
    engine: Engine | None = None,
    callback: Callback = silent,
) -> AttackRisk:
    """Run the attacks on every draw; report the draw in which they identify the most people."""
    classes = model.classes
    found = suite.run(
        {f"draw {i + 1}": release for i, release in enumerate(releases)},
        engine,
        blocks=classes.block,
        classes=classes,
        callback=callback,
    )
    worst = max(found.values(), key=lambda attacks: max(r.correct for r in attacks.seeded))
    return AttackRisk(
        worst,
        controls,
        [attacks.seeded for attacks in found.values()],
        max(r.correct for r in controls.naive.seeded) > 0,
        averaging_attack(suite.original, releases),
        list(found.values()),
    )


def publication_levels(risk: Risk) -> list[PublicationLevel]:
    """Return the risk of the same release if more than the graph were published."""
    size = risk.class_size
    found = max(row.result.found_share for row in risk.attacks.comparisons())
    blocks_known = [r for a in ATTACKS if a.needs_blocks for r in risk.attacks.worst[a.key]]
    with_labels = max([found, *(result.found_share for result in blocks_known)])
    disclosed = risk.disclosed_edges.shares.at_least_90
    true_edges = risk.attacks.averaging[-1].precision
    new_ids = (
        (
            "graph with new ids (this release)",
            None,
            found,
            "A1 applies to an attacker who has guessed the class",
        ),
        (
            "+ block labels",
            None,
            with_labels,
            "the block and the degree of a node show its class",
        ),
        (
            "+ block matrix",
            disclosed,
            with_labels,
            "two classes show the probability of an edge between them",
        ),
    )
    who_is_who = f"who is who is known; {100 * true_edges:.1f} % of the published edges are true"
    return [
        *(PublicationLevel(level, size.mean, size.worst, *rest) for level, *rest in new_ids),
        PublicationLevel("ids kept", 1.0, 1.0, disclosed, 1.0, who_is_who),
    ]
