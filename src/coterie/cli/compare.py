"""`coterie compare`: how alike two graphs are."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coterie.cli.input_options import FormatOption, SeparatorOption, load_graph
from coterie.cli.session import Session, command, stopwatch


@command
def run(
    session: Session,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="A graph; - is stdin.")],
    published: Annotated[str, typer.Argument(metavar="PUBLISHED", help="The other graph.")],
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Path lengths, clustering, degrees, components, cores and spectrum of two graphs."""
    from coterie.anonymize.utility.measures import compare
    from coterie.cli.anonymize import likeness_table

    first, second = (
        load_graph(session, path, format=format, separator=separator)
        for path in (original, published)
    )
    with stopwatch() as seconds:
        result = compare(first, second, session.engine())
        result["seconds"] = seconds()
    session.show(likeness_table(result, "how alike they are"))
    return result
