"""PrivateSketch: an edge-private summary of a network, from which graphs are drawn."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from coterie.anonymize.ledger import Ledger, check_dataset_name, exact_text, fingerprint_of
from coterie.anonymize.private import public_rules
from coterie.anonymize.private.answers import SketchAnswers, ask
from coterie.anonymize.private.budget import Shares, parse_decimal, parse_epsilon, shares_for
from coterie.anonymize.private.contact_bound import check_max_contacts
from coterie.anonymize.private.node_list import NodeList, declared_ids, on_node_list
from coterie.anonymize.private.sketch_file import largest_size, read_answers, to_bytes
from coterie.base.errors import CoterieError, InputError
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState
from coterie.data import Graph
from coterie.data.atomic_files import atomic_write
from coterie.data.foreign import as_graph
from coterie.kernels.anonymize.private_noise import fill_noise
from coterie.models.base import Estimator

if TYPE_CHECKING:
    from coterie.anonymize.private.plan import SketchPlan
    from coterie.anonymize.private.posterior import Interval


class PrivateSketch(Estimator):
    """An edge-differentially private sketch of a network.

    A sketch is a set of noisy counts: edges, degrees, edges between blocks and between degree
    bins, triangles and local clustering. Compared with a network without one of the edges, no
    sketch is more than e^epsilon times as likely or unlikely. So whoever knows all other edges
    can change the odds of this one by at most this factor. The guarantee is pure (no delta). Any
    number of graphs can be drawn from a sketch at no further cost.

    Every fit is recorded in the ledger of the dataset before the first random bit is read, and
    refused if the total epsilon of the dataset would exceed the cap. The noise comes from the
    operating system, so that two fits never give the same sketch.

    Parameters
    ----------
    epsilon : str or int, default="1"
        Privacy loss as a decimal number with at most 6 digits after the point. Text, because a
        floating-point number is not exact.
    dataset : str, default=""
        Name of the dataset in the ledger. All sketches and releases of one network must use the
        same name.
    cap : str or int, optional
        Maximum of the total epsilon of the dataset, this sketch included. It can only lower the
        cap that the ledger stores for the dataset (`Ledger.init`; 4 if nobody set one).
    after_release : bool, default=False
        Whether to go on although measured releases of the dataset were published. They have no
        epsilon, so the two together have none.
    purpose : {"balanced", "degrees", "communities", "clustering"}, default="balanced"
        Which questions get most of epsilon. The guarantee is the same for all.
    max_contacts : int, optional
        Maximum number of edges per node that are counted. Others are left out by a public rule,
        before any question. Epsilon remains that of one edge; the counted edges of one node
        together have `max_contacts` times as much. Answers about blocks, triangles and clustering
        get three times the noise, since one edge can displace two others.
    allow_large_epsilon : bool, default=False
        Whether to allow epsilon above 10.
    ledger : path-like, optional
        The private state folder with the ledgers. The default is $COTERIE_STATE, else
        $XDG_STATE_HOME/coterie, else ~/.local/state/coterie.

    Attributes
    ----------
    answers_ : SketchAnswers
        The noisy answers. All of them may be published.
    spent_ : fractions.Fraction
        Total epsilon of the dataset after this fit; not set for a sketch that was loaded.
    cap_ : fractions.Fraction
        The cap that applied; not set for a sketch that was loaded.

    See Also
    --------
    load_sketch : Read a sketch from a file.

    Examples
    --------
    >>> import coterie as ct
    >>> from tempfile import TemporaryDirectory
    >>> graph = ct.Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 4])
    >>> with TemporaryDirectory() as folder:
    ...     sketch = ct.PrivateSketch(epsilon="1", dataset="staff", ledger=folder)
    ...     _ = sketch.fit(graph, nodes=6)
    ...     sketch.save(f"{folder}/staff.sketch")
    ...     ct.load_sketch(f"{folder}/staff.sketch").answers_.n_nodes
    6
    """

    def __init__(
        self,
        *,
        epsilon: str | int = "1",
        dataset: str = "",
        cap: str | int | None = None,
        after_release: bool = False,
        purpose: str = "balanced",
        max_contacts: int | None = None,
        allow_large_epsilon: bool = False,
        ledger: str | os.PathLike[str] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.dataset = dataset
        self.cap = cap
        self.after_release = after_release
        self.purpose = purpose
        self.max_contacts = max_contacts
        self.allow_large_epsilon = allow_large_epsilon
        self.ledger = ledger

    def fit(
        self,
        graph: Graph,
        *,
        nodes: NodeList,
        path: str | os.PathLike[str] | None = None,
        callback: Callback = silent,
    ) -> PrivateSketch:
        """Ask the private questions about a network.

        Parameters
        ----------
        graph : Graph
            An undirected graph without weights.
        nodes : int, path-like or sequence of int or str
            The public node list: n for the ids 0..n-1, a file with one id per line, or the ids.
            It must be known without the edges, and is published with the sketch. Nodes without
            edges belong to it.
        path : path-like, optional
            Where to save the sketch. The space is reserved before the ledger entry is made, so
            that a full disk costs no privacy.
        callback : callable, default=silent
            Receives a `Progress` after each group of answers.

        Returns
        -------
        PrivateSketch
            The sketch itself.

        Raises
        ------
        InputError
            If a parameter, the graph or the node list is not usable. Nothing is recorded or spent
            then.
        LedgerRefusal
            If the cap would be exceeded, if measured releases were published before, or if the
            ledger is damaged.
        """
        epsilon = parse_epsilon(self.epsilon, allow_large_epsilon=self.allow_large_epsilon)
        cap = None if self.cap is None else parse_decimal(self.cap, "cap")
        contacts, shares = self.max_contacts, shares_for(self.purpose, self.max_contacts)
        dataset = _required_name(self.dataset)
        ids = declared_ids(nodes)
        check_max_contacts(contacts, len(ids), epsilon)
        graph = as_graph(graph)
        private = on_node_list(graph, ids)
        _compile()
        ledger = Ledger(self.ledger)
        with ExitStack() as stack:
            file = None
            if path is not None:
                size = largest_size(len(ids), ids)
                file = stack.enter_context(atomic_write(path, "wb", reserve=size))
            entry = ledger.begin(
                dataset,
                kind="sketch",
                epsilon=epsilon,
                cap=cap,
                fingerprint=fingerprint_of(graph),
                after_release=self.after_release,
                details=_details(len(ids), epsilon, shares, contacts),
            )
            # The file is closed inside, so that a failure to write it is recorded too.
            try:
                self.answers_ = ask(private, ids, epsilon, callback, shares, contacts)
                if file is not None:
                    file.write(to_bytes(self.answers_))
                stack.close()
            except BaseException:
                with suppress(CoterieError):  # the first error matters; the entry counts anyway
                    ledger.finish(entry, "failed")
                raise
        ledger.finish(entry, "written")
        self.spent_ = ledger.spent(dataset)
        self.cap_ = ledger.cap(dataset) if cap is None else cap
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sketch to a file, which may be published.

        Parameters
        ----------
        path : path-like
            The file. It appears complete or not at all.
        """
        content = to_bytes(self._fitted())
        with atomic_write(path, "wb") as file:
            file.write(content)

    @staticmethod
    def plan(
        *,
        nodes: int,
        edges: int,
        epsilon: str | int = "1",
        purpose: str = "balanced",
        max_contacts: int | None = None,
    ) -> SketchPlan:
        """Return the errors to expect of a sketch, before anything is spent.

        Parameters
        ----------
        nodes : int
            Number of nodes of the public list.
        edges : int
            About how many edges there are. A public number: an exact count would not be private.
        epsilon : str or int, default="1"
            Privacy loss.
        purpose : {"balanced", "degrees", "communities", "clustering"}, default="balanced"
            Which questions get most of epsilon.
        max_contacts : int, optional
            Maximum number of edges per node that are counted.

        Returns
        -------
        SketchPlan
            Expected error and half of a 95 % interval, per figure.

        Examples
        --------
        >>> import coterie as ct
        >>> plan = ct.PrivateSketch.plan(nodes=5000, edges=40_000, epsilon="1")
        >>> round(plan["edges"].error), plan["edges"].half_width
        (50, 150.0)
        """
        from coterie.anonymize.private.plan import plan

        if nodes < 2 or not 0 <= edges <= nodes * (nodes - 1) // 2:
            raise InputError(
                f"a network with {nodes} nodes cannot have {edges} edges",
                remedy="give at least 2 `nodes`, and at most one edge per pair (`edges`)",
            )
        exact = parse_epsilon(epsilon, allow_large_epsilon=True)
        check_max_contacts(max_contacts, nodes, exact)
        return plan(nodes, edges, exact, shares_for(purpose, max_contacts))

    def interval(self, figure: str) -> Interval:
        """Return a figure of the original as the sketch knows it: its value and 95 % interval.

        Parameters
        ----------
        figure : str
            "edges", "mean_degree", "nodes_with_edges", "largest_degree", "triangles",
            "global_clustering", "mean_clustering", "assortativity" or "modularity" (of the blocks
            of the sketch).

        Returns
        -------
        Interval
            `value`, `low` and `high`. Of 100 sketches, about 95 have the true figure between.

        Raises
        ------
        InputError
            If there is no such figure; sketches of version 0.1 have no "mean_clustering".
        """
        from coterie.anonymize.private.posterior import intervals

        found = intervals(self._fitted())
        if figure not in found:
            raise InputError(
                f"the sketch has no interval for {figure!r}",
                remedy=f"use one of {', '.join(found)}",
            )
        return found[figure]

    def draw(self, rng: RandomState = 0, *, point: bool = False) -> Graph:
        """Draw a graph from the sketch; nothing else is read, and no privacy is spent.

        Parameters
        ----------
        rng : int, Generator or None, default=0
            Random seed. The same sketch and seed give the same graph.
        point : bool, default=False
            Whether to use the noisy answers as they are. Otherwise the true answers are drawn from
            their posterior first, so that several draws differ as much as the noise leaves open.

        Returns
        -------
        Graph
            A graph with the nodes 0..n-1 in random order: no node stands for a person.
        """
        from coterie.anonymize.private.draw import draw_graphs

        return draw_graphs(self._fitted(), 1, rng=rng, point=point)[0]

    def _fitted(self) -> SketchAnswers:
        if not hasattr(self, "answers_"):
            raise InputError("the sketch is not fitted", remedy="call fit first")
        return self.answers_


