"""The ledger: what was published from each dataset, release by release and sketch by sketch.

The owner names the dataset; the content of the input does not decide which ledger applies. There
is one file per dataset, in JSON Lines: one line when a run is opened, before anything random is
drawn, and one line when it ends. A run that never ended stays counted. Further lines set the
maximum of epsilon (`init`, `raise_cap`), and record what was spent elsewhere (`record`) and what a
repair found (`repair`). `ledger_store.py` has the files.

The folder is `ledger` in the private state folder ($COTERIE_STATE, else $XDG_STATE_HOME/coterie,
else ~/.local/state/coterie). Only the owner can read it, or a group that shares it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from coterie.anonymize.ledger_store import LedgerStore, Line, key_of
from coterie.base.errors import ImportantWarning, InputError, LedgerRefusal
from coterie.base.json_values import JsonObject, json_value
from coterie.base.version import __version__
from coterie.data import Graph

__all__ = [
    "Ledger",
    "LedgerEntry",
    "LedgerRefusal",
    "check_dataset_name",
    "dataset_name_of",
    "exact_text",
    "fingerprint_of",
    "state_folder",
]

Kind = Literal["release", "sketch", "record", "cap", "repair"]
Outcome = Literal["written", "failed", "refused"]
State = Literal["opened", "written", "failed", "refused"]

DEFAULT_CAP = Fraction(4)  # of a dataset for which nobody has set one

_RUNS = ("release", "sketch")  # the other kinds are notes: nothing is drawn
_NAME = re.compile(r"[\w][\w .,@+()-]{0,99}")


@dataclass(frozen=True)
class LedgerEntry:
    """One entry of a dataset: a release, a sketch, or a note about the budget.

    Attributes
    ----------
    dataset : str
        Name of the dataset.
    id : str
        Random 128 bits, in hexadecimal.
    kind : {"release", "sketch", "record", "cap", "repair"}
        What was to be published; "record": what was published elsewhere; "cap": a new maximum of
        the total epsilon; "repair": what a repair found.
    state : {"opened", "written", "failed", "refused"}
        "opened": the run did not end, or has not ended yet. "refused": the privacy policy refused
        the release and nothing was written. All but "refused" count.
    time : str
        When the run was opened (UTC).
    graphs : int
        Number of graphs of a release.
    epsilon : fractions.Fraction or None
        Privacy loss.
    cap : fractions.Fraction or None
        Maximum of the total epsilon when the run was opened.
    version : str
        Version of coterie.
    details : dict
        More about the run.
    """

    dataset: str
    id: str
    kind: Kind
    state: State
    time: str
    graphs: int = 0
    epsilon: Fraction | None = None
    cap: Fraction | None = None
    version: str = ""
    details: JsonObject = field(default_factory=dict)
    _input: tuple[str, str] | None = field(default=None, repr=False)  # salt and hash

    @property
    def counted(self) -> bool:
        """Whether the run uses up releases or epsilon."""
        return self.kind != "release" or self.state != "refused"


class Repair(NamedTuple):
    """What `Ledger.repair` found and did."""

    lines: int  # of the file, as it is now
    found: str  # what was wrong; empty if nothing was
    copy: Path | None  # the file as it was before


class Ledger:
    """What was published from each dataset.

    Parameters
    ----------
    folder : path-like, optional
        The private state folder. The default is $COTERIE_STATE, else $XDG_STATE_HOME/coterie,
        else ~/.local/state/coterie.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger(folder)
    ...     entry = ledger.begin("staff", kind="sketch", epsilon=Fraction("0.5"), details={})
    ...     ledger.finish(entry, "written")
    ...     ledger.spent("staff"), ledger.releases("staff")
    (Fraction(1, 2), 0)
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        state = Path(folder) if folder is not None else state_folder()
        self.folder = state / "ledger"
        self._store = LedgerStore(self.folder)
        self._counts_of_earlier_versions = state / "releases.json"

    # --- runs ------------------------------------------------------------------------------

    def begin(
        self,
        dataset: str,
        *,
        kind: Literal["release", "sketch"],
        epsilon: Fraction | None = None,
        cap: Fraction | None = None,
        max_releases: int = 0,
        details: JsonObject,
        graphs: int = 1,
        fingerprint: str | None = None,
        after_release: bool = False,
    ) -> LedgerEntry:
        """Record that a run starts. Call this before anything random is drawn.

        The entry is on the disk when this returns. It stays counted whatever happens afterwards.

        Parameters
        ----------
        dataset : str
            Name of the dataset. Upper and lower case are not distinguished.
        kind : {"release", "sketch"}
            What is to be published.
        epsilon : fractions.Fraction, optional
            Privacy loss of a sketch.
        cap : fractions.Fraction, optional
            Maximum of the total epsilon of the dataset, this run included. It may be lower than
            the dataset's own cap (`init`; 4 if there is none), not higher.
        max_releases : int, default=0
            Maximum number of graphs released from the dataset, this run included; 0 sets no limit.
        details : dict
            More about the run, as JSON.
        graphs : int, default=1
            Number of graphs of a release.
        fingerprint : str, optional
            Hash of the input. If the same input was published under another dataset name, this
            gives an `ImportantWarning`; it decides nothing. Only a salted hash of it is stored.
        after_release : bool, default=False
            Whether a sketch may follow a measured release, which has no epsilon.

        Returns
        -------
        LedgerEntry
            The entry, to be passed to `finish`.

        Raises
        ------
        LedgerRefusal
            If the cap or the maximum number of releases would be exceeded, if a sketch follows a
            measured release, or if the ledger is damaged, missing after it existed, or locked.
        InputError
            If the name is not possible, or the ledger cannot be written. Nothing is counted then.
        """
        name = check_dataset_name(dataset)
        if epsilon is not None and epsilon <= 0:
            raise InputError(f"epsilon={epsilon} is not positive")
        with self._store.locked():
            if fingerprint is not None and kind == "release":
                self._import_earlier_counts(name, fingerprint)
            entries = self._entries(name)
            if kind == "release":
                _refuse_above_releases(name, entries, graphs, max_releases)
            elif not after_release:
                _refuse_after_release(name, entries)
            if epsilon is not None:
                cap = _checked_cap(name, entries, cap)
                _refuse_above_cap(name, entries, epsilon, cap)
            if fingerprint is not None:
                self._warn_of_other_names(name, fingerprint)
            line = _new_line(name, kind, details)
            if kind == "release":
                line["graphs"] = graphs
            if epsilon is not None:
                spent = _spent(entries)
                line["epsilon"] = exact_text(epsilon)
                line["spent_before"] = exact_text(spent)
                line["spent_after"] = exact_text(spent + epsilon)
            if cap is not None:
                line["cap"] = exact_text(cap)
            if fingerprint is not None:
                line["input"] = _salted(fingerprint)
            self._store.append(name, line)
        return _opened(line)

    def finish(self, entry: LedgerEntry, outcome: Outcome) -> None:
        """Record how a run ended.

        Parameters
        ----------
        entry : LedgerEntry
            What `begin` returned.
        outcome : {"written", "failed", "refused"}
            "failed" stays counted. "refused" says that the privacy policy refused a release before
            anything was written; only this is not counted.

        Raises
        ------
        LedgerRefusal
            If the ledger is damaged, missing or locked. The run stays counted.
        """
        if outcome == "refused" and entry.kind == "sketch":
            raise ValueError("a sketch that was begun stays counted")
        with self._store.locked():
            known = {one.id: one for one in self._entries(entry.dataset)}
            if entry.id not in known:
                raise self._store.damaged(entry.dataset, "the entry of this run is missing")
            if known[entry.id].state == outcome:
                return
            line = {"event": outcome, "dataset": entry.dataset, "id": entry.id, "time": _now()}
            self._store.append(entry.dataset, line)

    # --- the budget ------------------------------------------------------------------------

    def init(
        self, dataset: str, *, cap: Fraction, owner: str, continues: str | None = None
    ) -> LedgerEntry:
        """Store the maximum of the total epsilon of a dataset, and who answers for it.

        Parameters
        ----------
        dataset : str
            Name of the dataset.
        cap : fractions.Fraction
            Maximum of the total epsilon.
        owner : str
            Who decides about the dataset.
        continues : str, optional
            Name under which the dataset was published before. What it spent and released is
            recorded under the new name.

        Returns
        -------
        LedgerEntry
            The entry.

        Raises
        ------
        InputError
            If a cap is stored already, or lies below what was spent.
        """
        name = check_dataset_name(dataset)
        with self._store.locked():
            entries = self._entries(name)
            if _stored_cap(entries) is not None:
                raise InputError(
                    f"dataset {name!r} has a cap already",
                    remedy="use `coterie ledger raise` to raise it",
                )
            before: list[LedgerEntry] = []
            if continues is not None:
                before = self._entries(check_dataset_name(continues))
                if not before or key_of(continues) == key_of(name):
                    raise InputError(
                        f"there is no other dataset {continues!r} to continue",
                        remedy="see `coterie ledger show`",
                    )
            _require_cap_above(name, _spent(entries) + _spent(before), cap)
            if before:
                details = {"continues": continues, "reason": "published under another name"}
                line = _new_line(name, "record", details)
                line |= {"epsilon": exact_text(_spent(before)), "graphs": _released(before)}
                self._store.append(name, line)
            line = _new_line(name, "cap", {"owner": _required(owner, "owner")})
            line["cap"] = exact_text(cap)
            self._store.append(name, line)
        return _opened(line)

    def raise_cap(self, dataset: str, *, cap: Fraction, reason: str) -> LedgerEntry:
        """Raise the stored cap of a dataset; the entry says why.

        Parameters
        ----------
        dataset : str
            Name of the dataset.
        cap : fractions.Fraction
            The new maximum of the total epsilon.
        reason : str
            Why it is raised.

        Returns
        -------
        LedgerEntry
            The entry.

        Raises
        ------
        InputError
            If no cap is stored, or the new one is not above it.
        """
        name = check_dataset_name(dataset)
        with self._store.locked():
            stored = _stored_cap(self._entries(name))
            if stored is None:
                remedy = "store one with `coterie ledger init`"
                raise InputError(f"dataset {name!r} has no stored cap", remedy=remedy)
            if cap <= stored:
                raise InputError(
                    f"the cap of dataset {name!r} is {exact_text(stored)}, {exact_text(cap)} is "
                    "not above it",
                    remedy="give a larger cap; a single sketch may have a lower one (`cap`)",
                )
            line = _new_line(name, "cap", {"reason": _required(reason, "reason")})
            line["cap"] = exact_text(cap)
            self._store.append(name, line)
        return _opened(line)

    def record(
        self, dataset: str, *, epsilon: Fraction | None, reason: str, graphs: int = 0
    ) -> LedgerEntry:
        """Record what was spent or released elsewhere: it counts as if it had been done here.

        Parameters
        ----------
        dataset : str
            Name of the dataset.
        epsilon : fractions.Fraction or None
            Privacy loss. It is recorded even if it exceeds the cap, as it is a fact.
        reason : str
            What was published, where and when.
        graphs : int, default=0
            Number of graphs of measured releases.

        Returns
        -------
        LedgerEntry
            The entry.
        """
        name = check_dataset_name(dataset)
        if (epsilon is None or epsilon <= 0) and graphs <= 0:
            raise InputError("nothing to record", remedy="give a positive `epsilon`, or `graphs`")
        line = _new_line(name, "record", {"reason": _required(reason, "reason")})
        line |= {"graphs": graphs}
        if epsilon is not None:
            line["epsilon"] = exact_text(epsilon)
        with self._store.locked():
            self._entries(name)
            self._store.append(name, line)
        return _opened(line)

    def repair(
        self, dataset: str, *, reason: str, epsilon: Fraction | None = None, graphs: int = 0
    ) -> Repair:
        """Keep what is left of a damaged ledger, and record what was lost.

        A missing or damaged index is made again from the files. Of a damaged file, the lines before
        the damage are kept, and the whole file is kept next to it under another name.

        Parameters
        ----------
        dataset : str
            Name of the dataset.
        reason : str
            What happened.
        epsilon : fractions.Fraction, optional
            What the lost lines have spent, at most; required if lines were lost, and not less than
            what the damaged lines still say.
        graphs : int, default=0
            Number of graphs of measured releases in the lost lines.

        Returns
        -------
        Repair
            What was found and done.

        Raises
        ------
        InputError
            If lines were lost and `epsilon` is missing or too small; nothing is changed then.
        """
        name = check_dataset_name(dataset)
        _required(reason, "reason")
        if not self.folder.is_dir():
            raise InputError(f"there is no ledger in {self.folder}", remedy="check COTERIE_STATE")
        with self._store.locked():
            made = self._store.repair_index()
            problem = self._store.problem_of(name)
            chain = self._store.chain(name)
            index = self._store.index().get(key_of(name))
            if index is None and not chain.lines and not chain.problem:
                raise InputError(
                    f"there is no dataset {name!r}", remedy="see `coterie ledger show`"
                )
            if not problem and not made:
                return Repair(len(chain.lines), "", None)
            known = _entries(chain.lines)
            least = _readable_loss(chain.behind, {one.id for one in known})
            if problem and (epsilon is None or epsilon < least):
                raise InputError(
                    f"{self.file(name).name}: {problem}; what the lost lines have spent must be "
                    f"recorded, and the damaged lines name epsilon {exact_text(least)}",
                    remedy="give at least this `epsilon`, from your own records",
                )
            found = problem or "the index was missing or damaged; lines at the end may be lost"
            line = _new_line(name, "repair", {"found": found, "reason": reason})
            line |= {"graphs": graphs}
            if epsilon:
                line["epsilon"] = exact_text(epsilon)
            copy = self._store.replace_damaged(name, line)
        return Repair(len(chain.lines) + 1, found, copy)

    # --- reading ---------------------------------------------------------------------------

    def datasets(self) -> list[str]:
        """Return the names of all datasets that have a ledger.

        Returns
        -------
        list of str
            The names, in alphabetical order.
        """
        if not self.folder.is_dir():
            return []
        with self._store.locked():
            return sorted(head.name for head in self._store.index().values())

    def entries(self, dataset: str) -> list[LedgerEntry]:
        """Return all entries of a dataset, the oldest first; none for an unknown dataset.

        Parameters
        ----------
        dataset : str
            Name of the dataset.

        Returns
        -------
        list of LedgerEntry
            The runs that were opened, with how they ended, and the notes between them.
        """
        name = check_dataset_name(dataset)
        if not self.folder.is_dir():
            return []
        with self._store.locked():
            return self._entries(name)

    def spent(self, dataset: str) -> Fraction:
        """Return the total epsilon of a dataset, failed runs included.

        Parameters
        ----------
        dataset : str
            Name of the dataset.

        Returns
        -------
        fractions.Fraction
            The exact sum.
        """
        return _spent(self.entries(dataset))

    def cap(self, dataset: str) -> Fraction:
        """Return the maximum of the total epsilon of a dataset: the stored one, or 4.

        Parameters
        ----------
        dataset : str
            Name of the dataset.

        Returns
        -------
        fractions.Fraction
            The cap.
        """
        stored = _stored_cap(self.entries(dataset))
        return DEFAULT_CAP if stored is None else stored

    def releases(self, dataset: str) -> int:
        """Return the number of graphs released from a dataset, failed runs included.

        Parameters
        ----------
        dataset : str
            Name of the dataset.

        Returns
        -------
        int
            The number of graphs.
        """
        return _released(self.entries(dataset))

    def verify(self, dataset: str) -> int:
        """Check every line of a dataset's file.

        Parameters
        ----------
        dataset : str
            Name of the dataset.

        Returns
        -------
        int
            The number of lines.

        Raises
        ------
        LedgerRefusal
            If a line was edited, moved or removed, or the file is missing after it existed.
        """
        name = check_dataset_name(dataset)
        if not self.folder.is_dir():
            return 0
        with self._store.locked():
            self._entries(name)
            return len(self._store.lines(name))

    def file(self, dataset: str) -> Path:
        """Return the file of a dataset.

        Parameters
        ----------
        dataset : str
            Name of the dataset.

        Returns
        -------
        pathlib.Path
            A text file with one JSON object per line.
        """
        return self._store.file(dataset)

    def check_releases(self, dataset: str, graphs: int, max_releases: int) -> None:
        """Raise LedgerRefusal if `begin` would refuse that many more graphs; record nothing.

        Parameters
        ----------
        dataset : str
            Name of the dataset.
        graphs : int
            Number of graphs to be released.
        max_releases : int
            Maximum number of graphs released from the dataset; 0 sets no limit.
        """
        _refuse_above_releases(dataset, self.entries(dataset), graphs, max_releases)

    def _entries(self, name: str) -> list[LedgerEntry]:
        try:
            return _entries(self._store.lines(name))
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise self._store.damaged(name, f"a line has no meaning ({error})") from error

    def _warn_of_other_names(self, dataset: str, print_: str) -> None:
        """Warn if the same input was published under another dataset name."""
        others = []
        for key, head in self._store.index().items():
            if key == key_of(dataset):
                continue
            try:
                entries = self._entries(head.name)
            except LedgerRefusal as problem:
                warnings.warn(str(problem), ImportantWarning, stacklevel=4)
                continue
            if any(e.counted and e._input and _matches(e._input, print_) for e in entries):
                others.append(repr(head.name))
        if others:
            warnings.warn(
                f"the same edges were published before under the dataset name "
                f"{', '.join(sorted(others))}: those releases are not counted for {dataset!r}",
                ImportantWarning,
                stacklevel=4,
            )

    def _import_earlier_counts(self, name: str, fingerprint: str) -> None:
        """Count what versions before the ledger recorded of this input in releases.json, once."""
        old = self._counts_of_earlier_versions
        if not old.exists():
            return
        try:
            counts = json.loads(old.read_text(encoding="utf-8"))
            if any(type(count) is not int for count in counts.values()):
                raise ValueError("a count is not a number")
            number = counts.get(fingerprint, 0)
        except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
            raise LedgerRefusal(
                f"{old} is damaged: it has the releases that earlier versions of coterie counted",
                remedy="restore it from a backup, or move it away if its counts are not needed",
            ) from error
        taken = any(
            entry._input and _matches(entry._input, fingerprint)
            for entry in self._entries(name)
            if entry.details.get("imported")
        )
        if number <= 0 or taken:
            return
        line = _new_line(name, "release", {"imported": old.name})
        line |= {"graphs": number, "input": _salted(fingerprint)}
        self._store.append(name, line)
        end = {"event": "written", "dataset": name, "id": line["id"], "time": _now()}
        self._store.append(name, end)


