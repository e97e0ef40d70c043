"""Which properties of the original a release keeps, and which it does not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.output.public_summary import coarse_degree
from coterie.anonymize.utility.measures import Measures


class Tolerance(NamedTuple):
    """How far a released figure may be from the original's to count as kept."""

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
_ISOLATES = 0.01
_KS = 0.02
_EIGENVALUES = 0.15


def not_kept(original: Measures, draws: list[Measures], degree_ks: float) -> list[str]:
    """A sentence for each property whose mean over the draws is outside its tolerance; they are
    published, so the original's figures are coarse."""
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
            told = coarse_degree(before) if key == "degree_max" else before
            lost.append(f"{tolerance.name}: {told:.3g} became {after:.3g}")
    isolates = float(np.mean([m.isolates for m in draws])) - original.isolates
    if isolates > _ISOLATES * original.nodes:
        lost.append(f"connection: {isolates:.0f} more nodes without an edge")
    if degree_ks > _KS:
        lost.append(f"degree distribution: Kolmogorov-Smirnov distance {degree_ks:.3f}")
    first = np.array(original.spectrum[:3])
    then = np.mean([m.spectrum[:3] for m in draws], axis=0)
    if (np.abs(then - first) > _EIGENVALUES * np.abs(first) + 1e-9).any():
        shown = (", ".join(f"{v:.3g}" for v in values) for values in (first, then))
        lost.append("largest eigenvalues: {} became {}".format(*shown))
    return lost


def mean_and_spread(draws: list[Measures]) -> tuple[dict[str, Any], dict[str, float]]:
    """The mean of every plain figure over the draws, and its standard deviation."""
    rows = [m.as_dict() for m in draws]
    plain = [k for k, v in rows[0].items() if isinstance(v, int | float)]
    columns = {k: np.array([row[k] for row in rows], float) for k in plain}
    whole = {k for k in plain if isinstance(rows[0][k], int)} if len(draws) == 1 else set()
    mean = {k: int(v[0]) if k in whole else float(v.mean()) for k, v in columns.items()}
    return mean, {k: float(v.std(ddof=1)) if len(v) > 1 else 0.0 for k, v in columns.items()}
