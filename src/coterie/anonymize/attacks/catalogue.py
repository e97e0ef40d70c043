"""The list of all attacks: risk, policy, JSON, reports, commands and benchmarks follow it."""

from __future__ import annotations

from coterie.anonymize.attacks.attack import Attack, AttackComparison, Controls, GraphAttacks
from coterie.anonymize.attacks.fingerprints import Fingerprints, FingerprintsWithBlocks
from coterie.anonymize.attacks.known_degrees import DegreeKnown, DegreeRank, NeighbourDegreesKnown
from coterie.anonymize.attacks.seeded import GuessEveryoneFromSeeds, Seeded

# Two attacks with one key extend the same list of results. The most expensive come first.
ATTACKS: list[Attack] = [
    Seeded(),
    GuessEveryoneFromSeeds(),
    Fingerprints(),
    FingerprintsWithBlocks(),
    DegreeKnown(),
    NeighbourDegreesKnown(),
    DegreeRank(),
]


def compare_attacks(target: GraphAttacks, controls: Controls) -> list[AttackComparison]:
    """Return every result of the attacks that need no blocks, next to its controls."""
    by_key = {attack.key: attack for attack in ATTACKS if not attack.needs_blocks}
    return [
        AttackComparison(
            row.label,
            row.result,
            row.found,
            naive.found,
            deleted.found,
            row.expected,
            has_power=(naive if attack.control == "naive" else deleted).found >= 1,
            public=attack.public,
            deviation=row.deviation,
        )
        for key, attack in by_key.items()
        for row, naive, deleted in zip(
            *(attack.rows(found[key]) for found in (target, *controls)), strict=True
        )
    ]