def _refuse_above_releases(
    dataset: str, entries: Sequence[LedgerEntry], graphs: int, max_releases: int
) -> None:
    before = _released(entries)
    if max_releases and before + graphs > max_releases:
        raise LedgerRefusal(
            f"this would be release number {before + graphs} of dataset {dataset!r}, the "
            f"policy allows {max_releases}",
            remedy="publish a release that exists, or raise the limit on releases in the policy",
        )


def _refuse_after_release(dataset: str, entries: Sequence[LedgerEntry]) -> None:
    if before := _released(entries):
        graphs = "1 graph was" if before == 1 else f"{before} graphs were"
        raise LedgerRefusal(
            f"{graphs} published from dataset {dataset!r} in measured releases, which have no "
            "epsilon: a sketch and they together have none either",
            remedy="publish one of the two; if the recipients of the sketch do not get the "
            "releases, or you accept that no bound holds for both together, set `after_release`",
        )


def _checked_cap(dataset: str, entries: Sequence[LedgerEntry], cap: Fraction | None) -> Fraction:
    """Return the cap of a run, which may be lower than that of the dataset."""
    stored = _stored_cap(entries)
    limit = DEFAULT_CAP if stored is None else stored
    if cap is not None and cap > limit:
        raise LedgerRefusal(
            f"the cap of dataset {dataset!r} is {exact_text(limit)}; a run can only lower it, not "
            f"raise it to {exact_text(cap)}",
            remedy="its owner raises it: `coterie ledger "
            + ("init" if stored is None else "raise")
            + f" {dataset} --cap {exact_text(cap)} …`",
        )
    return limit if cap is None else cap


