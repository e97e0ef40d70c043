"""Compare several models on the same splits, with paired tests (`coterie.compare`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Ratings
from coterie.data.foreign import as_ratings
from coterie.data.node_table import NodeTable
from coterie.engine import Engine, running_engine
from coterie.models.declaration import Ability
from coterie.models.rating_model import RatingModel
from coterie.recommend.evaluation import Evaluation, FoldResult, evaluate_split, test_parts
from coterie.recommend.metrics import USER_METRICS, Metrics, mean_of, rating_errors
from coterie.recommend.registry import make_model

_ERRORS = ("rmse", "mae", "log_loss")  # per rating; smaller is better
_TESTED = (*_ERRORS, "ndcg", "precision", "recall")
_NOT_COMPARED = ("entropy", "fit_seconds", "fit_cpu_seconds", "predict_seconds")
_LEVEL = 0.95
_EXAMPLES = 10
_BINNED = "it groups the scale, so that its probabilities are not those of the others' values"


class PairedTest(NamedTuple):
    """The difference of two models in one metric, on the same ratings or users."""

    metric: str
    model: str
    against: str
    difference: float  # of `model` minus `against`
    low: float  # 95 % interval
    high: float
    p_value: float
    p_adjusted: float  # by Holm's method, for all tests of the comparison
    better: str | None  # the better model if `p_adjusted` is below .05


class ExampleLists(NamedTuple):
    """The lists of one user: items, and whether the user liked each of them in the test."""

    user: Any
    liked: list[Any]  # in training
    lists: dict[str, list[tuple[Any, bool]]]


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """The metrics of one model: means over the folds, NaN if not measured; and by group."""

    name: str
    metrics: Metrics
    groups: dict[str, dict[str, float]]  # of users, by their number of ratings
    notes: list[str]  # why something is not measured


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found."""

    models: list[ComparedModel]
    tests: list[PairedTest]
    users: dict[str, list[Any]]  # a table with one row per model and user
    examples: list[ExampleLists]
    top: int
    folds: int
    tested: int  # ratings

    def __repr__(self) -> str:
        names = ", ".join(model.name for model in self.models)
        return f"<Comparison of {names} on {self.tested:,} ratings>"

    def test(self, metric: str, model: str, against: str) -> PairedTest | None:
        """Return the test of two models, in this direction; None if it was not measured."""
        for one in self.tests:
            if one.metric == metric and (one.model, one.against) == (model, against):
                return one
            if one.metric == metric and (one.against, one.model) == (model, against):
                return one._replace(
                    model=model,
                    against=against,
                    difference=-one.difference,
                    low=-one.high,
                    high=-one.low,
                )
        return None

    def to_json(self) -> JsonObject:
        """Return models and tests; a metric that was not measured is null.

        Times and entropy are left out: models that share their ranking model share its fit.
        """
        models = []
        for model in self.models:
            figures = asdict(model.metrics)
            kept = {name: x for name, x in figures.items() if name not in _NOT_COMPARED}
            models.append(
                {"name": model.name, **kept, "groups": model.groups, "notes": model.notes}
            )
        return {
            "models": models,
            "tests": self.tests,
            "top": self.top,
            "folds": self.folds,
            "tested": self.tested,
        }


