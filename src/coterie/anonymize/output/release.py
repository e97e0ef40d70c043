"""A release: the new graphs, their utility and risk, and the decision whether to publish them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.features.network import PublishedColumns
from coterie.anonymize.ledger import Ledger, LedgerEntry
from coterie.anonymize.output.audit import AuditRecord, Publication, written_audit
from coterie.anonymize.output.json_form import audit_json
from coterie.anonymize.output.public_summary import OwnerSummary, PublicSummary
from coterie.anonymize.output.release_folder import (
    IdentityMap,
    check_format,
    default_private_folder,
    plan_folders,
    staged_folder,
    write_identity_map,
)
from coterie.anonymize.policy import Policy, PolicyDecision
from coterie.anonymize.risk.assessment import Risk
from coterie.anonymize.utility.release_utility import Utility
from coterie.base import renderers
from coterie.base.errors import (
    AssumptionWarning,
    CoterieError,
    InputError,
    PolicyRefusedError,
)
from coterie.data import Graph

_UNNAMED = "unnamed"


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """The result of `Anonymizer.release`.

    Nothing is written before `write` is called.

    Parameters
    ----------
    graphs : list of Graph
        The new graphs, one per draw, with random node ids 0..n-1. Empty if nothing could be drawn.
    utility : Utility or None
        How similar the new graphs are to the original: `original`, `published` (means over the
        draws), `spread`, `draws`, `degree_ks` and `not_kept`. None if nothing could be drawn.
    risk : Risk or None
        What attackers can find out: `class_size`, `disclosed_edges`, `edge_inference` and
        `attacks` (A1 to A4 in reports). None if nothing could be drawn.
    decision : PolicyDecision
        Every limit of the policy, and the reasons if the release is refused.
    suggestions : list of str
        Parameters with which a refused release would pass; each was tried.
    summary : PublicSummary
        What the published report shows: no figure in it determines a statistic of fewer than
        `min_class_size` people of the original.
    record : AuditRecord or None
        What `write` stores in audit.json. It is private. None if nothing could be drawn.
    identity_maps : list of IdentityMap
        Who is who in each of `graphs`. It is private; only ``write(..., research_truth=...)``
        writes it to a file.
    ledger : Ledger or None
        Where the release is counted.
    ledger_entry : LedgerEntry or None
        The entry that was opened before the release was drawn. None if the dataset has no name,
        and if the policy refused the release.
    owner_summary : OwnerSummary or None
        What the private report shows, with exact figures. None if nothing could be drawn.
    features : FeatureResults or None
        What was measured of directions, weights, sides and attributes: `measures`, `distances`,
        `sensitive` and `attacks`. None for a simple graph without attributes.
    node_tables : list of dict
        One table per draw with the columns `node`, `side` and the attributes; empty if there are
        neither sides nor attributes.

    Attributes
    ----------
    graph : Graph or None
        The first of `graphs`.
    refused : bool
        Whether the policy refuses the release.
    reasons : list of str
        Why the release is refused, one sentence each.

    See Also
    --------
    Anonymizer : Makes releases.
    Policy : The limits.

    Examples
    --------
    >>> import coterie as ct
    >>> from coterie.data.demo_data import social_network
    >>> people, _ = social_network()
    >>> release = ct.Anonymizer(6, infer_edges=False).release(people, suggest=False)
    >>> release.graph.n_nodes == people.n_nodes
    True
    >>> release.utility.original.edges == people.n_edges
    True
    >>> release.risk.class_size.smallest >= 10
    True
    """

    graphs: list[Graph]
    utility: Utility | None
    risk: Risk | None
    decision: PolicyDecision
    suggestions: list[str]
    summary: PublicSummary
    record: AuditRecord | None = None
    identity_maps: list[IdentityMap] = field(default_factory=list)
    ledger: Ledger | None = None
    ledger_entry: LedgerEntry | None = None
    owner_summary: OwnerSummary | None = None
    features: FeatureResults | None = None
    node_tables: list[PublishedColumns] = field(default_factory=list)

    def __repr__(self) -> str:
        decision = "refused" if self.refused else "within every limit of the policy"
        if self.graph is None:
            return f"<Release: {decision}, nothing drawn>"
        count = f"{len(self.graphs)} graphs" if len(self.graphs) > 1 else "1 graph"
        return f"<Release: {count} of {self.graph.n_nodes:,} nodes, {decision}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Name the attribute that replaces one of an earlier version."""
            hint = "; it is called 'features' now" if name == "kind" else ""
            raise AttributeError(f"'Release' object has no attribute {name!r}{hint}")

    def _repr_html_(self) -> str | None:
        """Show the public summary in a notebook, and nothing else."""
        shown: str | None = renderers.render(renderers.NOTEBOOK, self.summary)
        return shown

    @property
    def graph(self) -> Graph | None:
        """The first of the new graphs; None if nothing could be drawn."""
        return self.graphs[0] if self.graphs else None

    @property
    def refused(self) -> bool:
        """Whether the policy refuses the release."""
        return self.decision.refused

    @property
    def reasons(self) -> list[str]:
        """The reasons why the release is refused, one sentence each."""
        return self.decision.reasons

    def _with_suggestions(self, suggestions: list[str]) -> Release:
        """Return the same release with suggestions."""
        record = None if self.record is None else replace(self.record, suggestions=suggestions)
        summary = replace(self.summary, suggestions=suggestions)
        owner = self.owner_summary
        if owner is not None:
            owner = replace(owner, suggestions=suggestions)
        return replace(
            self, suggestions=suggestions, summary=summary, record=record, owner_summary=owner
        )

    def write(
        self,
        folder: str | PathLike[str],
        renderer: renderers.Renderer | None = None,
        *,
        format: str = "csv",
        overwrite: bool = False,
        force: bool = False,
        private: str | PathLike[str] | None = None,
        research_truth: str | PathLike[str] | None = None,
        ledger: Ledger | None = None,
        inputs: Sequence[str | PathLike[str]] = (),
    ) -> Path:
        """Write the folder to publish, and the private files of the owner.

        The folder contains graph.csv (graph-2.csv … for more draws) and report.html, and nodes.csv
        (nodes-2.csv …) if nodes have attributes or sides. The private
        folder contains audit.json and the owner's report.html with exact figures; only the owner
        can read it. Every place is checked before anything is written, and the new folder appears
        whole or not at all.

        Parameters
        ----------
        folder : str or path-like
            The folder to publish. It must be new or empty.
        renderer : callable, optional
            Turns the summary into an HTML page. The default is the page of `coterie.report`.
        format : {"csv", "parquet", "graphml"}, default="csv"
            File format of the graphs.
        overwrite : bool, default=False
            Replace the release in the folder. Only files that coterie wrote there, and that were
            not changed since, are replaced; otherwise nothing is.
        force : bool, default=False
            Write a refused release. The audit and the report say so.
        private : str or path-like, optional
            Folder for the private files: new, empty, or the private folder of an earlier release.
            It must not be in a tree with `folder` that might be published as a whole, see `inputs`.
            The default is private/DATASET/FOLDER in the state folder, see `private_folder`.
        research_truth : str or path-like, optional
            Also write the table published,original that says who is who. It must be outside the
            folder and must never be published. Only for a single draw.
        ledger : Ledger, optional
            Where the release is counted. The default is the ledger that the release was made with.
        inputs : sequence of str or path-like, default=()
            Files of the original. They must not be in `folder`. A tree that contains one of them
            is never published as a whole, so it may contain `folder` and `private`.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        PolicyRefusedError
            If the release is refused and `force` is not set. Nothing is written.
        LedgerRefusal
            If the ledger is damaged or allows no further release. Nothing is written.
        InputError
            If a folder cannot be used: it contains other files, the private folder would be
            published, or it cannot be created. Nothing is written.
        """
        target = Path(folder)
        if self.record is None or (self.refused and not force):
            raise PolicyRefusedError([*self.reasons, *self.suggestions])
        check_format(format)
        if research_truth is not None and len(self.graphs) > 1:
            raise InputError(
                f"`research_truth` is possible for one draw, not for {len(self.graphs)}",
                remedy="set `draws=1`",
            )
        folders = plan_folders(
            target,
            private,
            dataset=self._dataset,
            inputs=inputs,
            overwrite=overwrite,
            research_truth=research_truth,
        )
        forced = self.refused and force
        summary = replace(self.summary, name=target.name, forced=forced)
        render = renderer or partial(renderers.render, renderers.RELEASE)
        page = render(summary)
        if page is None:
            raise InputError("there is no report to write", remedy="pass a `renderer`")
        owner_page = ""
        if self.owner_summary is not None:
            owner_page = render(replace(self.owner_summary, name=target.name, forced=forced)) or ""
        books = ledger or self.ledger or Ledger()
        entry = self.ledger_entry or self._open_entry(self.record, books, forced)
        try:
            # Without room for the release there is no audit, and without an audit no release.
            with staged_folder(
                folders, self.graphs, page, format=format, tables=self.node_tables
            ) as publish:
                publication = Publication(
                    dataset=entry.dataset,
                    ledger_entry=entry.id,
                    releases=books.releases(entry.dataset),
                    forced=forced,
                    research_truth=folders.identity_map,
                    folder=folders.publish,
                )
                audit = audit_json(self.record, publication)
                with written_audit(folders.private, audit, owner_page):
                    publish()
        except BaseException:
            with suppress(CoterieError):  # the first error matters; the entry counts anyway
                books.finish(entry, "failed")
            raise
        books.finish(entry, "written")
        if folders.identity_map is not None:
            write_identity_map(folders.identity_map, self.identity_maps[0])
        return target

    def private_folder(self, folder: str | PathLike[str]) -> Path:
        """Return where `write` puts the private files of a folder by default.

        Parameters
        ----------
        folder : str or path-like
            The folder to publish.

        Returns
        -------
        pathlib.Path
            A folder in the private state folder of the user.
        """
        return default_private_folder(self._dataset, Path(folder))

    @property
    def _dataset(self) -> str:
        named = None if self.record is None else self.record.dataset
        return named or _UNNAMED

    def _open_entry(self, record: AuditRecord, books: Ledger, forced: bool) -> LedgerEntry:
        """Record a release that was drawn without an entry: unnamed, or refused and forced."""
        if record.dataset is None:
            warnings.warn(
                f"the dataset has no name: the release is recorded as {_UNNAMED!r}; set `dataset` "
                "to count the releases of each original",
                AssumptionWarning,
                stacklevel=3,
            )
        policy = record.parameters.get("policy")
        return books.begin(
            self._dataset,
            kind="release",
            graphs=len(self.graphs),
            max_releases=policy.releases if isinstance(policy, Policy) else 0,
            fingerprint=record.input_sha256,
            details={"model": record.model, "forced": forced},
        )
