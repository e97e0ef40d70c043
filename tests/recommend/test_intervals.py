"""Intervals and their coverage by simulation, the parts of the uncertainty, and exploring lists."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.command_line import coterie, result_of
from tests.support.small_models import model_of, two_tastes

import coterie as ct
from coterie.base.errors import InputError

N, M = 200, 80


def simulated(kind: str, seed: int = 0, count: int = 5000):
    """Ratings of a known process, with their latent mean: half to learn from, half to test."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(N * M, count, replace=False)
    u, v = pairs // M, pairs % M
    f = rng.normal(0, 0.6, N)[u] + rng.normal(0, 0.6, M)[v]
    f += (rng.normal(0, 0.6, (N, 2))[u] * rng.normal(0, 0.6, (M, 2))[v]).sum(axis=1)
    z = f + rng.normal(0, 1, count)
    cuts = [-1.2, -0.4, 0.5, 1.4]
    r = np.searchsorted(cuts, z) + 1.0 if kind == "five values" else np.round(50 + 15 * z, 1)
    return u, v, r


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("kind", ["five values", "continuous"])
@pytest.mark.filterwarnings("ignore:.*distinct ratings:coterie.base.errors.AssumptionWarning")
def test_intervals_cover_what_they_say(kind: str, level: float) -> None:
    u, v, r = simulated(kind)
    half = slice(0, 4000)
    model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=60, rng=0)
    rec = ct.Recommender(model).fit(ct.Ratings.from_arrays(u[half], v[half], r[half]))
    test = slice(4000, None)
    found = rec.predict_interval(u[test], v[test], level=level)
    covered = float(((r[test] >= found.low) & (r[test] <= found.high)).mean())
    if kind == "continuous":
        assert abs(covered - level) < 0.035
    else:  # the ends are values of the scale
        p = rec.predict_proba(u[test], v[test])
        inside = (rec.values_ >= found.low[:, None]) & (rec.values_ <= found.high[:, None])
        assert covered >= level - 0.02
        assert covered == pytest.approx((p * inside).sum(axis=1).mean(), abs=0.03)
    assert np.isin(found.low, rec.values_).all() == (kind == "five values")


def test_the_parts_of_the_uncertainty() -> None:
    """Taste: the variance of E(r | f) over what is unknown of f, by drawing it many times."""
    u, v, r = simulated("five values")
    model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=60, rng=0)
    rec = ct.Recommender(model).fit(ct.Ratings.from_arrays(u[:2000], v[:2000], r[:2000]))
    samples, values = rec.predictor_.samples, rec.values_
    users, items = rec.users_.ids[[3, 50, 120]].tolist(), rec.items_.ids[[1, 20, 60]].tolist()
    found = rec.predict_interval(users, items)
    assert found.sd**2 == pytest.approx(found.sd_taste**2 + found.sd_noise**2)
    rng = np.random.default_rng(0)
    from scipy.stats import norm

    for place, (a, b) in enumerate(zip([3, 50, 120], [1, 20, 60], strict=True)):
        t = rng.integers(len(samples.cuts), size=40_000)
        f = samples.user_offsets[t, a] + samples.item_offsets[t, b]
        f = f + (samples.user_factors[t, a] * samples.item_factors[t, b]).sum(axis=1)
        for s in range(samples.effects.shape[1]):
            of_user, of_item = samples.user_labels[t, a, s], samples.item_labels[t, b, s]
            f = f + samples.effects[t, s, of_user, of_item]
        spread = samples.user_spreads[t, a] + samples.item_spreads[t, b]
        f = f + np.sqrt(spread) * rng.normal(size=len(t))
        cuts = samples.cuts[t, samples.styles[t, a]]
        p = np.diff(norm.cdf(cuts - f[:, None]), axis=1)
        assert found.sd_taste[place] == pytest.approx((p @ values).std(), rel=0.03)
        noise = np.sqrt((p @ values**2 - (p @ values) ** 2).mean())
        assert found.sd_noise[place] == pytest.approx(noise, rel=0.03)
    counts = rec.table_.user_counts.sum(axis=1)
    few, many = np.argsort(counts)[:15], np.argsort(-counts)[:15]
    tastes = [
        rec.predict_interval(rec.users_.ids[own], [items[1]] * 15).sd_taste.mean()
        for own in (few, many)
    ]
    assert tastes[0] > tastes[1]  # more ratings, less that is unknown


def test_models_without_a_posterior_and_unknown_pairs() -> None:
    rec = ct.Recommender(model_of("mmsbm")).fit(two_tastes())
    found = rec.predict_interval(["u3", "nobody"], [104, 105], level=0.5)
    assert np.isnan(found.sd_taste).all() and (found.sd > 0).all() and (found.low < 5).all()
    with pytest.raises(InputError, match="between 0 and 1"):
        rec.predict_interval(["u3"], [104], level=80)
    with pytest.raises(InputError, match="explore"):
        rec.recommend("u3", order="explore")


def test_exploring_lists_follow_the_posterior(tmp_path) -> None:
    """An item is first as often as it is the best in a draw of the posterior."""
    rec = ct.Recommender(model_of("best")).fit(two_tastes())
    drawn = [rec.recommend("u3", 1, order="explore", rng=seed)[0].item for seed in range(300)]
    assert drawn[:5] == [
        rec.recommend("u3", 1, order="explore", rng=seed)[0].item for seed in range(5)
    ]
    share = {item: drawn.count(item) / 300 for item in set(drawn)}
    expected = rec.recommend("u3", 30, order="rating")
    best, worst = expected[0].item, [one.item for one in expected[-8:]]
    assert len(share) > 2 and share.get(best, 0) > 2 * max(share.get(item, 0) for item in worst)
    found = rec.recommend("u3", 4, order="explore", rng=1)
    rated = rec.predict(["u3"] * 4, [one.item for one in found])
    assert [one.rating for one in found] == pytest.approx(rated.tolist())
    rec.save(tmp_path / "m")
    lists = [
        result_of(
            "recommend", "top", tmp_path / "m", "--user", "u3", "--order", "explore", "--seed", seed
        )["items"]
        for seed in (0, 1)
    ]
    assert [row["item"] for row in lists[1]][:4] == [one.item for one in found]
    assert lists[0] != lists[1]


def test_the_command_writes_intervals(tmp_path) -> None:
    rec = ct.Recommender(model_of("best")).fit(two_tastes())
    rec.save(tmp_path / "m")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\nu3,104\nnobody,105\n")
    done = result_of(
        "recommend",
        "predict",
        tmp_path / "m",
        pairs,
        "--interval",
        0.9,
        "--out",
        tmp_path / "p.csv",
    )
    found = rec.predict_interval(["u3", "nobody"], [104, 105], level=0.9)
    assert done["low"] == found.low.tolist() and done["sd"] == pytest.approx(found.sd.tolist())
    header = (tmp_path / "p.csv").read_text().splitlines()[0]
    assert header.endswith("unseen,low,high,sd,sd_taste,sd_noise")
    assert coterie("recommend", "predict", tmp_path / "m", pairs, "--interval", 7).returncode == 2
