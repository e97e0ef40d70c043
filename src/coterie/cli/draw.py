"""`coterie draw`: graphs from a private sketch, at no further cost of privacy."""

from __future__ import annotations

from pathlib import Path

from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command, stopwatch

EXAMPLES = """\b
Examples:
  coterie draw friends.sketch --out graphs
  coterie draw friends.sketch --draws 10 --seed 1 --out graphs
"""


@command()
def run(
    session: Session,
    sketch: Path,
    out: Path,
    draws: int = 1,
    point: bool = False,
) -> JsonObject:
    """Draw graphs from a private sketch.

    Before each draw the true answers are drawn from what the noise leaves open, so that several
    graphs show how uncertain a figure is; --point uses the noisy answers as they are. Only the
    sketch is read, so any number of graphs may be drawn and published. Their nodes are
    0..n-1 in random order: no node stands for a person. Writes graph.csv (or graph-1.csv,
    graph-2.csv, … for several graphs) and report.html.
    """
    from coterie.anonymize.private.draw import draw_graphs
    from coterie.anonymize.private.draw_folder import check_draw_folder, graph_names, write_draws
    from coterie.anonymize.private.sketch_file import read_answers
    from coterie.report.sketch_report import render

    check_draw_folder(out)
    answers = read_answers(sketch)
    engine = session.engine()
    with stopwatch() as seconds, session.progress("draw") as callback:
        graphs = draw_graphs(
            answers, draws, rng=session.seed, engine=engine, callback=callback, point=point
        )
        elapsed = seconds()
    write_draws(out, graphs, render(answers, graphs, engine))
    names = graph_names(draws)
    shown = names[0] if draws == 1 else f"{names[0]} … {names[-1]}"
    edges = sum(graph.n_edges for graph in graphs) / draws
    session.show(
        f"{out}: {shown} and report.html written; {answers.n_nodes:,} nodes, {edges:,.0f} edges"
        + (" per graph" if draws > 1 else "")
    )
    return {
        "draws": draws,
        "seconds": elapsed,
        "nodes": answers.n_nodes,
        "edges": [graph.n_edges for graph in graphs],
        "epsilon": float(answers.exact_epsilon),
    }
