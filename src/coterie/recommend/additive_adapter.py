"""Recommendations from the additive block model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.data import Ratings
from coterie.data.ratings import NodeRatings
from coterie.engine import Engine
from coterie.kernels.additive.predict import Samples, explanations, item_similarities
from coterie.models.additive import AdditiveBlockModel
from coterie.models.additive.checkpoint import check_cuts
from coterie.models.additive.predict import pair_distributions, with_items, with_users
from coterie.models.additive.rating_scale import RatingScale
from coterie.recommend.adapter import Contribution, GroupPair, Source, check_scale
from coterie.recommend.registry import register_adapter


@register_adapter(AdditiveBlockModel)
@dataclass(frozen=True)
class AdditiveAdapter:
    """Samples of several chains; a prediction averages over all of them."""

    scale: RatingScale
    samples: Samples
    chain_of_sample: np.ndarray
    kind: ClassVar[str] = "additive"

    @classmethod
    def from_model(cls, model: Any, ratings: Ratings) -> Self:
        return cls(model.scale_, model.samples_, model.chain_of_sample_)

    @property
    def values(self) -> np.ndarray:
        return self.scale.values

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        return self.scale.levels(ratings).astype(np.int64)

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        return pair_distributions(self.samples, users, items, engine)

    def scores(self, users: np.ndarray, engine: str | Engine) -> np.ndarray:
        m = self.samples.item_labels.shape[1]
        p = self.distributions(np.repeat(users, m), np.tile(np.arange(m), len(users)), engine)
        return np.asarray((p @ self.values).reshape(len(users), m))

    def with_users(self, nodes: list[NodeRatings]) -> Self:
        samples = with_users(self.samples, nodes)
        return type(self)(self.scale, samples, self.chain_of_sample)

    def with_items(self, nodes: list[NodeRatings]) -> Self:
        samples = with_items(self.samples, nodes)
        return type(self)(self.scale, samples, self.chain_of_sample)

    def contributions(self, user: int, item: int) -> list[Contribution]:
        """Return the middle of the scale, the two offsets, and each partition of each chain.

        The groups of a partition are those that the user and the item are in most often.
        """
        chains = int(self.chain_of_sample[-1]) + 1
        partitions = self.samples.effects.shape[1]
        offsets = np.zeros(3)
        terms: list[Contribution] = []
        for chain in range(chains):
            own = np.flatnonzero(self.chain_of_sample == chain)
            begin, end = int(own[0]), int(own[-1]) + 1
            shares = explanations(self.samples, self.values, user, item, begin, end)
            shares /= end - begin
            offsets += shares[:3] / chains
            for s in range(partitions):
                i = np.bincount(self.samples.user_labels[begin:end, user, s]).argmax()
                j = np.bincount(self.samples.item_labels[begin:end, item, s]).argmax()
                groups = GroupPair(int(i), int(j), chain, s)
                rating = float(shares[3 + s])
                terms.append(Contribution(Source.GROUPS, 1 / chains, rating, groups))
        middle, of_user, of_item = (float(x) for x in offsets)
        return [
            Contribution(Source.BASELINE, 1.0, middle),
            Contribution(Source.USER, 1.0, of_user),
            Contribution(Source.ITEM, 1.0, of_item),
            *terms,
        ]

    def item_membership(self, groups: GroupPair) -> np.ndarray:
        chain = self.chain_of_sample == groups.run
        labels = self.samples.item_labels[chain, :, groups.partition]
        return np.asarray((labels == groups.item_group).mean(axis=0))

    def item_similarity(self, item: int) -> np.ndarray:
        """Correlate the effects of the user groups on the two items."""
        return np.asarray(item_similarities(self.samples, item))

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {
            "values": self.scale.values,
            "bounds": self.scale.bounds,
            "chain_of_sample": self.chain_of_sample,
            **{f"samples.{name}": array for name, array in self.samples._asdict().items()},
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        scale = RatingScale(arrays["values"], arrays["bounds"])
        samples = Samples(*(arrays[f"samples.{name}"] for name in Samples._fields))
        return cls(scale, samples, arrays["chain_of_sample"])

    def check(self, n_users: int, n_items: int) -> None:
        n_levels = check_scale(self.values)
        check_array("bounds", self.scale.bounds, np.float64, (n_levels - 1,))
        if (np.diff(self.scale.bounds) < 0).any():
            raise ArrayError("bounds: not in rising order")
        samples = self.samples
        check_array("effects", samples.effects, np.float32, (None,) * 4)
        check_array("cuts", samples.cuts, np.float32, (None, None, n_levels + 1))
        t, partitions, k, l = samples.effects.shape  # noqa: E741
        n_styles = samples.cuts.shape[1]
        if not (t and partitions and n_styles) or len(samples.cuts) != t:
            raise ArrayError("effects: there are no samples, or other ones than in cuts")
        check_cuts(samples.cuts)
        labels = (samples.user_labels, n_users, k), (samples.item_labels, n_items, l)
        for array, n, groups in labels:
            check_array("labels", array, np.uint8, (t, n, partitions), below=groups)
        check_array("styles", samples.styles, np.uint8, (t, n_users), below=n_styles)
        for side, n in (("user", n_users), ("item", n_items)):
            check_array("offsets", getattr(samples, f"{side}_offsets"), np.float32, (t, n))
            check_array("spreads", getattr(samples, f"{side}_spreads"), np.float32, (t, n), low=0)
        check_array("precisions", samples.precisions, np.float32, (t, 2), low=0)
        chains = check_array("chain_of_sample", self.chain_of_sample, np.int64, (t,), low=0)
        if chains[0] != 0 or not np.isin(np.diff(chains), (0, 1)).all():
            raise ArrayError("chain_of_sample: not one chain after another")
