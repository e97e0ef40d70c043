"""Checkpoints of an additive fit: where the chains stand, and the samples kept so far."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from coterie.base.progress import Iteration
from coterie.engine.checkpoint import load_checkpoint, require_same, save_checkpoint
from coterie.kernels.additive.chain import Chain
from coterie.kernels.additive.predict import Samples
from coterie.models.additive.chains import ChainKind, Observed, stack

KIND = "additive block model"


@dataclass
class Progressed:
    """A fit on its way. The pairs a chain watches follow from its key, so they are not saved."""

    keys: list[int]
    kinds: list[ChainKind]
    chains: list[Chain]
    kept: list[list[Samples]] = field(default_factory=list)  # all chains at a time
    history: list[Iteration] = field(default_factory=list)
    latest: list[Samples] = field(default_factory=list)  # where the chains are, before any is kept

    @property
    def done(self) -> int:
        """Sweeps behind it."""
        return self.history[-1].iteration if self.history else 0


class Keeper:
    """Writes the checkpoint every few rounds; does nothing without a path."""

    def __init__(
        self,
        path: str | PathLike[str] | None,
        parameters: dict[str, Any],
        observed: Observed,
        every: int = 10,
    ) -> None:
        self.path, self.every = path, every
        self.fingerprint = {"data": _digest(observed), **parameters}

    def save(self, fit: Progressed, *, now: bool = False) -> None:
        if self.path is None or not (now or len(fit.history) % self.every == 0):
            return
        arrays = {
            f"chain{c}.{name}": array
            for c, chain in enumerate(fit.chains)
            for name, array in chain._asdict().items()
        }
        for place, samples in enumerate(fit.kept):
            arrays |= {f"kept{place}.{n}": a for n, a in stack(samples)._asdict().items()}
        facts = {
            "fingerprint": self.fingerprint,
            "keys": fit.keys,
            "kinds": [list(kind) for kind in fit.kinds],
            "kept": len(fit.kept),
            "history": [list(row) for row in fit.history],
        }
        save_checkpoint(self.path, KIND, arrays, facts)

    def load(self) -> Progressed | None:
        """What an earlier fit left behind; None if it left nothing."""
        if self.path is None or not Path(self.path).exists():
            return None
        arrays, facts = load_checkpoint(self.path, KIND)
        require_same(self.path, facts["fingerprint"], self.fingerprint)
        chains = [
            Chain(*(arrays[f"chain{c}.{name}"] for name in Chain._fields))
            for c in range(len(facts["keys"]))
        ]
        kept = [
            _apart(Samples(*(arrays[f"kept{place}.{name}"] for name in Samples._fields)))
            for place in range(facts["kept"])
        ]
        history = [Iteration(*row) for row in facts["history"]]
        kinds = [ChainKind(*kind) for kind in facts["kinds"]]
        return Progressed(facts["keys"], kinds, chains, kept, history)


def _apart(stacked: Samples) -> list[Samples]:
    return [Samples(*(part[c] for part in stacked)) for c in range(len(stacked.styles))]


def _digest(observed: Observed) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in (observed.users, observed.items, observed.level):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
