"""Damage model files, checkpoints, shards and sketches, and use what is left of them.

    python tools/fuzz_files.py --count 4000

Two kinds of damage: bits of the file are flipped or cut off, or single arrays and facts are changed
and the checksum is made right again, as somebody who wants to harm would do. A damaged file must be
refused with an InputError that names it, or be used without an error. `make fuzz` runs this with
NUMBA_BOUNDSCHECK=1, under which a kernel that reads or writes outside an array raises IndexError.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.array_file import checksum

ODD_NUMBERS = (-(2**63), -(2**31), -1, 0, 1, 7, 255, 2**16, 2**31 - 1, 2**31, 2**63 - 1)
ODD_FACTS = (None, -1, 0, 10**30, 1.5, float("nan"), "", "x", [], [[]], {}, True)


class Subject(NamedTuple):
    """A kind of file: its bytes, where it is written, and what reads and uses it."""

    name: str
    content: bytes
    path: Path
    use: Callable[[], object]
    # metadata key of the JSON, or None if the facts are the metadata; None: a shard, see `use`
    repair: Callable[[dict[str, np.ndarray], dict[str, str]], bytes]


class Outcome(NamedTuple):
    """How many damaged files were refused, and how many could be used."""

    refused: int
    used: int


def damaged_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip a few bits, overwrite some bytes, cut the end off, or repeat a part."""
    data = bytearray(content)
    how = rng.integers(5)
    if how == 0:
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            data[place] ^= 1 << int(rng.integers(8))
    elif how == 1:
        start = int(rng.integers(len(data)))
        data[start : start + 8] = rng.bytes(min(8, len(data) - start))
    elif how == 2:
        del data[int(rng.integers(len(data))) :]
    elif how == 3:
        data[: int(rng.integers(1, 16))] = b""
    else:
        start = int(rng.integers(len(data)))
        data[start:start] = data[: int(rng.integers(1, 64))]
    return bytes(data)


def damaged_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change values, the type or the shape of an array."""
    how = rng.integers(7)
    changed = array.copy()
    if how <= 2 and array.size:  # a value that may be out of range
        flat = changed.reshape(-1)
        place = rng.integers(len(flat))
        if array.dtype.kind == "f":
            flat[place] = rng.choice([np.nan, np.inf, -1.0, 1e300 if array.itemsize > 4 else 1e38])
        else:
            limits = np.iinfo(array.dtype)
            odd = ODD_NUMBERS[int(rng.integers(len(ODD_NUMBERS)))]
            flat[place] = min(max(odd, limits.min), limits.max)
        return changed
    if how == 3 and array.ndim:
        return np.ascontiguousarray(changed[: int(rng.integers(len(array) + 1))])
    if how == 4 and array.ndim:
        return np.concatenate([changed, changed])
    if how == 5:
        return changed.astype(rng.choice(np.array(["<i8", "<i4", "<f8", "|u1", "<f4"])))
    return changed.reshape(-1) if rng.random() < 0.5 else changed[None]


def damaged_facts(facts: Any, rng: np.random.Generator) -> Any:
    """Change, remove or add one entry somewhere in a JSON value."""
    odd = ODD_FACTS[int(rng.integers(len(ODD_FACTS)))]
    if isinstance(facts, dict) and facts and rng.random() < 0.9:
        name = list(facts)[int(rng.integers(len(facts)))]
        if rng.random() < 0.25:
            return {key: value for key, value in facts.items() if key != name}
        return {**facts, name: damaged_facts(facts[name], rng)}
    if isinstance(facts, list) and facts and rng.random() < 0.8:
        place = int(rng.integers(len(facts)))
        if rng.random() < 0.3:
            return facts[:place]
        return [*facts[:place], damaged_facts(facts[place], rng), *facts[place + 1 :]]
    return odd


def metadata_of(content: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors file."""
    length = int.from_bytes(content[:8], "little")
    found: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    return found


def damaged_on_purpose(subject: Subject, rng: np.random.Generator) -> bytes:
    """Change one array or one fact and make the checksum right again."""
    arrays, metadata = load(subject.content), metadata_of(subject.content)
    if metadata and rng.random() < 0.4:
        key = next(k for k in ("facts", "coterie", "coterie sketch") if k in metadata)
        metadata[key] = json.dumps(damaged_facts(json.loads(metadata[key]), rng))
    else:
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        if rng.random() < 0.1:
            del arrays[name]
        else:
            arrays[name] = damaged_array(arrays[name], rng)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return subject.repair(arrays, metadata)


