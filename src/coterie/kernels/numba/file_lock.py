"""A lock on an open file, which ends with the process that holds it."""

from __future__ import annotations

import errno
import sys
from typing import IO


def lock_file(file: IO[bytes]) -> bool:
    """Lock an open file without waiting; return False if another process holds it.

    Raises OSError where files cannot be locked."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EWOULDBLOCK):
            return False
        raise
    return True