def _refuse_above_cap(
    dataset: str, entries: Sequence[LedgerEntry], epsilon: Fraction, cap: Fraction
) -> None:
    spent = _spent(entries)
    if spent + epsilon > cap:
        raise LedgerRefusal(
            f"dataset {dataset!r} has spent epsilon {exact_text(spent)}; "
            f"{exact_text(epsilon)} more would exceed the cap of {exact_text(cap)}",
            remedy="use a smaller `epsilon`, or draw further graphs from a sketch that "
            "exists, which costs nothing",
        )


def _require_cap_above(dataset: str, spent: Fraction, cap: Fraction) -> None:
    if cap < spent or cap <= 0:
        raise InputError(
            f"dataset {dataset!r} has spent epsilon {exact_text(spent)}, more than the cap of "
            f"{exact_text(cap)}",
            remedy="give a cap that is not below what was spent",
        )


def _required(text: str, name: str) -> str:
    if not text.strip():
        raise InputError(f"the {name} is empty", remedy=f"give the `{name}` in a few words")
    return text.strip()


def state_folder() -> Path:
    """Return the private state folder of the user."""
    if own := os.environ.get("COTERIE_STATE"):
        return Path(own)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "coterie"


def check_dataset_name(name: str) -> str:
    """Return the name of a dataset without surrounding spaces; raise InputError if impossible.

    >>> check_dataset_name(" staff 2026 ")
    'staff 2026'
    """
    name = unicodedata.normalize("NFC", name).strip()
    if not _NAME.fullmatch(name):
        raise InputError(
            f"dataset={name!r} is not a possible name",
            remedy="use up to 100 letters, digits, spaces and .,_@+()-, beginning with a letter "
            "or a digit",
        )
    return name


