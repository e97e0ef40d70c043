"""What tools/equality.py records of the Python interface: `python equality_python.py NAME`.

Works with the versions before and after the restructuring: `blocks`, `labels` and
`public` know both names.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import coterie as ct

DATA = Path("../../data")
AFTER = hasattr(ct, "BlockModel")
ATTRIBUTES = (
    *("entropy_", "n_blocks_", "block_edges_", "block_pairs_", "block_probabilities_"),
    *("block_weights_", "centers_", "run_entropies_", "levels_", "description_length_"),
    *("objective_", "converged_", "locally_optimal_", "memberships_", "user_memberships_"),
    *("item_memberships_", "theta_", "effects_"),
)


def public(name: str, module: str) -> Any:
    """Return a public name, or before it was public the one of the module."""
    return getattr(ct, name) if hasattr(ct, name) else getattr(import_module(module), name)


def blocks(n_blocks: Any, **options: Any) -> Any:
    """Return the model of the hard clustering: BlockModel after, for "auto" and "nested"."""
    if AFTER and n_blocks in ("auto", "nested"):
        model = options.pop("objective", "simple")
        return ct.BlockModel(model, nested=n_blocks == "nested", **options)
    known = inspect.signature(ct.GeneralizedKMeans).parameters
    if "score" in options and "score" not in known:
        options["move_score"] = options.pop("score")
    return ct.GeneralizedKMeans(n_blocks, **options)


def labels(model: Any) -> Any:
    """Return the labels of a model; a pair for ratings."""
    try:
        return model.labels_
    except AttributeError:
        return (model.user_labels_, model.item_labels_)


def facts(model: Any) -> dict[str, Any]:
    """Return every result of a fitted model."""
    found = {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    if isinstance(model, ct.GeneralizedKMeans) or hasattr(model, "labels_"):
        found["labels_"] = labels(model)
    found["history"] = [[step.iteration, step.entropy] for step in model.history_]
    return found


def plain(value: Any) -> Any:
    """Return a value as JSON; floating-point numbers are exact."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | None) else str(value)


def graph(name: str = "graph.csv", **options: Any) -> Any:
    return ct.read_graph(DATA / name, **options)


def ratings(name: str = "ratings.csv") -> Any:
    return ct.read_ratings(DATA / name, likes=name == "likes.csv")


def stop_after(steps: int) -> Callable[[Any], None]:
    """Return a callback that interrupts a fit as Ctrl-C does."""
    remaining = [steps]

    def interrupt(progress: Any) -> None:
        remaining[0] -= progress.stage in ("fit", "describing")
        if remaining[0] == 0:
            raise KeyboardInterrupt

    return interrupt


def resumed(make: Callable[[], Any], data: Any, steps: int) -> Any:
    """Interrupt a fit, resume it from its checkpoint, and return the result."""
    file = Path("run.ckpt")
    file.unlink(missing_ok=True)
    with suppress(KeyboardInterrupt):  # raised if there is no result to keep yet
        make().fit(data, checkpoint=file, callback=stop_after(steps))
    return make().fit(data, checkpoint=file, resume=True)


# --- The cases ----------------------------------------------------------------------------------


def points() -> Any:
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(center, 1, (40, 3)) for center in (0, 4, 9)])
    options = ({"n_init": 3}, {"search": "paper"}, {"search": "paper", "score": "exact", "rng": 2})
    return [facts(blocks(3, objective="gaussian", **more).fit(X)) for more in options]


def paper_search() -> Any:
    found = []
    for score in ("exact", "fixed"):
        for threads in (1, 2):
            model = blocks(4, search="paper", score=score, alpha=0.3, n_init=2, rng=4)
            found.append(facts(model.fit(graph(), engine=ct.LocalEngine(threads))))
    start = np.arange(120) % 5
    found.append(facts(blocks(5, init=start, tol=0, max_iter=7, search="paper").fit(graph())))
    found.append(facts(blocks((3, 2), objective="ratings", search="paper").fit(ratings())))
    return found


def described() -> Any:
    found = []
    for n_blocks in ("auto", "nested"):
        for objective in ("simple", "degree-corrected", "auto"):
            for threads in (1, 2):
                model = blocks(n_blocks, objective=objective, rng=1)
                found.append(facts(model.fit(graph("people.csv"), engine=ct.LocalEngine(threads))))
    compared = ct.compare_models(graph())
    return found, [(one.model, one.n_blocks, one.odds) for one in compared]


def results_of_graphs() -> Any:
    model = blocks("auto", objective="simple").fit(graph())
    sample = model.sample(n_samples=10, rng=3)
    first, second = ["n000", "n001", "n002"], ["n003", "n050", "n119"]
    return {
        "samples": sample.labels_,
        "marginals": sample.marginals_,
        "lengths": sample.description_lengths_,
        "scores": model.score_pairs(first, second),
        "scores of blocks": model.score_pairs(first, second, closure=False, samples=sample),
        "links": model.predict_links(10),
        "communities": [sorted(one) for one in model.communities()],
        "explain": model.explain(),
        "predict": model.predict([["n000", "n001"], ["n100"]]),
    }


def soft_models() -> Any:
    found = []
    for data in (graph(), graph("directed.csv", directed=True), ratings()):
        for make in (ct.MMSBM, ct.MCMMSBM):
            model = make(n_groups=3, max_iter=25, prior=0.05, n_init=2, rng=2)
            found.append(facts(model.fit(data, engine=ct.LocalEngine(2))))
    return found


def additive_model() -> Any:
    model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, rng=5).fit(ratings())
    users, items = np.arange(0, 60, 7), np.arange(0, 36, 4)
    return facts(model), model.predict_proba(users, items)


