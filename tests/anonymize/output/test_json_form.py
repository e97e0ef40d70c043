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
from coterie.anonymize.attacks.suite import attack
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.output.json_form import attack_json, release_json, result_json
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy, PolicyDecision
from coterie.anonymize.published_graph import assign_new_ids
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
    "name", "label", "seeds", "correct", "wrong", "precision", "found_share", "found_interval",
    "correct_in_first_100", "luck", "same_degree",
}  # fmt: skip
LUCK = {
    "same_degree", "same_class", "deviation", "block_accuracy", "block_interval", "block_chance",
}  # fmt: skip
GRAPH_ATTACKS = {
    "seeded", "guess_everyone", "with_blocks", "degree_known", "neighbour_degrees_known",
    "degree_rank",
}  # fmt: skip


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
    risk = result_json(make_risk(named=0.03, excess=0.01))
    assert set(risk) == {
        "class_size", "disclosed_edges", "edge_inference", "attacks", "attribute_inference",
        "membership",
    }  # fmt: skip
    assert set(risk["class_size"]) == {"mean", "worst", "classes", "smallest"}
    disclosed = risk["disclosed_edges"]
    assert set(disclosed) == {"shares", "above_limit", "densities", "known_degrees"}
    assert set(disclosed["shares"]) == {"at_least_50", "at_least_90", "certain", "largest"}
    assert set(disclosed["densities"]) == {"largest", "above_limit"}
    known = disclosed["known_degrees"]
    assert set(known) == {"shares", "claims", "controls", "named", "control", "disclosed"}
    assert set(known["claims"][0]) == {
        "attacker", "threshold", "share_at_threshold", "pairs", "edges", "precision", "certain",
        "named",
    }  # fmt: skip
    assert set(known["controls"][0]) == {
        "attacker", "certain", "kept", "left_out", "excess", "interval", "bound", "edges_left_out",
    }  # fmt: skip
    assert set(risk["edge_inference"]) == {
        "main", "main_interval", "control", "control_interval", "baseline", "risk",
        "risk_interval", "held_out",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a1", "class_size"),
        ("a2", "disclosed_edges"),
        ("a3", "edge_inference"),
        ("a4", "attacks"),
    ],
)
def test_old_names_of_risk_say_the_new_ones(old: str, new: str) -> None:
    with pytest.raises(AttributeError, match=new):
        getattr(make_risk(), old)


def test_attack_risk_json() -> None:
    found = result_json(make_risk())["attacks"]
    assert set(found) == {"worst", "controls", "draws", "attacks_have_power", "averaging"}
    assert set(found["worst"]) == GRAPH_ATTACKS
    assert set(found["worst"]["seeded"][0]) == GUESSES
    assert set(found["worst"]["guess_everyone"][0]["luck"]) == LUCK
    assert found["worst"]["seeded"][0]["name"] == "200 known"
    assert set(found["averaging"][0]) == {
        "joined_in", "pairs", "true_edges", "precision", "interval",
    }  # fmt: skip
    assert set(found["controls"]) == {"naive", "deleted_10"}
    assert set(found["controls"]["naive"]) == GRAPH_ATTACKS
    assert set(found["worst"]["degree_known"]) == {
        "correct", "unique", "unique_wrong", "unique_interval", "candidates_median",
    }  # fmt: skip
    assert set(found["worst"]["degree_rank"]) == {"correct", "correct_in_top_100", "interval"}


def test_attack_json(people: Graph) -> None:
    found = attack_json(attack(people, assign_new_ids(people, default_rng(0))))
    assert set(found) == GRAPH_ATTACKS | {"controls", "format_version"}
    assert set(found["seeded"][0]) == GUESSES
    json.loads(as_json(found))


def test_utility_json(release: Release) -> None:
    utility = result_json(release.utility)
    assert set(utility) == {
        "original", "published", "spread", "draws", "degree_ks", "communities", "further",
        "not_kept", "properties", "kept_share", "fit_for", "verdict",
    }  # fmt: skip
    assert set(utility["communities"]) == {
        "original", "self_agreement", "draws", "foreign_modularity", "agreement",
        "foreign_share", "modularity", "published_modularity",
    }  # fmt: skip
    assert len(utility["communities"]["agreement"]) == len(utility["draws"])
    assert set(utility["original"]) == set(utility["draws"][0]) == MEASURES
    assert set(utility["published"]) == set(utility["spread"]) == SCALARS


def test_release_json() -> None:
    risk = make_risk(found=40)
    result = release_json(Policy().check(risk, 1), ["`n_blocks=3` would pass (tried)"], None, risk)
    assert set(result) == {
        "format_version", "refused", "reasons", "suggestions", "utility", "risk", "limits",
        "weaker", "levels", "fit_for",
    }  # fmt: skip
    assert result["refused"] is True and len(result["reasons"]) == 1
    assert set(result["limits"][0]) == {
        "name", "value", "limit", "holds", "reason", "at_least", "percent", "label", "note",
    }  # fmt: skip
    assert set(result["levels"][0]) == {
        "level", "class_mean", "class_worst", "disclosed_edges", "people_found", "why",
    }  # fmt: skip


def test_release_json_if_nothing_was_drawn() -> None:
    result = release_json(PolicyDecision(reasons=["too small"]), [], None, None)
    assert result == {
        "format_version": 2,
        "refused": True,
        "reasons": ["too small"],
        "suggestions": [],
        "fit_for": [],
        "utility": {},
        "risk": {},
        "limits": [],
        "weaker": [],
        "levels": [],
    }


def test_audit_json(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    release.write(tmp_path / "out", lambda summary: "", force=True)
    audit = json.loads(
        (tmp_path / "state" / "private" / "unnamed" / "out" / "audit.json").read_text()
    )
    assert set(audit) == {
        "written", "format_version", "refused", "reasons", "model", "blocks", "draws", "version",
        "input_sha256", "dataset", "ledger_entry", "earlier_releases", "parameters", "entropy",
        "classes", "published_statistics", "utility", "risk", "levels", "limits", "weaker",
        "seconds", "releases", "forced", "research_truth", "folder", "fit_for",
    }  # fmt: skip
    assert audit["entropy"] == "1"
    assert set(audit["published_statistics"]) == {"targets"}
    assert set(audit["published_statistics"]["targets"]) == {
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
    assert audit["suggestions"] == refused.suggestions
