"""Recommendations from the additive block model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.data.ratings import NodeRatings
from coterie.engine import Engine
from coterie.kernels.additive.fold_in import factor_moments
from coterie.kernels.additive.predict import (
    Samples,
    _factor_covariance,
    explanations,
    influences,
    squared_expectations,
)
from coterie.models.additive.predict import (
    only_users,
    packed_samples,
    pair_distributions,
    unpacked_samples,
    with_nodes,
)
from coterie.models.additive.rating_scale import RatingScale, check_cuts
from coterie.models.additive.sample_sides import SampleSide, Side, unknown_node
from coterie.models.additive.side_information import SideInformation
from coterie.models.rating_model import (
    Contribution,
    GroupPair,
    OwnRating,
    RatingPredictor,
    Source,
    check_scale,
)

_OWN_RATINGS = 5  # named in an explanation
_SAMPLES_EXPLAINED = 24  # with which the influence of ratings is computed, at most


class FeatureShares(NamedTuple):
    """What side information adds to an expected rating, by offset and by taste."""

    offset: float
    taste: float
    terms: list[Contribution]


class _Moments(dict[Side, np.ndarray]):
    """The moments of the factors of both sides, computed when they are first needed."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __missing__(self, side: Side) -> np.ndarray:
        self[side] = np.asarray(factor_moments(SampleSide.of(self.samples, side).factors))
        return self[side]


