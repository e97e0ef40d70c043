"""Policies are read strictly, and say in words what passes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coterie.anonymize.policy import Policy
from coterie.base.errors import InputError


def _risk(named: float = 0.0, **other: Any) -> dict[str, Any]:
    row = {"attack": "200 known", "correct": 3, "chance": 0.5, "expected": 0.6}
    bold = {"attack": "200 known, everybody claimed", "correct": 7, "chance": 0.5, "expected": 6.5}
    control = {"seeded": [{"correct": 1000}], "bold": [{"correct": 0}]}
    return {
        "a1": {"smallest": 10},
        "a2": {"above_limit": 0.0, "exact_degrees": {"named": named}},
        "a3": {"risk": 0.3},
        "a4": {
            "seeded": [{**row, **other}],
            "bold": [bold],
            "controls": {"naive": control, "deleted_10": control},
        },
    }


def test_what_holds_and_what_does_not() -> None:
    assert all(limit.holds for limit in Policy().check(_risk(), 1))
    found = [x for x in Policy().check(_risk(correct=40), 1) if not x.holds]
    assert [x.name for x in found] == ["people found, 200 known"]
    assert "“200 known” finds 40 people" in found[0].reason
    assert "1000 in a naive copy" in found[0].reason
    assert [x.name for x in Policy(edge_inference=0.2).check(_risk(), 1) if not x.holds] == [
        "edge inference"
    ]
    (named,) = [x for x in Policy().check(_risk(named=0.03), 1) if not x.holds]
    assert "exact number of neighbours names 3 % of the original edges" in named.reason
    assert all(x.holds for x in Policy(known_degrees_share=0.03).check(_risk(named=0.03), 1))


def test_the_margin_is_of_what_a_naive_copy_gives() -> None:
    """0.5 by chance and 1 % of 1,000: a mean of 10.5 is passed by 19 once in a hundred times."""
    careful, bold = (x for x in Policy().check(_risk(), 1) if x.name.startswith("people found"))
    assert careful.limit == 19
    assert bold.limit == 13  # 6.5 that A1 grants whoever claims everybody


def test_a_policy_file(tmp_path: Path) -> None:
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
        ("[limits", "no TOML"),
    ],
)
def test_a_policy_that_is_not_understood_is_an_error(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Policy.from_text(text)