def dataset_name_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a dataset for a file whose owner gave none: its name without suffixes.

    >>> dataset_name_of("data/friends.txt.gz"), dataset_name_of("-")
    ('friends', 'stdin')
    """
    if str(path) == "-":
        return "stdin"
    name = re.sub(r"[^\w .,@+()-]", "-", Path(path).name.split(".")[0])[:100]
    return name if _NAME.fullmatch(name) else "unnamed"


def fingerprint_of(graph: Graph) -> str:
    """Return a hash of the graph and its ids, which does not depend on the file format."""
    digest = hashlib.sha256()
    for array in (graph.indptr, graph.indices):
        digest.update(np.ascontiguousarray(array, np.int64).tobytes())
    digest.update("\n".join(map(str, graph.ids)).encode())
    return digest.hexdigest()


def exact_text(value: Fraction) -> str:
    """Write a fraction as a decimal number if that is exact, else as p/q.

    >>> exact_text(Fraction("0.125")), exact_text(Fraction(4)), exact_text(Fraction(1, 3))
    ('0.125', '4', '1/3')
    """
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
    sign = "-" if value < 0 else ""
    whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
    return sign + whole + ("." + decimals if places else "")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _salted(fingerprint: str) -> JsonObject:
    salt = secrets.token_hex(16)
    return {"salt": salt, "hash": _keyed(salt, fingerprint)}


def _keyed(salt: str, fingerprint: str) -> str:
    return hmac.new(bytes.fromhex(salt), fingerprint.encode(), hashlib.sha256).hexdigest()


def _matches(stored: tuple[str, str], fingerprint: str) -> bool:
    return hmac.compare_digest(stored[1], _keyed(stored[0], fingerprint))


def _new_line(dataset: str, kind: Kind, details: JsonObject) -> JsonObject:
    return {
        "event": "opened",
        "dataset": dataset,
        "id": secrets.token_hex(16),
        "kind": kind,
        "time": _now(),
        "version": __version__,
        "details": json_value(details),
    }


def _entries(lines: Sequence[Line]) -> list[LedgerEntry]:
    """Return the entries that the lines describe."""
    entries: list[LedgerEntry] = []
    place: dict[str, int] = {}
    for line in lines:
        content = line.content
        event, run = content["event"], content["id"]
        if event == "opened":  # an id that occurs twice counts twice
            place[run] = len(entries)
            entries.append(_opened(content))
        elif event in ("written", "failed", "refused"):
            entries[place[run]] = replace(entries[place[run]], state=event)
        else:
            raise ValueError(f"unknown event {event!r}")
    return entries


def _opened(line: JsonObject) -> LedgerEntry:
    stored = line.get("input")
    return LedgerEntry(
        dataset=line["dataset"],
        id=line["id"],
        kind=line["kind"],
        state="opened" if line["kind"] in _RUNS else "written",
        time=line["time"],
        graphs=line.get("graphs", 0),
        epsilon=_fraction(line.get("epsilon")),
        cap=_fraction(line.get("cap")),
        version=line["version"],
        details=line["details"],
        _input=None if stored is None else (stored["salt"], stored["hash"]),
    )


def _readable_loss(rows: Sequence[bytes], known: set[str]) -> Fraction:
    """Return the epsilon that damaged lines still name, without runs that are known."""
    found: dict[str, Fraction] = {}
    for row in rows:
        try:
            line = json.loads(row)
            if line["event"] == "opened" and line["id"] not in known:
                found[line["id"]] = Fraction(line.get("epsilon", 0))
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            continue
    return sum(found.values(), Fraction(0))


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _spent(entries: Sequence[LedgerEntry]) -> Fraction:
    return sum((entry.epsilon for entry in entries if entry.epsilon is not None), Fraction(0))


def _stored_cap(entries: Sequence[LedgerEntry]) -> Fraction | None:
    caps = [entry.cap for entry in entries if entry.kind == "cap"]
    return caps[-1] if caps else None


def _released(entries: Sequence[LedgerEntry]) -> int:
    """Return the number of graphs, also of releases that were recorded later."""
    return sum(entry.graphs for entry in entries if entry.counted)