def _monte_carlo(draws: int, **parameters: Any) -> Any:
    """Return an MCMMSBM, whose number of draws had another name before 1.0."""
    if "samples" in ct.MCMMSBM().get_params():
        return ct.MCMMSBM(samples=draws, **parameters)
    return ct.MCMMSBM(n_samples=draws, **parameters)


def _models() -> dict[str, Any]:
    return {
        "best": ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, rng=0),
        "mmsbm": ct.MMSBM(n_groups=(3, 2), max_iter=30, prior=0.1, n_init=2, rng=0),
        "mcmmsbm": _monte_carlo(9, n_groups=2, max_iter=20, prior=0.1, rng=0),
        "hard": blocks((3, 2), objective="ratings", rng=0),
    }


def _recommended(found: list[Any]) -> list[Any]:
    return [(one.item, one.rating, one.score) for one in found]


def _answers(rec: Any) -> dict[str, Any]:
    users, items = ["u1", "u2", "nobody", "u5"], [100, 117, 103, 999]
    return {
        "probabilities": rec.predict_proba(users, items),
        "predictions": rec.predict(users, items),
        "unseen": rec.unseen(users, items),
        **{order: _recommended(rec.recommend("u3", 6, order=order)) for order in ORDERS},
        "some": _recommended(rec.recommend("u3", candidates=[100, 101, 102], exclude=[101])),
        "explanation": str(rec.explain("u1", 103)),
        "similar": [rec.similar_items(103, 5), rec.similar_users("u1", 5)],
    }


ORDERS = ("both", "interaction", "rating")


def recommenders() -> Any:
    return {
        f"{name} {table}": _answers(ct.Recommender(model).fit(ratings(table)))
        for table in ("ratings.csv", "likes.csv")
        for name, model in _models().items()
    }


def recommenders_change() -> Any:
    found = {}
    for name, model in _models().items():
        rec = ct.Recommender(model).fit(ratings())
        new = ct.Ratings.from_arrays(
            ["né"] * 4 + ["u1"], [100, 101, 102, 999, 999], [5, 1, 5, 4, 2]
        )
        rec.fold_in(new)
        rec.save(f"{name}.coterie")
        again = ct.load_recommender(f"{name}.coterie")
        found[name] = [_answers(again), _recommended(again.recommend("né")), rec.score(ratings())]
    return found


def interrupted_hard() -> Any:
    found = [
        facts(resumed(lambda n=n_blocks: blocks(n), graph(), steps))
        for n_blocks in (4, "auto", "nested")
        for steps in (2, 5)
    ]
    paper = {"search": "paper", "tol": 0, "max_iter": 40}
    found.append(facts(resumed(lambda: blocks(4, **paper), graph(), 25)))
    for model in found[:-1]:
        del model["history"]  # a save takes at most 3 % of the time, so the clock decides
    return found


def interrupted_soft() -> Any:
    options = {"n_groups": 3, "max_iter": 30, "tol": 0}
    return [
        facts(resumed(lambda m=make: m(**options), data, 15))
        for make in (ct.MMSBM, ct.MCMMSBM)
        for data in (graph(), ratings())
    ]


def interrupted_recommenders() -> Any:
    return {
        name: _answers(resumed(lambda n=name: ct.Recommender(_models()[n]), ratings(), 12))
        for name in ("best", "mmsbm", "mcmmsbm")
    }


def release_objects() -> Any:
    found = []
    for number, options in enumerate(({}, {"model": "sbm", "draws": 2}, {"infer_edges": False})):
        anonymizer = ct.Anonymizer(6, rng=1, policy=ct.Policy(min_class_size=5), **options)
        release = anonymizer.release(graph("people.csv"), suggest=False, engine=ct.LocalEngine(2))
        class_size = getattr(release.risk, "class_size", None) or release.risk.a1
        if not release.refused:
            release.write(Path("released") / str(number))
        found.append(
            {
                "edges": [one.edges() for one in release.graphs],
                "refused": [release.refused, release.reasons],
                "smallest": class_size.smallest,
                "original": str(release.utility.original),
                "published": str(release.utility.published),
                "degree_ks": release.utility.degree_ks,
            }
        )
    return found


def sketches() -> Any:
    found = []
    for epsilon in ("0.5", "1", "2.5"):
        sketch = ct.PrivateSketch(epsilon=epsilon, dataset="people").fit(
            graph("numbers.csv"), nodes=240
        )
        sketch.save(f"{epsilon}.sketch")
        again = ct.load_sketch(f"{epsilon}.sketch")
        found.append([sketch.spent_, again.draw(rng=0).edges(), again.draw(rng=7).edges()])
    return found


def ledgers() -> Any:
    ledger = public("Ledger", "coterie.anonymize.ledger")("state")
    entry = ledger.begin("staff", kind="sketch", epsilon=Fraction("0.5"), details={"nodes": 3})
    ledger.finish(entry, "written")
    ledger.finish(ledger.begin("staff", kind="release", details={}, graphs=2), "refused")
    ledger.begin("staff", kind="release", details={}, graphs=2)
    entries = [(one.kind, one.state, one.graphs, one.epsilon) for one in ledger.entries("staff")]
    return entries, ledger.spent("staff"), ledger.releases("staff"), ledger.verify("staff")


def dask_engine() -> Any:
    with ct.DaskEngine(workers=2) as engine:
        return [
            facts(blocks(4, search="paper", max_iter=15).fit(graph(), engine=engine)),
            facts(blocks((3, 2), objective="ratings", max_iter=9).fit(ratings(), engine=engine)),
            facts(ct.MMSBM(n_groups=3, max_iter=15).fit(graph(), engine=engine)),
            facts(ct.MCMMSBM(n_groups=3, max_iter=9).fit(ratings(), engine=engine)),
        ]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(plain(globals()[sys.argv[1]]())))
