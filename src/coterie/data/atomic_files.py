"""Write files so that they appear complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from coterie.base.errors import InputError

_OLD = 24 * 3600.0  # seconds after which a temporary file is abandoned
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO}


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", *, permissions: int = 0o666, reserve: int = 0
) -> Iterator[IO[Any]]:
    """Open a file that replaces `path` if the block succeeds, and disappears if it fails.

    The content goes to a temporary file in the same folder, which is synced and renamed.
    `permissions` are those of a new file before the umask (0o600 for files that only the owner may
    read). `reserve` is a number of bytes for which the disk must have space at the start, if the
    system can tell. A device or a pipe such as `/dev/stdout` is written directly; `-` is standard
    output.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "x.txt") as file:
    ...         _ = file.write("whole")
    ...     (Path(folder) / "x.txt").read_text()
    'whole'
    """
    if str(path) == "-":
        yield sys.stdout.buffer if "b" in mode else sys.stdout
        return
    target = Path(os.path.realpath(path))
    temporary = temporary_beside(target)
    try:
        kind = target.stat().st_mode if target.exists() else stat.S_IFREG
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(target))
        if not stat.S_ISREG(kind):
            with _open(target, mode) as file:
                yield file
            return
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, permissions)
            with _open(handle, mode) as file:
                _reserve(handle, reserve)
                yield file
                file.flush()
                if reserve:
                    file.truncate()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        own_file = error.filename in (str(temporary), str(target))
        if error.errno not in _FULL and not own_file:
            raise
        remedy = "choose another folder"
        if error.errno in _FULL:
            remedy = "no partial file was left; free some space or choose another folder"
        elif error.errno == errno.ENOENT:
            remedy = f"create the folder {target.parent}, or choose another"
        raise InputError(
            f"cannot be written: {error.strerror or error}", path=path, remedy=remedy
        ) from error


def temporary_beside(target: Path) -> Path:
    """Return the name of a temporary file or folder; remove what killed processes left for it.

    The name says which process of which computer it belongs to. Removed is only what is ours and
    whose process is gone, or that of another computer after a day.
    """
    start = f".{target.name}."
    here = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
    for left in target.parent.glob(f"{glob.escape(start)}*.part"):
        owner = re.fullmatch(r"([0-9a-f]{6})-(\d+)-[0-9a-f]{8}", left.name[len(start) : -5])
        with contextlib.suppress(OSError):
            found = left.lstat()
            old = time.time() - found.st_mtime > _OLD
            gone = owner is not None and owner[1] == here and not _is_running(int(owner[2]))
            if owner is None or not (gone or old) or found.st_uid != _user():
                continue
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink()
    return target.with_name(f"{start}{here}-{os.getpid()}-{secrets.token_hex(4)}.part")


def _user() -> int:
    return os.geteuid() if sys.platform != "win32" else 0  # as `stat` reports it there


def _is_running(process: int) -> bool:
    if sys.platform == "win32":  # os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _reserve(handle: int, size: int) -> None:
    """Raise OSError if the disk has no space for `size` bytes; systems that cannot tell do not."""
    if not size or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError as error:
        if error.errno in _FULL:
            raise


def _open(where: Path | int, mode: str) -> IO[Any]:
    if "b" in mode:
        return open(where, mode)
    return open(where, mode, encoding="utf-8", newline="")
