"""Rules for lists, against lists that are built by trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import coterie as ct
from coterie.data.ids import IdLookup
from coterie.recommend.rules import Group, Reranker, Rules


def _satisfied(rules: Rules, chosen: tuple[str, ...], needed: list[int]) -> bool:
    counts = [len(set(chosen) & set(group.ids)) for group in rules.groups]
    return all(
        low <= count <= group.at_most
        for count, low, group in zip(counts, needed, rules.groups, strict=True)
    )


def _by_trying(rules: Rules, score: dict[str, float], n: int, likeness: np.ndarray) -> list[str]:
    """Build a list as the documentation says, and try all lists to know what can be completed."""
    ids = sorted(score)
    lists = [one for k in range(n + 1) for one in itertools.combinations(ids, k)]
    needed = [0] * len(rules.groups)
    for number, group in enumerate(rules.groups):
        for low in range(group.at_least, -1, -1):
            needed[number] = low
            if any(_satisfied(rules, one, needed) for one in lists):
                break
    good = [set(one) for one in lists if _satisfied(rules, one, needed)]
    spread = np.std([score[one] for one in ids]) or 1.0
    value = {one: score[one] / spread for one in ids}
    for boosted, amount in rules.boosted:
        value |= {one: value[one] + amount for one in ids if one in boosted}
    low, high = min(value.values()), max(value.values())
    value = {one: (value[one] - low) / ((high - low) or 1.0) for one in ids}
    found: list[str] = []
    while len(found) < n:
        d, best = rules.diversity, []
        for one in ids:
            if one not in found and any({*found, one} <= complete for complete in good):
                near = max([0.0, *(likeness[int(one), int(other)] for other in found)])
                best.append((-((1 - d) * value[one] - d * near), one))
        if not best:
            break
        found.append(min(best)[1])
    return found


@pytest.mark.parametrize("seed", range(60))
def test_lists_are_those_of_the_definition(seed):
    """Overlapping quotas, limits per category, boosts and diversity; some items are not left."""
    rng = np.random.default_rng(seed)
    count, n = 8, int(rng.integers(2, 6))
    table = {
        "item": list(range(count)),
        "kind": [
            "|".join(rng.choice(list("abc"), rng.integers(0, 3), False)) for _ in range(count)
        ],
        "year": rng.integers(1990, 1994, count),
    }
    rules = Rules(
        table,
        boost=[{"where": "year<=1991", "add": float(rng.normal())}],
        max_per={"kind": 2} if seed % 2 else {},
        diversity=float(rng.choice([0.0, 0.3, 0.8])),
    )
    groups = [Group(f"kind={kind}", rules.items.with_all([f"kind={kind}"])) for kind in "ab"]
    groups.append(Group("late", rules.items.with_all(["year>=1992"])))
    limited = [
        group._replace(at_least=low, at_most=low + int(rng.integers(0, 3)))
        for group, low in zip(groups, rng.integers(0, 3, 3).tolist(), strict=True)
    ]
    object.__setattr__(rules, "groups", (*limited, *rules.groups))
    try:
        chooser = Reranker(rules, IdLookup(np.arange(count)), np.ones(count), n)
    except ct.InputError:
        needed = [group.at_least for group in rules.groups]
        ids = [str(i) for i in range(count)]
        lists = (one for k in range(n + 1) for one in itertools.combinations(ids, k))
        assert not any(_satisfied(rules, one, needed) for one in lists)
        return
    likeness = np.round(rng.uniform(-1, 1, (count, count)), 3)
    scores = rng.normal(size=count)
    scores[rng.random(count) < 0.25] = -np.inf
    left = {str(i): float(scores[i]) for i in range(count) if np.isfinite(scores[i])}
    found = chooser.choose(np.arange(count), scores, lambda i: likeness[:, i])
    if left:
        assert [str(i) for i in found] == _by_trying(rules, left, n, likeness)
    else:
        assert not len(found)


@pytest.mark.parametrize("seed", range(20))
def test_without_diversity_disjoint_quotas_give_the_best_list_of_all(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list("abc"), 9).tolist()
    quota = [
        {"where": f"kind={kind}", "at_least": int(low), "at_most": int(low) + 2}
        for kind, low in zip("ab", rng.integers(0, 2, 2), strict=True)
        if kinds.count(kind) >= low
    ]
    rules = Rules({"item": list(range(9)), "kind": kinds}, quota=quota)
    scores = rng.normal(size=9)
    chooser = Reranker(rules, IdLookup(np.arange(9)), np.ones(9), 4)
    found = chooser.choose(np.arange(9), scores.copy(), lambda i: scores)
    needed = [group.at_least for group in rules.groups]
    best = max(
        scores[list(map(int, one))].sum()
        for one in itertools.combinations([str(i) for i in range(9)], len(found))
        if _satisfied(rules, one, needed)
    )
    assert scores[found].sum() == pytest.approx(best)
    assert (np.diff(scores[found]) <= 0).all()


@pytest.fixture(scope="module")
def recommender():
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.integers(0, 30, 260), rng.integers(0, 20, 260) ** 2 // 20], axis=1)
    pairs = {(int(user), int(item)) for user, item in drawn}
    users, items = zip(*sorted(pairs), strict=True)
    ratings = ct.Ratings.from_arrays(users, items, rng.integers(1, 6, len(pairs)))
    return ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)


def test_seen_and_novelty_choose_the_items(recommender):
    table = recommender.table_
    own = set(recommender.items_.ids[table.items[table.users == 3]].tolist())
    every = set(recommender.items_.ids.tolist())
    for seen, expected in (("exclude", every - own), ("include", every), ("only", own)):
        found = recommender.recommend(3, 50, rules=ct.Rules(seen=seen), exclude_seen=seen != "only")
        assert {one.item for one in found} == expected
    assert recommender.recommend("nobody", 5, rules=ct.Rules(seen="only")) == []
    limit = float(np.median(table.novelty))
    found = recommender.recommend(3, 50, rules=ct.Rules(min_novelty=limit, seen="include"))
    counts = {item: (table.items == n).sum() for n, item in enumerate(recommender.items_.ids)}
    assert {one.item for one in found} == {
        item for item in every if -np.log2(counts[item] / table.n_users) >= limit
    }
    newcomer = recommender.only_newcomers([["new", 0]], [5])
    found = newcomer.recommend("new", 50, rules=ct.Rules(min_novelty=limit))
    assert {one.item for one in found} == {
        item for item in every - {0} if -np.log2(counts[item] / table.n_users) >= limit
    }


def test_rules_without_effect_change_nothing(recommender):
    users = [1, 2, "nobody"]
    for order in ("both", "interaction", "rating"):
        plain = recommender.recommend(users, 6, order=order)
        assert recommender.recommend(users, 6, order=order, rules=ct.Rules()) == plain
    (blocks,) = recommender.recommend_in_blocks([1, 2], 6, rules=ct.Rules())
    assert list(blocks.values()) == recommender.recommend([1, 2], 6)


def test_diverse_lists_have_less_similar_items(recommender):
    def likeness(found) -> float:
        items = [one.item for one in found]
        pairs = dict(recommender.similar_items(items[0], 50))
        return sum(pairs[item] for item in items[1:4])

    plain = recommender.recommend(1, 6)
    assert likeness(recommender.recommend(1, 6, rules=ct.Rules(diversity=0.9))) < likeness(plain)


def test_what_a_user_lacks_is_said(recommender):
    ids = recommender.items_.ids.tolist()
    table = {"item": ids, "kind": ["rare"] * 2 + ["usual"] * (len(ids) - 2)}
    rules = ct.Rules(table, quota=[{"where": "kind=rare", "at_least": 2}])
    found = recommender.recommend(1, 4, rules=rules, candidates=ids[1:], exclude_seen=False)
    assert len(found) == 4
    assert rules.unmet([one.item for one in found]) == ["kind=rare: 1 of at least 2 items"]
    found = recommender.recommend(1, 4, rules=rules, exclude_seen=False)
    assert rules.unmet([one.item for one in found]) == []


GOOD = 'items = "items.csv"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("diversity = 2", "diversity = 2 is not a number from 0 to 1"),
        ("min_novelty = true", "min_novelty = True is not a number"),
        ('seen = "maybe"', "exclude, include, only"),
        ("diversty = 1", "unknown key 'diversty'; did you mean 'diversity'?"),
        ("groups = 1", "unknown key 'groups'"),
        ("quota = 3", "quota is not a list of tables; write [[quota]]"),
        ("items = 3", "items is not the name of a file"),
        ("max_per = 3", "max_per is not a table"),
        ("[max_per]\nkind = 2", "require a table about the items"),
        (GOOD + "[max_per]\nkind = 0", "max_per: kind = 0 is not a whole number from 1"),
        (GOOD + "[max_per]\ngenre = 2", "max_per: there is no column 'genre' (",),
        (GOOD + "[[quota]]\nat_least = 2", "quota 1 has no condition `where`"),
        (GOOD + '[[quota]]\nwhere = "kind=a"\nat_last = 2', "quota 1: unknown key 'at_last'"),
        (GOOD + '[[quota]]\nwhere = "year>=x"', "quota 1: 'x' in 'year>=x' is not a number"),
        (GOOD + '[[quota]]\nwhere = "knd=a"', "quota 1: there is no column 'knd'; did you"),
        (GOOD + '[[quota]]\nwhere = "kind=a"\nat_least = 2\nat_most = 1', "s at_most = 1"),
        (GOOD + '[[quota]]\nwhere = "kind=a"\nat_least = 3', "contradicts the 2 items"),
        (GOOD + '[[boost]]\nwhere = "kind=a"\nadd = "1"', "boost 1: add = '1' is not a number"),
        (GOOD + "[quota]\nwhere = 1", "quota is not a list"),
        ("= 3", "not a TOML file"),
    ],
)  # fmt: skip
def test_bad_rules_name_the_file_and_the_key(tmp_path, text, words):
    (tmp_path / "items.csv").write_text("item,kind,year\n1,a,1990\n2,a|b,1991\n3,b,\n")
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(ct.InputError) as error:
        ct.Rules.from_file(path)
    assert words in str(error.value) and str(path) in str(error.value)


def test_quotas_that_no_list_can_have_are_an_error(recommender):
    ids = recommender.items_.ids.tolist()
    table = {"item": ids, "kind": ["a", "b"] * (len(ids) // 2) + ["a"] * (len(ids) % 2)}
    quota = [{"where": f"kind={kind}", "at_least": 2} for kind in "ab"]
    assert len(recommender.recommend(1, 4, rules=ct.Rules(table, quota=quota))) == 4
    with pytest.raises(ct.InputError, match="contradict each other: no list of 3 items"):
        recommender.recommend(1, 3, rules=ct.Rules(table, quota=quota))
    with pytest.raises(ct.InputError, match="contradict"):
        recommender.recommend(1, 9, rules=ct.Rules(table, quota=quota, max_per={"kind": 1}))
