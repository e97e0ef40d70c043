"""The numbers printed in the paper (section 5), for comparison."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A row of Table 2 or 3."""

    entropy: float
    rmse: float
    seconds: float


class PublishedHardware(NamedTuple):
    """Table 1."""

    cpu: str
    cores: int
    memory_gb: int
    system: str


TABLE_1 = PublishedHardware(
    cpu="4 × Intel Xeon E5-4620 0 @ 2.20 GHz",
    cores=32,
    memory_gb=379,
    system="PowerEdge R820, C++ and OpenMP",
)
TABLE_2 = {
    "MMSBM": Printed(93876.4, 0.9536, 300),
    "MCMMSBM s=10": Printed(95952.2, 0.9584, 300),
    "MCMMSBM s=20": Printed(93748.6, 0.9515, 300),
    "MCMMSBM s=30": Printed(92920.0, 0.9510, 300),
}
TABLE_3 = {
    "Generalized k-means": Printed(97741.0, 0.9713, 2),
    "MCMMSBM s=30": Printed(92920.0, 0.9510, 300),
}


class AlphaRun(NamedTuple):
    """The caption of Figure 5 (CAIDA) or Figure 6 (astro-ph)."""

    blocks: int
    iterations: int
    seconds: float


ALPHA = {"CAIDA": AlphaRun(100, 300, 10.6), "astro-ph": AlphaRun(300, 150, 26.0)}
