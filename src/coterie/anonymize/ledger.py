"""The ledger: what was published from each dataset, release by release and sketch by sketch.

The owner names the dataset; the content of the input does not decide which ledger applies. There
is one file per dataset, in JSON Lines: one line when a run is opened, before anything random is
drawn, and one line when it ends. A run that never ended stays counted.

Every line contains a hash of the line before it, and the index contains the number of lines and
the last hash of every dataset. Lines that were edited, moved or removed are therefore noticed, and
so is a file that disappeared. Whoever may write to the folder can still forge all of it: the ledger
protects an owner from mistakes and from accidents, not from himself.

The folder is `ledger` in the private state folder ($COTERIE_STATE, else $XDG_STATE_HOME/coterie,
else ~/.local/state/coterie). Only the owner can read it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import time
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np

from coterie.base.errors import ImportantWarning, InputError, LedgerRefusal
from coterie.base.json_values import JsonObject, json_value
from coterie.base.version import __version__
from coterie.data import Graph
from coterie.data.atomic_files import atomic_write

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

Kind = Literal["release", "sketch"]
Outcome = Literal["written", "failed", "refused"]
State = Literal["opened", "written", "failed", "refused"]

_FORMAT = 1
_OWNER_ONLY = 0o600
_LOCK_SECONDS = 60.0
_NAME = re.compile(r"[\w][\w .,@+()-]{0,99}")
_BACKUP = (
    "restore the folder from a backup; without one, find out what was published before, and "
    "continue under a new dataset name"
)


@dataclass(frozen=True)
class LedgerEntry:
    """One run that was opened: a release or a sketch of a dataset.

    Attributes
    ----------
    dataset : str
        Name of the dataset.
    id : str
        Random 128 bits, in hexadecimal.
    kind : {"release", "sketch"}
        What was to be published.
    state : {"opened", "written", "failed", "refused"}
        "opened": the run did not end, or has not ended yet. "refused": the privacy policy refused
        the release and nothing was written. All but "refused" count.
    time : str
        When the run was opened (UTC).
    graphs : int
        Number of graphs of a release.
    epsilon : fractions.Fraction or None
        Privacy loss of a sketch.
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
        return self.kind == "sketch" or self.state != "refused"


class _Head(NamedTuple):
    """What the index knows of a dataset's file."""

    name: str
    lines: int
    hash: str


class _Line(NamedTuple):
    """One line of a dataset's file that was checked."""

    content: JsonObject
    hash: str


