"""The additive block model for the Recommender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from coterie.engine import Engine
from coterie.kernels.additive.predict import Samples, explanations, item_similarities
from coterie.models.additive import AdditiveBlockModel
from coterie.models.additive.predict import pair_distributions, with_item, with_user
from coterie.models.additive.rating_scale import RatingScale
from coterie.recommend.adapter import Contribution, Newcomer


@dataclass(frozen=True)
class AdditiveAdapter:
    """Samples of several chains; a prediction averages over all of them."""

    scale: RatingScale
    samples: Samples
    chain_of_sample: np.ndarray
    kind: ClassVar[str] = "additive"

    @classmethod
    def of(cls, model: AdditiveBlockModel) -> Self:
        return cls(model.scale_, model.samples_, model.chain_of_sample_)

    @property
    def values(self) -> np.ndarray:
        return self.scale.values

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        return self.scale.levels(ratings).astype(np.int64)

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine | None
    ) -> np.ndarray:
        return pair_distributions(self.samples, users, items, engine)

    def scores(self, users: np.ndarray, engine: str | Engine | None) -> np.ndarray:
        m = self.samples.item_labels.shape[1]
        p = self.distributions(np.repeat(users, m), np.tile(np.arange(m), len(users)), engine)
        return np.asarray((p @ self.values).reshape(len(users), m))

    def with_users(self, newcomers: list[Newcomer]) -> Self:
        samples = self.samples
        for new in newcomers:
            samples = with_user(samples, new.number, new.others, new.levels, new.number)
        return type(self)(self.scale, samples, self.chain_of_sample)

    def with_items(self, newcomers: list[Newcomer]) -> Self:
        samples = self.samples
        for new in newcomers:
            samples = with_item(samples, new.number, new.others, new.levels, new.number)
        return type(self)(self.scale, samples, self.chain_of_sample)

    def contributions(self, user: int, item: int) -> list[Contribution]:
        """The scale's middle, the two offsets, and each partition of each chain.

        A group is named chain.partition.group; the group is the one the node is in most often.
        """
        chains = int(self.chain_of_sample[-1]) + 1
        partitions = self.samples.effects.shape[1]
        alone = np.zeros(3)
        parts: list[Contribution] = []
        for chain in range(chains):
            own = np.flatnonzero(self.chain_of_sample == chain)
            begin, end = int(own[0]), int(own[-1]) + 1
            shares = explanations(self.samples, self.values, user, item, begin, end)
            shares /= end - begin
            alone += shares[:3] / chains
            for s in range(partitions):
                i = np.bincount(self.samples.user_labels[begin:end, user, s]).argmax()
                j = np.bincount(self.samples.item_labels[begin:end, item, s]).argmax()
                name = f"{chain}.{s}"
                parts.append(
                    Contribution(f"{name}.{i}", f"{name}.{j}", 1 / chains, float(shares[3 + s]))
                )
        middle, mine, its = (float(x) for x in alone)
        return [
            Contribution("any", "any", 1.0, middle),
            Contribution("this user", "any", 1.0, mine),
            Contribution("any", "this item", 1.0, its),
            *parts,
        ]

    def item_group(self, name: str) -> np.ndarray:
        if name in ("any", "this item"):
            return np.ones(self.samples.item_labels.shape[1])
        chain, s, group = (int(part) for part in name.split("."))
        labels = self.samples.item_labels[self.chain_of_sample == chain, :, s]
        return np.asarray((labels == group).mean(axis=0))

    def likeness(self, item: int) -> np.ndarray:
        """Correlation of what the user groups think of two items."""
        return np.asarray(item_similarities(self.samples, item))

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "values": self.scale.values,
            "bounds": self.scale.bounds,
            "chain_of_sample": self.chain_of_sample,
            **{f"samples.{name}": array for name, array in self.samples._asdict().items()},
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        drawn = {  # files of format 1 hold the offsets as they were drawn
            f"samples.{side}_spreads": np.zeros_like(arrays[f"samples.{side}_offsets"])
            for side in ("user", "item")
        }
        samples = Samples(*((drawn | arrays)[f"samples.{name}"] for name in Samples._fields))
        return cls(
            RatingScale(arrays["values"], arrays["bounds"]), samples, arrays["chain_of_sample"]
        )
