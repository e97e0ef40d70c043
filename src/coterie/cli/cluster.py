"""`coterie cluster`: hard clustering of a graph or of ratings."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.fitting import (
    FitOutcome,
    checkpoint_arguments,
    engine_of,
    show_fit,
    summary_of,
)
from coterie.cli.layers import cluster_layers
from coterie.cli.options import option_name
from coterie.cli.reading import (
    ANYTHING,
    RATING_OBJECTIVES,
    load_data,
    load_two_mode,
    parse_blocks,
    refuse_report_of_shards,
)
from coterie.cli.session import Session, command, spell_options

if TYPE_CHECKING:
    import numpy as np

    from coterie.data.foreign import TableColumns
    from coterie.models.agreement import KnownLabels
    from coterie.models.hard.block_model import BlockModel
    from coterie.models.hard.changes import BlockChanges
    from coterie.models.hard.clustering import ClusteringFacts, HardClustering
    from coterie.models.hard.description.comparison import ComparedModel
    from coterie.models.hard.link_scores import PredictedLinks
    from coterie.models.hard.posterior import PosteriorSamples

_LINKS_SHOWN = 20  # of --predict-links in the table; --json has all

EXAMPLES = """\b
Examples:
  coterie cluster friends.csv --blocks 10 --out labels.csv --report report.html
  coterie cluster friends.csv --blocks auto --objective auto --compare-models
  coterie cluster friends.csv --blocks nested --objective degree-corrected --out levels.csv
  coterie cluster friends.csv --blocks auto --start labels.csv --out labels-new.csv
  coterie cluster ratings.csv --blocks 20,30 --objective ratings --json
  coterie cluster women-events.csv --two-mode --blocks 2,3
  coterie cluster contacts.csv --blocks auto --layers kind --report layers.html
  coterie cluster mails.csv --blocks auto --time sent --every month --out blocks.csv
