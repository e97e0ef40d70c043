"""Find the blocks of a network and describe them."""

from __future__ import annotations

import json

import numpy as np

from coterie.app.web.tasks.context import TaskContext
from coterie.app.web.tasks.spreadsheet import write_csv
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data import Graph
from coterie.data.readers import read_graph
from coterie.models.hard.block_model import BlockModel
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.k_means import GeneralizedKMeans
from coterie.report.charts import standalone
from coterie.report.cluster_report import compose
from coterie.report.page import parts_html, write

_SHOWN_FACTS = {  # and their names on the page; the report has all
    "nodes": "nodes",
    "edges": "connections",
    "blocks": "blocks",
    "entropy": "entropy",
    "time": "time",
}
_LISTED = 300  # nodes of a block that the page lists


def explore(context: TaskContext) -> JsonObject:
    """Cluster the network; a stop keeps the best result so far."""
    settings = context.settings
    graph = read_graph(settings["path"])
    if graph.n_edges == 0:
        raise InputError("the network has no connection, so there is nothing to group")
    blocks = settings["blocks"]
    model: HardClustering = BlockModel(settings["objective"], rng=0)
    if blocks != "auto":
        model = GeneralizedKMeans(int(blocks), objective=settings["objective"], rng=0)
    checkpoint = context.kept("search.checkpoint")
    context.require_result(checkpoint.exists())
    with context.search():
        model.fit(
            graph,
            callback=context.progress_of_fit,
            checkpoint=checkpoint,
            checkpoint_every=1,
            resume=True,
        )
    context.stage("drawing")
    name = settings["name"]
    labels = np.asarray(model.labels_)
    page = compose(model, graph, name=name, assumed=context.remarks)
    files = context.folder
    write_csv(
        files / "labels.csv",
        ["node", "block"],
        zip(graph.ids.tolist(), labels.tolist(), strict=True),
    )
    (files / "report.html").write_text(write(page), encoding="utf-8")
    listed = _members(graph, labels)
    (files / "blocks.json").write_text(json.dumps(listed), encoding="utf-8")
    for figure in page.sections[0].figures[:1]:
        drawing = figure.chart
        (files / "picture.svg").write_text(standalone(drawing.svg, name), encoding="utf-8")
        (files / "network.json").write_text(drawing.network, encoding="utf-8")
        address = "/explore/network.json" if drawing.network else ""
        page.sections[0].figures[0] = figure._replace(chart=drawing._replace(network=address))
    sections = parts_html(page)
    network = f"{graph.n_nodes:,} nodes with {graph.n_edges:,} connections"
    number = f"{len(listed):,} {'block' if len(listed) == 1 else 'blocks'}"
    return {
        "verdict": f"The search was stopped before it was finished. Its best division of the "
        f"{network} so far has {number}."
        if model.interrupted_
        else f"The {network} form {number}.",
        "facts": [
            [_SHOWN_FACTS[fact.name], fact.value, fact.note.removeprefix("nats; ")]
            for fact in page.facts
            if fact.name in _SHOWN_FACTS
        ],
        "blocks": [[block["block"], block["size"]] for block in listed],
        "sections": sections[:2],
        "more": sections[2:],
        "unfinished": bool(model.interrupted_),
    }


def _members(graph: Graph, labels: np.ndarray) -> list[JsonObject]:
    """Return the nodes of each block, the best connected first; the largest block first."""
    degree = np.diff(graph.indptr)
    names = graph.ids.tolist()
    order = np.lexsort((-degree, labels))
    found: list[JsonObject] = []
    for block in np.unique(labels):
        nodes = order[labels[order] == block]
        found.append(
            {
                "block": int(block),
                "size": len(nodes),
                "nodes": [[str(names[v]), int(degree[v])] for v in nodes[:_LISTED].tolist()],
            }
        )
    return sorted(found, key=lambda block: (-block["size"], block["block"]))
