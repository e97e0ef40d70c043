"""Predictions of an additive block model from its samples, and users and items added to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.data.ratings import NodeRatings
from coterie.engine import Engine, running_engine
from coterie.kernels.additive.fold_in import (
    Newcomers,
    OtherSide,
    Placed,
    fold_in,
)
from coterie.kernels.additive.predict import Samples, distributions
from coterie.models.additive.sample_sides import SampleSide, Side
from coterie.models.rating_model import rating_offsets

_PAIRS_PER_TASK = 1 << 14  # every task reads all samples once, so small tasks read them often
_PAIRS_AT_ONCE = 1 << 20  # whose distributions are in memory at once
_NODES_PER_TASK = 64
_MAX_SAMPLES = 60  # that are kept
_HALF = ("user_offsets", "item_offsets", "user_spreads", "item_spreads", "user_links", "item_links")
_FACTORS = ("user_factors", "item_factors")
_SWEEPS = 3  # of an added user or item per sample; each sample starts from the previous one


def pair_distributions(
    samples: Samples,
    users: np.ndarray,
    items: np.ndarray,
    engine: str | Engine = "local",
) -> np.ndarray:
    """Return P(rating) for pairs of user and item numbers: pairs x levels."""
    if len(users) <= _PAIRS_PER_TASK:
        return _sorted_distributions(samples, users, items, None)
    with running_engine(engine) as runner:
        return _sorted_distributions(samples, users, items, runner)


def own_level_probabilities(
    samples: Samples, users: np.ndarray, items: np.ndarray, levels: np.ndarray, engine: Engine
) -> Iterator[np.ndarray]:
    """Yield P(level) of each rating, in blocks in the order of the ratings.

    The samples are sent once to the workers of a cluster, not once per block.
    """
    held = engine.broadcast(samples)
    for begin in range(0, len(levels), _PAIRS_AT_ONCE):
        part = slice(begin, begin + _PAIRS_AT_ONCE)
        p = _sorted_distributions(samples, users[part], items[part], engine, held)
        yield p[np.arange(len(p)), levels[part]]


def _sorted_distributions(
    samples: Samples,
    users: np.ndarray,
    items: np.ndarray,
    engine: Engine | None,
    held: Any = None,
) -> np.ndarray:
    """Compute distributions in user order; `held` are the samples where the engine has them."""
    order = np.argsort(users, kind="stable")
    u, v = users[order].astype(np.int64), items[order].astype(np.int64)
    bounds = np.linspace(0, len(u), -(-len(u) // _PAIRS_PER_TASK) + 1).astype(np.int64)
    begins, ends = bounds[:-1], bounds[1:]
    if engine is None or len(begins) <= 1:
        parts = [
            distributions(samples, u, v, int(b), int(e)) for b, e in zip(begins, ends, strict=True)
        ]
    else:
        shared = (
            engine.broadcast(samples) if held is None else held,
            engine.broadcast(u),
            engine.broadcast(v),
        )
        parts = engine.map(distributions, *map(repeat, shared), begins, ends)
    out = np.empty((len(u), samples.cuts.shape[2] - 1))
    if parts:
        out[order] = np.concatenate(parts)
    return out


def thinned(samples: Samples, chain_of_sample: np.ndarray) -> tuple[Samples, np.ndarray]:
    """Return at most `_MAX_SAMPLES` samples, evenly from all chains.

    Neighbouring samples of a chain are similar, so that more change predictions little.
    """
    chains = np.split(np.arange(len(chain_of_sample)), np.flatnonzero(np.diff(chain_of_sample)) + 1)
    most = max(1, _MAX_SAMPLES // len(chains))
    rows = np.concatenate(
        [own[np.unique(np.linspace(0, len(own) - 1, most).round().astype(int))] for own in chains]
    )
    return Samples(*(array[rows] for array in samples)), chain_of_sample[rows]


def on_grid(samples: Samples) -> Samples:
    """Return samples that files hold exactly: factors with 8 bits, other fields of nodes with 16.

    The step of a factor in a sample is a power of two, so that 16 bits hold its values too.
    """
    new = {name: half(getattr(samples, name)) for name in _HALF}
    for name in _FACTORS:
        factors = getattr(samples, name)
        new[name] = np.rint(factors / _steps(factors)) * _steps(factors)
    return samples._replace(**new)


def half(array: np.ndarray) -> np.ndarray:
    """Return float32 values that float16 can hold."""
    return np.asarray(np.clip(array, -65504, 65504), np.float16).astype(np.float32)


def _steps(factors: np.ndarray) -> np.ndarray:
    """Return the step of each factor in each sample: at most 127 of them are needed."""
    largest = np.abs(factors).max(axis=1, keepdims=True, initial=0.0)
    exponent = np.ceil(np.log2(np.maximum(largest, 1e-30) / 127))
    return np.asarray(np.exp2(np.maximum(exponent, -17)), np.float32)


def packed_samples(samples: Samples) -> dict[str, np.ndarray]:
    """Return the arrays of a file: in 8 or 16 bits where that is exact."""
    arrays = samples._asdict()
    for name in (*_HALF, *_FACTORS):
        small = arrays[name].astype(np.float16)
        if np.array_equal(small.astype(np.float32), arrays[name]):
            arrays[name] = small
    for name in _FACTORS:
        steps = _steps(getattr(samples, name))
        small = np.rint(getattr(samples, name) / steps).astype(np.int8)
        if np.array_equal(small * steps, getattr(samples, name)):
            arrays |= {name: small, f"{name}_steps": steps}
    if not samples.effects.any():  # labels without effects
        arrays |= {f"{side}_labels": np.zeros(0, np.uint8) for side in Side}
    return arrays


def unpacked_samples(arrays: dict[str, np.ndarray]) -> Samples:
    """Return the samples of a file, written by this version or an older one."""
    found = {name: array for name, array in arrays.items() if name in Samples._fields}
    for name, array in found.items():
        if array.dtype == np.int8:
            steps = check_array("steps", arrays.get(f"{name}_steps"), np.float32, (None, 1, None))
            if steps.shape[::2] != array.shape[::2]:
                raise ArrayError(f"{name}: its steps do not fit")
            found[name] = array * steps
        elif array.dtype == np.float16:
            found[name] = array.astype(np.float32)
    for side in Side:
        if not found[f"{side}_labels"].size:
            shape = (*found[f"{side}_offsets"].shape, found["effects"].shape[1])
            found[f"{side}_labels"] = np.zeros(shape, np.uint8)
    return samples_with_factors(found)


def samples_with_factors(arrays: dict[str, np.ndarray]) -> Samples:
    """Return samples from their arrays by name; models without factors get none of them."""
    if "user_factors" in arrays:
        return Samples(**arrays)
    T, n = arrays["user_offsets"].shape
    m = arrays["item_offsets"].shape[1]
    return Samples(
        **arrays,
        user_factors=np.zeros((T, n, 0), np.float32),
        item_factors=np.zeros((T, m, 0), np.float32),
        user_links=np.zeros((T, 0, 1), np.float32),
        item_links=np.zeros((T, 0, 1), np.float32),
        factor_precisions=np.ones((T, 2, 1), np.float32),
    )


def with_nodes(
    samples: Samples,
    side: Side,
    nodes: Sequence[NodeRatings],
    features: np.ndarray,
    moments: np.ndarray,
    *,
    in_place: bool = False,
) -> Samples:
    """Return samples in which these users or items are drawn from their ratings, all else fixed.

    `features` holds one row per node.
    """
    placed = _rounded(_placed(samples, side, nodes, features, moments, "local"))
    numbers = np.array([node.number for node in nodes], np.int64)
    return samples._replace(
        **{
            field: _with_nodes(getattr(samples, field), numbers, getattr(placed, name), in_place)
            for name, field in side.fields.items()
        }
    )


def only_users(
    samples: Samples,
    users: Sequence[NodeRatings],
    features: np.ndarray,
    item_moments: np.ndarray,
) -> Samples:
    """Return samples whose only users are these, drawn as `with_nodes` draws them.

    `item_moments` is `factor_moments` of the items: the same for every user.
    """
    placed = _rounded(_placed(samples, Side.USER, users, features, item_moments, "local"))
    return samples._replace(
        **{field: getattr(placed, name) for name, field in Side.USER.fields.items()}
    )


def _rounded(placed: Placed) -> Placed:
    """Return placed nodes with the precision of files."""
    return placed._replace(
        **{name: half(getattr(placed, name)) for name in ("offsets", "spreads", "factors")}
    )


def _placed(
    samples: Samples,
    side: Side,
    nodes: Sequence[NodeRatings],
    features: np.ndarray,
    moments: np.ndarray,
    engine: str | Engine,
) -> Placed:
    """Draw users or items from their ratings; `moments` are those of the other side."""
    other, of_users = SampleSide.of(samples, side.other), side is Side.USER
    effects = samples.effects
    given = OtherSide(
        other.labels,
        other.offsets,
        other.factors,
        samples.styles[:, :0] if of_users else samples.styles,
        effects if of_users else np.ascontiguousarray(effects.transpose(0, 1, 3, 2)),
        samples.cuts,
        moments,
    )
    new = Newcomers(
        np.array([node.number for node in nodes], np.int64),
        rating_offsets(list(nodes)),
        np.concatenate([node.others for node in nodes]).astype(np.int64),
        np.concatenate([node.levels for node in nodes]).astype(np.uint8),
        np.ascontiguousarray(features, np.float32),
        SampleSide.of(samples, side).links,
        np.ascontiguousarray(samples.precisions[:, side.place]),
        np.ascontiguousarray(samples.factor_precisions[:, side.place]),
    )
    return _place(given, new, of_users, engine)


def _place(side: OtherSide, new: Newcomers, own_style: bool, engine: str | Engine) -> Placed:
    """Draw the added nodes, some at a time on each thread."""
    begins = np.arange(0, len(new.number), _NODES_PER_TASK)
    ends = np.minimum(begins + _NODES_PER_TASK, len(new.number))
    task = partial(fold_in, side, new, own_style, _SWEEPS)
    if len(begins) == 1:
        return Placed(*task(0, int(ends[0])))
    with running_engine(engine) as runner:
        parts = runner.map(task, begins, ends)
    return Placed(*(np.concatenate(part, axis=1) for part in zip(*parts, strict=True)))


def _with_nodes(
    array: np.ndarray, numbers: np.ndarray, values: np.ndarray, in_place: bool
) -> np.ndarray:
    """Return an array with these nodes (its second axis) set or appended: a copy if it must be."""
    size = max(array.shape[1], int(numbers.max()) + 1)
    if in_place and size == array.shape[1]:
        array[:, numbers] = values
        return array
    out = np.zeros((len(array), size, *array.shape[2:]), array.dtype)
    out[:, : array.shape[1]] = array
    out[:, numbers] = values
    return out