class _Content(NamedTuple):
    """A dataset's file that was checked."""

    lines: list[_Line]
    size: int  # bytes of the complete lines


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
        self._counts_of_earlier_versions = state / "releases.json"

    # --- writing ---------------------------------------------------------------------------

    def begin(
        self,
        dataset: str,
        *,
        kind: Kind,
        epsilon: Fraction | None = None,
        cap: Fraction | None = None,
        max_releases: int = 0,
        details: JsonObject,
        graphs: int = 1,
        fingerprint: str | None = None,
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
            Maximum of the total epsilon of the dataset, this run included.
        max_releases : int, default=0
            Maximum number of graphs released from the dataset, this run included; 0 sets no limit.
        details : dict
            More about the run, as JSON.
        graphs : int, default=1
            Number of graphs of a release.
        fingerprint : str, optional
            Hash of the input. If the same input was published under another dataset name, this
            gives an `ImportantWarning`; it decides nothing. Only a salted hash of it is stored.

        Returns
        -------
        LedgerEntry
            The entry, to be passed to `finish`.

        Raises
        ------
        LedgerRefusal
            If the cap or the maximum number of releases would be exceeded, or if the ledger is
            damaged, missing after it existed, or locked.
        InputError
            If the name is not possible, or the ledger cannot be written. Nothing is counted then.
        """
        name = check_dataset_name(dataset)
        if epsilon is not None and epsilon <= 0:
            raise InputError(f"epsilon={epsilon} is not positive")
        with self._locked():
            index = self._read_index()
            content = self._read(name, index)
            if fingerprint is not None and kind == "release":
                content = self._import_earlier_counts(name, index, content, fingerprint)
                index = self._read_index()
            entries = _entries(content.lines)
            self._refuse_above_limits(name, entries, epsilon, cap, graphs, max_releases, kind)
            if fingerprint is not None:
                self._warn_of_other_names(name, index, fingerprint)
            spent = _spent(entries)
            line: JsonObject = {
                "event": "opened",
                "dataset": name,
                "id": secrets.token_hex(16),
                "kind": kind,
                "time": _now(),
                "version": __version__,
                "details": json_value(details),
            }
            if kind == "release":
                line["graphs"] = graphs
            if epsilon is not None:
                line["epsilon"] = exact_text(epsilon)
                line["spent_before"] = exact_text(spent)
                line["spent_after"] = exact_text(spent + epsilon)
            if cap is not None:
                line["cap"] = exact_text(cap)
            if fingerprint is not None:
                line["input"] = _salted(fingerprint)
            self._append(name, index, content, line)
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
        with self._locked():
            index = self._read_index()
            content = self._read(entry.dataset, index)
            known = {one.id: one for one in _entries(content.lines)}
            if entry.id not in known:
                raise self._damaged(entry.dataset, "the entry of this run is missing")
            if known[entry.id].state == outcome:
                return
            line = {"event": outcome, "dataset": entry.dataset, "id": entry.id, "time": _now()}
            self._append(entry.dataset, index, content, line)

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
        with self._locked():
            return sorted(head.name for head in self._read_index().values())

    def entries(self, dataset: str) -> list[LedgerEntry]:
        """Return all runs of a dataset, the oldest first; none for an unknown dataset.

        Parameters
        ----------
        dataset : str
            Name of the dataset.

        Returns
        -------
        list of LedgerEntry
            The runs that were opened, with how they ended.
        """
        name = check_dataset_name(dataset)
        if not self.folder.is_dir():
            return []
        with self._locked():
            return _entries(self._read(name, self._read_index()).lines)

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
        with self._locked():
            return len(self._read(name, self._read_index()).lines)

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
        name = quote(_key(dataset), safe="")
        if len(name) > 150:  # file systems limit the length of names
            name = f"{name[:120]}-{hashlib.sha256(name.encode()).hexdigest()[:24]}"
        return self.folder / f"{name}.jsonl"

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
        self._refuse_above_limits(
            dataset, self.entries(dataset), None, None, graphs, max_releases, "release"
        )

    # --- limits ----------------------------------------------------------------------------

    def _refuse_above_limits(
        self,
        dataset: str,
        entries: Sequence[LedgerEntry],
        epsilon: Fraction | None,
        cap: Fraction | None,
        graphs: int,
        max_releases: int,
        kind: Kind,
    ) -> None:
        if epsilon is not None and cap is not None:
            spent = _spent(entries)
            if spent + epsilon > cap:
                raise LedgerRefusal(
                    f"dataset {dataset!r} has spent epsilon {exact_text(spent)}; "
                    f"{exact_text(epsilon)} more would exceed the cap of {exact_text(cap)}",
                    remedy="use a smaller `epsilon`, or draw further graphs from a sketch that "
                    "exists, which costs nothing",
                )
        if kind == "release" and max_releases:
            before = _released(entries)
            if before + graphs > max_releases:
                raise LedgerRefusal(
                    f"this would be release number {before + graphs} of dataset {dataset!r}, the "
                    f"policy allows {max_releases}",
                    remedy="publish a release that exists, or raise the limit on releases in the "
                    "policy",
                )

    def _warn_of_other_names(self, dataset: str, index: dict[str, _Head], print_: str) -> None:
        """Warn if the same input was published under another dataset name."""
        others = []
        for head in index.values():
            if _key(head.name) == _key(dataset):
                continue
            try:
                entries = _entries(self._read(head.name, index).lines)
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

    def _import_earlier_counts(
        self, name: str, index: dict[str, _Head], content: _Content, fingerprint: str
    ) -> _Content:
        """Count what versions before the ledger recorded of this input in releases.json, once."""
        old = self._counts_of_earlier_versions
        if not old.exists():
            return content
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
            for entry in _entries(content.lines)
            if entry.details.get("imported")
        )
        if number <= 0 or taken:
            return content
        run = secrets.token_hex(16)
        for event in ("opened", "written"):
            line: JsonObject = {"event": event, "dataset": name, "id": run, "time": _now()}
            if event == "opened":
                line |= {
                    "kind": "release",
                    "graphs": number,
                    "version": __version__,
                    "details": {"imported": old.name},
                    "input": _salted(fingerprint),
                }
            self._append(name, index, content, line)
            index = self._read_index()
            content = self._read(name, index)
        return content

    # --- files -----------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the folder, which is created if necessary."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.chmod(self.folder, 0o700)
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
        except OSError as error:
            raise LedgerRefusal(
                f"{self.folder} cannot be used: {error.strerror or error}",
                remedy="make it writable, or set COTERIE_STATE to the folder of your ledgers",
            ) from error
        try:
            deadline = time.monotonic() + _LOCK_SECONDS
            while not _try_lock(handle):
                if time.monotonic() > deadline:
                    raise LedgerRefusal(
                        f"{self.folder} is locked by another process",
                        remedy="wait until it ends, and run the command again",
                    )
                time.sleep(0.02)
            yield
        finally:
            os.close(handle)  # this also releases the lock

    def _read_index(self) -> dict[str, _Head]:
        """Return the index, by key of the dataset."""
        path = self.folder / "index.json"
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            files = sorted(self.folder.glob("*.jsonl"))
            if files:
                raise LedgerRefusal(
                    f"{path} is missing, although {files[0].name} exists", remedy=_BACKUP
                ) from None
            return {}
        except OSError as error:
            raise LedgerRefusal(f"{path} cannot be read: {error.strerror}") from error
        try:
            table = json.loads(text)
            datasets = table["datasets"]
            index = {
                str(key): _Head(str(head["name"]), int(head["lines"]), str(head["hash"]))
                for key, head in datasets.items()
            }
            right = table["hash"] == _hash(datasets) and table["format"] == _FORMAT
        except (ValueError, KeyError, TypeError, AttributeError):
            right = False
        if not right:
            raise LedgerRefusal(
                f"{path} is damaged; it was left as it is", remedy=_BACKUP
            ) from None
        return index

    def _read(self, dataset: str, index: dict[str, _Head]) -> _Content:
        """Read and check the file of a dataset."""
        head = index.get(_key(dataset))
        path = self.file(dataset)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            if head is None or head.lines == 0:
                return _Content([], 0)
            raise LedgerRefusal(
                f"{path} is missing: dataset {head.name!r} had a ledger of {head.lines} lines",
                remedy=_BACKUP,
            ) from None
        except OSError as error:
            raise LedgerRefusal(f"{path} cannot be read: {error.strerror}") from error
        if head is None:
            raise self._damaged(dataset, "the index does not contain this dataset")
        complete, _, torn = text.rpartition(b"\n")
        rows = complete.split(b"\n") if complete else []
        if torn and len(rows) < head.lines:
            raise self._damaged(dataset, "the last line is incomplete")
        # An incomplete line behind the last line that the index knows was never on the disk when
        # `begin` returned, so nothing was drawn for it. The next entry replaces it.
        lines = self._check_lines(dataset, rows)
        if len(lines) < head.lines:
            raise self._damaged(dataset, f"{head.lines - len(lines)} lines are missing at the end")
        # One more line than the index knows: the process ended between the two writes.
        known = lines[head.lines - 1].hash if head.lines else _first(dataset)
        if len(lines) > head.lines + 1 or known != head.hash:
            raise self._damaged(dataset, "its lines are not those that the index knows")
        return _Content(lines, len(complete) + 1 if rows else 0)

    def _check_lines(self, dataset: str, rows: list[bytes]) -> list[_Line]:
        lines: list[_Line] = []
        before = _first(dataset)
        for number, row in enumerate(rows, 1):
            try:
                content = json.loads(row)
                stated = content.pop("hash")
                right = (
                    content["previous"] == before
                    and content["number"] == number
                    and _key(content["dataset"]) == _key(dataset)
                    and hmac.compare_digest(stated, _hash(content))
                )
            except (ValueError, KeyError, TypeError, AttributeError):
                right = False
            if not right:
                raise self._damaged(dataset, f"line {number} was edited, moved or removed")
            lines.append(_Line(content, stated))
            before = stated
        try:
            _entries(lines)
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise self._damaged(dataset, f"a line has no meaning ({error})") from error
        return lines

    def _damaged(self, dataset: str, what: str) -> LedgerRefusal:
        return LedgerRefusal(
            f"{self.file(dataset)} is damaged: {what}; it was left as it is", remedy=_BACKUP
        )

    def _append(
        self, dataset: str, index: dict[str, _Head], content: _Content, line: JsonObject
    ) -> None:
        """Add a line to the file and to the index; change nothing if the disk is full."""
        key = _key(dataset)
        before = content.lines[-1].hash if content.lines else _first(dataset)
        number = len(content.lines) + 1
        line = {**line, "previous": before, "number": number}
        line["hash"] = digest = _hash(line)
        path = self.file(dataset)
        try:
            if key not in index:
                index = {**index, key: _Head(dataset, 0, _first(dataset))}
                self._write_index(index)
            name = index[key].name
            handle = os.open(path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
            try:
                os.ftruncate(handle, content.size)
                os.lseek(handle, 0, os.SEEK_END)
                _write_all(handle, json.dumps(line).encode() + b"\n")
                os.fsync(handle)
                _sync_folder(self.folder)
                self._write_index({**index, key: _Head(name, number, digest)})
            except BaseException:
                # This run does not start, so it is not counted, unless the index has it already.
                if self._read_index()[key].lines < number:
                    os.ftruncate(handle, content.size)
                raise
            finally:
                os.close(handle)
        except OSError as error:
            raise InputError(
                f"the ledger cannot be written: {error.strerror or error}",
                path=path,
                remedy="nothing was counted; free some space, and run the command again",
            ) from error

    def _write_index(self, index: dict[str, _Head]) -> None:
        datasets = {key: head._asdict() for key, head in index.items()}
        table = {"format": _FORMAT, "datasets": datasets, "hash": _hash(datasets)}
        with atomic_write(self.folder / "index.json", permissions=_OWNER_ONLY) as file:
            json.dump(table, file, indent=1)
            file.write("\n")
        _sync_folder(self.folder)


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


def _key(dataset: str) -> str:
    """Return what identifies a dataset: "Staff" and "staff" are the same."""
    return unicodedata.normalize("NFC", dataset).strip().casefold()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _first(dataset: str) -> str:
    """Return what the first line of a file refers to as the line before."""
    return _hash({"coterie ledger": _FORMAT, "dataset": _key(dataset)})


def _salted(fingerprint: str) -> JsonObject:
    salt = secrets.token_hex(16)
    return {"salt": salt, "hash": _keyed(salt, fingerprint)}


def _keyed(salt: str, fingerprint: str) -> str:
    return hmac.new(bytes.fromhex(salt), fingerprint.encode(), hashlib.sha256).hexdigest()


def _matches(stored: tuple[str, str], fingerprint: str) -> bool:
    return hmac.compare_digest(stored[1], _keyed(stored[0], fingerprint))


def _entries(lines: Sequence[_Line]) -> list[LedgerEntry]:
    """Return the runs that the lines describe."""
    runs: dict[str, LedgerEntry] = {}
    for line in lines:
        content = line.content
        event, run = content["event"], content["id"]
        if event == "opened":
            runs[run] = _opened(content)
        elif event in ("written", "failed", "refused"):
            runs[run] = replace(runs[run], state=event)
        else:
            raise ValueError(f"unknown event {event!r}")
    return list(runs.values())


def _opened(line: JsonObject) -> LedgerEntry:
    stored = line.get("input")
    return LedgerEntry(
        dataset=line["dataset"],
        id=line["id"],
        kind=line["kind"],
        state="opened",
        time=line["time"],
        graphs=line.get("graphs", 0),
        epsilon=_fraction(line.get("epsilon")),
        cap=_fraction(line.get("cap")),
        version=line["version"],
        details=line["details"],
        _input=None if stored is None else (stored["salt"], stored["hash"]),
    )


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _spent(entries: Sequence[LedgerEntry]) -> Fraction:
    return sum((entry.epsilon for entry in entries if entry.epsilon is not None), Fraction(0))


def _released(entries: Sequence[LedgerEntry]) -> int:
    return sum(entry.graphs for entry in entries if entry.kind == "release" and entry.counted)


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # Windows cannot open folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise LedgerRefusal(
                f"the ledger cannot be locked: {error.strerror or error}",
                remedy="set COTERIE_STATE to a folder on a disk that supports locks",
            ) from error
        return True
