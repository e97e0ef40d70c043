"""What the page says about epsilon, and what the ledger says about a data set."""

from __future__ import annotations

import math
from typing import NamedTuple

EPSILONS = ("0.25", "0.5", "1", "2", "4")
DEFAULT_EPSILON, DEFAULT_CAP = "1", "4"


class EpsilonRow(NamedTuple):
    """What one epsilon means. It follows from epsilon alone, never from the data."""

    epsilon: str
    belief: int  # percent: what a belief of 10 % in a connection becomes at most
    edge_noise: int  # typical noise of the number of connections
    degree_noise: int  # typical noise of one person's number of connections


class LedgerLines(NamedTuple):
    """What was published from a data set, or why that is not known."""

    dataset: str
    networks: int = 0
    spent: str = "0"
    rows: tuple[tuple[str, str, str, str], ...] = ()  # time, kind, epsilon, state
    problem: str = ""


def epsilon_table() -> list[EpsilonRow]:
    """Return the rows of the table that helps to choose epsilon.

    >>> epsilon_table()[2]
    EpsilonRow(epsilon='1', belief=24, edge_noise=50, degree_noise=20)
    """
    from coterie.anonymize.private.budget import SHARES

    rows = []
    for text in EPSILONS:
        epsilon = float(text)
        odds = math.exp(epsilon) / 9  # a belief of 10 % has the odds 1 : 9
        rows.append(
            EpsilonRow(
                text,
                math.ceil(100 * odds / (1 + odds)),
                math.ceil(1 / (float(SHARES.edge_count) * epsilon)),
                math.ceil(2 / (float(SHARES.degrees) * epsilon)),  # one connection changes two
            )
        )
    return rows


def ledger_lines(dataset: str) -> LedgerLines:
    """Return what the ledger of this computer says about a data set."""
    from coterie.anonymize.ledger import Ledger, exact_text
    from coterie.base.errors import CoterieError

    ledger = Ledger()
    try:
        entries = ledger.entries(dataset)
        spent, networks = ledger.spent(dataset), ledger.releases(dataset)
    except CoterieError as error:
        return LedgerLines(dataset, problem=str(error).replace("`", ""))
    return LedgerLines(
        dataset,
        networks,
        exact_text(spent),
        tuple(
            (
                entry.time[:16].replace("T", " "),
                "with differential privacy" if entry.kind == "sketch" else "measured and attacked",
                "" if entry.epsilon is None else exact_text(entry.epsilon),
                entry.state if entry.counted else f"{entry.state}, not counted",
            )
            for entry in entries
        ),
    )
