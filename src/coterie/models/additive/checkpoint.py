"""Checkpoints of an additive fit: the states of the chains, and the samples so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.progress import Iteration
from coterie.kernels.additive.chain import Chain
from coterie.kernels.additive.predict import Samples
from coterie.models.additive.chains import ChainInputs, ChainKind, sample_of
from coterie.models.additive.rating_scale import check_cuts

KIND = "additive block model"
_LARGE = 1e15  # far above any number of a chain; larger ones would overflow


@dataclass
class AdditiveFitState:
    """A fit in progress: everything a checkpoint stores to continue with the same numbers.

    The unrated pairs that a chain uses are not stored, because they follow from its key.
    """

    keys: list[int]  # one per chain: the seed of its random numbers
    kinds: list[ChainKind]  # one per chain
    chains: list[Chain] = field(default_factory=list)  # empty until the fit starts
    samples: list[list[Samples]] = field(default_factory=list)  # per round, one per chain
    history: list[Iteration] = field(default_factory=list)

    @property
    def sweeps(self) -> int:
        """Number of sweeps done."""
        return self.history[-1].iteration if self.history else 0

    @property
    def seconds(self) -> float:
        """Seconds spent on sweeps, in this and in earlier fits of the same checkpoint."""
        return self.history[-1].seconds if self.history else 0.0


def check_fit(
    fit: AdditiveFitState, new: Sequence[Chain], inputs: ChainInputs, burn_in: int
) -> None:
    """Raise ArrayError if chains or samples from a file do not fit the data and the settings.

    `new` are the chains of a new fit: those of the file must have the same types and shapes.
    """
    sweeps = [0, *(row.iteration for row in fit.history)]
    if any(b <= a for a, b in pairwise(sweeps)):
        raise ArrayError("history: the sweeps do not rise")
    if len(fit.samples) != sum(sweep > burn_in for sweep in sweeps):
        raise ArrayError(f"samples: {len(fit.samples)} rounds do not fit the history")
    if not len(fit.chains) == len(fit.kinds) == len(fit.keys) == len(new):
        raise ArrayError(f"chains: {len(fit.chains)} instead of {len(new)}")
    shape = inputs.shape
    groups = {"g": shape.user_groups, "h": shape.item_groups, "style": shape.styles}
    labels = {"user_labels": groups["g"], "item_labels": groups["h"], "styles": groups["style"]}
    for chain, like in zip(fit.chains, new, strict=True):
        _check_fields(chain, like, groups)
        check_array("precision", chain.precision, np.float64, (None,), low=0, below=_LARGE)
        check_cuts(chain.cuts)
        if not 0 <= chain.sweeps[0] == fit.sweeps:
            raise ArrayError(f"sweeps: {chain.sweeps[0]}, but the history has {fit.sweeps}")
    for samples in fit.samples:
        if len(samples) != len(new):
            raise ArrayError(f"samples: of {len(samples)} chains instead of {len(new)}")
        for sample, chain in zip(samples, new, strict=True):
            _check_fields(sample, sample_of(chain, inputs.observed), labels)


def _check_fields(given: NamedTuple, like: NamedTuple, groups: dict[str, int]) -> None:
    """Compare named tuples of arrays; `groups` has the number of groups of each array of labels."""
    for name, array, pattern in zip(like._fields, given, like, strict=True):
        check_array(name, array, pattern.dtype, pattern.shape, below=groups.get(name))
        if array.dtype.kind == "f" and array.size and np.abs(array).max() > _LARGE:
            raise ArrayError(f"{name}: a number is larger than {_LARGE:g}")
