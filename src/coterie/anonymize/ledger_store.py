"""The files of the ledger: one chain of lines per dataset, an index of all of them, and a lock.

Every line contains a hash of the line before it, and the index contains the number of lines and
the last hash of every dataset. Lines that were edited, moved or removed are therefore noticed, and
so is a file that disappeared. Whoever may write to the folder can still forge all of it: the ledger
protects an owner from mistakes and from accidents, not from himself.

A line is written and synced before the index. A process that ends between the two leaves a line
that the index does not know. It is part of the chain, so it counts, and the next line is written
after the index has it.

The folder belongs to its owner (mode 700, files 600), or to a group: if its state folder has the
mode 2770, the ledger gets the modes 2770 and 660.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from coterie.base.errors import InputError, LedgerRefusal
from coterie.base.json_values import JsonObject
from coterie.data.atomic_files import atomic_write

_FORMAT = 1
_OWNER_FOLDER, _OWNER_FILE = 0o700, 0o600
_GROUP_FOLDER, _GROUP_FILE = 0o2770, 0o660
_LOCK_SECONDS = 60.0
_REPAIR = "restore the folder from a backup; without one, `coterie ledger repair` says what is left"


class Head(NamedTuple):
    """What the index knows of a dataset's file."""

    name: str
    lines: int
    hash: str


class Line(NamedTuple):
    """One line of a dataset's file that was checked."""

    content: JsonObject
    hash: str


class Chain(NamedTuple):
    """The lines of a dataset's file, up to the first one that is damaged."""

    lines: list[Line]
    size: int  # bytes of these lines
    problem: str = ""  # what is wrong with the next line
    behind: tuple[bytes, ...] = ()  # the rows that do not belong to the chain


