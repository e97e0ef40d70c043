"""Find the properties that a release does not preserve, by a tolerance per property."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.anonymize.figures import (
    AGREEMENT_SHARE,
    CLEAR_AGREEMENT,
    DEGREES,
    EIGENVALUES,
    FOREIGN_SHARE,
    ISOLATES,
    MEASURES,
    FigureRow,
    shown,
)
from coterie.anonymize.utility.community_utility import CommunityUtility
from coterie.anonymize.utility.measures import Measures


def properties_not_kept(
    original: Measures,
    draws: list[Measures],
    degree_distance: float,
    communities: CommunityUtility | None = None,
    further: Sequence[FigureRow] = (),
) -> list[str]:
    """Describe each property whose mean over the draws is outside its tolerance.

    The sentences are for the owner. A published report shows only what precedes the colon.
    """
    lost = []
    for figure in MEASURES:
        before = figure.of(original)
        if before is None or not figure.tolerance:
            continue
        after = float(np.mean([figure.of(m) for m in draws]))
        if not figure.keeps(before, after):
            lost.append(figure.lost(before, after))
    isolates = float(np.mean([m.isolates for m in draws])) - original.isolates
    if isolates > ISOLATES * original.nodes:
        lost.append(f"connection: {isolates:.0f} more nodes without an edge")
    if degree_distance > DEGREES.tolerance:
        lost.append(
            f"{DEGREES.label}: it differs for up to {100 * degree_distance:.1f} % of the nodes "
            "(Kolmogorov-Smirnov distance)"
        )
    first = np.array(original.spectrum[:3])
    then = np.mean([m.spectrum[:3] for m in draws], axis=0)
    if (np.abs(then - first) > EIGENVALUES.tolerance * np.abs(first) + 1e-9).any():
        shown_values = (", ".join(map(shown, values)) for values in (first, then))
        lost.append("{}: {} became {}".format(EIGENVALUES.label, *shown_values))
    if communities is not None:
        lost += communities_not_kept(communities)
    return [*lost, *further_not_kept(further)]


def further_not_kept(rows: Sequence[FigureRow]) -> list[str]:
    """Describe the headline measures among the further ones that are outside their tolerance."""
    return [
        f"{row.figure.label}: {row.original:,.0f} became {row.published:,.0f}"
        for row in rows
        if row.figure.headline and not row.kept
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