def with_inner_checksum(key: str) -> Callable[[dict[str, np.ndarray], dict[str, str]], bytes]:
    """Return the repair of a file whose header, with its checksum, is JSON under `key`."""

    def repair(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
        header = json.loads(metadata[key])
        if isinstance(header, dict):
            header.pop("sha256", None)
            header["sha256"] = checksum(header, arrays)
        return save(arrays, {**metadata, key: json.dumps(header)})

    return repair


def with_outer_checksum(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    """Repair a checkpoint: its checksum is an entry of the metadata."""
    metadata = {name: value for name, value in metadata.items() if name != "sha256"}
    return save(arrays, {**metadata, "sha256": checksum(metadata, arrays)})


def subjects(folder: Path) -> Iterator[Subject]:
    """Write one small file of each kind."""
    rng = np.random.default_rng(0)
    ratings = ct.Ratings.from_arrays(
        rng.integers(0, 12, 90), rng.integers(0, 9, 90), rng.integers(1, 6, 90)
    )
    named = ct.Ratings.from_arrays(
        [f"u{n}" for n in ratings.users], [f"i{n}" for n in ratings.items], ratings.ratings
    )
    ring = np.arange(20)
    graph = ct.Graph.from_edges(np.r_[ring, ring], np.r_[(ring + 1) % 20, (ring + 3) % 20])
    yield from _models(folder, ratings, named)
    yield from _checkpoints(folder, ratings, graph)
    yield from _shards(folder, ratings, graph)
    yield _sketch(folder, graph)


def _models(folder: Path, ratings: ct.Ratings, named: ct.Ratings) -> Iterator[Subject]:
    fits = {
        "mmsbm": (ct.MMSBM(n_groups=(2, 3), max_iter=5, n_init=2), named),
        "hard": (ct.GeneralizedKMeans((2, 3), objective="ratings", search="paper"), ratings),
        "best": (ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, pilot=False), named),
    }
    for name, (model, data) in fits.items():
        path = folder / f"{name}.model"
        ct.Recommender(model).fit(data).save(path)

        def use(path: Path = path) -> None:
            recommender = ct.load_recommender(path)
            users, items = recommender.users_.ids[:3], recommender.items_.ids[:3]
            recommender.predict_proba(users, items)
            recommender.recommend(users, 3)
            if len(users) and len(items):
                recommender.explain(users[0], items[0])
                recommender.similar_items(items[0], 2)
                values = recommender.values_
                pairs = [("new", item) for item in items[:2].tolist()]
                recommender.fold_in(pairs, values[[0, -1]][: len(pairs)])

        yield Subject(f"model {name}", path.read_bytes(), path, use, with_inner_checksum("coterie"))


class _StopError(Exception):
    """Ends a fit after its first checkpoint."""


def _checkpoints(folder: Path, ratings: ct.Ratings, graph: ct.Graph) -> Iterator[Subject]:
    hard = {"search": "paper", "max_iter": 6, "tol": 0.0}
    fits: dict[str, tuple[Any, Any, int]] = {
        "hard graph": (ct.GeneralizedKMeans(3, **hard), graph, 2),
        "hard ratings": (ct.GeneralizedKMeans((2, 3), objective="ratings", **hard), ratings, 2),
        "soft ratings": (ct.MMSBM(n_groups=(2, 3), max_iter=4, tol=0, n_init=2), ratings, 3),
        "soft graph": (ct.MCMMSBM(n_groups=2, n_samples=3, max_iter=4, tol=0), graph, 3),
        "additive": (ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, pilot=False), ratings, 2),
    }
    for name, (model, data, stop_after) in fits.items():
        for state in ("unfinished", "finished"):
            path = folder / f"{name}-{state}.ckpt".replace(" ", "-")
            _write_checkpoint(model, data, path, stop_after if state == "unfinished" else None)

            def use(model: Any = model, data: Any = data, path: Path = path) -> None:
                again = type(model)(**model.get_params())
                again.fit(data, checkpoint=path, checkpoint_every=10**6, resume=True)

            content = path.read_bytes()
            yield Subject(f"checkpoint {name} {state}", content, path, use, with_outer_checksum)


def _write_checkpoint(model: Any, data: Any, path: Path, stop_after: int | None) -> None:
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += progress.stage == "fit"
        if stop_after is not None and calls >= stop_after:
            raise _StopError

    with contextlib.suppress(_StopError):
        model.fit(data, callback=stop, checkpoint=path, checkpoint_every=1)