class LedgerStore:
    """Read and write the files of a ledger. Every method but `locked` needs the lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, dataset: str) -> Path:
        """Return the file of a dataset."""
        name = quote(key_of(dataset), safe="")
        if len(name) > 150:  # file systems limit the length of names
            name = f"{name[:120]}-{hashlib.sha256(name.encode()).hexdigest()[:24]}"
        return self.folder / f"{name}.jsonl"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the folder, which is created if necessary."""
        try:
            self._make_folder()
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, self._file_mode)
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
            self._set_mode(handle)
            self._check_modes()
            for left in self.folder.glob(".*.part"):  # of a process that was killed
                left.unlink(missing_ok=True)
            yield
        finally:
            os.close(handle)  # this also releases the lock

    # --- who may read and write --------------------------------------------------------------

    @property
    def _shared(self) -> bool:
        """Whether a group owns the ledger: its folder, or the folder above, has the mode 2770."""
        folder = self.folder if self.folder.is_dir() else self.folder.parent
        return folder.is_dir() and bool(folder.stat().st_mode & stat.S_ISGID)

    @property
    def _file_mode(self) -> int:
        return _GROUP_FILE if self._shared else _OWNER_FILE

    def _set_mode(self, handle: int) -> None:
        """Give an open file its mode, whatever the umask; a file of a colleague has it already."""
        if hasattr(os, "fchmod") and os.fstat(handle).st_uid == os.getuid():
            os.fchmod(handle, self._file_mode)

    def _make_folder(self) -> None:
        mode = _GROUP_FOLDER if self._shared else _OWNER_FOLDER
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True, mode=mode)
            os.chmod(self.folder, mode)
        elif not self._shared:
            os.chmod(self.folder, mode)

    def _check_modes(self) -> None:
        """Refuse a shared folder that others can read, or whose files a colleague cannot write."""
        if not self._shared:
            return
        group = self.folder.stat().st_gid
        wanted = {self.folder: _GROUP_FOLDER, self.folder.parent: None}
        wanted |= dict.fromkeys(sorted(self.folder.glob("*.json*")), _GROUP_FILE)
        for path, right in wanted.items():
            found = path.stat()
            mode = stat.S_IMODE(found.st_mode)
            if right is None:  # the state folder may be shared by more than the ledger's group
                right = mode & ~0o007
            if mode != right or found.st_gid != group:
                raise LedgerRefusal(
                    f"{path} has the mode {mode:o} and the group {found.st_gid}; in a shared "
                    f"ledger it needs {right:o} and the group {group}",
                    remedy=f"run `chgrp {group} {path}; chmod {right:o} {path}`",
                )

    # --- reading -----------------------------------------------------------------------------

    def index(self) -> dict[str, Head]:
        """Return the index, by key of the dataset."""
        path = self.folder / "index.json"
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            files = sorted(self.folder.glob("*.jsonl"))
            if files:
                raise LedgerRefusal(
                    f"{path} is missing, although {files[0].name} exists", remedy=_REPAIR
                ) from None
            return {}
        except OSError as error:
            raise LedgerRefusal(f"{path} cannot be read: {error.strerror}") from error
        try:
            table = json.loads(text)
            datasets = table["datasets"]
            index = {
                str(key): Head(str(head["name"]), int(head["lines"]), str(head["hash"]))
                for key, head in datasets.items()
            }
            right = table["hash"] == _hash(datasets) and table["format"] == _FORMAT
        except (ValueError, KeyError, TypeError, AttributeError):
            right = False
        if not right:
            raise LedgerRefusal(
                f"{path} is damaged; it was left as it is", remedy=_REPAIR
            ) from None
        return index

    def lines(self, dataset: str) -> list[Line]:
        """Return the lines of a dataset; raise LedgerRefusal if the index knows better."""
        return self._checked(dataset).lines

    def _checked(self, dataset: str) -> Chain:
        chain, head = self.chain(dataset), self.index().get(key_of(dataset))
        problem = self._problem(dataset, head, chain)
        if problem and not self.file(dataset).exists():
            raise LedgerRefusal(f"{self.file(dataset)} {problem}", remedy=_REPAIR)
        if problem:
            raise self.damaged(dataset, problem)
        return chain

    def chain(self, dataset: str) -> Chain:
        """Return the lines of a file that belong together, whatever the index says."""
        try:
            text = self.file(dataset).read_bytes()
        except FileNotFoundError:
            return Chain([], 0)
        except OSError as error:
            path = self.file(dataset)
            raise LedgerRefusal(f"{path} cannot be read: {error.strerror}") from error
        complete, _, torn = text.rpartition(b"\n")
        rows = complete.split(b"\n") if complete else []
        lines: list[Line] = []
        before, size = _first(dataset), 0
        for number, row in enumerate(rows, 1):
            line = _checked_line(row, dataset, number, before)
            if line is None:
                problem = f"line {number} was edited, moved or removed"
                return Chain(lines, size, problem, tuple(rows[number - 1 :]))
            lines.append(line)
            before, size = line.hash, size + len(row) + 1
        # An incomplete line at the end was not on the disk when `append` would have returned, so
        # nothing was drawn for it, unless the index knows it. The next line replaces it.
        return Chain(lines, size, "", (torn,) if torn else ())

    def _problem(self, dataset: str, head: Head | None, chain: Chain) -> str:
        """Return what is wrong with a file, in words; empty if it is as the index says."""
        if chain.problem:
            return chain.problem
        known = 0 if head is None else head.lines
        if head is None and self.file(dataset).exists():
            return "the index does not contain this dataset"
        if head is not None and known and not self.file(dataset).exists():
            return f"is missing: dataset {head.name!r} had a ledger of {known} lines"
        if len(chain.lines) < known:
            if len(chain.behind):
                return "the last line is incomplete"
            return f"{known - len(chain.lines)} lines are missing at the end"
        # More lines than the index knows are those of processes that ended between two writes.
        last = chain.lines[known - 1].hash if known else _first(dataset)
        if head is not None and last != head.hash:
            return "its lines are not those that the index knows"
        return ""

    def damaged(self, dataset: str, what: str) -> LedgerRefusal:
        """Return the error of a damaged file."""
        return LedgerRefusal(
            f"{self.file(dataset)} is damaged: {what}; it was left as it is", remedy=_REPAIR
        )

    # --- writing -----------------------------------------------------------------------------

    def append(self, dataset: str, line: JsonObject) -> None:
        """Add a line to the file and to the index; change nothing if the disk is full."""
        chain, index = self._checked(dataset), self.index()
        key, number = key_of(dataset), len(chain.lines) + 1
        before = chain.lines[-1].hash if chain.lines else _first(dataset)
        row, digest = _row(line, dataset, chain)
        path = self.file(dataset)
        try:
            name = index[key].name if key in index else dataset
            if index.get(key) != Head(name, number - 1, before):
                # A new dataset, or one whose last process ended before it wrote the index
                index = {**index, key: Head(name, number - 1, before)}
                self._write_index(index)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, self._file_mode)
            try:
                self._set_mode(handle)
                os.ftruncate(handle, chain.size)
                os.lseek(handle, 0, os.SEEK_END)
                _write_all(handle, row)
                os.fsync(handle)
                _sync_folder(self.folder)
                self._write_index({**index, key: Head(name, number, digest)})
            except BaseException:
                # This run does not start, so it is not counted, unless the index has it already.
                if self.index()[key].lines < number:
                    os.ftruncate(handle, chain.size)
                raise
            finally:
                os.close(handle)
        except OSError as error:
            raise InputError(
                f"the ledger cannot be written: {error.strerror or error}",
                path=path,
                remedy="nothing was counted; free some space, and run the command again",
            ) from error

    def _write_index(self, index: dict[str, Head]) -> None:
        datasets = {key: head._asdict() for key, head in index.items()}
        table = {"format": _FORMAT, "datasets": datasets, "hash": _hash(datasets)}
        self._write(self.folder / "index.json", json.dumps(table, indent=1).encode() + b"\n")

    # --- repairing ---------------------------------------------------------------------------

    def repair_index(self) -> bool:
        """Make the index again from the files if it is missing or damaged; say whether it was."""
        try:
            self.index()
        except LedgerRefusal:
            index = {}
            for path in sorted(self.folder.glob("*.jsonl")):
                name = _name_in(path)
                chain = self.chain(name)
                last = chain.lines[-1].hash if chain.lines else _first(name)
                index[key_of(name)] = Head(name, len(chain.lines), last)
            self._write_index(index)
            return True
        return False

    def problem_of(self, dataset: str) -> str:
        """Return what is wrong with a dataset's file; empty if nothing is."""
        return self._problem(dataset, self.index().get(key_of(dataset)), self.chain(dataset))

    def replace_damaged(self, dataset: str, line: JsonObject) -> Path | None:
        """Keep the lines that belong together, and add one that says so; return the old file.

        The file is replaced as a whole: without the line that records the repair, it stays damaged.
        """
        chain, index, path = self.chain(dataset), self.index(), self.file(dataset)
        copy, kept = None, b""
        if path.exists():
            text = path.read_bytes()
            now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
            copy, kept = path.with_name(f"{path.name}.damaged-{now}"), text[: chain.size]
            self._write(copy, text)
        row, digest = _row(line, dataset, chain)
        self._write(path, kept + row)
        head = Head(dataset, len(chain.lines) + 1, digest)
        self._write_index({**index, key_of(dataset): head})
        return copy

    def _write(self, path: Path, content: bytes) -> None:
        with atomic_write(path, "wb", permissions=self._file_mode) as file:
            self._set_mode(file.fileno())
            file.write(content)
        _sync_folder(self.folder)


