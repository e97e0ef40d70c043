"""An interruption while Dask's processes start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from coterie.engine import dask

pytest.importorskip("distributed")


class HalfStarted:
    """A cluster that cannot be closed, as Dask's are while they start."""

    shutdown_on_close = True
    closed = 0

    def __init__(self) -> None:
        loop = SimpleNamespace(set_exception_handler=lambda handler: None)
        self.loop = SimpleNamespace(asyncio_loop=loop)

    def close(self, timeout: float) -> None:
        self.closed += 1
        raise AssertionError("Status.init")


def test_a_cluster_that_was_interrupted_is_not_closed_again_at_exit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    earlier, new = HalfStarted(), HalfStarted()
    instances = {earlier}

    def start(**options: Any) -> Any:
        instances.add(new)
        raise KeyboardInterrupt

    package = SimpleNamespace(LocalCluster=start, SpecCluster=SimpleNamespace(_instances=instances))
    monkeypatch.setattr(dask, "distributed", lambda: package)
    with pytest.raises(KeyboardInterrupt):
        dask.local_cluster(1)
    assert (new.closed, new.shutdown_on_close) == (1, False)
    assert (earlier.closed, earlier.shutdown_on_close) == (0, True)
