"""The report of a clustering of layers: which share their blocks, and what happens over time."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.models.hard.layered import LayeredBlockModel
from coterie.report.charts import Grouping, alluvial
from coterie.report.page import Fact, Page, Section, Verdict, written
from coterie.report.shared_sections import count

_MOST_COLUMNS = 12  # of the chart


def compose(
    model: LayeredBlockModel, *, name: str = "the data", assumed: Sequence[str] = ()
) -> Page:
    """Report a fitted LayeredBlockModel.

    Parameters
    ----------
    model : LayeredBlockModel
        The fitted model.
    name : str, default="the data"
        What the page calls the data.
    assumed : sequence of str, default=()
        Remarks to list under "What was assumed".

    Returns
    -------
    Page or str
        `compose` returns the page, `render` one HTML file that fetches nothing.
    """
    data, group = model.layers_, model.group_of()
    found = model.explain()
    findings = " ".join(found[: len(found) - len(model.events_)])
    layers = Section(
        "The layers", "Layers of one group share their blocks: they are described together."
    )
    layers.tabulate(
        ["layer", "edges", "blocks", "group"],
        [
            [layer, graph.n_edges, model.n_blocks_[layer], group[layer]]
            for layer, graph in zip(data.names, data.graphs, strict=True)
        ],
    )
    firsts = [names[0] for names in model.groups_][:_MOST_COLUMNS]
    if len(firsts) > 1:
        chart = alluvial(
            [Grouping(first, model.labels_[first], "block") for first in firsts],
            description="How the nodes of the blocks of one group of layers are divided in the "
            "next.",
        )
        caption = "One column per group of layers, named by its first; a band is a number of nodes."
        if len(model.groups_) > len(firsts):
            caption += f" {len(model.groups_) - len(firsts):,} more groups are not drawn."
        layers.draw("Who is where", chart, caption)
    events = Section("What changes", "Between one period and the next.", label="Changes")
    events.tabulate(["period", "event"], [[*str(e).split(": ", 1)] for e in model.events_])
    assumptions = Section("What was assumed")
    assumptions.notes = [*model.declaration.assumptions.values(), *assumed]
    lengths = [
        Fact("description length", f"{model.description_length_:,.0f} nats", model.model_),
        count("nodes", data.n_nodes),
        count("edges", data.n_edges),
        count("layers", len(data.names), f"{len(model.groups_)} groups"),
    ]
    return Page(
        "layers report",
        f"Layers of {name}",
        Verdict(findings, "warn" if model.interrupted_ else ""),
        lengths,
        [layers, events, assumptions],
    )


render = written(compose)
