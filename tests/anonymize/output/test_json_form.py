"""The JSON of releases, attacks and audits has the keys that outside programs read."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng
from tests.support.release_results import make_risk

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.output.json_form import attack_json, release_json, risk_json, utility_json
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy, PolicyDecision
from coterie.anonymize.published_graph import assign_new_ids
from coterie.anonymize.risk.attack_suite import attack
from coterie.base.json_values import as_json
from coterie.data import Graph

SCALARS = {
    "nodes", "edges", "average_path_length", "diameter", "global_clustering",
    "average_local_clustering", "degree_mean", "degree_max", "assortativity", "isolates",
    "largest_component", "core_max", "modularity", "community_modularity", "communities",
    "communities_for_half", "largest_community",
}  # fmt: skip
MEASURES = SCALARS | {"path_length_interval", "spectrum", "distances", "clustering_by_degree"}
GUESSES = {
    "seeds", "correct", "wrong", "precision", "found_share", "found_interval",
}  # fmt: skip
LUCK = {"chance", "expected", "block_accuracy", "block_interval", "block_chance"}
GRAPH_ATTACKS = {"seeded", "bold", "with_blocks", "vertex_refinement", "degree"}


@pytest.fixture(scope="module")
def people() -> Graph:
    network = nx.planted_partition_graph(4, 60, 0.2, 0.01, seed=2)
    return Graph.from_edges(*np.array(network.edges).T, n_nodes=240)


@pytest.fixture(scope="module")
def release(people: Graph, tmp_path_factory: pytest.TempPathFactory) -> Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(tmp_path_factory.mktemp("state")))
        return Anonymizer(4, steps=Steps(rewire=False))._release_from(
            SeedSequence(1), people, suggest=False
        )


def test_risk_json() -> None:
    risk = risk_json(make_risk(named=0.03, excess=0.01))
    assert set(risk) == {"a1", "a2", "a3", "a4"}
    assert set(risk["a1"]) == {"mean", "worst", "classes", "smallest"}
    shares = {"0.5", "0.9", "1.0", "largest"}
    assert set(risk["a2"]) == shares | {"above_limit", "density", "exact_degrees"}
    assert set(risk["a2"]["density"]) == {"largest", "above_limit"}
    exact = risk["a2"]["exact_degrees"]
    assert set(exact) == shares | {"claims", "controls", "named", "disclosed"}
    assert set(exact["claims"][0]) == {
        "attacker", "threshold", "share_at_threshold", "pairs", "edges", "precision", "certain",
        "named",
    }  # fmt: skip
    assert set(exact["controls"][0]) == {
        "attacker", "certain", "kept", "left_out", "excess", "interval", "bound", "edges_left_out",
    }  # fmt: skip
    assert set(risk["a3"]) == {
        "main", "main_interval", "control", "control_interval", "baseline", "risk",
        "risk_interval", "held_out",
    }  # fmt: skip


def test_attack_risk_json() -> None:
    a4 = risk_json(make_risk())["a4"]
    assert set(a4) == GRAPH_ATTACKS | {"controls", "draws", "proves_something", "averaging"}
    assert set(a4["seeded"][0]) == GUESSES | LUCK | {"attack"}
    assert set(a4["bold"][0]) == GUESSES | LUCK | {"attack", "correct_in_first_100"}
    assert set(a4["with_blocks"][0]) == GUESSES | LUCK | {"correct_in_first_100"}
    assert a4["seeded"][0]["attack"] == "200 known"
    assert set(a4["averaging"][0]) == {"joined_in", "pairs", "true_edges", "precision", "interval"}
    assert set(a4["controls"]) == {"naive", "deleted_10"}
    assert set(a4["controls"]["naive"]) == GRAPH_ATTACKS
    assert set(a4["controls"]["naive"]["seeded"][0]) == GUESSES | {"attack"}
    assert set(a4["vertex_refinement"]) == {"H1", "H2"}
    assert set(a4["vertex_refinement"]["H1"]) == {
        "correct", "unique", "unique_wrong", "unique_interval", "candidates_median",
    }  # fmt: skip
    assert set(a4["degree"]) == {"correct", "correct_in_top_100", "interval"}


def test_attack_json(people: Graph) -> None:
    found = attack_json(attack(people, assign_new_ids(people, default_rng(0))))
    assert set(found) == GRAPH_ATTACKS | {"controls"}
    assert set(found["seeded"][0]) == GUESSES | {"attack", "chance"}
    json.loads(as_json(found))


def test_utility_json(release: Release) -> None:
    assert release.utility is not None
    utility = utility_json(release.utility)
    assert set(utility) == {
        "original", "published", "spread", "draws", "degree_ks", "communities", "further",
        "not_kept",
    }  # fmt: skip
    assert set(utility["communities"]) == {
        "method", "modularity", "published_modularity", "foreign_modularity", "foreign_share",
        "agreement", "self_agreement",
    }  # fmt: skip
    assert set(utility["further"][0]) == {"name", "original", "published", "tolerance", "kept"}
    assert set(utility["original"]) == set(utility["draws"][0]) == MEASURES
    assert set(utility["published"]) == set(utility["spread"]) == SCALARS


def test_release_json() -> None:
    risk = make_risk(found=40)
    result = release_json(Policy().check(risk, 1), ["`n_blocks=3` would pass (tried)"], None, risk)
    assert set(result) == {
        "refused", "reasons", "advice", "utility", "risk", "limits", "weaker_limits", "levels",
    }  # fmt: skip
    assert result["refused"] is True and len(result["reasons"]) == 1
    assert set(result["limits"][0]) == {
        "name", "value", "limit", "holds", "reason", "at_least", "percent",
    }  # fmt: skip
    assert set(result["levels"][0]) == {
        "level", "A1 mean", "A1 worst", "edges with p ≥ 0.9", "people found", "why",
    }  # fmt: skip


def test_release_json_if_nothing_was_drawn() -> None:
    result = release_json(PolicyDecision(reasons=["too small"]), [], None, None)
    assert result == {
        "refused": True,
        "reasons": ["too small"],
        "advice": [],
        "utility": {},
        "risk": {},
        "limits": [],
        "weaker_limits": [],
        "levels": [],
    }


def test_audit_json(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    release.write(tmp_path / "out", lambda summary: "", force=True)
    audit = json.loads(
        (tmp_path / "state" / "private" / "unnamed" / "out" / "audit.json").read_text()
    )
    assert set(audit) == {
        "written", "refused", "reasons", "model", "blocks", "draws", "version", "input_sha256",
        "dataset", "ledger_entry", "earlier_releases_of_this_dataset", "parameters", "entropy",
        "classes", "published_statistics", "utility", "risk", "levels", "limits", "weaker_limits",
        "seconds", "releases_of_this_dataset", "forced", "research_truth", "folder",
    }  # fmt: skip
    assert audit["entropy"] == "1"
    assert set(audit["published_statistics"]) == {"shape"}
    assert set(audit["published_statistics"]["shape"]) == {
        "lowest", "clustering", "transitivity", "assortativity",
    }  # fmt: skip
    assert audit["parameters"]["policy"].startswith("Policy(min_class_size=10")
    assert audit["parameters"]["steps"].startswith("Steps(cut_blocks=True")
    assert audit["parameters"]["min_class_size"] == 10


def test_audit_json_has_the_suggestions_that_were_tried(
    people: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    strict = Anonymizer(4, policy=Policy(min_class_size=100), steps=Steps(rewire=False))
    refused = strict.release(people)
    assert refused.refused and refused.suggestions
    assert refused.summary.suggestions == refused.suggestions
    refused.write(tmp_path / "out", lambda summary: "", force=True)
    audit = json.loads(
        (tmp_path / "state" / "private" / "unnamed" / "out" / "audit.json").read_text()
    )
    assert audit["advice"] == refused.suggestions
