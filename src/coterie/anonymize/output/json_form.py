"""Convert results of `anonymize` to JSON, for commands and for audit.json.

Other programs read these keys, so a key stays the same when an attribute is renamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from coterie.anonymize.kinds.outcome import KindOutcome
from coterie.anonymize.output.audit import AuditRecord, Publication, PublishedStatistics
from coterie.anonymize.policy import Limit, PolicyDecision
from coterie.anonymize.risk.assessment import AttackRisk, PublicationLevel, Risk, publication_levels
from coterie.anonymize.risk.attack_suite import AttackSuiteResult, Controls, GraphAttacks
from coterie.anonymize.risk.attacks import AttackResult
from coterie.anonymize.risk.disclosure import CellDisclosure, EdgeShares
from coterie.anonymize.risk.exact_degrees import PairClaim
from coterie.anonymize.utility.community_utility import CommunityUtility
from coterie.anonymize.utility.full_measures import FullComparison, FullRow
from coterie.anonymize.utility.measures import Comparison, ScalarMeasures
from coterie.anonymize.utility.release_utility import Utility
from coterie.base.json_values import JsonObject, json_value


def release_json(
    decision: PolicyDecision,
    suggestions: list[str],
    utility: Utility | None,
    risk: Risk | None,
    kind: KindOutcome | None = None,
) -> JsonObject:
    """Return the JSON of `coterie anonymize`; utility and risk are {} if nothing was drawn."""
    return {
        **({} if kind is None else {"kind": kind_json(kind)}),
        "refused": decision.refused,
        "reasons": decision.reasons,
        "advice": suggestions,
        "utility": {} if utility is None else utility_json(utility),
        "risk": {} if risk is None else risk_json(risk),
        "limits": [_limit_json(limit) for limit in decision.limits],
        "weaker_limits": [limit._asdict() for limit in decision.weaker],
        "levels": []
        if risk is None
        else [_level_json(level) for level in publication_levels(risk)],
    }


def audit_json(record: AuditRecord, publication: Publication) -> JsonObject:
    """Return the content of audit.json."""
    advice = {} if record.suggestions is None else {"advice": record.suggestions}
    return {
        "refused": record.decision.refused,
        "reasons": record.decision.reasons,
        "model": record.model,
        "blocks": record.blocks,
        "draws": record.draws,
        "version": record.version,
        "input_sha256": record.input_sha256,
        "dataset": publication.dataset,
        "ledger_entry": publication.ledger_entry,
        "earlier_releases_of_this_dataset": record.earlier_releases,
        "parameters": _parameters(record.parameters),
        "entropy": record.entropy,
        "classes": record.classes,
        "published_statistics": _statistics(record.published_statistics),
        "utility": utility_json(record.utility),
        "risk": risk_json(record.risk),
        "levels": [_level_json(level) for level in record.levels],
        "limits": [_limit_json(limit) for limit in record.limits],
        "weaker_limits": [limit._asdict() for limit in record.decision.weaker],
        "seconds": record.seconds,
        **({} if record.kind is None else {"kind": kind_json(record.kind)}),
        **advice,
        "releases_of_this_dataset": publication.releases,
        "forced": publication.forced,
        "research_truth": (
            None if publication.research_truth is None else str(publication.research_truth)
        ),
        "folder": str(publication.folder),
    }


def kind_json(kind: KindOutcome) -> JsonObject:
    """Return what was measured of directions, weights, sides and attributes."""
    return {
        "measures": [
            {
                "name": m.name,
                "original": m.original,
                "published": m.published,
                "tolerance": m.tolerance,
                "relative": m.relative,
                "kept": m.kept,
            }
            for m in kind.measures
        ],
        "distances": [
            {"name": d.name, "distance": d.value, "tolerance": d.tolerance, "kept": d.kept}
            for d in kind.distances
        ],
        "sensitive": [json_value(vars(s)) for s in kind.sensitive],
        "attacks": [json_value(vars(a)) for a in kind.attacks],
    }


def comparison_json(comparison: Comparison) -> JsonObject:
    """Return the JSON of `coterie compare`."""
    found = comparison.communities
    return {
        "original": _plain(comparison.original),
        "published": _plain(comparison.published),
        "degree_ks": comparison.degree_ks,
        **({} if found is None else {"communities": _communities(found)}),
    }


def full_comparison_json(comparison: FullComparison) -> JsonObject:
    """Return the JSON of `coterie compare --full`: the further measures follow the others."""
    keys = comparison_json(comparison.basic)
    keys["original"] |= _plain(comparison.original)
    keys["published"] |= _plain(comparison.published)
    return keys


def attack_json(result: AttackSuiteResult) -> JsonObject:
    """Return the JSON of `coterie attack`."""
    return {**_graph_attacks(result.target), "controls": _controls(result.controls)}


def utility_json(utility: Utility) -> JsonObject:
    """Return the key `utility` of releases and audits."""
    return {
        "original": _plain(utility.original),
        "published": _given(utility.published),
        "spread": _given(utility.spread),
        "draws": [_plain(draw) for draw in utility.draws],
        "degree_ks": utility.degree_ks,
        "communities": _communities(utility.communities),
        "further": [_further(row) for row in utility.further],
        "not_kept": utility.not_kept,
    }


def _communities(found: CommunityUtility) -> JsonObject:
    own = found.original
    return {
        "method": found.method,
        "modularity": own.community_modularity,
        "published_modularity": [draw.figures.community_modularity for draw in found.draws],
        "foreign_modularity": [draw.foreign_modularity for draw in found.draws],
        "foreign_share": found.foreign_share,
        "agreement": [draw.agreement for draw in found.draws],
        "self_agreement": found.self_agreement,
    }


def _further(row: FullRow) -> JsonObject:
    return {
        "name": row.measure.name,
        "original": row.original,
        "published": row.published,
        "tolerance": row.measure.tolerance,
        "kept": row.kept,
    }


def risk_json(risk: Risk) -> JsonObject:
    """Return the key `risk` of releases and audits."""
    return {
        "a1": _plain(risk.a1),
        "a2": _cell_disclosure(risk.a2),
        "a3": _plain(risk.a3),
        "a4": _attack_risk(risk.a4),
    }


def _plain(value: Any) -> Any:
    """Return a dataclass as JSON, with its attributes as keys; infinity does not become null."""
    return json_value(value, exact=True)


def _given(measures: ScalarMeasures) -> JsonObject:
    """Return the measures that exist: without blocks there is no modularity."""
    return {key: value for key, value in _plain(measures).items() if value is not None}


def _parameters(parameters: Mapping[str, object]) -> JsonObject:
    """Return parameters as plain values; policy, steps and random generators as text."""
    return {
        name: str(value) if is_dataclass(value) else json_value(value)
        for name, value in parameters.items()
    }


def _statistics(statistics: PublishedStatistics | None) -> JsonObject | None:
    if statistics is None:
        return None
    return {"shape": _plain(statistics.targets)}


def _edge_shares(shares: EdgeShares) -> JsonObject:
    return {
        "0.5": shares.at_least_50,
        "0.9": shares.at_least_90,
        "1.0": shares.certain,
        "largest": shares.largest,
    }


def _cell_disclosure(disclosure: CellDisclosure) -> JsonObject:
    known = disclosure.known_degrees
    return {
        **_edge_shares(disclosure.shares),
        "above_limit": disclosure.above_limit,
        "density": _plain(disclosure.densities),
        "exact_degrees": {
            **_edge_shares(known.shares),
            "named": known.named,
            "disclosed": known.disclosed,
            "claims": [_claim_json(claim) for claim in known.claims],
            "controls": [
                {**claim._asdict(), "interval": list(claim.interval)} for claim in known.controls
            ],
        },
    }


def _claim_json(claim: PairClaim) -> JsonObject:
    """Return one claim; without a named pair there is no threshold."""
    return {**claim._asdict(), "threshold": claim.threshold if claim.pairs else None}


def _attack_result(result: AttackResult) -> JsonObject:
    """Return one attack; keys without a value are left out."""
    keys: JsonObject = {"attack": result.name} if result.name else {}
    keys |= {
        "seeds": result.seeds,
        "correct": result.correct,
        "wrong": result.wrong,
        "precision": result.precision,
        "found_share": result.found_share,
        "found_interval": list(result.found_interval),
    }
    if result.correct_in_first_100 is not None:
        keys["correct_in_first_100"] = result.correct_in_first_100
    if result.luck is not None:
        keys |= {
            "chance": result.luck.same_degree,
            "expected": result.luck.same_class,
            "block_accuracy": result.luck.block_accuracy,
            "block_interval": list(result.luck.block_interval),
            "block_chance": result.luck.block_chance,
        }
    elif result.same_degree is not None:
        keys["chance"] = result.same_degree
    return keys


def _graph_attacks(attacks: GraphAttacks) -> JsonObject:
    return {
        "seeded": [_attack_result(result) for result in attacks.seeded],
        "bold": [_attack_result(result) for result in attacks.guess_everyone],
        "with_blocks": [_attack_result(result) for result in attacks.with_blocks],
        "vertex_refinement": {
            "H1": _plain(attacks.degree_known),
            "H2": _plain(attacks.neighbour_degrees_known),
        },
        "degree": _plain(attacks.degree_rank),
    }


def _controls(controls: Controls) -> JsonObject:
    return {name: _graph_attacks(found) for name, found in controls._asdict().items()}


def _attack_risk(risk: AttackRisk) -> JsonObject:
    return {
        **_graph_attacks(risk.worst),
        "controls": _controls(risk.controls),
        "draws": [[_attack_result(result) for result in draw] for draw in risk.draws],
        "proves_something": risk.attacks_have_power,
        "averaging": [_plain(result) for result in risk.averaging],
    }


def _limit_json(limit: Limit) -> JsonObject:
    return {key: value for key, value in _plain(limit).items() if key not in ("label", "note")}


def _level_json(level: PublicationLevel) -> JsonObject:
    return {
        "level": level.level,
        "A1 mean": level.class_mean,
        "A1 worst": level.class_worst,
        "edges with p ≥ 0.9": level.disclosed_edges,
        "people found": level.people_found,
        "why": level.why,
    }
