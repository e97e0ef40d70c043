"""Results of releases with chosen figures, for tests of the policy, the JSON and the report."""

from __future__ import annotations

from coterie.anonymize.attacks.attack import AttackResult, Controls, ExpectedHits, GraphAttacks
from coterie.anonymize.attacks.known_degrees import DegreeAttackResult, VertexRefinementResult
from coterie.anonymize.attacks.suite import AveragingResult
from coterie.anonymize.risk.assessment import AttackRisk, Risk
from coterie.anonymize.risk.disclosure import (
    CellDensities,
    CellDisclosure,
    ClassRisk,
    DegreeDisclosure,
    EdgeShares,
)
from coterie.anonymize.risk.exact_degrees import PairClaim
from coterie.anonymize.risk.left_out_edges import ControlledClaim, EdgeInference

_INTERVAL = (0.0, 1.0)


def make_risk(
    *,
    smallest: int = 10,
    above_limit: float = 0.0,
    dense: float = 0.0,
    named: float = 0.0,
    excess: float | None = None,
    inference: float = 0.1,
    found: int = 3,
) -> Risk:
    """Return a risk with two attacks: one seeded, one that guesses everyone.

    `named` is the share of edges named if degrees are known; with `excess`, it is compared with
    edges that were left out.
    """
    controls = (
        []
        if excess is None
        else [
            ControlledClaim(
                "maximum entropy", True, named, named - excess, excess, (0.0, excess), excess, 12
            )
        ]
    )
    shares = EdgeShares(0.1, above_limit, 0.0, 0.95)
    release, naive, nobody = (
        _graph_attacks(seeded, everyone, luck)
        for seeded, everyone, luck in ((found, 7, True), (1000, 0, False), (0, 0, False))
    )
    return Risk(
        ClassRisk(0.05, 1 / smallest, 20, smallest),
        CellDisclosure(
            shares,
            above_limit,
            CellDensities(0.5, dense),
            DegreeDisclosure(
                shares, [PairClaim("maximum entropy", 2.5, 1.0, 20, 18, 0.9, True, named)], controls
            ),
        ),
        EdgeInference(0.6, _INTERVAL, 0.5, _INTERVAL, 0.5, inference, _INTERVAL, 12),
        AttackRisk(
            release,
            Controls(naive, nobody),
            [release.seeded],
            True,
            [AveragingResult(1, 100, 10, 0.1, _INTERVAL)],
        ),
    )


def _graph_attacks(seeded: int, everyone: int, luck: bool) -> GraphAttacks:
    refinement = VertexRefinementResult(1.0, 0, 2, _INTERVAL, 5.0)
    return GraphAttacks(
        {
            "seeded": [_result("200 known", "200 people known", seeded, 0.6 if luck else None)],
            "guess_everyone": [
                _result(
                    "200 known, everybody claimed",
                    "200 people known, a guess for everyone",
                    everyone,
                    6.5 if luck else None,
                    in_first=1,
                )
            ],
            "with_blocks": [_result("", "", everyone, 6.5 if luck else None, in_first=1)],
            "degree_known": refinement,
            "neighbour_degrees_known": refinement,
            "degree_rank": DegreeAttackResult(2, 1, _INTERVAL),
        }
    )


def _result(
    name: str, label: str, correct: int, same_class: float | None, in_first: int | None = None
) -> AttackResult:
    luck = None
    if same_class is not None:
        luck = ExpectedHits(0.5, same_class, same_class**0.5, 0.4, _INTERVAL, 0.2)
    return AttackResult(name, label, 200, correct, 10, 0.2, 0.01, _INTERVAL, in_first, luck)
