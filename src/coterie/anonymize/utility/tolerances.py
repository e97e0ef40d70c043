"""Find the properties that a release does not preserve, by a tolerance per property."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie.anonymize.utility.community_utility import (
    AGREEMENT_SHARE,
    CLEAR_AGREEMENT,
    FOREIGN_SHARE,
    CommunityUtility,
)
from coterie.anonymize.utility.full_measures import FullRow
from coterie.anonymize.utility.measures import Measures


class Tolerance(NamedTuple):
    """The largest difference from the original's figure that counts as preserved."""

    name: str
    relative: float | None = None
    absolute: float | None = None


TOLERANCES = {
    "global_clustering": Tolerance("global clustering", relative=0.15),
    "average_local_clustering": Tolerance("mean local clustering", relative=0.21),
    "average_path_length": Tolerance("average path length", relative=0.04),
    "degree_max": Tolerance("largest degree", relative=0.15),
    "assortativity": Tolerance("assortativity", absolute=0.05),
    "largest_component": Tolerance("size of the largest component", absolute=0.02),
    "modularity": Tolerance("modularity of the blocks", absolute=0.1),
}
_ISOLATES = 0.01  # of the nodes
_KS = 0.02
_EIGENVALUES = 0.15  # of each of the three largest


def properties_not_kept(
    original: Measures,
    draws: list[Measures],
    degree_distance: float,
    communities: CommunityUtility | None = None,
    further: Sequence[FullRow] = (),
) -> list[str]:
    """Describe each property whose mean over the draws is outside its tolerance.

    The sentences are for the owner. A published report shows only what precedes the colon.
    """
    lost = []
    for key, tolerance in TOLERANCES.items():
        before = getattr(original, key)
        if before is None:
            continue
        after = float(np.mean([getattr(m, key) for m in draws]))
        allowed = tolerance.absolute
        if allowed is None:
            allowed = abs(before) * (tolerance.relative or 0.0)
        if abs(after - before) > allowed + 1e-9:
            lost.append(f"{tolerance.name}: {_shown(before)} became {_shown(after)}")
    isolates = float(np.mean([m.isolates for m in draws])) - original.isolates
    if isolates > _ISOLATES * original.nodes:
        lost.append(f"connection: {isolates:.0f} more nodes without an edge")
    if degree_distance > _KS:
        lost.append(
            f"degree distribution: it differs for up to {100 * degree_distance:.1f} % of the nodes "
            "(Kolmogorov-Smirnov distance)"
        )
    first = np.array(original.spectrum[:3])
    then = np.mean([m.spectrum[:3] for m in draws], axis=0)
    if (np.abs(then - first) > _EIGENVALUES * np.abs(first) + 1e-9).any():
        shown_values = (", ".join(map(_shown, values)) for values in (first, then))
        lost.append("largest eigenvalues: {} became {}".format(*shown_values))
    if communities is not None:
        lost += communities_not_kept(communities)
    return [*lost, *further_not_kept(further)]


def _shown(value: float) -> str:
    """Return a number with three digits, or all digits before the point.

    >>> [_shown(x) for x in (0.03456, 12.34, 1127.4)]
    ['0.0346', '12.3', '1,127']
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def further_not_kept(rows: Sequence[FullRow]) -> list[str]:
    """Describe the headline measures among the further ones that are outside their tolerance."""
    return [
        f"{row.measure.name}: {row.original:,.0f} became {row.published:,.0f}"
        for row in rows
        if row.measure.headline and not row.kept
    ]


def communities_not_kept(found: CommunityUtility) -> list[str]:
    """Describe how the communities of the release differ from those of the original."""
    lost = []
    own = found.original.community_modularity
    if found.foreign_share < FOREIGN_SHARE - 1e-9:
        lost.append(
            "communities: those found in the release have modularity "
            f"{found.foreign_modularity:.3g} in the original; its own have {own:.3g}"
        )
    clear = found.self_agreement > CLEAR_AGREEMENT
    if clear and found.agreement < AGREEMENT_SHARE * found.self_agreement - 1e-9:
        lost.append(
            "who is in which community: original and release agree at "
            f"{found.agreement:.2f} (1: equal, 0: unrelated); two searches on the original agree "
            f"at {found.self_agreement:.2f}"
        )
    if lost and not clear:
        lost.append(
            "the original has no clear communities: two searches on it agree at "
            f"{found.self_agreement:.2f} only"
        )
    return lost
