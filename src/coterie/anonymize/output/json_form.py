"""Convert results of `anonymize` to JSON, for commands and for audit.json.

Keys are the names of attributes, so what is read here is what the objects are called in Python;
of communities, which are compared draw by draw, there is one value per draw.
`FORMAT_VERSION` is raised if a key changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from coterie.anonymize.attacks.suite import AttackSuiteResult
from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.output.audit import AuditRecord, Publication
from coterie.anonymize.policy import PolicyDecision
from coterie.anonymize.risk.assessment import Risk, publication_levels
from coterie.anonymize.utility.community_utility import CommunityUtility
from coterie.anonymize.utility.full_measures import FullComparison
from coterie.anonymize.utility.measures import Comparison
from coterie.anonymize.utility.release_utility import Utility
from coterie.base.json_values import JsonObject, json_value

FORMAT_VERSION = 2


def release_json(
    decision: PolicyDecision,
    suggestions: list[str],
    utility: Utility | None,
    risk: Risk | None,
    features: FeatureResults | None = None,
) -> JsonObject:
    """Return the JSON of `coterie anonymize`; utility and risk are {} if nothing was drawn."""
    return {
        "format_version": FORMAT_VERSION,
        **({} if features is None else {"features": result_json(features)}),
        "refused": decision.refused,
        "reasons": decision.reasons,
        "suggestions": suggestions,
        "fit_for": [] if utility is None else utility.fit_for,
        "utility": {} if utility is None else result_json(utility),
        "risk": {} if risk is None else result_json(risk),
        "limits": result_json(decision.limits),
        "weaker": result_json(decision.weaker),
        "levels": [] if risk is None else result_json(publication_levels(risk)),
    }


def audit_json(record: AuditRecord, publication: Publication) -> JsonObject:
    """Return the content of audit.json."""
    release = release_json(
        record.decision, record.suggestions or [], record.utility, record.risk, record.features
    )
    if record.suggestions is None:
        del release["suggestions"]
    return {
        **release,
        "model": record.model,
        "blocks": record.blocks,
        "draws": record.draws,
        "version": record.version,
        "input_sha256": record.input_sha256,
        "earlier_releases": record.earlier_releases,
        "parameters": _parameters(record.parameters),
        "entropy": record.entropy,
        "classes": record.classes,
        "published_statistics": result_json(record.published_statistics),
        "seconds": record.seconds,
        **publication._asdict(),
        "research_truth": (
            None if publication.research_truth is None else str(publication.research_truth)
        ),
        "folder": str(publication.folder),
    }


def comparison_json(comparison: Comparison) -> JsonObject:
    """Return the JSON of `coterie compare`."""
    found = comparison.communities
    return {
        "format_version": FORMAT_VERSION,
        "original": result_json(comparison.original),
        "published": result_json(comparison.published),
        "degree_ks": comparison.degree_ks,
        **({} if found is None else {"communities": result_json(found)}),
    }


def full_comparison_json(comparison: FullComparison) -> JsonObject:
    """Return the JSON of `coterie compare --full`: the further measures follow the others."""
    keys = comparison_json(comparison.basic)
    keys["original"] |= result_json(comparison.original)
    keys["published"] |= result_json(comparison.published)
    return keys


def attack_json(result: AttackSuiteResult) -> JsonObject:
    """Return the JSON of `coterie attack`."""
    return {
        "format_version": FORMAT_VERSION,
        **result_json(result.target),
        "controls": result_json(result.controls),
    }


def result_json(result: Any) -> Any:
    """Return a result as JSON: its attributes and properties are the keys.

    >>> from coterie.anonymize.figures import DistributionDistance
    >>> result_json([DistributionDistance("in-degrees", 0.01, 0.02)])
    [{'name': 'in-degrees', 'value': 0.01, 'tolerance': 0.02, 'kept': True}]
    """
    names = _attributes(result)
    if names:
        found = {name: result_json(getattr(result, name)) for name in names}
        return found | (_per_draw(result) if isinstance(result, CommunityUtility) else {})
    if isinstance(result, Mapping):
        return {key: result_json(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [result_json(value) for value in result]
    return json_value(result)


def _per_draw(found: CommunityUtility) -> JsonObject:
    """Return the figures of communities that have a value per draw; attributes are means."""
    return {
        "modularity": found.original.community_modularity,
        "published_modularity": [draw.figures.community_modularity for draw in found.draws],
        "foreign_modularity": [draw.foreign_modularity for draw in found.draws],
        "agreement": [draw.agreement for draw in found.draws],
    }


def _attributes(result: Any) -> list[str]:
    """Return the names of the fields and properties of a dataclass or named tuple."""
    if is_dataclass(result):
        names = [field.name for field in fields(result) if field.metadata.get("json", True)]
    else:
        names = list(getattr(result, "_fields", ()))
    if names:
        names += [name for name, of in vars(type(result)).items() if isinstance(of, property)]
    return [name for name in names if not name.startswith("_")]


def _parameters(parameters: Mapping[str, object]) -> JsonObject:
    """Return parameters as plain values; policy, steps and random generators as text."""
    return {
        name: str(value) if is_dataclass(value) else json_value(value)
        for name, value in parameters.items()
    }