"""


_TWO_SIDES = ("ratings", "binomial", "likes")  # objectives without --samples


@command(reads=ANYTHING)
def run(
    session: Session,
    graph: str,
    blocks: str,
    objective: str | None = None,
    communities: str | None = None,
    effort: float = 1.0,
    two_mode: bool = False,
    weights: str = "counts",
    layers: str | None = None,
    every: str | None = None,
    search: str = "best",
    score: str = "exact",
    alpha: float = 0.1,
    iterations: int = 300,
    tol: float = 1e-6,
    compare_models: bool = False,
    samples: int = 0,
    min_block_size: int = 0,
    connected: bool = False,
    predict_links: int | None = None,
    runs: int = 1,
    out: Path | None = None,
    report: Path | None = None,
    plot: Path | None = None,
    truth: Path | None = None,
    start: Path | None = None,
    frozen: Path | None = None,
    never_together: str | None = None,
    attributes: Path | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    engine: str = "local",
    scheduler: str | None = None,
) -> JsonObject:
    """Put every node into one block (hard clustering).

    Fits a stochastic block model: nodes of a block have similar connections to all other blocks.
    Prints the number of blocks and the entropy (lower is better).
    """
    column = layers if every is None else session.reading.given.get("time")
    if every is not None and (column is None or layers is not None):
        raise InputError(
            "--every is the length of the periods of --time",
            remedy="add --time COLUMN" if column is None else "leave out --layers",
        )
    if column is not None:
        _only_for_one_graph(
            communities=communities is not None,
            two_mode=two_mode,
            effort=effort != 1,
            weights=weights != "counts",
            search=search != "best",
            compare_models=compare_models,
            samples=samples > 0,
            min_block_size=min_block_size > 0,
            connected=connected,
            predict_links=predict_links is not None,
            runs=runs > 1,
            plot=plot is not None,
            truth=truth is not None,
            start=start is not None,
            frozen=frozen is not None,
            never_together=never_together is not None,
            checkpoint=checkpoint is not None,
            engine=engine != "local",
        )
        return cluster_layers(
            session,
            graph,
            layer=column,
            every=every,
            blocks=blocks,
            objective=objective or "auto",
            out=out,
            report=report,
        )
    from coterie.engine.sharded_data import ShardedGraph
    from coterie.models.hard.posterior import sample_partitions
    from coterie.report.picture import check_picture_path

    if plot is not None:
        check_picture_path(plot)
    count = parse_blocks(blocks)
    if objective is None:
        plain = isinstance(count, str) and search == "best" and weights == "counts"
        objective = "auto" if plain and not two_mode else "simple"
    objective = _objective_of(objective, two_mode, count)
    saving = checkpoint_arguments(checkpoint, resume)
    if samples and objective in _TWO_SIDES:
        raise InputError(
            f"--samples does not support --objective {objective}",
            remedy="leave it out: only partitions of graphs are sampled",
        )
    model = _make_model(
        count,
        objective,
        weights,
        communities,
        effort,
        search=search,
        move_score=score,
        alpha=alpha,
        max_iter=iterations,
        tol=tol,
        n_init=runs,
        min_block_size=min_block_size,
        connected=connected,
        rng=session.seed,
    )
    model.check_request(engine=engine, **saving)
    given = _read_given(start, frozen, never_together, attributes)
    _check_given(model, given, samples)
    further = Further()
    data: Any
    if two_mode:
        data, further.sides = load_two_mode(session, graph)
    else:
        data = load_data(session, graph, objective, weights=weights)
    loaded = search == "best" and isinstance(data, ShardedGraph)  # by the fit
    if not loaded:
        refuse_report_of_shards(report, graph)
    known = None if truth is None else _read_truth(truth, data)
    if predict_links is not None and not loaded:
        _require_graph(data)
    with (
        engine_of(session, engine, scheduler) as running,
        session.progress("clustering") as callback,
    ):
        model.fit(data, engine=running, callback=callback, **saving, **given)
        if loaded:
            data = model.graph_
        here = running if engine == "local" else "local"
        if samples:
            facts = model.facts()
            further.samples = sample_partitions(
                data,
                facts.levels or [model.labels_],
                facts.model,
                weights=weights,
                nested=bool(facts.levels),
                n_samples=samples,
                rng=session.seed,
                engine=here,
                callback=callback,
            )
        if compare_models:
            further.compared = _compare(data, session.seed, here, callback)
    session.interrupted = model.interrupted_
    if predict_links is not None:
        further.links = model.predict_links(predict_links, samples=further.samples)
    if known is not None:
        further.agreement = _agreement(model, known)
    if "start" in given:
        further.changed = cast("BlockModel", model).diff(given["start"])
    files = OutputFiles(out, plot, report)
    _write_files(model, data, further, files, name=Path(graph).name, assumed=session.assumed)
    return _show(session, model, data, further, files)


def _objective_of(objective: str, two_mode: bool, blocks: int | tuple[int, int] | str) -> str:
    """Return the objective; that of a two-mode network counts pairs without an edge."""
    if two_mode:
        if objective not in ("simple", "likes"):
            raise InputError(
                f"--two-mode does not support --objective {objective}", remedy="leave out one"
            )
        return "likes"
    if isinstance(blocks, tuple) and objective not in RATING_OBJECTIVES:
        raise InputError(
            "--blocks K,L is for two kinds of nodes, and a network of one kind was asked for",
            remedy="add --two-mode or --objective ratings, or give one number of blocks",
        )
    return objective


def _read_given(
    start: Path | None, frozen: Path | None, never_together: str | None, attributes: Path | None
) -> dict[str, Any]:
    """Read the blocks to begin with and the constraints: what `BlockModel.fit` takes."""
    from coterie.data.node_table import read_features
    from coterie.data.readers import read_columns

    given: dict[str, Any] = {}
    for name, path in (("start", start), ("frozen", frozen)):
        if path is not None:
            table = read_columns(path, ("node", "block"))
            given[name] = dict(zip(table["node"].tolist(), table["block"].tolist(), strict=True))
    if (never_together is None) != (attributes is None):
        raise InputError(
            "--never-together is the name of a column of --attributes", remedy="give both"
        )
    if never_together is not None and attributes is not None:
        features = read_features(attributes)
        values = features[never_together].values.tolist()
        given["never_together"] = dict(zip(features.ids.tolist(), values, strict=True))
    return given


def _check_given(model: HardClustering, given: dict[str, Any], samples: int) -> None:
    """Refuse blocks to begin with where nothing can use them."""
    from coterie.models.hard.block_model import BlockModel

    for name in given:
        option = option_name(name)
        if not isinstance(model, BlockModel):
            raise InputError(
                f"{option} is for --blocks auto or nested", remedy=f"leave out {option}"
            )
        if samples and name != "start":
            raise InputError(f"{option} does not support --samples", remedy="leave out one")


def _only_for_one_graph(**given: bool) -> None:
    """Refuse options that layers do not have."""
    for name, is_given in given.items():
        if is_given:
            option = option_name(name)
            raise InputError(
                f"{option} does not support layers",
                remedy=f"leave out {option}, or --layers and --every",
            )


def _make_model(
    blocks: int | tuple[int, int] | str,
    objective: str,
    weights: str,
    density: str | None,
    effort: float,
    **settings: Any,
) -> HardClustering:
    """Return the model: with a given number of blocks, or chosen by description length."""
    from coterie.models.hard.block_model import searched_block_model
    from coterie.models.hard.k_means import GeneralizedKMeans

    if not isinstance(blocks, str) and weights == "counts":
        for option, given in (("--communities", density is not None), ("--effort", effort != 1)):
            if given:
                raise InputError(
                    f"{option} is for --blocks auto or nested", remedy=f"leave out {option}"
                )
        return GeneralizedKMeans(blocks, objective=objective, **settings)
    return searched_block_model(
        objective,
        density=density,
        effort=effort,
        n_blocks=None if isinstance(blocks, str) else blocks,
        nested=blocks == "nested",
        weight_model=weights,
        **settings,
    )


@dataclass
class Further:
    """What was computed after the fit."""

    samples: PosteriorSamples | None = None
    compared: list[ComparedModel] = field(default_factory=list)
    links: PredictedLinks | None = None
    agreement: KnownLabels | None = None
    changed: BlockChanges | None = None
    sides: tuple[str, str] = ("user", "item")  # what the two kinds of nodes are called


class OutputFiles(NamedTuple):
    """The files to write; None: not requested."""

    labels: Path | None
    picture: Path | None
    report: Path | None


def _write_files(
    model: HardClustering,
    data: Any,
    further: Further,
    files: OutputFiles,
    *,
    name: str,
    assumed: list[str],
) -> None:
    """Write the labels, the picture and the report that were requested."""
    if files.labels is not None:
        _write_labels(files.labels, _labels_table(model, data, further), data)
    if files.picture is not None:
        from coterie.report.cluster_report import draw

        draw(model, data, title=name).save(files.picture)
    if files.report is not None:
        from coterie.report.cluster_report import render
        from coterie.report.pdf import write_page

        page = render(
            model,
            data,
            name=name,
            assumed=assumed,
            spell=spell_options,
            samples=further.samples,
            compared=further.compared,
            truth=further.agreement,
        )
        write_page(page, files.report)


def _write_labels(path: Path, table: TableColumns, data: Any) -> None:
    """Write the blocks as a table, or the graph with its blocks as attributes of the nodes."""
    import numpy as np

    from coterie.data import Graph
    from coterie.data.formats.recognise import format_by_suffix
    from coterie.data.writers import write_graph, write_table

    if not format_by_suffix(path).holds_attributes:
        write_table(path, table)
        return
    if not isinstance(data, Graph):
        raise InputError(
            "only a graph in memory can be written with its blocks",
            path=path,
            remedy="give a name that ends with .csv or .parquet",
        )
    columns = {name: np.asarray(values) for name, values in table.items() if name != "node"}
    write_graph(data, path, node_columns=columns)


def _show(
    session: Session, model: HardClustering, data: Any, further: Further, files: OutputFiles
) -> JsonObject:
    """Print the result and what the blocks are; return the JSON output."""
    facts, one_set = model.facts(), not isinstance(model.labels_, tuple)
    counts: JsonObject = {
        "nodes": data.n_nodes if one_set else [data.n_users, data.n_items],
        "edges": data.n_edges if one_set else len(data),
        "blocks": model.n_blocks_,
    }
    outcome = FitOutcome(model, model.seconds_, model.run_entropies_, facts)
    more = _further_rows(facts, further)
    show_fit(session, counts, outcome, more=more, files=files._asdict(), sides=further.sides)
    explanation = [] if model.graph_ is None else [spell_options(text) for text in model.explain()]
    for sentence in explanation:
        if sentence not in session.assumed:  # otherwise it has been printed
            session.show(sentence)
    if further.changed is not None:
        for sentence in further.changed.sentences():
            session.show(sentence)
    if further.compared:
        columns = ("model", "blocks", "description length", "longer by", "odds")
        session.show_table(map(_comparison_row, further.compared), *columns)
        session.show(_how_to_fit(further.compared[0]))
    model_name = f"{facts.model} model"
    session.summary = summary_of(outcome, counts, model_name, files._asdict(), further.sides)
    result = {**counts, "objective": facts.model, "model": facts.model, **outcome.json_keys()}
    if further.agreement is not None:
        a = further.agreement
        result |= {"compared": len(a.nodes), "ari": a.ari, "ami": a.ami}
    result["explanation"] = explanation
    if further.links is not None:
        keys = ("source", "target", "probability")
        result["links"] = [dict(zip(keys, link, strict=True)) for link in further.links]
        result["link_calibration"] = [one._asdict() for one in further.links.calibration]
    if further.changed is not None:
        result["changed"] = further.changed.as_json()
    if facts.levels:
        result["levels"] = _level_sizes(facts)
    if further.samples is not None:
        result["samples"] = _samples_json(further.samples)
    if further.compared:
        result["models"] = [asdict(row) for row in further.compared]
    return result


def _further_rows(facts: ClusteringFacts, further: Further) -> list[tuple[str, str]]:
    """Return the rows about the objective, levels, samples, known labels and links."""
    rows = []
    if facts.model_chosen:
        rows.append(("objective", f"{facts.model} (it has the shortest description)"))
    if facts.levels:
        sizes = _level_sizes(facts)
        blocks = "block" if sizes == [1] else "blocks"
        rows.append(("levels", f"{', '.join(f'{k:,}' for k in sizes)} {blocks}"))
    if further.samples is not None:
        drawn = further.samples
        sure = f"{100 * drawn.confidence_.mean():.1f} % on average"
        agree = "chains agree" if drawn.chains_agree else "chains disagree: draw more samples"
        worth = f"worth {drawn.effective_size_:.0f} independent samples"
        rows.append(("confidence", f"{sure} ({agree}, R-hat {drawn.r_hat_:.3f}, {worth})"))
        modes = ", ".join(f"{m.n_blocks:,} ({100 * m.weight:.0f} %)" for m in drawn.modes())
        rows.append(("modes", f"{modes} blocks"))
    if further.agreement is not None:
        a = further.agreement
        text = f"ARI {a.ari:.4f}, AMI {a.ami:.4f} ({len(a.nodes):,} nodes compared)"
        rows.append(("truth", text))
    links: list[tuple[Any, Any, float]] = [] if further.links is None else further.links
    for place, (source, target, probability) in enumerate(links[:_LINKS_SHOWN]):
        text = f"{source} - {target} (probability {probability:.3g})"
        rows.append(("links to expect" if place == 0 else "", text))
    if len(links) > _LINKS_SHOWN:
        rows.append(("", f"{len(links) - _LINKS_SHOWN:,} more with --json"))
    if further.links is not None and further.links.calibration:
        top = further.links.calibration[0]
        text = (
            f"of the {top.pairs:,} likeliest pairs when a tenth of the edges was removed to see, "
            f"{100 * top.predicted:.0f} % were predicted to be edges, and "
            f"{100 * top.observed:.0f} % were"
        )
        rows.append(("calibration", text))
    return rows


def _level_sizes(facts: ClusteringFacts) -> list[int]:
    """Return the number of blocks of each level."""
    return [int(labels.max(initial=-1)) + 1 for labels in facts.levels]


def _samples_json(drawn: PosteriorSamples) -> JsonObject:
    """Return how certain the blocks are, by partitions drawn from the posterior."""
    return {
        "drawn": len(drawn.labels_),
        "mean_confidence": float(drawn.confidence_.mean()),
        "block_counts": {str(k): share for k, share in drawn.block_counts_.items()},
        "r_hat": drawn.r_hat_ if math.isfinite(drawn.r_hat_) else None,
        "effective_size": drawn.effective_size_,
        "modes": [
            {
                "weight": mode.weight,
                "blocks": mode.n_blocks,
                "description_length": mode.description_length,
            }
            for mode in drawn.modes()
        ],
    }


def _compare(data: Any, seed: int, engine: Any, callback: Any) -> list[ComparedModel]:
    """Compare the models of a graph."""
    from coterie.data import Graph
    from coterie.models.hard.description.comparison import compare_models

    if not isinstance(data, Graph):
        raise InputError(
            "--compare-models compares models of a graph in memory", remedy="leave it out"
        )
    return compare_models(data, rng=seed, engine=engine, callback=callback)


def _comparison_row(row: ComparedModel) -> tuple[str, ...]:
    """Return a row of the printed comparison of models."""
    length, longer = f"{row.description_length:,.1f} nats", f"{row.difference:,.1f}"
    return row.model, f"{row.n_blocks:,}", length, longer, row.printed_odds


def _how_to_fit(shortest: ComparedModel) -> str:
    """Return a sentence with the options that fit the model of the shortest description."""
    hierarchy, _, objective = shortest.model.rpartition(", ")
    blocks = {"nested": "nested", "one block": "1"}.get(hierarchy, "auto")
    objective = objective.replace("uniform-communities", "communities --communities uniform")
    return (
        f"The shortest description is that of the model: {shortest.model}. "
        f"To fit it: --objective {objective} --blocks {blocks}"
    )


class Truth(NamedTuple):
    """Known blocks of some of the nodes."""

    nodes: np.ndarray
    blocks: np.ndarray


def _require_graph(data: Any) -> None:
    """Refuse to predict links of ratings, or of a graph that is not in memory."""
    from coterie.data import Graph

    if not isinstance(data, Graph):
        raise InputError(
            "--predict-links needs a graph in memory, not ratings or shards",
            remedy="leave it out; for ratings use coterie recommend",
        )


def _read_truth(path: Path, data: Any) -> Truth:
    """Read known labels of the nodes that are in the graph."""
    import numpy as np

    from coterie.data import Graph
    from coterie.data.ids import IdLookup
    from coterie.data.readers import read_columns
    from coterie.engine.sharded_data import ShardedGraph

    if not isinstance(data, Graph | ShardedGraph):
        raise InputError(
            "--truth compares the nodes of a graph, not users and items", remedy="leave it out"
        )
    table = read_columns(path, ("node", "block"))
    nodes = IdLookup(data.ids).numbers(table["node"])
    if not (nodes >= 0).any():
        raise InputError(
            "no node of this file is in the graph",
            path=path,
            remedy="give a table with the columns node,block and the ids of the graph",
        )
    return Truth(nodes[nodes >= 0], np.asarray(table["block"])[nodes >= 0])


def _agreement(model: HardClustering, known: Truth) -> KnownLabels:
    from coterie.models import agreement

    found = model.labels_[known.nodes]
    ari = agreement.adjusted_rand(found, known.blocks)
    ami = agreement.adjusted_mutual_information(found, known.blocks)
    return agreement.KnownLabels(known.nodes, known.blocks, ari, ami)


def _labels_table(model: HardClustering, data: Any, further: Further) -> TableColumns:
    """Make the columns of the labels file: one row per node; users and items get a side."""
    import numpy as np

    if not isinstance(model.labels_, tuple):
        names = vars(model).get("block_names_")
        blocks = model.labels_ if names is None else [names[b] for b in model.labels_.tolist()]
        table = {"node": data.ids, "block": blocks}
        for level, labels in enumerate(model.facts().levels[1:], 1):
            table[f"level_{level}"] = labels
        if further.samples is not None:
            for level, sure in enumerate(further.samples.level_confidence_):
                table[f"confidence_level_{level}" if level else "confidence"] = sure
        return table
    return {
        "side": np.repeat(further.sides, [data.n_users, data.n_items]),
        "node": [*data.user_ids.tolist(), *data.item_ids.tolist()],
        "block": np.concatenate(model.labels_),
    }