def compare(
    models: Sequence[str | RatingModel] | Mapping[str, str | RatingModel],
    ratings: Any,
    *,
    split: str = "random",
    folds: int = 5,
    test_share: float = 0.2,
    test_last: int = 1,
    seed: int = 0,
    top: int = 10,
    order: str = "both",
    likes: bool | None = None,
    user_features: NodeTable | None = None,
    item_features: NodeTable | None = None,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> Comparison:
    """Compare models on the same ratings that they have not seen.

    Parameters
    ----------
    models : sequence or mapping
        Names ("best", "mmsbm", "popularity", "item-mean", "ease", "ials" …) or unfitted models;
        a mapping gives them names.
    ratings : Ratings
        The ratings.
    split : {"random", "time", "last-n", "cold-users", "cold-items", "folds"}, default="random"
        Which ratings are tested, as in `evaluate`.
    folds : int, default=5
        Number of folds, if `split` is "folds".
    test_share : float, default=0.2
        Share of the ratings, users or items that one split tests.
    test_last : int, default=1
        Number of latest ratings per user that "last-n" tests.
    seed : int, default=0
        Seed of the split and of models that are given by name.
    top : int, default=10
        Length of the lists.
    order : {"both", "interaction", "rating"}, default="both"
        Order of the lists, as in `Recommender.recommend`; "item-mean" always uses its ratings.
    likes : bool, optional
        Whether the table holds likes, as in `Recommender`.
    user_features, item_features : NodeTable, optional
        Features, for the models that use them.
    engine : {"local"} or Engine, default="local"
        Where the work runs.
    callback : callable, optional
        Called with a `Progress` before each fit.

    Returns
    -------
    Comparison
        `models` with their metrics, paired `tests`, a table of `users`, and `examples` of lists.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = Ratings.from_arrays(rng.integers(0, 9, 90), rng.integers(0, 9, 90), [1, 2, 3] * 30)
    >>> found = compare(["item-mean", "popularity"], table)
    >>> [model.name for model in found.models], found.models[1].metrics.rmse
    (['item-mean', 'popularity'], nan)
    """
    table = as_ratings(ratings)
    named = _named(models, seed)
    parts = test_parts(table, split, folds, test_share, test_last, seed)
    features: dict[str, Any] = {"user_features": user_features, "item_features": item_features}
    results: dict[str, list[FoldResult]] = {name: [] for name in named}
    with running_engine(engine) as runner:
        for number, (train, test) in enumerate(parts):
            first: dict[tuple[str, ...], FoldResult] = {}
            for place, (name, model) in enumerate(named.items()):
                done = number * len(named) + place
                callback(Progress(f"fitting {name}", done, len(named) * len(parts)))
                own = features if model.declaration.can(Ability.FEATURES) else {}
                found = evaluate_split(
                    type(model)(**model.get_params()),
                    train,
                    test,
                    top=top,
                    order=order,
                    likes=likes,
                    engine=runner,
                    earlier=first.get(model.ranked_by),
                    **own,
                )
                first.setdefault(model.ranked_by, found)
                results[name].append(found)
    return _summary(results, table, [test for _, test in parts], top)


def _named(
    models: Sequence[str | RatingModel] | Mapping[str, str | RatingModel], seed: int
) -> dict[str, RatingModel]:
    """Return unfitted models by distinct names."""
    pairs = models.items() if isinstance(models, Mapping) else [(None, one) for one in models]
    out: dict[str, RatingModel] = {}
    for given, one in pairs:
        model = make_model(one, rng=seed) if isinstance(one, str) else one
        if not isinstance(model, RatingModel):
            raise InputError(f"cannot compare a {type(model).__name__}", remedy="give a model")
        name = given or (one if isinstance(one, str) else model.declaration.name)
        if name in out and isinstance(one, str):
            raise InputError(f"the model {name!r} is given twice", remedy="give it once")
        while name in out:
            name += "'"
        out[name] = model
    if not out:
        raise InputError("there are no models to compare", remedy="give at least one")
    return out


class _Measured(NamedTuple):
    """What a model has per test rating and per list, with the user of each."""

    rating_users: np.ndarray
    errors: np.ndarray  # ratings x 3, NaN if not measured
    list_users: np.ndarray
    lists: np.ndarray  # lists x USER_METRICS

    def column(self, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of a metric (for "rmse": squared errors), and their users."""
        if metric in _ERRORS:
            return self.errors[:, _ERRORS.index(metric)], self.rating_users
        return self.lists[:, USER_METRICS.index(metric)], self.list_users

    def mean(self, metric: str, users: np.ndarray) -> float:
        """Return a metric over those of the users (bool per user) who have it."""
        values, who = self.column(metric)
        found = mean_of(values[users[who]])
        return float(np.sqrt(found)) if metric == "rmse" else found


def _measured(results: list[FoldResult], tests: list[Ratings]) -> tuple[_Measured, list[str]]:
    """Return what was measured over all folds, and why something was not."""
    errors, notes = [], []
    for found, test in zip(results, tests, strict=True):
        rec = found.recommender
        own = rating_errors(found.probabilities, rec.values_, found.levels, test.ratings)
        why = rec.model_.why_no_ratings
        if why:
            own[:] = np.nan
        elif not rec.likes_ and len(rec.values_) != len(test.values):
            own[:, 2], why = np.nan, _BINNED
        errors.append(own)
        notes += [why] if why and why not in notes else []
    return _Measured(
        np.concatenate([test.users for test in tests]),
        np.concatenate(errors),
        np.concatenate([found.lists.users for found in results]),
        np.concatenate([found.lists.metrics for found in results]),
    ), notes


def _summary(
    results: dict[str, list[FoldResult]], table: Ratings, tests: list[Ratings], top: int
) -> Comparison:
    measured, models = {}, []
    counts = np.bincount(table.users, minlength=table.n_users)
    tested = np.zeros(table.n_users, bool)
    tested[np.concatenate([test.users for test in tests])] = True
    groups = user_groups(counts, tested)
    users: dict[str, list[Any]] = {
        name: [] for name in ("model", "user", "ratings", *_ERRORS, *USER_METRICS)
    }
    for name, own in results.items():
        measured[name], notes = _measured(own, tests)
        means = Evaluation.from_folds([r.metrics for r in own], [r.rankings for r in own], own[-1])
        metrics = asdict(means.means)
        if _BINNED in notes:
            metrics |= dict.fromkeys(("log_loss", "accuracy", "calibration"), np.nan)
        by_group = {
            label: {
                "users": int(chosen.sum()),
                **{metric: measured[name].mean(metric, chosen) for metric in _TESTED},
            }
            for label, chosen in groups.items()
        }
        models.append(ComparedModel(name, Metrics(**metrics), by_group, notes))
        who = np.flatnonzero(tested)
        users["model"] += [name] * len(who)
        users["user"] += table.user_ids[who].tolist()
        users["ratings"] += counts[who].tolist()
        for metric in (*_ERRORS, *USER_METRICS):
            values = _user_means(*measured[name].column(metric), table.n_users)[who]
            users[metric] += (np.sqrt(values) if metric == "rmse" else values).tolist()
    return Comparison(
        models,
        paired_tests(measured),
        users,
        _examples({name: own[-1] for name, own in results.items()}, tests[-1], counts),
        top,
        len(tests),
        sum(len(test) for test in tests),
    )


def _user_means(values: np.ndarray, users: np.ndarray, n_users: int) -> np.ndarray:
    """Return the mean of each user's values, NaN without any."""
    known = ~np.isnan(values)
    number = np.bincount(users[known], minlength=n_users)
    total = np.bincount(users[known], values[known], n_users)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def user_groups(counts: np.ndarray, tested: np.ndarray) -> dict[str, np.ndarray]:
    """Divide the tested users into thirds by their number of ratings in the whole table.

    >>> found = user_groups(np.array([1, 2, 9, 3, 8, 7]), np.ones(6, bool))
    >>> {name: int(users.sum()) for name, users in found.items()}
    {'at most 2 ratings': 2, '3 to 7 ratings': 2, 'more than 7 ratings': 2}
    """
    own = np.sort(counts[tested])
    bounds = np.unique([own[(len(own) - 1) // 3], own[2 * (len(own) - 1) // 3]])
    bounds = bounds[bounds < own[-1]]
    if not len(bounds):
        return {"all users": tested}
    out = {f"at most {bounds[0]:,} ratings": tested & (counts <= bounds[0])}
    for low, high in pairwise(bounds):
        out[f"{low + 1:,} to {high:,} ratings"] = tested & (counts > low) & (counts <= high)
    out[f"more than {bounds[-1]:,} ratings"] = tested & (counts > bounds[-1])
    return out


def paired_tests(measured: Mapping[str, _Measured]) -> list[PairedTest]:
    """Test every pair of models in every metric that both have."""
    out = []
    for metric in _TESTED:
        for a, b in combinations(measured, 2):
            (own, users), (other, _) = measured[a].column(metric), measured[b].column(metric)
            known = ~np.isnan(own) & ~np.isnan(other)
            if len(np.unique(users[known])) < 2:
                continue
            found = mean_difference((own - other)[known], users[known])
            if metric == "rmse":  # of squares: a² - b² = (a - b) (a + b)
                total = float(np.sqrt(own[known].mean()) + np.sqrt(other[known].mean()))
                mean, low, high, p = found
                total = max(total, 1e-300)
                found = mean / total, low / total, high / total, p
            out.append(PairedTest(metric, a, b, *found, 1.0, None))
    smallest = 0.0
    for rank, place in enumerate(np.argsort([one.p_value for one in out], kind="stable").tolist()):
        one = out[place]
        smallest = max(smallest, min(1.0, one.p_value * (len(out) - rank)))
        less = one.model if one.difference < 0 else one.against
        more = one.against if one.difference < 0 else one.model
        better = less if one.metric in _ERRORS else more
        out[place] = one._replace(
            p_adjusted=smallest, better=better if smallest < 1 - _LEVEL else None
        )
    return out


def mean_difference(
    differences: np.ndarray, users: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the mean, its 95 % interval, and the p-value of "the mean is 0".

    Differences of one user may depend on each other; those of different users do not. With one
    difference per user it is the paired t-test.
    """
    mean = float(differences.mean())
    _, who = np.unique(users, return_inverse=True)
    sums = np.bincount(who, differences - mean)
    n, error = len(sums), float(np.sqrt((sums**2).sum()))
    error *= np.sqrt(n / (n - 1)) / len(differences)
    margin = float(stdtrit(n - 1, (1 + _LEVEL) / 2)) * error
    p = 2 * float(stdtr(n - 1, -abs(mean) / error)) if error > 0 else float(mean == 0)
    return mean, mean - margin, mean + margin, p


def _examples(
    results: dict[str, FoldResult], test: Ratings, counts: np.ndarray
) -> list[ExampleLists]:
    """Return the lists of a few users, from those with few ratings to those with many."""
    first = next(iter(results.values()))
    places = np.argsort(counts[first.lists.users], kind="stable")
    if len(places) > _EXAMPLES:
        places = places[np.linspace(0, len(places) - 1, _EXAMPLES).astype(int)]
    out = []
    for place in places.tolist():
        user, lists = int(first.lists.users[place]), {}
        rows = np.flatnonzero(first.train.users == user)
        rows = rows[np.argsort(-first.train.ratings[rows], kind="stable")][:5]
        for name, found in results.items():
            ranked, wanted = found.lists.ranked[place], found.lists.relevant[place]
            ids = found.recommender.items_.ids[ranked].tolist()
            lists[name] = list(zip(ids, np.isin(ranked, wanted).tolist(), strict=True))
        liked = first.train.item_ids[first.train.items[rows]].tolist()
        out.append(ExampleLists(test.user_ids[user : user + 1].tolist()[0], liked, lists))
    return out
