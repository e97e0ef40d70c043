"""The privacy policy: limits, read from TOML, and what of a release passes them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from coterie.anonymize.risk.intervals import most_by_chance
from coterie.base.errors import InputError


class Limit(NamedTuple):
    """One limit held against a figure."""

    name: str
    value: float
    limit: float
    holds: bool
    reason: str  # a sentence, for the person whose release is refused
    at_least: bool = False
    percent: bool = False


@dataclass(frozen=True)
class Policy:
    """Limits a release must keep. Every one can be set in a TOML file, in a table [limits].

    >>> Policy.from_text('[limits]\\nmin_class_size = 25').min_class_size
    25
    """

    min_class_size: int = 10  # A1: people in the smallest class
    edge_probability: float = 0.9  # A2: a cell that says this much of a pair …
    edge_share: float = 0.0  # … may hold this share of the original edges
    known_degrees_share: float = 0.02  # … and with exact degrees known as many can be named
    edge_inference: float = 1.0  # A3: what fitted edges may have over held-out ones; 1: shown only
    attack_margin: float = 0.01  # A4: people found beyond chance, of those in a naive copy
    releases: int = 0  # draws of one original in all; 0: not limited

    @classmethod
    def from_file(cls, path: str | Path) -> Policy:
        """Read FILE.toml; an unknown limit or a wrong kind of value is an error that names it."""
        return cls.from_text(Path(path).read_text(encoding="utf-8"), path)

    @classmethod
    def from_text(cls, text: str, path: str | Path | None = None) -> Policy:
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"this is no TOML: {error}", path=path) from error
        given = table.get("limits", {})
        known = {f.name: f.type for f in fields(cls)}
        strange = [f"[{key}]" for key in table if key != "limits"] + [
            key for key in (given if isinstance(given, dict) else ()) if key not in known
        ]
        if strange or not isinstance(given, dict):
            raise InputError(
                f"the policy does not know {', '.join(strange) or 'limits'}",
                path=path,
                remedy=f"give a table [limits] with some of {', '.join(known)}",
            )
        for name, value in given.items():
            whole = known[name] == "int"
            right = isinstance(value, int if whole else int | float)
            top = float("inf") if whole else 1.0
            if not right or isinstance(value, bool) or not 0 <= value <= top:
                wanted = "a whole number from 0" if whole else "a number from 0 to 1"
                raise InputError(f"{name} = {value!r} is not {wanted}", path=path)
        return cls(**given)

    def check(self, risk: dict[str, Any], releases: int) -> list[Limit]:
        """Every limit against its figure (`risk` as `risk.assess` gives it)."""
        smallest = risk["a1"]["smallest"]
        limits = [
            Limit(
                "smallest class",
                smallest,
                self.min_class_size,
                smallest >= self.min_class_size,
                f"A1: the smallest class has {smallest} people, the policy asks for "
                f"{self.min_class_size}",
                at_least=True,
            )
        ]
        share = risk["a2"]["above_limit"]
        limits.append(
            Limit(
                f"edges in cells with p ≥ {self.edge_probability:g}",
                share,
                self.edge_share,
                share <= self.edge_share,
                f"A2: {100 * share:.3g} % of the original edges lie in cells whose pairs are "
                f"joined with p >= {self.edge_probability:g} (at most "
                f"{100 * self.edge_share:.3g} % may)",
                percent=True,
            )
        )
        named = risk["a2"]["exact_degrees"]["named"]
        limits.append(
            Limit(
                f"edges named with {100 * self.edge_probability:g} % certainty, degrees known",
                named,
                self.known_degrees_share,
                named <= self.known_degrees_share,
                f"A2: somebody who knows everybody's block and exact number of neighbours names "
                f"{100 * named:.3g} % of the original edges and is right in "
                f"{100 * self.edge_probability:g} % of the cases (at most "
                f"{100 * self.known_degrees_share:.3g} % may be named so)",
                percent=True,
            )
        )
        inference = (risk.get("a3") or {}).get("risk")
        if inference is not None and self.edge_inference < 1:
            limits.append(
                Limit(
                    "edge inference",
                    inference,
                    self.edge_inference,
                    inference <= self.edge_inference,
                    f"A3: fitted edges are recognised {inference:.2f} better than held-out ones "
                    f"(at most {self.edge_inference:g})",
                )
            )
        limits += [self._attack_limit(attack) for attack in attack_rows(risk)]
        last = self.release_limit(releases)
        return limits if last is None else [*limits, last]

    def release_limit(self, releases: int) -> Limit | None:
        """The number of releases of one original against its limit; None where there is none."""
        if not self.releases:
            return None
        return Limit(
            "releases of this original",
            releases,
            self.releases,
            releases <= self.releases,
            f"this would be release number {releases} of this original (at most "
            f"{self.releases} may be made)",
        )

    def _attack_limit(self, attack: AttackRow) -> Limit:
        """Chance, the margin, and what luck adds to so small a number (99 %).

        Who claims everybody hits one in every class whatever the release holds: A1 grants that
        already, so bold attacks are held against `expected`, careful ones against degrees alone.
        """
        row = attack.figures
        fair = row["expected"] if attack.bold else row["chance"]
        allowed = most_by_chance(fair + self.attack_margin * attack.naive)
        return Limit(
            f"people found, {row['attack']}",
            row["correct"],
            allowed,
            row["correct"] <= allowed,
            f"A4: the attack “{row['attack']}” finds {row['correct']} people (chance "
            f"{fair:.1f}, at most {allowed} allowed, {attack.naive} in a naive copy)",
        )


class AttackRow(NamedTuple):
    """One attack that claims who is who: its figures, and what it finds in the controls."""

    figures: dict[str, Any]
    naive: int
    deleted_10: int
    bold: bool


def attack_rows(risk: dict[str, Any]) -> list[AttackRow]:
    """Every attack on what is published, careful and bold, beside its controls."""
    a4 = risk.get("a4")
    if not a4:
        return []
    naive, deleted = (a4["controls"][name] for name in ("naive", "deleted_10"))
    return [
        AttackRow(row, same["correct"], thinned["correct"], kind == "bold")
        for kind in ("seeded", "bold")
        for row, same, thinned in zip(a4[kind], naive[kind], deleted[kind], strict=True)
    ]
