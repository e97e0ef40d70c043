"""The folder to publish and the private folder: every check before the work, and the writing.

A release must not destroy files of the owner and must not put anything private where it is
published. So all places are checked before any work starts (`plan_folders`), and again when the
folder is written. The new folder is made next to its place and moved there by a rename.

Which files coterie wrote into a folder is recorded in the private state folder, with their
hashes. Only those files are ever replaced.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from coterie.anonymize.ledger import state_folder
from coterie.base.errors import ImportantWarning, InputError
from coterie.data import Graph
from coterie.data.atomic_files import atomic_write, temporary_beside
from coterie.data.readers import read_columns
from coterie.data.writers import write_graph, write_table

FORMATS = ("csv", "parquet", "graphml")
PRIVATE_MARK = "DO-NOT-PUBLISH.txt"
_PRIVATE_TEXT = (
    "This folder was made by coterie for the owner of a network. It contains exact figures and\n"
    "random numbers with which a published release can be drawn again. Never publish it.\n"
)
_NEW_FOLDER = "choose a new folder"


@dataclass(frozen=True)
class ReleaseFolders:
    """The places of a release, checked."""

    publish: Path  # resolved
    private: Path  # resolved
    replaces: dict[str, str] | None  # name and hash of the files that are replaced; None if none
    identity_map: Path | None = None  # resolved


def default_private_folder(dataset: str, folder: Path) -> Path:
    """Return where private files go by default: in the state folder, never next to the release.

    The folder next to a release may lie in a tree that is published as a whole.
    """
    name = folder.resolve().name or "release"
    return state_folder() / "private" / quote(dataset.casefold(), safe=" ()+,@") / name


def plan_folders(
    folder: str | os.PathLike[str],
    private: str | os.PathLike[str] | None,
    *,
    dataset: str,
    inputs: Sequence[str | os.PathLike[str]] = (),
    overwrite: bool = False,
    research_truth: str | os.PathLike[str] | None = None,
) -> ReleaseFolders:
    """Check every place that a release reads and writes; raise InputError for the first problem.

    `inputs` are the files that the command reads, the original first. Nothing is created.
    """
    given = Path(folder)
    if given.is_symlink() and not given.exists():
        raise InputError("this link points nowhere", path=given, remedy=_NEW_FOLDER)
    publish = given.resolve()
    secret = Path(private) if private is not None else default_private_folder(dataset, given)
    hidden = secret.resolve()
    _check_place_to_publish(given, publish)
    _check_inputs(given, publish, inputs)
    _check_private_place(secret, hidden, publish)
    if private is not None:
        _check_private_tree(secret, given, inputs)
    replaces = _check_content(given, publish, overwrite)
    identity_map = None
    if research_truth is not None:
        truth = Path(research_truth)
        identity_map = _check_identity_map(truth, publish, inputs)
        _warn_of_identities(truth, given, inputs)
    for place in (publish, hidden):
        _check_writable(place)
    return ReleaseFolders(publish, hidden, replaces, identity_map)


def check_format(format: str) -> None:
    """Raise InputError if graphs cannot be written in this format."""
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}", remedy=f"use one of {', '.join(FORMATS)}")


@contextmanager
def staged_folder(
    folders: ReleaseFolders,
    graphs: list[Graph],
    page: str,
    *,
    format: str = "csv",
    more: Mapping[str, bytes] | None = None,
    tables: Sequence[Mapping[str, np.ndarray]] = (),
) -> Iterator[Callable[[], None]]:
    """Prepare graph.csv (graph-2.csv … for more draws) and report.html next to their place.

    `tables` are written as nodes.csv, nodes-2.csv and so on; `more` are further files by name. The
    files are moved when the function that this yields is called; otherwise they are deleted.
    """
    folder = folders.publish
    made = temporary_beside(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made.mkdir()
    except OSError as error:
        raise InputError(
            f"cannot be created: {error.strerror}", path=folder, remedy="choose another place"
        ) from error
    try:
        for number, graph in enumerate(graphs, 1):
            stem = "graph" if number == 1 else f"graph-{number}"
            inside = {}  # GraphML holds the attributes itself
            if format == "graphml" and tables:
                inside = {k: v for k, v in tables[number - 1].items() if k != "node"}
            write_graph(graph, made / f"{stem}.{format}", node_columns=inside)
        for number, table in enumerate(tables if format != "graphml" else (), start=1):
            stem = "nodes" if number == 1 else f"nodes-{number}"
            suffix = "parquet" if format == "parquet" else "csv"
            write_table(made / f"{stem}.{suffix}", table)
        with atomic_write(made / "report.html") as file:
            file.write(page)
        for name, content in (more or {}).items():
            with atomic_write(made / name, "wb") as file:
                file.write(content)
        files = _hashes(made)

        def publish() -> None:
            if folders.replaces is None:
                _move_to_free_place(made, folder)
            else:
                _replace(made, folder, folders.replaces)
            _register(folder, files)

        yield publish
    finally:
        shutil.rmtree(made, ignore_errors=True)


def make_private_folder(folder: Path) -> None:
    """Create the private folder (mode 0700) and mark it as private."""
    try:
        _make_private(folder)
        os.chmod(folder, 0o700)
        if not (folder / PRIVATE_MARK).exists():
            with atomic_write(folder / PRIVATE_MARK, permissions=0o600) as file:
                file.write(_PRIVATE_TEXT)
    except OSError as error:
        raise InputError(
            f"cannot be created: {error.strerror}", path=folder, remedy="choose another place"
        ) from error


# --- the checks ------------------------------------------------------------------------------


def _make_private(folder: Path) -> None:
    """Create a folder, and the parents that do not exist yet, for the owner alone."""
    for parent in [*reversed(folder.parents), folder]:
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)


def _check_place_to_publish(given: Path, folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", path=given, remedy=_NEW_FOLDER)
    if os.path.ismount(folder):
        raise InputError(
            "this is a mount point, which cannot be renamed",
            path=given,
            remedy="choose a new folder inside it",
        )
    here = Path.cwd().resolve()
    for place, what in ((here, "the current folder"), (Path.home().resolve(), "the home folder")):
        if folder == place or folder in place.parents:
            inside = "" if folder == place else "a folder that contains "
            raise InputError(
                f"this is {inside}{what}",
                path=given,
                remedy="a release needs a folder of its own: choose a new folder",
            )
    for place in (folder, *folder.parents):
        if _is_private(place):
            inside = "is" if place == folder else "lies in"
            raise InputError(
                f"the folder to publish {inside} a private folder ({place})",
                path=given,
                remedy=_NEW_FOLDER,
            )


def _is_private(folder: Path) -> bool:
    """Whether coterie keeps private files in this folder."""
    if folder == state_folder().resolve():
        return True
    try:
        if (folder / PRIVATE_MARK).exists():
            return True
        # Versions before the mark wrote DIR.private/audit.json.
        return folder.name.endswith(".private") and (folder / "audit.json").exists()
    except OSError:
        return False


def _check_inputs(given: Path, folder: Path, inputs: Sequence[str | os.PathLike[str]]) -> None:
    for source in map(Path, inputs):
        if str(source) == "-" or not source.exists():
            continue
        real = source.resolve()
        if real == folder or folder in real.parents or real in folder.parents:
            raise InputError(
                f"the input {source} is in the folder to publish"
                if real not in folder.parents
                else f"the folder to publish is in the input {source}",
                path=given,
                remedy=_NEW_FOLDER,
            )
        if folder.is_dir():
            linked = [file for file in folder.iterdir() if _same_file(file, real)]
            if linked:
                raise InputError(
                    f"{linked[0].name} in the folder to publish is the input {source}",
                    path=given,
                    remedy=_NEW_FOLDER,
                )


def _check_private_place(given: Path, private: Path, publish: Path) -> None:
    if private == publish or publish in private.parents:
        raise InputError(
            f"the private folder would be in the folder to publish ({publish})",
            path=given,
            remedy="choose a place outside it for `private`",
        )
    if private in publish.parents:
        raise InputError(
            f"the private folder would contain the folder to publish ({publish})",
            path=given,
            remedy="choose another place for `private`",
        )
    for place in (private, *private.parents):
        if _registered(place) is not None:
            raise InputError(
                f"the private folder would be in a published folder ({place})",
                path=given,
                remedy="choose a place outside it for `private`",
            )
    if private.exists() and not private.is_dir():
        raise InputError("this is a file, not a folder", path=given, remedy=_NEW_FOLDER)
    # A run that was killed while it wrote leaves hidden files that end in .part.
    left = [p for p in private.iterdir() if p.suffix != ".part"] if private.is_dir() else []
    if left and not _is_private(private):
        raise InputError(
            "the private folder contains other files",
            path=given,
            remedy="choose a new or empty folder for `private`",
        )


def _check_private_tree(
    private: Path, publish: Path, inputs: Sequence[str | os.PathLike[str]]
) -> None:
    """Raise InputError if the private folder and the release are in a tree that may be published.

    A tree that contains the original too is never published as a whole. There the command only
    warns, and only of two folders next to each other.
    """
    for tree, contains_original in _shared_trees(private, publish, inputs):
        if not contains_original:
            raise InputError(
                f"the private folder and the folder to publish ({publish}) would both be in "
                f"{tree}, which might be published as a whole",
                path=private,
                remedy="choose a place outside that folder for `private`, or leave it out: the "
                "default is in the state folder",
            )
        if tree == _absolute(publish).parent == _absolute(private).parent:
            _warn_of_tree(f"{tree} contains the original, the private folder", tree, publish)


def _warn_of_identities(
    table: Path, publish: Path, inputs: Sequence[str | os.PathLike[str]]
) -> None:
    """Warn if the table of identities and the release are in a tree that may be published."""
    for tree, contains_original in _shared_trees(table, publish, inputs):
        if not contains_original:
            _warn_of_tree(f"{tree} contains the table of identities {table}", tree, publish)
            return


def _warn_of_tree(what: str, tree: Path, publish: Path) -> None:
    warnings.warn(
        f"{what} and the folder to publish: publish {publish} only, never {tree}",
        ImportantWarning,
        stacklevel=5,
    )


def _shared_trees(
    secret: Path, publish: Path, inputs: Sequence[str | os.PathLike[str]]
) -> list[tuple[Path, bool]]:
    """Return the smallest folders that contain both paths, and whether the original is in them.

    Folders that contain the home folder are left out. There can be several: links count as they
    are written and where they lead, because a copy of a tree may keep or follow them.
    """
    home = Path.home().resolve()
    sources = [Path(source) for source in inputs if str(source) != "-"]
    known = [place for source in sources for place in (_absolute(source), source.resolve())]
    found = {}
    for one in (_absolute(secret), secret.resolve()):
        for other in (_absolute(publish), publish.resolve()):
            tree = Path(os.path.commonpath([one, other]))
            if not home.is_relative_to(tree):
                found[tree] = any(source.is_relative_to(tree) for source in known)
    return sorted(found.items(), key=lambda pair: -len(pair[0].parts))


def _absolute(path: Path) -> Path:
    """Return the absolute path without following links."""
    return Path(os.path.abspath(path))


def _check_content(given: Path, folder: Path, overwrite: bool) -> dict[str, str] | None:
    """Return the files that will be replaced; None if the folder is new or empty."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return None
    written = _registered(folder) or {}
    foreign = sorted(p.name for p in folder.iterdir() if p.name not in written)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise InputError(
            f"the folder contains files that are not from a release: {foreign[0]}{more}",
            path=given,
            remedy=f"they are never overwritten: {_NEW_FOLDER}",
        )
    present = _hashes(folder)
    changed = sorted(name for name, digest in present.items() if written[name] != digest)
    if changed:
        raise InputError(
            f"{changed[0]} was changed after it was released",
            path=given,
            remedy=f"it is not overwritten: {_NEW_FOLDER}",
        )
    if not overwrite:
        raise InputError(
            "the folder already contains a release",
            path=given,
            remedy="choose a new folder or set `overwrite`",
        )
    return present


