"""LayeredGraph: several kinds of edges, or several times, between the same nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name
from coterie.data.column_roles import WantedColumns
from coterie.data.graph import Graph
from coterie.data.ids import number_ids
from coterie.data.readers import ids_of
from coterie.data.table import ReadOptions, read_wanted, takes

PERIODS = {"hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}


@dataclass(frozen=True)
class LayeredGraph:
    """Undirected graphs of the same nodes, one per layer.

    Parameters
    ----------
    names : tuple of str
        The names of the layers; of periods of time in their order.
    graphs : tuple of Graph
        The graph of each layer; all have the same nodes.
    ordered : bool, default=False
        Whether the layers are periods of time.

    Examples
    --------
    >>> import coterie as ct
    >>> both = ct.LayeredGraph.from_edges("aab", "bcc", ["phone", "phone", "mail"])
    >>> both.names, both.n_nodes, both.n_edges
    (('mail', 'phone'), 3, 3)
    """

    names: tuple[str, ...]
    graphs: tuple[Graph, ...]
    ordered: bool = False

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return self.graphs[0].n_nodes

    @property
    def n_edges(self) -> int:
        """The number of edges of all layers together."""
        return sum(graph.n_edges for graph in self.graphs)

    @property
    def ids(self) -> np.ndarray:
        """The ids of the nodes."""
        return self.graphs[0].ids

    def __repr__(self) -> str:
        return f"LayeredGraph({len(self.names)} layers, {self.n_nodes} nodes, {self.n_edges} edges)"

    @classmethod
    def from_edges(
        cls, source: Any, target: Any, layer: Any, *, every: str | None = None
    ) -> LayeredGraph:
        """Build layers from edges and the layer, or the time, of each.

        Parameters
        ----------
        source, target : array-like
            The ids of the two nodes of each edge. Repeated edges of one layer count once.
        layer : array-like
            The layer of each edge, or with `every` its time.
        every : {"hour", "day", "week", "month", "year"}, optional
            The length of a period, if `layer` has times: dates as in 2026-11-18 or
            2026-11-18T09:30, or seconds since 1970. Periods without edges are left out.

        Returns
        -------
        LayeredGraph
            The layers, sorted by name or time.
        """
        ids, (first, second) = number_ids([np.asarray(list(source)), np.asarray(list(target))])
        names, numbers = np.unique(_periods(layer, every), return_inverse=True)
        graphs = tuple(
            Graph.from_edges(first[numbers == k], second[numbers == k], ids=ids)
            for k in range(len(names))
        )
        return cls(tuple(map(str, names.tolist())), graphs, every is not None)

    @classmethod
    def from_graphs(cls, layers: Mapping[str, Any]) -> LayeredGraph:
        """Build layers from graphs; a node that a graph does not have is isolated there.

        Parameters
        ----------
        layers : mapping of str to Graph
            The graph of each layer.

        Returns
        -------
        LayeredGraph
            The layers in the order of the mapping.
        """
        graphs = list(layers.values())
        ids, places = number_ids([graph.ids for graph in graphs])
        again = []
        for graph, place in zip(graphs, places, strict=True):
            source, target = graph.edges()
            again.append(
                Graph.from_edges(place[source], place[target], ids=ids, directed=graph.directed)
            )
        return cls(tuple(map(str, layers)), tuple(again))


@takes("format", "separator", "header", "source", "target", "layer", "every", "threads")
def read_layers(path: PathLike, options: ReadOptions) -> LayeredGraph:
    """Read edges with a column that has their layer, or their time.

    Parameters
    ----------
    path : path-like
        A table as text, Parquet, Excel or JSON; `-` is standard input.
    format : {"text", "parquet", "excel", "json"}, optional
        The format. By default, it follows from the first bytes of the file, then from its suffix.
    separator : str, optional
        The separator of a text file. By default, it is detected.
    header : bool, optional
        Whether the first line has the names of the columns. By default, it is detected.
    source, target : str, optional
        The names of the columns of the nodes.
    layer : str
        The name of the column of the layers or times.
    every : {"hour", "day", "week", "month", "year"}, optional
        The length of a period, if the column has times.
    threads : int, optional
        The number of threads. By default, all cores.

    Returns
    -------
    LayeredGraph
        The layers.

    Examples
    --------
    >>> import coterie as ct
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "contacts.csv"
    ...     _ = path.write_text("source,target,kind\\nann,bob,call\\nbob,cat,mail\\n")
    ...     ct.read_layers(path, layer="kind").names
    ('call', 'mail')
    """
    if options.layer is None:
        raise InputError("no column of layers", remedy="name it: `layer=`")
    names = ("source", "target", "layer")
    columns = read_wanted(path, WantedColumns(names, chosen=options.chosen(*names)), options)
    try:
        return LayeredGraph.from_edges(*(ids_of(columns, n) for n in names), every=options.every)
    except InputError as error:
        raise InputError(error.problem, path=place_name(path), remedy=error.remedy) from None


def _periods(layer: Any, every: str | None) -> np.ndarray:
    """Return the layer of each edge: the name itself, or the period of a time.

    >>> _periods(["2026-01-30", "2026-02-01"], "month").tolist()
    ['2026-01', '2026-02']
    """
    given = np.asarray(list(layer))
    if every is None:
        return given.astype(str)
    if every not in PERIODS:
        raise InputError(f"unknown period: {every!r}", remedy=f"use one of {', '.join(PERIODS)}")
    try:
        if given.dtype.kind in "iu":
            times = given.astype("datetime64[s]")
        else:
            times = given.astype("datetime64[s]" if given.dtype.kind == "M" else str)
            times = times.astype("datetime64[s]")
    except ValueError:
        wrong = next(text for text in given.tolist() if not _is_time(text))
        raise InputError(
            f"{wrong!r} is not a time",
            remedy="write times as 2026-11-18 or 2026-11-18T09:30, or as seconds since 1970",
        ) from None
    return times.astype(f"datetime64[{PERIODS[every]}]").astype(str)


def _is_time(text: Any) -> bool:
    """Return whether a text is a time."""
    try:
        np.datetime64(str(text), "s")
    except ValueError:
        return False
    return True
