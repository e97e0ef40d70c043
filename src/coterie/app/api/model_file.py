"""The model that answers, and its replacement when the model file changes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from coterie.app.api.rating_log import RatingLog, known_ids, with_new_ratings
from coterie.base.errors import CoterieError
from coterie.data import Ratings
from coterie.engine import LocalEngine
from coterie.recommend.model_file import load_recommender
from coterie.recommend.recommender import Recommender

_TRIED_ITEMS = 20  # that are rated to try a new model


@dataclass(frozen=True)
class LoadedModel:
    """A recommender and when it was loaded. A request uses one from its start to its end."""

    recommender: Recommender
    loaded: datetime
    number: int = 1  # of the models that this server has loaded
    digest: str = ""  # SHA-256 of the file
    applied: int = 0  # ratings of the log that were added

    @property
    def name(self) -> str:
        """The name of the estimator."""
        return type(self.recommender.model_).__name__

    @property
    def version(self) -> str:
        """What every answer names: the file by its hash, and how many ratings were added."""
        return self.digest[:16] + (f"+{self.applied}" if self.applied else "")


class ModelFile:
    """A model file and the recommender that it contains.

    A replaced file is loaded next to the old model, used once, and then takes its place. Requests
    that have started end with the old one. A file that cannot be read changes nothing.

    Parameters
    ----------
    path : str or path-like
        The model file. It is read at once.
    engine : LocalEngine
        Where predictions run.
    log : RatingLog, optional
        New ratings, which are added to the model of the file.
    """

    def __init__(
        self, path: str | os.PathLike[str], engine: LocalEngine, log: RatingLog | None = None
    ) -> None:
        self.path = Path(path)
        self.engine = engine
        self.reloads = 0
        self.failures = 0
        self.problem: str | None = None
        self._lock = threading.Lock()
        self._loads = 0
        self.log = log
        self.closing = False  # the server is about to end
        self._seen = _signature(self.path)
        self.current = self._base = self._load()
        self._log_seen: object = None
        if log is not None:
            log.compact()
        self.refresh()

    def refresh(self) -> None:
        """Load a replaced file and add the ratings that have come."""
        self.reload_if_replaced()
        self.add_new_ratings()

    def reload_if_replaced(self) -> bool:
        """Load the file again if it was replaced; return whether a new model answers now."""
        with self._lock:
            signature = _signature(self.path)
            if signature == self._seen or signature is None:
                return False
            try:
                loaded = self._load()
            except (CoterieError, MemoryError) as error:
                if _signature(self.path) == signature:  # else it is still being written
                    self._seen = signature
                    self.problem = str(error) or "out of memory"
                    self.failures += 1
                return False
            if _signature(self.path) != signature:  # replaced again: the next look loads it
                return False
            self._seen = signature
            self._base, self._log_seen = loaded, None
            self.reloads += 1
            self.problem = None
        if not self.add_new_ratings():  # there are none
            self.current = self._base
        return True

    def add_new_ratings(self) -> bool:
        """Add the ratings of the log, if it has changed; return whether a new model answers."""
        with self._lock:
            signature = None if self.log is None else self.log.signature
            if self.log is None or signature is None or signature == self._log_seen:
                return False
            rows = self.log.read()
            base = self._base
            try:
                made = with_new_ratings(base.recommender, rows) if rows else base.recommender
            except (CoterieError, MemoryError) as error:
                self._log_seen, self.problem = signature, f"{self.log.path}: {error}"
                return False
            self._log_seen = signature
            self._loads += 1
            self.current = replace(base, recommender=made, number=self._loads, applied=len(rows))
            return True

    def _load(self) -> LoadedModel:
        recommender = load_recommender(self.path).prepare_for_requests()
        _use_once(recommender, self.engine)
        self._loads += 1
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return LoadedModel(recommender, datetime.now(UTC), self._loads, digest)


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced; None if there is no file."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_mtime_ns, found.st_size, found.st_ino
    return None


def _use_once(recommender: Recommender, engine: LocalEngine) -> None:
    """Load compiled kernels and build indexes: the first request is as fast as the others."""
    if not len(recommender.users_) or not len(recommender.items_):
        return
    user, item = recommender.users_.ids[0], recommender.items_.ids[0]
    _ = recommender.model_  # made when it is asked for
    recommender.recommend(user, 1, engine=engine)
    recommender.recommend(user, 1, order="rating", engine=engine)
    # Ids that are far apart are numbered in another way, which imports more packages.
    some = recommender.items_.ids[:: max(1, len(recommender.items_) // _TRIED_ITEMS)].tolist()
    newcomer = newcomer_ratings(recommender, some, [float(recommender.values_[0])] * len(some))
    recommender.only_newcomers(newcomer).recommend(newcomer.user_ids[0], 1, engine=engine)
    recommender.predict_proba(np.array([user]), np.array([item]), engine=engine)
    if recommender.table_.rated_items[0]:
        recommender.similar_items(item, 1)


def newcomer_ratings(
    recommender: Recommender, items: Sequence[Any], ratings: Sequence[float], user: Any = None
) -> Ratings:
    """Return the ratings of a user; None is somebody whom the model does not know."""
    same = known_ids(recommender.items_, items)
    who = _new_user_id(recommender) if user is None else known_ids(recommender.users_, [user])[0]
    return Ratings.from_arrays([who] * len(same), same, ratings)


def _new_user_id(recommender: Recommender) -> Any:
    """Return an id that no user of the model has."""
    ids = recommender.users_.ids
    if ids.dtype.kind in "iu":
        return int(ids.max(initial=0)) + 1
    newcomer = "you"
    while recommender.users_.numbers([newcomer])[0] >= 0:
        newcomer += "'"
    return newcomer


class ReloadThread(threading.Thread):
    """A thread that looks every second whether the model file was replaced or ratings came."""

    def __init__(self, model_file: ModelFile, seconds: float = 1.0) -> None:
        super().__init__(name="model file", daemon=True)
        self._model_file = model_file
        self._seconds = seconds
        self._stop_now = threading.Event()

    def run(self) -> None:
        """Look, wait, and repeat until `stop`."""
        while not self._stop_now.wait(self._seconds):
            self._model_file.refresh()

    def stop(self) -> None:
        """End the thread; waits for a load in progress."""
        self._stop_now.set()
        if self.is_alive():
            self.join(timeout=10)
