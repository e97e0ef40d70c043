"""`coterie compare`: how similar two graphs are."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie.base.json_values import JsonObject
from coterie.cli.input_options import FormatOption, SeparatorOption, load_graph
from coterie.cli.session import Session, command, stopwatch


@command(unused=("seed",))
def run(
    session: Session,
    original: Annotated[
        str, typer.Argument(metavar="ORIGINAL", help="The original graph; - is stdin.")
    ],
    published: Annotated[
        str, typer.Argument(metavar="PUBLISHED", help="The graph to compare with it.")
    ],
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> JsonObject:
    """Compare two graphs: paths, clustering, degrees, components.

    Prints one row per measure: number of nodes and edges, path lengths, clustering, degrees,
    assortativity, components and core numbers.

    Example: coterie compare friends.csv release/graph.csv
    """
    from coterie.anonymize.output.json_form import comparison_json
    from coterie.anonymize.utility.measures import compare
    from coterie.cli.anonymize import measures_table

    first, second = (
        load_graph(session, path, format=format, separator=separator)
        for path in (original, published)
    )
    with stopwatch() as seconds:
        found = compare(first, second, session.engine())
        result = {**comparison_json(found), "seconds": seconds()}
    session.show(measures_table(found.original, found.published, found.degree_ks, "two graphs"))
    return result