def load_sketch(path: str | os.PathLike[str]) -> PrivateSketch:
    """Read a sketch that `PrivateSketch.save` or `coterie sketch` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    PrivateSketch
        A fitted sketch with the same answers. It does not know the dataset or the ledger.

    Raises
    ------
    InputError
        If the file is not a sketch, was truncated or changed, or has a newer format.

    Examples
    --------
    >>> import coterie as ct
    >>> ct.load_sketch("missing.sketch")
    Traceback (most recent call last):
        ...
    coterie.base.errors.InputError: missing.sketch: cannot be read: No such file or directory
    """
    answers = read_answers(path)
    sketch = PrivateSketch(epsilon=answers.epsilon, max_contacts=answers.max_contacts)
    sketch.answers_ = answers
    return sketch


def _required_name(dataset: str) -> str:
    if not dataset:
        raise InputError(
            "the sketch has no dataset name",
            remedy='name the network for the ledger, for example `dataset="staff"`',
        )
    return check_dataset_name(dataset)


def _details(
    n_nodes: int, epsilon: Fraction, shares: Shares, max_contacts: int | None
) -> dict[str, object]:
    """Return what the ledger notes about a sketch."""
    details: dict[str, object] = {
        "rules": public_rules.RULES,
        "nodes": n_nodes,
        "epsilon_by_answer": [exact_text(epsilon * share) for share in shares.parts()],
    }
    if max_contacts is not None:
        details["max_contacts"] = int(max_contacts)
        details["epsilon_per_person"] = exact_text(max_contacts * epsilon)
    return details


def _compile() -> None:
    """Compile the kernels before anything is spent; no random bit is read."""
    graph = Graph.from_edges([0, 0, 1], [1, 2, 2])
    from coterie.anonymize.private import exact_counts
    from coterie.kernels.anonymize.private_counts import place_nodes

    exact_counts.triangle_ladder(graph, exact_counts.node_triangles(graph), 0)
    exact_counts.capped_clustering(graph, 0, 2)
    fill_noise(np.zeros(1, np.int64), 1, 1, True, np.empty(0, np.int64), 0)
    one, labels = np.ones(3), np.full(3, -1, np.int32)
    noise = np.zeros((3, 2), np.int64)
    place_nodes(graph.indptr, graph.indices, np.arange(3), noise, one, 3.0, labels, np.zeros(2))
