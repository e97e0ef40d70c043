"""The privacy policy: limits for the risk of a release, and the decision to publish it or not."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from coterie.anonymize import figures
from coterie.anonymize.attacks.attack import AttackComparison
from coterie.anonymize.features.attribute_coding import SensitiveRisk
from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.features.full_knowledge_attack import FullKnowledgeAttack
from coterie.anonymize.figures import NOT_IN_JSON, Figure, Private
from coterie.anonymize.risk.assessment import Risk
from coterie.anonymize.risk.disclosure import AttributeInference, CellDisclosure, DegreeDisclosure
from coterie.anonymize.utility.release_utility import Utility
from coterie.base.errors import InputError

# People guessed right beyond the expected number that luck explains, in standard deviations: luck
# exceeds it once in about 700 attacks.
LIKELY_DEVIATIONS = 3.0
ACKNOWLEDGED = "edges named in all"  # the limit that an owner raises to accept what it says


@dataclass(frozen=True, repr=False)
class Limit(Private):
    """One figure of a release and the limit that the policy sets for it.

    Without a limit the figure is only shown.
    """

    name: str  # as in the JSON output
    value: float
    limit: float | None
    holds: bool
    reason: str  # one sentence with exact figures, for the owner
    at_least: bool = False  # the value must not be below the limit; else not above
    percent: bool = False  # value and limit are shares
    label: str = ""  # for tables and reports
    note: str = ""  # for information; exact figures too, if there is a limit
    rounding: str = field(default="", metadata=NOT_IN_JSON)

    @classmethod
    def compare(
        cls,
        figure: Figure,
        name: str,
        compared: tuple[float, float | None],
        reason: str,
        *,
        note: str = "",
        **words: str,
    ) -> Limit:
        """Compare a figure with its limit, given as a pair; `words` are those of its label."""
        value, limit = compared
        holds = limit is None or (value >= limit if figure.at_least else value <= limit)
        label = figure.label.format(**words)
        declared = figure.at_least, figure.percent, label, note, figure.rounding
        return cls(name, value, limit, holds, reason, *declared)

    def remark(self) -> str:
        """Return what the report says next to the figure."""
        if self.limit is None:
            return self.note or self.reason
        return "" if self.holds else self.reason


class WeakerLimit(NamedTuple):
    """A limit of a policy that allows more than the default policy."""

    name: str  # of the attribute of `Policy`
    label: str
    value: float
    default: float
    off: bool  # the limit can no longer be exceeded

    def text(self) -> str:
        """Describe the limit and its default.

        >>> WeakerLimit("min_class_size", "people in the smallest class", 1, 10, True).text()
        'people in the smallest class: 1, which is no limit (default 10)'
        """
        off = ", which is no limit" if self.off else ""
        return f"{self.label}: {self.value:g}{off} (default {self.default:g})"


@dataclass(frozen=True, repr=False)
class PolicyDecision(Private):
    """Whether a release may be published, and why not.

    Attributes
    ----------
    limits : list of Limit
        Every limit of the policy that was checked. Empty if nothing could be drawn.
    reasons : list of str
        Why the release is refused, one sentence each; empty if it may be published.
    weaker : list of WeakerLimit
        Limits of the policy that allow more than the default policy, or are switched off.
    """

    limits: list[Limit] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    weaker: list[WeakerLimit] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        """Whether the release must not be published."""
        return bool(self.reasons)

    @property
    def qualification(self) -> str:
        """A sentence that names the limits weaker than the default; empty if there is none."""
        return describe_weaker(self.weaker)


def describe_weaker(weaker: list[WeakerLimit]) -> str:
    """Return the sentence that every verdict under a weaker policy must contain.

    >>> describe_weaker([])
    ''
    """
    if not weaker:
        return ""
    limits = "; ".join(limit.text() for limit in weaker)
    return f"The policy is weaker than the default. {limits[0].upper()}{limits[1:]}."


def _limit(default: float, label: str, *, off: float = 1, at_least: bool = False) -> Any:
    """Declare a limit that can be weaker than its default: with `off` it is no limit at all."""
    return field(default=default, metadata={"label": label, "off": off, "at_least": at_least})


@dataclass(frozen=True)
class Policy:
    """Limits that a release must not exceed.

    Every limit can be set in the table ``[limits]`` of a TOML file, see `from_file`.

    Parameters
    ----------
    min_class_size : int, default=10
        A1: minimum number of people per class.
    edge_probability : float, default=0.9
        A2: an original edge counts as disclosed if the members of its two classes are connected
        with at least this probability in the model, or with at least this frequency in the
        original.
    edge_share : float, default=0.0
        A2: maximum share of the original edges that are disclosed, by either figure.
    known_degrees_share : float, default=0.02
        A2: maximum share of the original edges that somebody who knows all blocks and exact
        degrees names with the certainty `edge_probability`, and would not name if they had been
        left out of the data. The upper end of a 95 % interval counts. If left-out edges were not
        examined, the limit applies to all edges that are named.
    edge_inference : float, default=1.0
        A3: maximum advantage in recognising edges that the model was fitted to over edges that it
        never saw, from 0 to 1. The default only reports it.
    attack_margin : float, default=0.0
        A4: people that an attack may identify beyond luck, as a share of those it identifies in a
        copy with only the names removed. Luck is what the same guesses would hit if the members of
        every class swapped places: its mean and three standard deviations, rounded up.
    releases : int, default=0
        Maximum number of graphs published from one original; 0 sets no limit.
    sensitive_values : int, default=2
        Minimum number of different values of a sensitive column in every class (l-diversity).
    sensitive_distance : float, default=0.4
        Maximum distance between the values of a sensitive column in a class and in the whole
        network, from 0 to 1 (t-closeness).
    accepted_inference : float, default=0.5
        A2: share of all edges that the same attacker may name, whether or not they are in the data.
        Connections that follow from block and degree are no secret of the release, but they can
        be concluded: above this share the owner must accept it by a higher value.
    min_utility : float, default=0.0
        Minimum share of the judged properties that the release must preserve.
    attribute_inference : float, default=0.1
        Maximum share of the people whose value of a released column is guessed right from their
        class, beyond the share guessed right for people who are left out of the data. The upper
        end of a 95 % interval counts.

    See Also
    --------
    Anonymizer : Applies the policy.

    Examples
    --------
    >>> import coterie as ct
    >>> strict = ct.Policy(min_class_size=25, releases=1)
    >>> strict.min_class_size
    25
    """

    min_class_size: int = _limit(10, "people in the smallest class", at_least=True)
    edge_probability: float = _limit(
        0.9, "probability from which an edge counts as disclosed", off=float("inf")
    )
    edge_share: float = _limit(0.0, "share of the edges that may be disclosed by their cells")
    known_degrees_share: float = _limit(
        0.02, "share of the edges that may be named if all degrees are known"
    )
    edge_inference: float = 1.0  # the default sets no limit, so none is weaker
    attack_margin: float = _limit(
        0.0, "people found beyond luck, as a share of those in an unprotected copy"
    )
    releases: int = 0  # the same
    sensitive_values: int = _limit(
        2, "different values of sensitive columns in every class", at_least=True
    )
    sensitive_distance: float = _limit(
        0.4, "distance of sensitive values in a class from everybody's"
    )
    accepted_inference: float = _limit(
        0.5, "share of the edges that can be concluded and is accepted by the owner"
    )
    min_utility: float = 0.0  # the same
    attribute_inference: float = _limit(
        0.1, "share of the people whose attributes may be concluded because they are in the data"
    )

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Policy:
        """Read a policy from a TOML file.

        Parameters
        ----------
        path : str or path-like
            A file with a table ``[limits]``; limits that it does not set have their defaults.

        Returns
        -------
        Policy
            The policy.

        Raises
        ------
        InputError
            If the file is not TOML, names an unknown limit or sets an impossible value.
        """
        content = Path(path).read_bytes()
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            raise InputError(
                f"not a text file in UTF-8 ({error.reason} at byte {error.start})",
                path=path,
                remedy="save the file as UTF-8",
            ) from error
        return cls.from_text(text, path)

    @classmethod
    def from_text(cls, text: str, path: str | PathLike[str] | None = None) -> Policy:
        """Read a policy from TOML text.

        Parameters
        ----------
        text : str
            TOML with a table ``[limits]``.
        path : str or path-like, optional
            The file that the text comes from, for error messages.

        Returns
        -------
        Policy
            The policy.

        Raises
        ------
        InputError
            If the text is not TOML, names an unknown limit or sets an impossible value.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.Policy.from_text("[limits]\\nattack_margin = 0").attack_margin
        0
        """
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"not a TOML file: {error}", path=path) from error
        given = table.get("limits", {})
        known = {f.name: f.type for f in fields(cls)}
        unknown = [f"[{key}]" for key in table if key != "limits"] + [
            key for key in (given if isinstance(given, dict) else ()) if key not in known
        ]
        if unknown or not isinstance(given, dict):
            raise InputError(
                f"unknown setting in the policy: {', '.join(unknown) or 'limits'}",
                path=path,
                remedy=f"use a table [limits] with some of {', '.join(known)}",
            )
        for name, value in given.items():
            whole = known[name] == "int"
            right = isinstance(value, int if whole else int | float)
            top = float("inf") if whole else 1.0
            if not right or isinstance(value, bool) or not 0 <= value <= top:
                expected = "a whole number from 0" if whole else "a number from 0 to 1"
                raise InputError(f"{name} = {value!r} is not {expected}", path=path)
        return cls(**given)

    def check(
        self,
        risk: Risk,
        releases: int,
        features: FeatureResults | None = None,
        utility: Utility | None = None,
    ) -> PolicyDecision:
        """Compare the risk of a release with every limit.

        Parameters
        ----------
        risk : Risk
            The risk of the release, as in ``Release.risk``.
        releases : int
            Number of graphs published from the same original, including this release.
        features : FeatureResults, optional
            What was measured of attributes, directions and weights, as in ``Release.features``.
        utility : Utility, optional
            How similar the release is to the original, as in ``Release.utility``.

        Returns
        -------
        PolicyDecision
            The limits and, if one of them is exceeded, the reasons to refuse the release.
        """
        limits = [
            self._class_limit(risk.class_size.smallest),
            *self._cell_limits(risk.disclosed_edges),
            self._known_degrees_limit(risk.disclosed_edges.known_degrees),
            self._inferred_edges_limit(risk.disclosed_edges.known_degrees),
        ]
        inference = None if risk.edge_inference is None else risk.edge_inference.risk
        if inference is not None and self.edge_inference < 1:
            limits.append(self._inference_limit(inference))
        limits += [self._attack_limit(attack) for attack in risk.attacks.pooled()]
        limits += [self._attribute_limit(found) for found in risk.attribute_inference]
        if features is not None:
            for sensitive in features.sensitive:
                limits += self._sensitive_limits(sensitive)
            limits += [self._full_knowledge_limit(attack) for attack in features.attacks]
        limits += self._release_limits(releases)
        if utility is not None and self.min_utility > 0:
            limits.append(self._utility_limit(utility))
        reasons = [limit.reason for limit in limits if not limit.holds]
        return PolicyDecision(limits, reasons, self.weaker())

    def weaker(self) -> list[WeakerLimit]:
        """Return the limits that allow more than the default policy.

        Returns
        -------
        list of WeakerLimit
            Empty if no limit is weaker.

        Examples
        --------
        >>> import coterie as ct
        >>> [limit.name for limit in ct.Policy(min_class_size=5).weaker()]
        ['min_class_size']
        """
        found = []
        for limit in fields(self):
            if limit.metadata:
                value, usual = getattr(self, limit.name), getattr(Policy, limit.name)
                sign = -1 if limit.metadata["at_least"] else 1
                if sign * value > sign * usual:
                    off = sign * value >= sign * limit.metadata["off"]
                    label = limit.metadata["label"]
                    found.append(WeakerLimit(limit.name, label, value, usual, off))
        return found

    def check_releases(self, releases: int) -> PolicyDecision:
        """Check only the number of releases, before anything is drawn.

        Parameters
        ----------
        releases : int
            Number of graphs published from the same original, including the next release.

        Returns
        -------
        PolicyDecision
            Refused if the number exceeds the limit of the policy.
        """
        reasons = [x.reason for x in self._release_limits(releases) if not x.holds]
        return PolicyDecision([], reasons, self.weaker())

    def _class_limit(self, smallest: int) -> Limit:
        least = self.min_class_size
        return Limit.compare(
            figures.SMALLEST_CLASS,
            "smallest class",
            (smallest, least),
            f"A1: the smallest class has {smallest} people, the policy requires {least}",
        )

    def _cell_limits(self, found: CellDisclosure) -> list[Limit]:
        """Limit the edges in dense cells, by the model's probability and by the true density."""
        certainty = f"{100 * self.edge_probability:g} %"
        kinds = (
            (
                figures.PROBABLE_EDGES,
                "p",
                found.above_limit,
                "connect two classes whose members are connected with a probability of "
                f"{certainty} or more",
            ),
            (
                figures.DENSE_CELLS,
                "density",
                found.densities.above_limit,
                f"are in cells (pairs of classes) of which {certainty} of the pairs or more are "
                "connected in the original",
            ),
        )
        return [
            Limit.compare(
                figure,
                f"edges in cells with {name} ≥ {self.edge_probability:g}",
                (share, self.edge_share),
                f"A2: {100 * share:.3g} % of the original edges {where} "
                f"{_allowed(self.edge_share)}",
                certainty=certainty,
            )
            for figure, name, share, where in kinds
        ]

    def _known_degrees_limit(self, known: DegreeDisclosure) -> Limit:
        """Limit what is named because it is in the data; without a control, all that is named."""
        certainty = f"{100 * self.edge_probability:g} %"
        share, control = known.disclosed, known.control
        who = "somebody who knows everyone's block and exact number of neighbours"
        allowed = _allowed(self.known_degrees_share)
        if control is None:
            reason = (
                f"A2: {who} can name {100 * share:.3g} % of the original edges with {certainty} "
                f"certainty {allowed}"
            )
            which, note = "by somebody who knows all degrees", ""
        else:
            note = (
                f"all degrees known: {100 * known.named:.2g} % of the edges can be named, "
                f"and {100 * control.left_out:.2g} % of edges left out of the data"
            )
            reason = (
                f"A2: {who} names {100 * control.kept:.3g} % of the original edges with "
                f"{certainty} certainty, and {100 * control.left_out:.3g} % of edges that were "
                f"left out of the data; so up to {100 * share:.3g} % are named because they are "
                f"in the data {allowed}"
            )
            which = "because they are in the data, all degrees known"
        return Limit.compare(
            figures.NAMED_EDGES,
            f"edges named with {certainty} certainty, degrees known",
            (share, self.known_degrees_share),
            reason,
            note=note,
            which=which,
        )

    def _inferred_edges_limit(self, known: DegreeDisclosure) -> Limit:
        """Limit all that can be concluded from blocks and degrees, whatever the data contain."""
        certainty, share = f"{100 * self.edge_probability:g} %", known.named
        return Limit.compare(
            figures.ALL_NAMED_EDGES,
            ACKNOWLEDGED,
            (share, self.accepted_inference),
            "A2: somebody who knows everyone's block and exact number of neighbours concludes "
            f"{100 * share:.1f} % of all connections with {certainty} certainty; if you accept "
            f"that, set `accepted_inference={math.ceil(100 * share) / 100:g}` "
            f"{_allowed(self.accepted_inference)}",
            note="most of the edges named in all can be named also if they were left out of the "
            "data, because people of these blocks and degrees are connected that often"
            if share > 0
            else "",
        )

    def _utility_limit(self, utility: Utility) -> Limit:
        return Limit.compare(
            figures.KEPT_PROPERTIES,
            "properties preserved",
            (utility.kept_share, self.min_utility),
            f"usefulness: {100 * utility.kept_share:.0f} % of the properties are preserved, the "
            f"policy requires {100 * self.min_utility:g} %",
        )

    def _inference_limit(self, inference: float) -> Limit:
        return Limit.compare(
            figures.EDGE_INFERENCE,
            "edge inference",
            (inference, self.edge_inference),
            f"A3: the advantage in recognising edges that the model was fitted to is "
            f"{100 * inference:.3g} % {_allowed(self.edge_inference)}",
        )

    def _attack_limit(self, attack: AttackComparison) -> Limit:
        return self._people_limit(
            attack,
            attack.found,
            attack.result.name,
            f"the attack “{attack.label}” guesses {attack.found} "
            f"{'person' if attack.found == 1 else 'people'}",
            f": {attack.label}",
            "it",
        )

    def _full_knowledge_limit(self, attack: FullKnowledgeAttack) -> Limit:
        who = f"somebody who {attack.label}"
        does = f"{who} guesses {attack.correct} people"
        return self._people_limit(
            attack, attack.correct, attack.label, does, f" by {who}", "this attack"
        )

    def _people_limit(
        self,
        attack: AttackComparison | FullKnowledgeAttack,
        found: int,
        name: str,
        does: str,
        by: str,
        it: str,
    ) -> Limit:
        """Allow the hits of members who swap places, three standard deviations and the margin."""
        expected, deviation = attack.expected or 0.0, attack.deviation
        margin = self.attack_margin * attack.naive
        allowed = math.ceil(expected + LIKELY_DEVIATIONS * deviation + margin - 1e-9)
        return Limit.compare(
            figures.PEOPLE_FOUND,
            f"people found, {name}",
            (found, allowed),
            f"A4: {does} right; luck explains {expected:.1f} with a standard deviation of "
            f"{deviation:.1f}, and the policy allows {allowed} (in a copy with only the names "
            f"removed {it} identifies {attack.naive})",
            by=by,
        )

    def _sensitive_limits(self, found: SensitiveRisk) -> list[Limit]:
        name, least, distance = found.column, found.least_values, found.largest_distance
        return [
            Limit.compare(
                figures.SENSITIVE_VALUES,
                f"values of {name} in a class",
                (least, self.sensitive_values),
                f"a class has {least} different {'value' if least == 1 else 'values'} of the "
                f"sensitive column {name}, the policy requires {self.sensitive_values}",
                column=name,
            ),
            Limit.compare(
                figures.SENSITIVE_DISTANCE,
                f"distance of {name} in a class",
                (distance, self.sensitive_distance),
                f"the values of the sensitive column {name} in a class differ from those of "
                f"everybody by {100 * distance:.3g} % {_allowed(self.sensitive_distance)}",
                column=name,
            ),
        ]

    def _attribute_limit(self, found: AttributeInference) -> Limit:
        name = found.column
        shares = (found.right, found.control, found.majority, found.bound)
        right, control, majority, bound = (f"{100 * share:.3g} %" for share in shares)
        return Limit.compare(
            figures.ATTRIBUTE_INFERENCE,
            f"inference of {name}",
            (found.bound, self.attribute_inference),
            f"the class of a person tells the column {name} of {right} of the people, and of "
            f"{control} if they are left out of the data; so up to {bound} because they are in the "
            f"data {_allowed(self.attribute_inference)}",
            note=f"the class of a person tells the column {name} of {right} of the people; the "
            f"most frequent value would be right for {majority}, and {control} if they are left "
            "out of the data",
            column=name,
        )

    def _release_limits(self, releases: int) -> list[Limit]:
        """Return the limit of the number of releases, if there is one."""
        if not self.releases:
            return []
        number = Limit.compare(
            figures.RELEASES,
            "releases of this original",
            (releases, self.releases),
            f"this would be release number {releases} of this original, the policy allows "
            f"{self.releases}",
        )
        return [number]


def figures_without_limit(risk: Risk, decision: PolicyDecision) -> list[Limit]:
    """Return what reports show for information: A3 if it has no limit."""
    shown = []
    inference = risk.edge_inference
    limited = {limit.name for limit in decision.limits}
    if inference is not None and inference.risk is not None and "edge inference" not in limited:
        shown.append(
            Limit.compare(
                figures.EDGE_INFERENCE,
                "edge inference",
                (inference.risk, None),
                f"{100 * inference.main:.1f} % of the edges that the model was fitted to are "
                f"recognised, and {100 * inference.control:.1f} % of the edges that were held out",
            )
        )
    return shown


def _allowed(share: float) -> str:
    return f"(the policy allows {100 * share:.3g} %)"