def _check_identity_map(
    given: Path, publish: Path, inputs: Sequence[str | os.PathLike[str]]
) -> Path:
    path = given.resolve()
    for place in (path, *path.parents):
        if place == publish or _registered(place) is not None:
            raise InputError(
                f"the table of identities would be in the folder to publish ({place})",
                path=given,
                remedy="choose a place outside it",
            )
    for source in map(Path, inputs):
        if str(source) != "-" and source.exists() and _same_file(path, source.resolve()):
            raise InputError(
                "this is the input", path=given, remedy="choose another file for `research_truth`"
            )
    if path.is_dir():
        raise InputError("this is a folder, not a file", path=given)
    if path.is_file() and path.stat().st_size and not _has_identities(path):
        raise InputError(
            "the file exists and is not a table of identities",
            path=given,
            remedy="it is not overwritten: choose another file for `research_truth`",
        )
    return path


def _has_identities(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return next(csv.reader(file), []) == ["published", "original"]


def _check_writable(folder: Path) -> None:
    """Raise InputError if the folder cannot be created."""
    place = folder
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise InputError(f"{place} is a file, not a folder", path=folder, remedy=_NEW_FOLDER)
    # The folder itself is renamed, so its parent must be writable too.
    for needed in {place, place.parent} if place == folder else {place}:
        if not os.access(needed, os.W_OK | os.X_OK):
            raise InputError(
                f"{needed} is not writable", path=folder, remedy="choose another place"
            )


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


# --- moving ----------------------------------------------------------------------------------


def _move_to_free_place(made: Path, folder: Path) -> None:
    """Rename a folder to a place that is free or an empty folder; fail if anything is there."""
    try:
        with suppress(FileNotFoundError):
            folder.rmdir()  # fails if it is not empty
        if os.path.lexists(folder):
            raise OSError(errno.ENOTEMPTY, "it exists", str(folder))
        os.rename(made, folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise InputError(
            "another process wrote to this folder in the meantime; nothing was changed",
            path=folder,
            remedy=_NEW_FOLDER,
        ) from error


def _replace(made: Path, folder: Path, expected: dict[str, str]) -> None:
    """Exchange a folder for a new one; put the old one back if anything fails."""
    old = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.old")
    try:
        os.rename(folder, old)
    except FileNotFoundError:
        raise InputError(
            "another process removed this folder in the meantime", path=folder
        ) from None
    try:
        if _hashes(old) != expected:
            raise InputError(
                "another process wrote to this folder in the meantime; nothing was changed",
                path=folder,
                remedy=_NEW_FOLDER,
            )
        os.rename(made, folder)
    except BaseException:
        os.rename(old, folder)
        raise
    for name in expected:
        (old / name).unlink(missing_ok=True)
    with suppress(OSError):
        old.rmdir()


# --- what coterie wrote ----------------------------------------------------------------------


def _hashes(folder: Path) -> dict[str, str]:
    """Return name and hash of everything in a folder; subfolders have no hash."""
    found = {}
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file():
            found[path.name] = ""
            continue
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _record_of(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]
    return state_folder() / "published" / f"{name}.json"


def _register(folder: Path, files: dict[str, str]) -> None:
    """Record which files were published in a folder."""
    record = _record_of(folder)
    record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_write(record, permissions=0o600) as file:
        json.dump({"folder": str(folder), "files": files}, file, indent=1)


def _registered(folder: Path) -> dict[str, str] | None:
    """Return the files that coterie published in a folder; None if it published nothing there."""
    if not folder.is_dir():
        return None
    try:
        record = json.loads(_record_of(folder).read_text(encoding="utf-8"))
        return {str(name): str(digest) for name, digest in record["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # without a record nothing is replaced


class IdentityMap(NamedTuple):
    """The identities of the nodes of a published graph. Private: never publish them."""

    ids: np.ndarray  # the ids of the original
    identity: np.ndarray  # int32[n]: the published node of each original node

    def __repr__(self) -> str:
        return f"<IdentityMap: who is who among {len(self.ids):,} nodes, private>"


def write_identity_map(path: str | PathLike[str], identities: IdentityMap) -> None:
    """Write published,original in the order of the published nodes, for the owner (mode 0600)."""
    ids, identity = identities
    person = np.argsort(identity)
    with atomic_write(path, permissions=0o600) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("published", "original"))
        table.writerows(zip(range(len(person)), ids[person].tolist(), strict=True))


def read_identity_map(path: str | PathLike[str], original: Graph, published: Graph) -> np.ndarray:
    """Return the published node of every original node (int32[n]).

    Raises InputError if the file does not match the two graphs.
    """
    table = read_columns(path, ("published", "original"))
    person = _numbers(table["original"], original, path, "original")
    node = _numbers(table["published"], published, path, "published")
    for numbers, name in ((person, "original"), (node, "published")):
        distinct, count = np.unique(numbers, return_counts=True)
        if len(distinct) < len(numbers):
            graph = original if name == "original" else published
            twice = graph.ids[distinct[count.argmax()]]
            raise InputError(f"{name} node {twice} appears in more than one row", path=path)
    if len(person) < original.n_nodes:
        missing = np.setdiff1d(np.arange(original.n_nodes), person)
        raise InputError(
            f"{len(missing)} nodes of the original are missing, for example "
            f"{original.ids[missing[0]]}",
            path=path,
            remedy="use the identity map that was written with this release",
        )
    identity = np.empty(original.n_nodes, np.int32)
    identity[person] = node
    return identity


def _numbers(ids: np.ndarray, graph: Graph, path: str | PathLike[str], name: str) -> np.ndarray:
    """Return the node numbers of ids of a graph."""
    number = {str(identity): v for v, identity in enumerate(graph.ids)}
    found = np.array([number.get(str(identity), -1) for identity in ids], np.int64)
    if (found < 0).any():
        unknown = ids[int(np.argmax(found < 0))]
        raise InputError(
            f"{name} node {unknown} is not in the {name} graph",
            path=path,
            remedy="use the columns published,original that were written with this release",
        )
    return found