def _shards(folder: Path, ratings: ct.Ratings, graph: ct.Graph) -> Iterator[Subject]:
    from coterie.engine.shard_storage import load_shard
    from coterie.engine.sharded_data import open_shards
    from coterie.engine.sharding import shard_graph, shard_ratings

    edges, table = folder / "edges.csv", folder / "ratings.csv"
    ct.write_graph(graph, edges)
    rows = zip(ratings.users, ratings.items, ratings.ratings, strict=True)
    table.write_text("".join(f"{u},{v},{r:g}\n" for u, v, r in rows))
    shard_graph(edges, folder / "graph-shards", shards=2, directed=True)
    shard_ratings(table, folder / "rating-shards", shards=2)
    fits = {
        "graph-shards": ct.GeneralizedKMeans(
            3, objective="directed", search="paper", max_iter=2, tol=0.0
        ),
        "rating-shards": ct.MMSBM(n_groups=2, max_iter=2, tol=0.0),
    }
    for name, model in fits.items():
        place = folder / name
        manifest, shard = place / "manifest.json", place / "shard-00001.safetensors"

        def use(model: Any = model, place: Path = place) -> None:
            load_shard.cache_clear()
            type(model)(**model.get_params()).fit(open_shards(place))

        def repair(
            arrays: dict[str, np.ndarray], metadata: dict[str, str], manifest: Path = manifest
        ) -> bytes:
            import hashlib

            content = save(arrays)
            facts = json.loads(manifest.read_text())
            facts["shards"][1]["sha256"] = hashlib.sha256(content).hexdigest()
            manifest.write_text(json.dumps(facts))
            return content

        yield Subject(f"shard {name}", shard.read_bytes(), shard, use, repair)
        yield Subject(f"manifest {name}", manifest.read_bytes(), manifest, use, _no_repair)


def _no_repair(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    raise NotImplementedError


def _sketch(folder: Path, graph: ct.Graph) -> Subject:
    from coterie.anonymize.private.sketch import load_sketch

    path = folder / "graph.sketch"
    os.environ["COTERIE_STATE"] = str(folder / "state")
    ct.PrivateSketch(epsilon="2", dataset="fuzz").fit(graph, nodes=20).save(path)
    return Subject(
        "sketch",
        path.read_bytes(),
        path,
        lambda: load_sketch(path).draw(rng=0),
        with_inner_checksum("coterie sketch"),
    )


def damaged(subject: Subject, rng: np.random.Generator) -> bytes:
    """Return a damaged version of a file."""
    if subject.repair is _no_repair:  # a manifest is JSON
        if rng.random() < 0.3:
            return damaged_bytes(subject.content, rng)
        return json.dumps(damaged_facts(json.loads(subject.content), rng)).encode()
    if rng.random() < 0.3:
        return damaged_bytes(subject.content, rng)
    return damaged_on_purpose(subject, rng)


def fuzz(
    subject: Subject, count: int, seed: int, report: Callable[[int, BaseException], None]
) -> Outcome:
    """Use damaged versions of a file; `report` gets every error that is not an InputError."""
    tally: collections.Counter[str] = collections.Counter()
    companions = {path: path.read_bytes() for path in subject.path.parent.glob("manifest.json")}
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        for path, content in companions.items():
            path.write_bytes(content)
        subject.path.write_bytes(damaged(subject, rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                subject.use()
            tally["used"] += 1
        except InputError:
            tally["refused"] += 1
        except Exception as error:
            report(number, error)
    for path, content in companions.items():
        path.write_bytes(content)
    subject.path.write_bytes(subject.content)
    return Outcome(tally["refused"], tally["used"])


def main() -> None:
    """Fuzz every kind of file; the exit code is 1 if one was neither refused nor usable."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--count", type=int, default=4000, help="damaged files in total (4000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="kinds whose name contains this text")
    options = parser.parse_args()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        kinds = [s for s in subjects(Path(folder)) if options.only in s.name]
        each = -(-options.count // len(kinds))
        total = 0
        for subject in kinds:

            def report(number: int, error: BaseException, name: str = subject.name) -> None:
                wrong.append(f"{name} {number}: {type(error).__name__}: {error}")
                print("WRONG", wrong[-1], flush=True)

            found = fuzz(subject, each, options.seed, report)
            total += each
            print(f"{subject.name}: {found.refused} refused, {found.used} usable", flush=True)
    bounds = "with" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else "without"
    print(f"{total} damaged files {bounds} bounds checks, {len(wrong)} neither refused nor usable")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
