"""`coterie attack`: how many people can be identified in a published graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.json_values import JsonObject, json_value
from coterie.cli.network_input import attack_features, load_both
from coterie.cli.reading import ANYTHING
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.anonymize.attacks.attack import AttackComparison


@command(reads=ANYTHING, answers=True)
def run(
    session: Session,
    original: str,
    published: str,
    truth: Path,
    objective: str = "simple",
    attributes: Path | None = None,
    published_attributes: Path | None = None,
) -> JsonObject:
    """Try to identify people in a published graph.

    The same attacks are run on two unprotected controls: a copy of ORIGINAL with only the names
    removed, and one in which 10 % of the edges were deleted too.

    Example: coterie attack friends.csv release/graph.csv --truth who.csv
    """
    from coterie.anonymize.attacks.suite import attack
    from coterie.anonymize.features.network import skeleton_of
    from coterie.anonymize.output.json_form import attack_json
    from coterie.anonymize.output.release_folder import read_identity_map
    from coterie.anonymize.published_graph import PublishedGraph

    networks = load_both(
        session, (original, attributes), (published, published_attributes), objective
    )
    known, other = (skeleton_of(network.graph) for network in networks)
    target = PublishedGraph(other, read_identity_map(truth, known, other))
    with stopwatch() as seconds, session.progress("attack") as callback:
        found = attack(known, target, session.engine(), rng=session.seed, callback=callback)
        result = attack_json(found)
        everything = attack_features(networks[0], networks[1], target.identity, session.seed)
        if everything is not None:
            # Without the classes of the release it is not known what luck explains.
            shown = {k: v for k, v in vars(everything).items() if k != "expected"}
            result["everything_known"] = json_value(shown)
        result["seconds"] = seconds()
    rows = [_row(compared) for compared in found.comparisons()]
    session.show_table(rows, "attack", "guessed right", "by luck", "controls", boxed=True)
    if everything is not None:
        session.show(
            f"Somebody who {everything.label}: {everything.correct:,} of {everything.guesses:,} "
            f"people guessed right; {everything.naive:,} in a copy without names."
        )
    session.show(
        "Guessed right: people, and their share of the guesses. By luck: the right guesses of "
        "somebody who picks at random among nodes of similar degree; a release also discloses its "
        "classes, and its report counts what they explain. Controls: people guessed right in a "
        "copy without names / in one in which 10 % of the edges were deleted too."
    )
    if not any(r.correct for r in found.controls.naive.seeded):
        session.say(
            "the seeded attack guesses nobody right in the copy without names either, so it says "
            "nothing about the published graph"
        )
    worst = max(found.comparisons(), key=lambda compared: compared.found)
    session.summary = (
        f"{worst.found:,} of {known.n_nodes:,} people guessed right by the best of "
        f"{len(rows)} attacks ({worst.label})"
    )
    return result


def _row(compared: AttackComparison) -> tuple[str, ...]:
    """Return the people whom an attack guesses right, in the graph and in both controls."""
    right, luck = f"{compared.found:,}", "–"
    if compared.expected is not None:
        right = f"{right} ({100 * compared.result.precision:.1f} %)"
        luck = f"{compared.result.same_degree:,.1f}"
    return compared.label, right, luck, f"{compared.naive:,} / {compared.deleted_10:,}"
