"""Find the properties that a release does not preserve, by a tolerance per property."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.anonymize.utility.measures import Measures
from coterie.anonymize.utility.rounding import round_degree


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
    original: Measures, draws: list[Measures], degree_distance: float
) -> list[str]:
    """Describe each property whose mean over the draws is outside its tolerance.

    The sentences are published, so the original's figures in them are rounded.
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
            shown = round_degree(before) if key == "degree_max" else before
            lost.append(f"{tolerance.name}: {shown:.3g} became {after:.3g}")
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
        shown_values = (", ".join(f"{v:.3g}" for v in values) for values in (first, then))
        lost.append("largest eigenvalues: {} became {}".format(*shown_values))
    return lost
