"""Generated rating tables of up to 30 million ratings, and what a fit of them costs.

    python benchmarks/large_ratings.py draw 20_000_000 /tmp/large.csv
    python benchmarks/large_ratings.py fit /tmp/large.npz --threads 2
    python benchmarks/large_ratings.py fit /tmp/large.npz --threads 1 --sweeps 20 --only model

The tables are not draws of coterie's own model. Items have a popularity with a long tail, users an
activity with a long tail; a user draws items by popularity, mostly from a few kinds of items that
the user prefers. Tastes are a random neural network of hidden positions, and users have their own
way to use the scale of half stars. One rating in ten is held out.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numba
import numpy as np

from record import peak_gigabytes

_DIMENSIONS, _WIDTH, _KINDS = 16, 40, 60
_VALUES = np.arange(0.5, 5.5, 0.5)
# Users and items of a table; between these sizes, both grow with a power of the number of ratings
_FULL = (20_000_000, 140_000, 27_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw", help="write a table (.npz, and .csv files if asked)")
    draw.add_argument("ratings", type=int)
    draw.add_argument("out", type=Path)
    draw.add_argument("--seed", type=int, default=0)
    fit = commands.add_parser("fit", help="fit a table and report time, memory and error")
    fit.add_argument("table", type=Path)
    fit.add_argument("--threads", type=int, default=2)
    fit.add_argument("--only", choices=("model", "ranking", "all"), default="all")
    fit.add_argument("--sweeps", type=int)
    fit.add_argument("--options", type=json.loads, default={}, help="of AdditiveBlockModel, JSON")
    arguments = parser.parse_args()
    if arguments.command == "draw":
        write(arguments.ratings, arguments.out, arguments.seed)
    else:
        measure(arguments)


def sizes(n_ratings: int) -> tuple[int, int]:
    """Return users and items of a table: 140,000 and 27,000 at 20 million ratings.

    >>> sizes(20_000_000)
    (140000, 27000)
    """
    part = n_ratings / _FULL[0]
    return round(_FULL[1] * part**0.8), round(_FULL[2] * part**0.5)


def drawn(n_ratings: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw users, items and ratings of a table."""
    rng = np.random.default_rng(seed)
    n, m = sizes(n_ratings)
    active = np.exp(rng.normal(0, 1.1, n))
    popular = (np.arange(1, m + 1) + 10.0) ** -1.1
    popular = popular[rng.permutation(m)]
    kind = rng.integers(0, _KINDS, m)
    by_kind = np.argsort(kind, kind="stable")
    begins = np.searchsorted(kind[by_kind], np.arange(_KINDS + 1))
    weights = np.cumsum(popular[by_kind])
    preferred = rng.integers(0, _KINDS, (n, 4))
    counts = _counts(active, n_ratings, 0.2 * m)
    begin_of = np.concatenate(([0], np.cumsum(counts)))
    seeds = rng.integers(0, 2**31, n)
    users = np.repeat(np.arange(n, dtype=np.int32), counts)
    items = _draw_items(begin_of, seeds, preferred, by_kind, begins, weights, m)
    user = rng.standard_t(5, (n, _DIMENSIONS)) * 0.85 ** np.arange(_DIMENSIONS)
    centres = rng.normal(0, 1, (_KINDS, _DIMENSIONS)) * 0.85 ** np.arange(_DIMENSIONS)
    item = 0.6 * rng.standard_t(5, (m, _DIMENSIONS)) * 0.85 ** np.arange(_DIMENSIONS)
    item += centres[kind]
    user += 0.3 * centres[preferred].sum(axis=1)
    into = rng.normal(0, 1.5 / np.sqrt(_DIMENSIONS), (2, _DIMENSIONS, _WIDTH))
    hidden = (user @ into[0]).astype(np.float32), (item @ into[1]).astype(np.float32)
    place = _tastes(users, items, *hidden, rng.normal(0, 1, _WIDTH).astype(np.float32))
    place *= 0.7 / place.std()
    place += rng.normal(0, 0.5, n).astype(np.float32)[users]
    quality = rng.normal(0, 0.5, m) + 0.08 * np.log(popular / popular.mean())
    place += quality.astype(np.float32)[items]
    place += rng.standard_normal(len(place), np.float32)
    place *= np.exp(rng.normal(0, 0.25, n)).astype(np.float32)[users]
    shares = np.linspace(0.05, 1, len(_VALUES)) ** 0.8
    edges = np.quantile(place[:: max(1, len(place) // 10**6)], np.cumsum(shares / shares.sum()))
    return users, items, _VALUES[np.searchsorted(edges[:-1], place)]


def _counts(active: np.ndarray, n_ratings: int, most: float) -> np.ndarray:
    """Return the number of ratings of each user: at least 10, at most `most`, about n in all."""
    scale = n_ratings / active.sum()
    for _ in range(20):
        counts = np.clip(active * scale, 10, most)
        scale *= n_ratings / counts.sum()
    return np.round(counts).astype(np.int64)


@numba.njit(cache=True)
def _draw_items(begin_of, seeds, preferred, by_kind, begins, weights, n_items):
    """Draw each user's items without repetition: 70 % from the kinds that the user prefers."""
    items = np.empty(begin_of[-1], np.int32)
    taken = np.full(n_items, -1, np.int64)
    for u in range(len(seeds)):
        np.random.seed(seeds[u])
        e, tries = begin_of[u], 0
        while e < begin_of[u + 1]:
            low, high = 0, n_items
            # After many repeated draws the user has most of these kinds: take from everything
            if np.random.random() < 0.7 and tries < 20:
                kind = preferred[u, np.random.randint(0, preferred.shape[1])]
                low, high = begins[kind], begins[kind + 1]
            below = weights[low - 1] if low > 0 else 0.0
            if tries < 200:
                at = below + np.random.random() * (weights[high - 1] - below)
                place = low + np.searchsorted(weights[low:high], at)
            else:
                place = np.random.randint(0, n_items)
            v = by_kind[min(place, high - 1)]
            if taken[v] == u:
                tries += 1
                continue
            taken[v] = u
            items[e] = v
            e += 1
            tries = 0
    return items


@numba.njit(cache=True, fastmath=True)
def _tastes(users, items, of_users, of_items, weights):
    out = np.empty(len(users), np.float32)
    for e in range(len(users)):
        a, b = of_users[users[e]], of_items[items[e]]
        total = np.float32(0)
        for k in range(len(weights)):
            total += weights[k] * np.tanh(a[k] + b[k])
        out[e] = total
    return out


def write(n_ratings: int, out: Path, seed: int) -> None:
    """Write a table: train and test arrays, or for .csv the training ratings as text as well."""
    users, items, values = drawn(n_ratings, seed)
    test = np.random.default_rng(seed + 1).random(len(users)) < 0.1
    np.savez(out.with_suffix(".npz"), users=users, items=items, ratings=values, test=test)
    print(f"{len(users):,} ratings, {users.max() + 1:,} users, {items.max() + 1:,} items")
    if out.suffix == ".csv":
        with out.open("w") as file:
            file.write("user,item,rating\n")
            rows = np.flatnonzero(~test)
            for begin in range(0, len(rows), 10**6):
                part = rows[begin : begin + 10**6]
                columns = users[part].tolist(), items[part].tolist(), values[part].tolist()
                file.writelines(f"{u},{v},{r}\n" for u, v, r in zip(*columns, strict=True))


def measure(arguments: argparse.Namespace) -> None:
    """Fit the model and the ranking; print time, memory and errors as JSON lines."""
    numba.set_num_threads(arguments.threads)
    from coterie.data import Ratings
    from coterie.engine import LocalEngine
    from coterie.models.additive.estimator import AdditiveBlockModel
    from coterie.recommend.fitted_state import FittedState
    from coterie.recommend.ranking import with_interactions

    with np.load(arguments.table) as saved:
        columns = [saved[name] for name in ("users", "items", "ratings")]
        test = saved["test"]
    train = Ratings.from_arrays(*(column[~test] for column in columns))
    held_out = [column[test] for column in columns]
    del columns, test
    options = dict(arguments.options)
    if arguments.sweeps:
        options["n_sweeps"] = arguments.sweeps
    engine = LocalEngine(threads=arguments.threads)
    begin = time.perf_counter(), time.process_time()

    def report(what: str, **more: object) -> None:
        seconds, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
        line = {"what": what, "seconds": round(seconds, 1), "cpu": round(cpu, 1)}
        print(json.dumps({**line, "peak_gb": round(peak_gigabytes(), 2), **more}), flush=True)

    def progress(event: object) -> None:
        step, done = getattr(event, "stage", ""), getattr(event, "done", 0)
        report(f"{step} {done} {getattr(event, 'total', '')}")

    report("data", ratings=len(train), users=train.n_users, items=train.n_items)
    model = AdditiveBlockModel(**options)
    if arguments.only in ("model", "all"):
        model.fit(train, engine, progress)
        report("fitted", mixture=model.mixture_, sweeps=model.n_iter_)
        u, v = train.user_ids.searchsorted(held_out[0]), train.item_ids.searchsorted(held_out[1])
        known = (u < train.n_users) & (v < train.n_items)
        u, v, r = u[known][:1_000_000], v[known][:1_000_000], held_out[2][known][:1_000_000]
        error = model.predict_proba(u, v, engine=engine) @ model.values_ - r
        report("predicted", pairs=len(r), rmse=round(float(np.sqrt((error**2).mean())), 4))
    if arguments.only in ("ranking", "all"):
        if arguments.only == "ranking":
            model = AdditiveBlockModel(n_chains=1, n_sweeps=1, pilot=False, presence=0, n_factors=0)
            model.fit(train, engine)
            report("small model")
        with_interactions(FittedState.from_model(model, train, train), engine, progress)
        report("ranking fitted")


if __name__ == "__main__":
    main()
