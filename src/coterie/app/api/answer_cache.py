"""Answers that were given before: the same request to the same model has the same answer."""

from __future__ import annotations

import threading
from collections import OrderedDict

MAX_BYTES = 32 << 20


class AnswerCache:
    """The most recently used answers, up to a total size; dropped when the model changes.

    >>> cache = AnswerCache(max_bytes=100)
    >>> cache.put(1, b"question", b"answer")
    >>> cache.get(1, b"question"), cache.get(2, b"question")
    (b'answer', None)
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.hits = 0
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._model = 0
        self._size = 0
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()

    def get(self, model: int, request: bytes) -> bytes | None:
        """Return the answer of a model to a request, if it is known; `model` counts the reloads."""
        with self._lock:
            if model != self._model or request not in self._answers:
                return None
            self._answers.move_to_end(request)
            self.hits += 1
            return self._answers[request]

    def put(self, model: int, request: bytes, answer: bytes) -> None:
        """Remember an answer; answers of an older model than the last are not kept."""
        with self._lock:
            if model < self._model:
                return
            if model > self._model:
                self._model, self._size = model, 0
                self._answers.clear()
            if request in self._answers:
                return
            self._answers[request] = answer
            self._size += len(request) + len(answer)
            while self._size > self._max_bytes:
                old, dropped = self._answers.popitem(last=False)
                self._size -= len(old) + len(dropped)
