"""The privacy policy: limits for the risk of a release, and the decision to publish it or not."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from coterie.anonymize.figures import Private
from coterie.anonymize.kinds.outcome import KindOutcome, NetworkAttack, SensitiveRisk
from coterie.anonymize.risk.assessment import AttackComparison, Risk
from coterie.anonymize.risk.disclosure import DegreeDisclosure
from coterie.anonymize.risk.intervals import highest_likely_count
from coterie.base.errors import InputError


@dataclass(frozen=True)
class Limit:
    """One figure of a release and the limit that the policy sets for it."""

    name: str  # as in the JSON output
    value: float
    limit: float
    holds: bool
    reason: str  # one sentence, for the owner of a refused release
    at_least: bool = False  # the value must not be below the limit; else not above
    percent: bool = False  # value and limit are shares
    label: str = ""  # for tables and reports
    note: str = ""  # further figures, for information


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
    attack_margin : float, default=0.01
        A4: people that an attack may identify in excess of luck, as a share of those it identifies
        in a copy with only the names removed.
    releases : int, default=0
        Maximum number of graphs published from one original; 0 sets no limit.
    sensitive_values : int, default=2
        Minimum number of different values of a sensitive column in every class (l-diversity).
    sensitive_distance : float, default=0.4
        Maximum distance between the values of a sensitive column in a class and in the whole
        network, from 0 to 1 (t-closeness).

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

    min_class_size: int = 10
    edge_probability: float = 0.9
    edge_share: float = 0.0
    known_degrees_share: float = 0.02
    edge_inference: float = 1.0
    attack_margin: float = 0.01
    releases: int = 0
    sensitive_values: int = 2
    sensitive_distance: float = 0.4

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

    def check(self, risk: Risk, releases: int, kind: KindOutcome | None = None) -> PolicyDecision:
        """Compare the risk of a release with every limit.

        Parameters
        ----------
        risk : Risk
            The risk of the release, as in ``Release.risk``.
        releases : int
            Number of graphs published from the same original, including this release.
        kind : KindOutcome, optional
            What was measured of attributes, directions and weights, as in ``Release.kind``.

        Returns
        -------
        PolicyDecision
            The limits and, if one of them is exceeded, the reasons to refuse the release.
        """
        limits = [
            self._class_limit(risk.class_size.smallest),
            self._edge_limit(risk.disclosed_edges.above_limit),
            self._density_limit(risk.disclosed_edges.densities.above_limit),
            self._known_degrees_limit(risk.disclosed_edges.known_degrees),
        ]
        inference = None if risk.edge_inference is None else risk.edge_inference.risk
        if inference is not None and self.edge_inference < 1:
            limits.append(self._inference_limit(inference))
        limits += [self._attack_limit(attack) for attack in risk.attacks.comparisons()]
        if kind is not None:
            for sensitive in kind.sensitive:
                limits += self._sensitive_limits(sensitive)
            limits += [self._network_attack_limit(attack) for attack in kind.attacks]
        last = self._release_limit(releases)
        if last is not None:
            limits.append(last)
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
        default = Policy()
        found = []
        for name, (label, no_limit) in _LIMITS.items():
            value, usual = getattr(self, name), getattr(default, name)
            less_is_weaker = name in ("min_class_size", "sensitive_values")
            off = value <= no_limit if less_is_weaker else value >= no_limit
            if value < usual if less_is_weaker else value > usual:
                found.append(WeakerLimit(name, label, value, usual, off))
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
        limit = self._release_limit(releases)
        reasons = [] if limit is None or limit.holds else [limit.reason]
        return PolicyDecision([], reasons, self.weaker())

    def _class_limit(self, smallest: int) -> Limit:
        return Limit(
            "smallest class",
            smallest,
            self.min_class_size,
            smallest >= self.min_class_size,
            f"A1: the smallest class has {smallest} people, the policy requires "
            f"{self.min_class_size}",
            at_least=True,
            label="people in the smallest class",
        )

    def _edge_limit(self, share: float) -> Limit:
        certainty = f"{100 * self.edge_probability:g} %"
        return Limit(
            f"edges in cells with p ≥ {self.edge_probability:g}",
            share,
            self.edge_share,
            share <= self.edge_share,
            f"A2: {100 * share:.3g} % of the original edges connect two classes whose members are "
            f"connected with a probability of {certainty} or more (the policy allows "
            f"{100 * self.edge_share:.3g} %)",
            percent=True,
            label=f"edges disclosed with a probability of {certainty} or more",
        )

    def _density_limit(self, share: float) -> Limit:
        certainty = f"{100 * self.edge_probability:g} %"
        return Limit(
            f"edges in cells with density ≥ {self.edge_probability:g}",
            share,
            self.edge_share,
            share <= self.edge_share,
            f"A2: {100 * share:.3g} % of the original edges are in cells (pairs of classes) of "
            f"which {certainty} of the pairs or more are connected in the original (the policy "
            f"allows {100 * self.edge_share:.3g} %)",
            percent=True,
            label=f"edges in cells of true density {certainty} or more",
        )

    def _known_degrees_limit(self, known: DegreeDisclosure) -> Limit:
        """Limit what is named because it is in the data; without a control, all that is named."""
        certainty = f"{100 * self.edge_probability:g} %"
        share, control = known.disclosed, known.control
        who = "somebody who knows everyone's block and exact number of neighbours"
        allowed = f"(the policy allows {100 * self.known_degrees_share:.3g} %)"
        if control is None:
            reason = (
                f"A2: {who} can name {100 * share:.3g} % of the original edges with {certainty} "
                f"certainty {allowed}"
            )
            label, note = "edges named by somebody who knows all degrees", ""
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
            label = "edges named because they are in the data, all degrees known"
        return Limit(
            f"edges named with {certainty} certainty, degrees known",
            share,
            self.known_degrees_share,
            share <= self.known_degrees_share,
            reason,
            percent=True,
            label=label,
            note=note,
        )

    def _inference_limit(self, inference: float) -> Limit:
        return Limit(
            "edge inference",
            inference,
            self.edge_inference,
            inference <= self.edge_inference,
            f"A3: the advantage in recognising edges that the model was fitted to is "
            f"{100 * inference:.3g} % (the policy allows {100 * self.edge_inference:.3g} %)",
            percent=True,
            label="edge inference",
        )

    def _attack_limit(self, attack: AttackComparison) -> Limit:
        """Allow as many hits as luck plus the margin gives in 99 of 100 releases."""
        result, expected = attack.result, attack.expected
        allowed = highest_likely_count(expected + self.attack_margin * attack.naive)
        return Limit(
            f"people found, {result.name}",
            result.correct,
            allowed,
            result.correct <= allowed,
            f"A4: the attack “{result.label}” guesses {result.correct} "
            f"{'person' if result.correct == 1 else 'people'} right; luck explains "
            f"{expected:.1f} and the policy allows {allowed} (in a copy with only the names "
            f"removed it identifies {attack.naive})",
            label=f"people guessed right: {result.label}",
        )

    def _sensitive_limits(self, found: SensitiveRisk) -> list[Limit]:
        name = found.column
        return [
            Limit(
                f"values of {name} in a class",
                found.least_values,
                self.sensitive_values,
                found.least_values >= self.sensitive_values,
                f"a class has {found.least_values} different "
                f"{'value' if found.least_values == 1 else 'values'} of the sensitive column "
                f"{name}, the policy requires {self.sensitive_values}",
                at_least=True,
                label=f"different values of {name} in every class",
            ),
            Limit(
                f"distance of {name} in a class",
                found.largest_distance,
                self.sensitive_distance,
                found.largest_distance <= self.sensitive_distance,
                f"the values of the sensitive column {name} in a class differ from those of "
                f"everybody by {100 * found.largest_distance:.3g} % (the policy allows "
                f"{100 * self.sensitive_distance:.3g} %)",
                percent=True,
                label=f"distance of the values of {name} in a class from everybody's",
            ),
        ]

    def _network_attack_limit(self, attack: NetworkAttack) -> Limit:
        allowed = highest_likely_count(attack.expected + self.attack_margin * attack.naive)
        return Limit(
            f"people found, {attack.label}",
            attack.correct,
            allowed,
            attack.correct <= allowed,
            f"A4: somebody who {attack.label} guesses {attack.correct} people right; luck explains "
            f"{attack.expected:.1f} and the policy allows {allowed} (in a copy with only the names "
            f"removed this attack identifies {attack.naive})",
            label=f"people guessed right by somebody who {attack.label}",
        )

    def _release_limit(self, releases: int) -> Limit | None:
        if not self.releases:
            return None
        return Limit(
            "releases of this original",
            releases,
            self.releases,
            releases <= self.releases,
            f"this would be release number {releases} of this original, the policy allows "
            f"{self.releases}",
            label="graphs published from this original",
        )


# The limits that can be weaker than the default: what they are called, and from which value on
# they can no longer be exceeded. The defaults of `edge_inference` and `releases` set no limit.
_LIMITS: dict[str, tuple[str, float]] = {
    "min_class_size": ("people in the smallest class", 1),
    "edge_probability": ("probability from which an edge counts as disclosed", float("inf")),
    "edge_share": ("share of the edges that may be disclosed by their cells", 1),
    "known_degrees_share": ("share of the edges that may be named if all degrees are known", 1),
    "attack_margin": ("people found beyond luck, as a share of those in an unprotected copy", 1),
    "sensitive_values": ("different values of sensitive columns in every class", 1),
    "sensitive_distance": ("distance of sensitive values in a class from everybody's", 1),
}
