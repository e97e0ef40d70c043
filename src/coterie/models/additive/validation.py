"""Check the additive model's parameters and data; choose the number of chains and sweeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from coterie.base.errors import InputError
from coterie.data import Ratings

if TYPE_CHECKING:
    from coterie.models.additive.estimator import AdditiveBlockModel

_CHAINS, _SWEEPS, _MIN_SWEEPS, _BURN_IN = 4, 200, 60, 50
_TOLERANCE = 0.0005
_FULL_WORK_UP_TO = 2_000_000  # ratings; above, "auto" lowers the number of sweeps
_MIN_FACTORS, _MAX_FACTORS = 8, 64
_MAX_FACTORS_OF_LARGE, _LARGE = 32, 5_000_000  # ratings; above, more factors would take hours
_MAX_SAMPLE_BYTES = 1 << 29


class SamplingPlan(NamedTuple):
    """Number of chains, and their sweeps."""

    n_chains: int
    burn_in: int  # sweeps before the first sample
    n_sweeps: int  # sweeps in all
    keep_every: int  # sweeps between two samples
    tolerance: float  # share of the squared error below which chains stop early; 0: never


def check(model: AdditiveBlockModel, ratings: object) -> None:
    """Raise InputError for invalid parameters or data."""
    model.check_parameters()
    if not isinstance(ratings, Ratings):
        raise InputError(
            f"a {type(ratings).__name__} cannot be fitted", remedy="give coterie.Ratings"
        )
    if not len(ratings):
        raise InputError("there are no ratings to learn from", remedy="give at least one rating")


def group_counts(model: AdditiveBlockModel) -> tuple[int, int]:
    """Return the number of user groups and of item groups per partition."""
    pair = model.n_groups
    return (pair, pair) if isinstance(pair, int) else (pair[0], pair[1])


def factor_count(model: AdditiveBlockModel, n_ratings: int) -> int:
    """Return the number of factors; "auto" grows with the root of the number of ratings.

    Multiples of eight fill the vector registers.

    >>> from coterie.models.additive.estimator import AdditiveBlockModel
    >>> [factor_count(AdditiveBlockModel(), n) for n in (100, 20_000, 100_000, 10**6, 10**7)]
    [8, 8, 16, 64, 32]
    """
    grown = 8 * round(math.sqrt(n_ratings / 1000) / 4)
    most = _MAX_FACTORS if n_ratings <= _LARGE else _MAX_FACTORS_OF_LARGE
    automatic = min(max(grown, _MIN_FACTORS), most)
    return _resolved(model.n_factors, automatic)


def sampling_plan(model: AdditiveBlockModel, ratings: Ratings) -> SamplingPlan:
    """Resolve "auto" and check the number of chains and sweeps."""
    shrink = math.sqrt(min(1.0, _FULL_WORK_UP_TO / max(len(ratings), 1)))
    chains = _resolved(model.n_chains, _CHAINS)
    auto_sweeps = max(_MIN_SWEEPS, round(_SWEEPS * shrink))
    sweeps = _resolved(model.n_sweeps, auto_sweeps)
    burn_in = _resolved(model.burn_in, min(_BURN_IN, sweeps // 3))
    if burn_in >= sweeps:
        raise InputError(
            f"burn_in ({burn_in}) must be less than n_sweeps ({sweeps})",
            remedy="decrease `burn_in` or increase `n_sweeps`",
        )
    per_node = model.n_partitions + 8 + 4 * factor_count(model, len(ratings))
    sample_bytes = (ratings.n_users + ratings.n_items) * per_node + ratings.n_users
    max_samples = max(1, _MAX_SAMPLE_BYTES // (chains * sample_bytes))
    keep_every = max(model.keep_every, -(-(sweeps - burn_in) // max_samples))
    tolerance = _TOLERANCE if model.n_sweeps == "auto" else 0.0
    return SamplingPlan(chains, burn_in, sweeps, keep_every, tolerance)


def _resolved(given: int | str, automatic: int) -> int:
    """Return `automatic` for "auto", and otherwise the given integer."""
    return automatic if given == "auto" else int(given)