def key_of(dataset: str) -> str:
    """Return what identifies a dataset: "Staff" and "staff" are the same."""
    return unicodedata.normalize("NFC", dataset).strip().casefold()


def _name_in(path: Path) -> str:
    """Return the name of the dataset of a file: that of its first line, else that of the file."""
    try:
        return str(json.loads(path.read_bytes().split(b"\n")[0])["dataset"])
    except (ValueError, KeyError, TypeError):
        return unquote(path.stem)


def _checked_line(row: bytes, dataset: str, number: int, before: str) -> Line | None:
    """Return a line if it is the next one of the chain."""
    try:
        content = json.loads(row)
        stated = content.pop("hash")
        right = (
            content["previous"] == before
            and content["number"] == number
            and key_of(content["dataset"]) == key_of(dataset)
            and hmac.compare_digest(stated, _hash(content))
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return Line(content, stated) if right else None


def _row(line: JsonObject, dataset: str, chain: Chain) -> tuple[bytes, str]:
    """Return the next row of a file, and its hash."""
    before = chain.lines[-1].hash if chain.lines else _first(dataset)
    line = {**line, "previous": before, "number": len(chain.lines) + 1}
    line["hash"] = digest = _hash(line)
    return json.dumps(line).encode() + b"\n", digest


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _first(dataset: str) -> str:
    """Return what the first line of a file refers to as the line before."""
    return _hash({"coterie ledger": _FORMAT, "dataset": key_of(dataset)})


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
