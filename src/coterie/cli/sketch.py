"""`coterie sketch`: a differentially private sketch of a network, for publication."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.reading import GRAPH, load_graph_for_sketch
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.anonymize.private.answers import SketchAnswers

_LARGE_NOISE = 0.05  # of the number of edges: the other answers are less certain than this one

EXAMPLES = """\b
Examples:
  coterie sketch friends.csv --dataset friends --epsilon 1 --nodes 5000 --out friends.sketch
  coterie sketch staff.csv --dataset staff --epsilon 0.5 --nodes staff-ids.txt --out staff.sketch
  coterie sketch --show friends.sketch
  coterie sketch --plan --nodes 5000 --edges 40000 --epsilon 1
"""


@command(unused=("seed", "threads"), reads=GRAPH)
def run(
    session: Session,
    graph: str | None = None,
    dataset: str | None = None,
    epsilon: str | None = None,
    nodes: str | None = None,
    out: Path | None = None,
    cap: str | None = None,
    purpose: str = "balanced",
    max_contacts: int | None = None,
    after_release: bool = False,
    allow_large_epsilon: bool = False,
    overwrite: bool = False,
    show: Path | None = None,
    plan: bool = False,
    edges: int | None = None,
    plot: Path | None = None,
) -> JsonObject:
    """Make a differentially private sketch of a network.

    A sketch is a set of noisy counts and may be published. Draw any number of graphs from it with
    `coterie draw`, at no further cost. The ledger of the dataset records the privacy loss before
    the first random bit is read. The random bits come from the operating system and cannot be
    repeated.
    """
    if show is not None:
        if graph is not None:
            raise InputError("--show prints a sketch; it does not take a GRAPH")
        return _show(session, show)
    if plan:
        if graph is not None:
            raise InputError("--plan uses public numbers only; it does not take a GRAPH")
        return _plan(session, nodes, edges, epsilon or "1", purpose, max_contacts, plot)
    if edges is not None or plot is not None:
        raise InputError("--edges and --plot belong to --plan", remedy="add --plan")
    if graph is None:
        raise InputError("no GRAPH given", remedy="give an edge list, or --show FILE")
    given = {"--dataset": dataset, "--epsilon": epsilon, "--nodes": nodes, "--out": out}
    if missing := [name for name, value in given.items() if value is None]:
        raise InputError(f"{missing[0]} is required", remedy="see `coterie sketch --help`")
    assert dataset is not None and epsilon is not None and nodes is not None and out is not None
    _check_output(out, overwrite)

    from coterie.anonymize.private.budget import parse_decimal, parse_epsilon
    from coterie.anonymize.private.contact_bound import check_max_contacts
    from coterie.anonymize.private.node_list import declared_ids
    from coterie.anonymize.private.sketch import PrivateSketch

    # Before the graph is read
    exact = parse_epsilon(epsilon, allow_large_epsilon=allow_large_epsilon)
    if cap is not None:
        parse_decimal(cap, "cap")
    _say_what_was_published(session, dataset)
    ids = declared_ids(int(nodes) if nodes.isascii() and nodes.isdigit() else nodes)
    check_max_contacts(max_contacts, len(ids), exact)
    data = load_graph_for_sketch(session, graph)
    sketch = PrivateSketch(
        epsilon=epsilon,
        dataset=dataset,
        cap=cap,
        purpose=purpose,
        max_contacts=max_contacts,
        after_release=after_release,
        allow_large_epsilon=allow_large_epsilon,
    )
    with session.progress("sketch") as callback:
        sketch.fit(data, nodes=ids, path=out, callback=callback)
    facts = _show_answers(session, sketch.answers_, str(out))
    spent, limit = float(sketch.spent_), float(sketch.cap_)
    session.show(f"{out}: written; dataset {dataset!r} has spent epsilon {spent:g} of {limit:g}")
    return {**facts, "spent": spent, "cap": limit}


def _say_what_was_published(session: Session, dataset: str) -> None:
    """Print what was published from the dataset before, of both kinds."""
    from coterie.anonymize.ledger import Ledger, exact_text

    ledger = Ledger()
    spent, graphs = ledger.spent(dataset), ledger.releases(dataset)
    if spent:
        session.say(
            f"dataset {dataset!r} has spent epsilon {exact_text(spent)} before; what is spent now "
            "adds to it"
        )
    if graphs:
        session.say(
            f"{graphs:,} graphs of dataset {dataset!r} were published in measured releases, which "
            "have no epsilon: together with them, the sketch has none either",
            important=True,
        )


def _plan(
    session: Session,
    nodes: str | None,
    edges: int | None,
    epsilon: str,
    purpose: str,
    max_contacts: int | None,
    plot: Path | None,
) -> JsonObject:
    """Print the errors to expect, for this epsilon and for others."""
    from rich.table import Table

    from coterie.anonymize.private.node_list import declared_ids
    from coterie.anonymize.private.plan import EPSILONS
    from coterie.anonymize.private.sketch import PrivateSketch
    from coterie.base.number_text import figure

    if nodes is None or edges is None:
        missing = "--nodes" if nodes is None else "--edges"
        raise InputError(f"a plan needs {missing}", remedy="add --nodes N --edges M")
    n = int(nodes) if nodes.isascii() and nodes.isdigit() else len(declared_ids(nodes))
    plans = {
        each: PrivateSketch.plan(
            nodes=n, edges=edges, epsilon=each, purpose=purpose, max_contacts=max_contacts
        )
        for each in dict.fromkeys([epsilon, *EPSILONS])
    }
    asked = plans[epsilon]
    title = f"{n:,} nodes, {edges:,} edges, epsilon {epsilon}: {asked.blocks} blocks"
    table = Table("figure", title=title)
    for column in ("expected error", "95 % within", *(f"error at {e}" for e in EPSILONS)):
        table.add_column(column, justify="right")
    for i, row in enumerate(asked.figures):
        others = [figure(plans[e].figures[i].error, 3) for e in EPSILONS]
        table.add_row(row.label, figure(row.error, 3), f"± {figure(row.half_width, 3)}", *others)
    session.show(table)
    session.show(
        f"A node has {2 * edges / n:,.1f} neighbours on average. Nothing was read or spent."
    )
    if plot is not None:
        from coterie.report.sketch_report import draw_plan

        draw_plan([plans[e] for e in EPSILONS]).save(plot)
    return {
        "epsilon": float(asked.epsilon),
        "nodes": n,
        "edges": edges,
        "blocks": asked.blocks,
        "figures": {
            row.key: {"error": row.error, "half_width": row.half_width} for row in asked.figures
        },
        "by_epsilon": {e: {row.key: row.error for row in plans[e].figures} for e in EPSILONS},
    }


def _check_output(out: Path, overwrite: bool) -> None:
    """Refuse an output that cannot be written, before anything is read or spent."""
    if str(out) == "-":
        raise InputError("a sketch is a binary file and is not printed", remedy="use --out FILE")
    if out.is_dir():
        raise InputError("is a folder", path=out, remedy="give a file name")
    if out.exists() and not overwrite:
        raise InputError("exists already", path=out, remedy="use another --out, or --overwrite")
    if not out.absolute().parent.is_dir():
        raise InputError("its folder does not exist", path=out, remedy="create the folder")


def _show(session: Session, path: Path) -> JsonObject:
    from coterie.anonymize.private.sketch import load_sketch

    return _show_answers(session, load_sketch(path).answers_, str(path))


def _show_answers(session: Session, answers: SketchAnswers, title: str) -> JsonObject:
    """Print the answers and what they say; return noisy answers, public facts and intervals."""
    from rich.table import Table

    from coterie.anonymize.private.posterior import intervals
    from coterie.base.number_text import figure
    from coterie.report.sketch_accuracy import answer_noise

    figures = intervals(answers)
    table = Table(title=f"{title}: epsilon {answers.epsilon}, {answers.n_nodes:,} nodes")
    found = Table(title="what they say about the original")
    for each, columns in (
        (table, ("answer", "value", "epsilon", "typical noise")),
        (found, ("figure", "estimate", "95 % interval")),
    ):
        for i, column in enumerate(columns):
            each.add_column(column, justify="right" if i else "left")
    for row in answer_noise(answers):
        cost = f"{float(answers.exact_epsilon * row.share):g}"
        value = row.answer or f"{row.numbers:,} numbers"
        table.add_row(row.name, value, cost, f"{row.error:,.1f}")
    for key, each_ in figures.items():
        between = f"{figure(each_.low)} to {figure(each_.high)}"
        found.add_row(key.replace("_", " "), figure(each_.value), between)
    session.show(table)
    session.show(found)
    if answers.person_epsilon is not None:
        session.show(
            f"At most {answers.max_contacts:,} edges per node were counted. The answers are about "
            f"the network that remains. Epsilon is {answers.epsilon} for one edge, and "
            f"{answers.person_epsilon:g} for the counted edges of one node together."
        )
    if not answers.capped_sums:
        session.show("An earlier version made this sketch: no interval for the mean clustering.")
    noise = 1 / float(answers.exact_epsilon * answers.shares.edge_count)
    if noise > _LARGE_NOISE * answers.edge_count:
        session.show(
            f"The noise is large for this network: the number of edges is off by {noise:,.0f} on "
            "average, and the other answers are less certain. Graphs that are drawn from this "
            "sketch resemble the original little. A larger --epsilon adds less noise."
        )
    unit = answers.clustering_unit
    return {
        "epsilon": float(answers.exact_epsilon),
        "nodes": answers.n_nodes,
        "edges": answers.edge_count,
        "blocks": answers.n_blocks,
        "degree_bins": len(answers.bin_edges),
        "triangles": answers.triangles,
        "max_contacts": answers.max_contacts,
        "epsilon_per_person": answers.person_epsilon,
        "clustering_sums": [total / unit for total in answers.clustering_sums],
        "figures": {
            key: {"value": each_.value, "low": each_.low, "high": each_.high}
            for key, each_ in figures.items()
        },
    }
