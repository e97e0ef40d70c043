"""Policies are read strictly; an exceeded limit refuses the release and says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.release_results import make_risk

from coterie.anonymize.policy import Policy
from coterie.base.errors import InputError


def _exceeded(policy: Policy, **risk: float) -> list[str]:
    return [limit.name for limit in policy.check(make_risk(**risk), 1).limits if not limit.holds]


def test_a_release_within_all_limits_is_accepted() -> None:
    decision = Policy().check(make_risk(), 1)
    assert not decision.refused and decision.reasons == []
    assert all(limit.holds for limit in decision.limits)


def test_an_attack_that_finds_too_many_people_refuses_the_release() -> None:
    decision = Policy().check(make_risk(found=40), 1)
    assert decision.refused
    (reason,) = decision.reasons
    assert "“200 people known” guesses 40 people right" in reason
    assert "removed it identifies 1000" in reason


@pytest.mark.parametrize(
    ("policy", "risk", "name"),
    [
        (Policy(min_class_size=11), {}, "smallest class"),
        (Policy(), {"above_limit": 0.1}, "edges in cells with p ≥ 0.9"),
        (Policy(), {"dense": 0.1}, "edges in cells with density ≥ 0.9"),
        (
            Policy(),
            {"named": 0.3, "excess": 0.03},
            "edges named with 90 % certainty, degrees known",
        ),
        (Policy(), {"named": 0.03}, "edges named with 90 % certainty, degrees known"),
        (Policy(), {"named": 0.6, "excess": 0.01}, "edges named in all"),
        (Policy(edge_inference=0.2), {"inference": 0.3}, "edge inference"),
        (Policy(), {"found": 40}, "people found, 200 known"),
    ],
)
def test_each_limit_can_be_exceeded(policy: Policy, risk: dict[str, float], name: str) -> None:
    assert _exceeded(policy, **risk) == [name]


def test_limits_can_be_raised() -> None:
    assert _exceeded(Policy(known_degrees_share=0.03), named=0.03) == []
    assert _exceeded(Policy(), inference=0.3) == []  # the default only reports A3


def test_only_the_excess_over_left_out_edges_is_limited() -> None:
    assert _exceeded(Policy(), named=0.3, excess=0.019) == []
    (reason,) = Policy().check(make_risk(named=0.3, excess=0.03), 1).reasons
    assert "names 30 % of the original edges" in reason and "up to 3 %" in reason


def test_a_weaker_policy_is_named_in_the_decision() -> None:
    assert Policy().check(make_risk(), 1).weaker == []
    assert Policy().check(make_risk(), 1).qualification == ""
    strict = Policy(min_class_size=20, edge_share=0, edge_inference=0.5, releases=1)
    assert strict.check(make_risk(smallest=20), 1).weaker == []
    permissive = Policy(1, 1.0, 1.0, 1.0, 1.0, 1.0, 0)
    decision = permissive.check(make_risk(smallest=1), 1)
    assert not decision.refused
    assert [(limit.name, limit.off) for limit in decision.weaker] == [
        ("min_class_size", True),
        ("edge_probability", False),
        ("edge_share", True),
        ("known_degrees_share", True),
        ("attack_margin", True),
    ]
    assert "People in the smallest class: 1, which is no limit (default 10)" in (
        decision.qualification
    )
    slightly = Policy(known_degrees_share=0.05).check(make_risk(), 1)
    assert slightly.qualification == (
        "The policy is weaker than the default. Share of the edges that may be named if all "
        "degrees are known: 0.05 (default 0.02)."
    )
    assert Policy(min_class_size=5).check_releases(1).weaker[0].value == 5


def test_the_number_of_releases_is_limited_before_and_after_drawing() -> None:
    policy = Policy(releases=2)
    assert not policy.check_releases(2).refused
    assert policy.check_releases(3).reasons == policy.check(make_risk(), 3).reasons
    assert "release number 3" in policy.check_releases(3).reasons[0]


def test_attack_limits_allow_luck_and_a_margin() -> None:
    """Luck explains 0.6 and 6.5 people; three standard deviations are 2.3 and 7.6."""

    def allowed(policy: Policy) -> list[float | None]:
        limits = policy.check(make_risk(), 1).limits
        return [x.limit for x in limits if x.name.startswith("people found")]

    assert allowed(Policy()) == [3, 15]
    assert allowed(Policy(attack_margin=0.01)) == [13, 15]  # 1 % of the 1,000 and of the 0 found
    assert [x.name for x in Policy(attack_margin=0.01).weaker()] == ["attack_margin"]


def test_people_recognised_beyond_luck_are_noticed() -> None:
    """Eighty people beyond luck passed a limit of 1 % of an unprotected copy."""
    assert _exceeded(Policy(), found=4) == ["people found, 200 known"]


def test_what_can_be_concluded_in_all_must_be_accepted() -> None:
    """Three cliques: 98.6 % of all connections follow from block and degree."""
    risk = make_risk(named=0.986, excess=0.013)
    (reason,) = Policy().check(risk, 1).reasons
    assert "concludes 98.6 % of all connections" in reason
    assert "`accepted_inference=0.99`" in reason
    accepted = Policy(accepted_inference=0.99).check(risk, 1)
    assert not accepted.refused
    assert [limit.name for limit in accepted.weaker] == ["accepted_inference"]


def test_a_release_that_keeps_too_little_is_refused_if_the_policy_says_so() -> None:
    class Useless:
        kept_share = 0.3

    assert not Policy().check(make_risk(), 1, None, Useless()).refused
    (reason,) = Policy(min_utility=0.5).check(make_risk(), 1, None, Useless()).reasons
    assert "30 % of the properties are preserved, the policy requires 50 %" in reason
    assert Policy(min_utility=0.5).weaker() == []


def test_the_hits_of_several_draws_are_judged_together() -> None:
    risk = make_risk(found=2).attacks
    three = replace(risk, every_draw=[risk.worst] * 3)
    row = three.pooled()[0]
    assert (row.found, row.naive) == (6, 3000)
    assert row.expected == pytest.approx(1.8) and row.deviation == pytest.approx(1.8**0.5)


def test_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("[limits]\nmin_class_size = 25\nattack_margin = 0\n")
    assert Policy.from_file(file) == Policy(min_class_size=25, attack_margin=0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\nmin_clas_size = 3", "min_clas_size"),
        ("[limit]\nmin_class_size = 3", r"\[limit\]"),
        ("[limits]\nmin_class_size = 2.5", "whole number"),
        ("[limits]\nmin_class_size = true", "whole number"),
        ("[limits]\nedge_probability = 7", "from 0 to 1"),
        ("limits = 3", "limits"),
        ("[limits", "not a TOML file"),
    ],
)
def test_invalid_policy_is_rejected(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Policy.from_text(text)
