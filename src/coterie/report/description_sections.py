"""Sections of a clustering report about description length: hierarchy, models, confidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.base.number_text import short
from coterie.data import Graph
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.description.comparison import ComparedModel
from coterie.models.hard.posterior import PosteriorSamples
from coterie.report.block_matrix import density_between, similarity_order
from coterie.report.charts import Chart, ChartTable, bars, heatmap, histogram
from coterie.report.charts.drawing import Cell
from coterie.report.charts.sunburst import sunburst
from coterie.report.page import Figure, Section

_MOST_BLOCKS = 60  # rows of the block matrix of a level
_LISTED = 20  # uncertain nodes in the table


def description_sections(
    model: HardClustering,
    graph: Graph,
    samples: PosteriorSamples | None = None,
    compared: Sequence[ComparedModel] = (),
) -> list[Section]:
    """Return the sections that there is something for."""
    sections = []
    levels = model.facts().levels
    if levels:
        sections.append(_hierarchy(levels, graph))
    if samples is not None:
        sections.append(_confidence(samples, model.labels_, graph))
    if compared:
        sections.append(_comparison(compared))
    return sections


def _hierarchy(levels: Sequence[np.ndarray], graph: Graph) -> Section:
    counts = [int(z.max(initial=-1)) + 1 for z in levels]
    listed = ", ".join(f"{k:,}" for k in counts)
    section = Section(
        "The hierarchy",
        "The blocks are grouped again and again: level 0 has the smallest blocks, those of the "
        f"other figures and of the labels file. Numbers of blocks per level: {listed}.",
        label="Hierarchy",
    )
    section.draw(
        "Blocks of blocks",
        sunburst(levels, description=f"A hierarchy of {len(levels)} levels with {listed} blocks."),
        "Each ring is a level: the largest blocks inside, the smallest outside. The angle of a "
        "block is its share of the nodes; colours follow the largest blocks.",
    )
    for level in reversed(range(1, len(levels))):  # that of level 0 is shown above
        if 2 <= counts[level] <= _MOST_BLOCKS:
            section.draw(
                f"The block matrix of level {level}",
                _matrix(levels[level], counts[level], graph),
                f"Edges divided by possible pairs between the {counts[level]:,} blocks of level "
                f"{level}.",
            )
    return section


def _matrix(labels: np.ndarray, k: int, graph: Graph) -> Chart:
    """Draw the densities between the blocks of one level."""
    source, target = graph.edges()
    sizes = np.bincount(labels, minlength=k)
    density = density_between(labels[source], labels[target], sizes)
    order = similarity_order(density)
    return heatmap(
        density[np.ix_(order, order)],
        [str(b) for b in order],
        value="density",
        description=f"Densities between {k} blocks.",
        log=True,
        row_title="block",
        column_title="other block",
    )


def compared_table(compared: Sequence[ComparedModel]) -> ChartTable:
    """List the models by description length, with their odds against the shortest."""
    rows: list[list[Cell]] = [
        [
            row.model,
            row.n_blocks,
            float(row.description_length),
            float(row.difference),
            row.printed_odds,
        ]
        for row in compared
    ]
    return ChartTable(["model", "blocks", "nats", "longer by", "odds"], rows)


def _comparison(compared: Sequence[ComparedModel]) -> Section:
    best = compared[0]
    section = Section(
        "Which model describes the network best",
        f"The shortest description is that of the model “{best.model}” with "
        f"{best.n_blocks:,} blocks. All lengths are of the same network, so they can be compared: "
        "a model that is longer by d nats has odds of exp(-d) against the shortest one.",
        label="Models",
    )
    section.tabulate(*compared_table(compared), title="Models by description length")
    return section


def _confidence(samples: PosteriorSamples, labels: np.ndarray, graph: Graph) -> Section:
    sure = samples.confidence_
    least = np.argsort(sure, kind="stable")[:_LISTED]
    agreement = (
        "The chains agree"
        if samples.chains_agree
        else "The chains disagree: draw more samples before you rely on these figures"
    )
    section = Section(
        "How certain the blocks are",
        f"{len(samples.labels_):,} partitions were drawn from the posterior of the model. On "
        f"average a node is in its block in {100 * float(sure.mean()):.0f} % of them. {agreement} "
        f"(largest R-hat: {short(samples.r_hat_)}; the samples are worth "
        f"{samples.effective_size_:,.0f} independent ones).",
        label="Confidence",
    )
    section.figures = confidence_charts(samples)
    section.tabulate(
        ["mode", "blocks", "share of samples", "nats"],
        [
            [number, mode.n_blocks, mode.weight, mode.description_length]
            for number, mode in enumerate(samples.modes(), 1)
        ],
        title="Distinct explanations among the samples",
    )
    section.tabulate(
        ["figure", "R-hat", "independent samples"],
        [[name, one.r_hat, one.effective_size] for name, one in samples.diagnostics_.items()],
        title="Whether the chains agree",
    )
    section.tabulate(
        ["node", "block", "confidence"],
        [[str(graph.ids[v]), int(labels[v]), float(sure[v])] for v in least],
        title="The least certain nodes",
    )
    return section


def confidence_charts(samples: PosteriorSamples) -> list[Figure]:
    """Draw how certain the nodes are, and how many blocks the samples have."""
    edges = np.linspace(0.0, 1.0, 21)
    nodes = histogram(
        edges,
        np.histogram(samples.confidence_, edges)[0],
        x_title="confidence",
        y_title="nodes",
        description="How many nodes have which confidence.",
    )
    listed = "Share of the samples in which a node is in the block that it is listed with."
    meaning = "Share of the samples with each number of blocks."
    counts = sorted(samples.block_counts_.items())
    shares = {"share of samples": [part for _, part in counts]}
    number = bars([f"{k:,} blocks" for k, _ in counts], shares, description=meaning)
    return [
        Figure("Confidence of the nodes", nodes, listed),
        Figure("Number of blocks", number, meaning),
    ]