@dataclass(frozen=True)
class AdditivePredictor(RatingPredictor):
    """Samples of several chains; a prediction averages over all of them."""

    scale: RatingScale
    samples: Samples
    chain_of_sample: np.ndarray
    user_side: SideInformation
    item_side: SideInformation
    nobody: Samples | None  # one unknown user and one unknown item; None: older files
    owns_arrays: bool = False  # whether updates may write to the arrays of the samples
    values: np.ndarray = field(init=False)
    kind: ClassVar[str] = "additive"

    @classmethod
    def of_samples(
        cls,
        scale: RatingScale,
        samples: Samples,
        chain_of_sample: np.ndarray,
        user_side: SideInformation,
        item_side: SideInformation,
    ) -> Self:
        """Build from the samples of a fitted model."""
        nobody = _nobody(samples, user_side, item_side)
        return cls(scale, samples, chain_of_sample, user_side, item_side, nobody)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", self.scale.values)

    @property
    def n_items(self) -> int:
        return int(self.samples.item_labels.shape[1])

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest rating that is on the scale."""
        return self.scale.limits

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        return self.scale.levels(ratings).astype(np.int64)

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        return pair_distributions(self.samples, users, items, engine)

    def unknown_distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray | None:
        if self.nobody is None:
            return None
        p = np.empty((len(users), len(self.values)))
        for sides, rows in (
            ((Side.USER,), (users < 0) & (items >= 0)),
            ((Side.ITEM,), (users >= 0) & (items < 0)),
            ((Side.USER, Side.ITEM), (users < 0) & (items < 0)),
        ):
            if rows.any():
                fields = [field for side in sides for field in side.fields.values()]
                unknown = {name: getattr(self.nobody, name) for name in fields}
                samples = self.samples._replace(**unknown)
                u, v = np.maximum(users[rows], 0), np.maximum(items[rows], 0)
                p[rows] = pair_distributions(samples, u, v, engine)
        return p

    def taste_variances(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        u, v = np.asarray(users, np.int64), np.asarray(items, np.int64)
        mean = self.distributions(u, v, "local") @ self.values
        squares = squared_expectations(self.samples, self.values, u, v)
        return np.asarray(np.maximum(squares - mean**2, 0.0))

    def quantiles(self, p: np.ndarray, share: float) -> np.ndarray:
        """Return quantiles; those of grouped ratings lie inside the groups."""
        if not self.scale.is_grouped:
            return super().quantiles(p, share)
        low, high = self.scale.limits
        ends = np.concatenate([[low], self.scale.bounds, [high]])
        below = np.hstack([np.zeros((len(p), 1)), np.cumsum(p, axis=1)])
        return np.array([np.interp(share * row[-1], row, ends) for row in below])

    def drawn_locations(self, users: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        s, out = self.samples, np.empty((len(users), self.n_items))
        for place, u in enumerate(users):
            t = int(rng.integers(len(s.cuts)))
            f = s.user_offsets[t, u] + s.item_offsets[t] + s.item_factors[t] @ s.user_factors[t, u]
            for partition, effect in enumerate(s.effects[t]):
                f += effect[s.user_labels[t, u, partition], s.item_labels[t, :, partition]]
            spread = np.sqrt(s.user_spreads[t, u] + s.item_spreads[t])
            out[place] = f + spread * rng.normal(size=len(f))
        return out

    def with_users(self, nodes: list[NodeRatings]) -> Self:
        return self._with_nodes(Side.USER, nodes, in_place=False)

    def update_users(self, nodes: list[NodeRatings]) -> Self:
        return self._owner()._with_nodes(Side.USER, nodes, in_place=True)

    def update_items(self, nodes: list[NodeRatings]) -> Self:
        return self._owner()._with_nodes(Side.ITEM, nodes, in_place=True)

    def _owner(self) -> Self:
        """Return a predictor that has its arrays for itself; the model keeps its own."""
        if self.owns_arrays:
            return self
        samples = Samples(*(array.copy() for array in self.samples))
        return replace(self, samples=samples, owns_arrays=True)

    def only_users(self, nodes: list[NodeRatings]) -> Self:
        features = self.user_side.features(nodes)
        samples = only_users(self.samples, nodes, features, self._moments[Side.ITEM])
        # Features of the added users have been used; explanations show those of known users.
        known = replace(self.user_side, rows=self.user_side.rows[:0], cold=None)
        side = known.with_size(len(nodes))
        return replace(self, samples=samples, user_side=side)

    @cached_property
    def _moments(self) -> _Moments:
        return _Moments(self.samples)

    def with_items(self, nodes: list[NodeRatings]) -> Self:
        return self._with_nodes(Side.ITEM, nodes, in_place=False)

    def _with_nodes(self, kind: Side, nodes: list[NodeRatings], *, in_place: bool) -> Self:
        side: SideInformation = getattr(self, f"{kind}_side")
        of_users, moments = kind is Side.USER, self._moments[kind.other]
        samples = with_nodes(
            self.samples, kind, nodes, side.features(nodes), moments, in_place=in_place
        )
        side = side.with_ratings(nodes, SampleSide.of(samples, kind).offsets.shape[1])
        grown = (
            replace(self, samples=samples, user_side=side)
            if of_users
            else replace(self, samples=samples, item_side=side)
        )
        # Those of the other side have not changed, and a few nodes hardly change those of their own
        grown._moments.update(self._moments if in_place else {kind.other: moments})
        return grown

    def contributions(self, user: int, item: int, own: NodeRatings) -> list[Contribution]:
        """Return the middle of the scale, offsets, taste, and partitions whose groups act.

        The groups of a partition are those that the user and the item are in most often.
        """
        chains = int(self.chain_of_sample[-1]) + 1
        partitions = self.samples.effects.shape[1]
        offsets = np.zeros(4)
        terms: list[Contribution] = []
        for chain in range(chains):
            of_chain = np.flatnonzero(self.chain_of_sample == chain)
            begin, end = int(of_chain[0]), int(of_chain[-1]) + 1
            shares = explanations(self.samples, self.values, user, item, begin, end)
            shares /= end - begin
            offsets += shares[:4] / chains
            for s in range(partitions):
                if not shares[4 + s]:  # a chain without groups
                    continue
                i = np.bincount(self.samples.user_labels[begin:end, user, s]).argmax()
                j = np.bincount(self.samples.item_labels[begin:end, item, s]).argmax()
                groups = GroupPair(int(i), int(j), chain, s)
                rating = float(shares[4 + s])
                terms.append(Contribution(Source.GROUPS, 1 / chains, rating, groups))
        middle, of_user, of_item, of_taste = (float(x) for x in offsets)
        # Predictions are summed in single precision; the baseline takes up the rounding.
        predicted = self.distributions(np.array([user]), np.array([item]), "local") @ self.values
        middle += float(predicted[0]) - float(offsets.sum()) - sum(term.share for term in terms)
        for_user = self._from_features(user, item, of_user=True)
        for_item = self._from_features(user, item, of_user=False)
        of_user -= for_user.offset
        of_item -= for_item.offset
        ratings = self._own_ratings(user, item, own) if of_taste else []
        of_taste -= for_user.taste + for_item.taste + sum(term.share for term in ratings)
        taste = [*ratings, Contribution(Source.TASTE, 1.0, of_taste)] if of_taste else []
        return [
            Contribution(Source.BASELINE, 1.0, middle),
            Contribution(Source.USER, 1.0, of_user),
            Contribution(Source.ITEM, 1.0, of_item),
            *for_user.terms,
            *for_item.terms,
            *taste,
            *terms,
        ]

    def _own_ratings(self, user: int, item: int, own: NodeRatings) -> list[Contribution]:
        """Return what the most important ratings of the user add by way of the factors."""
        if not len(own.others) or self.user_side.is_cold(user):
            return []
        rows = np.unique(np.linspace(0, len(self.chain_of_sample) - 1, _SAMPLES_EXPLAINED))
        levels = own.levels.astype(np.int64)
        shares, excess = influences(
            self.samples, self.values, user, item, own.others, levels, rows.astype(np.int64)
        )
        most = np.argsort(-np.abs(shares), kind="stable")[:_OWN_RATINGS]
        return [
            Contribution(
                Source.RATING,
                1.0,
                float(shares[e]),
                own=OwnRating(int(own.others[e]), float(self.values[levels[e]]), excess[e] > 0),
            )
            for e in most
            if own.others[e] != item and shares[e]
        ]

    def _from_features(self, user: int, item: int, *, of_user: bool) -> FeatureShares:
        """Return what side information of one side adds, with its most important features.

        Of a node with ratings it is the part of its offset that the features explain; of a node
        without ratings also the part of its taste.
        """
        side, other_side = self.user_side, self.item_side
        node, other = user, item
        if not of_user:
            side, other_side, node, other = other_side, side, other, node
        if not side.encoding.columns or node >= len(side.rows) or not side.rows[node].any():
            return FeatureShares(0.0, 0.0, [])
        samples = self.samples
        own = SampleSide.of(samples, Side.USER if of_user else Side.ITEM)
        factors = samples.item_factors if of_user else samples.user_factors
        shared = of_user and other_side.is_cold(other)  # the item's features have their part
        total, T = np.zeros((2, len(side.encoding.columns))), len(own.links)
        for t in range(T):
            parts = explanations(samples, self.values, user, item, t, t + 1)
            offset = float(own.offsets[t, node])
            rate = parts[1 if of_user else 2] / offset if offset else 0.0
            if side.cold is not None and side.cold.predicts(node):
                theirs = factors[t, other].astype(np.float64)
                if shared and other_side.cold is not None:
                    theirs = theirs - other_side.cold.taste(other_side.rows[other], t)
                total += rate * side.cold.column_effects(side.rows[node], t, theirs) / T
            else:
                total[0] += rate * side.column_effects(node, own.links[t]) / T
        effects = total.sum(axis=0)
        named = sorted(zip(effects, side.encoding.columns, strict=True), key=lambda x: -abs(x[0]))
        shown = ", ".join(f"{c.title} {x:+.2f}" for x, c in named[:3] if abs(x) >= 0.005)
        source = Source.USER_FEATURES if of_user else Source.ITEM_FEATURES
        term = Contribution(source, 1.0, float(effects.sum()), None, shown or "each below 0.01")
        return FeatureShares(float(total[0].sum()), float(total[1].sum()), [term])

    @property
    def described_users(self) -> np.ndarray:
        return np.asarray(self.user_side.rows.any(axis=1))

    @property
    def described_items(self) -> np.ndarray:
        return np.asarray(self.item_side.rows.any(axis=1))

    def item_membership(self, groups: GroupPair) -> np.ndarray:
        chain = self.chain_of_sample == groups.run
        labels = self.samples.item_labels[chain, :, groups.partition]
        return np.asarray((labels == groups.item_group).mean(axis=0))

    def item_similarity(self, item: int) -> np.ndarray:
        """Correlate the effects on the two items, per sample: over user groups, and over users."""
        vectors = self._item_vectors
        grouped = sum(part[item].any() for part in vectors)
        return np.asarray(sum(part @ part[item] for part in vectors) / max(grouped, 1))

    @cached_property
    def _item_vectors(self) -> list[np.ndarray]:
        """Per sample, rows whose products are the correlations of the effects on two items."""
        samples, parts = self.samples, []
        for t, effects in enumerate(samples.effects.astype(np.float64)):
            centred = effects - effects.mean(axis=1, keepdims=True)  # over the user groups
            labels, groups = samples.item_labels[t], np.sqrt(effects.shape[1])
            own = [centred[s][:, labels[:, s]].T / groups for s in range(len(effects))]
            strength, axes = np.linalg.eigh(_factor_covariance(samples.user_factors[t]))
            own.append(samples.item_factors[t] @ (axes * np.sqrt(np.maximum(strength, 0))))
            vectors = np.hstack(own)
            length = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
            parts.append((vectors / np.where(length > 0, length, 1)).astype(np.float32))
        return parts

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {
            "values": self.scale.values,
            "bounds": self.scale.bounds,
            "chain_of_sample": self.chain_of_sample,
            **{f"samples.{name}": array for name, array in packed_samples(self.samples).items()},
            **self.user_side.to_arrays("user_side"),
            **self.item_side.to_arrays("item_side"),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        scale = RatingScale(arrays["values"], arrays["bounds"])
        samples = unpacked_samples(
            {
                name.removeprefix("samples."): array
                for name, array in arrays.items()
                if name.startswith("samples.")
            }
        )
        n, m = samples.user_offsets.shape[1], samples.item_offsets.shape[1]
        user_side = SideInformation.from_arrays(arrays, "user_side", n, m)
        item_side = SideInformation.from_arrays(arrays, "item_side", m, n)
        # Files without regressions keep the predictions of the version that wrote them.
        nobody = None
        if samples.user_links.shape[1]:
            try:
                nobody = _nobody(samples, user_side, item_side)
            except (ValueError, IndexError) as error:
                raise ArrayError(f"samples: {error}") from error
        return cls(scale, samples, arrays["chain_of_sample"], user_side, item_side, nobody)

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
        check_array("styles", samples.styles, np.uint8, (t, n_users), below=n_styles)
        check_array("precisions", samples.precisions, np.float32, (t, 2), low=0)
        chains = check_array("chain_of_sample", self.chain_of_sample, np.int64, (t,), low=0)
        if chains[0] != 0 or not np.isin(np.diff(chains), (0, 1)).all():
            raise ArrayError("chain_of_sample: not one chain after another")
        rank = samples.user_factors.shape[-1]
        for side, information, n, others, groups in (
            (Side.USER, self.user_side, n_users, n_items, k),
            (Side.ITEM, self.item_side, n_items, n_users, l),
        ):
            own = SampleSide.of(samples, side)
            check_array("labels", own.labels, np.uint8, (t, n, partitions), below=groups)
            check_array("offsets", own.offsets, np.float32, (t, n))
            check_array("spreads", own.spreads, np.float32, (t, n), low=0)
            check_array("factors", own.factors, np.float32, (t, n, rank))
            links = check_array("links", own.links, np.float32, (t, None, rank + 1))
            information.check(n, others, links)
        check_array(
            "factor precisions", samples.factor_precisions, np.float32, (t, 2, rank + 1), low=0
        )


def _nobody(samples: Samples, users: SideInformation, items: SideInformation) -> Samples:
    """Return samples of one unknown user and one unknown item.

    They follow from the users and items that the model was fitted to, not from added ones: the
    basis of one side has one row per node of the other side.
    """
    sizes = {
        Side.USER: len(items.map.basis.coordinates),
        Side.ITEM: len(users.map.basis.coordinates),
    }
    return samples._replace(
        **unknown_node(samples, Side.USER, users.map, sizes),
        **unknown_node(samples, Side.ITEM, items.map, sizes),
    )
