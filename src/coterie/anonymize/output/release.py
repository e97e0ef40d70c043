"""A release: the new graphs, their utility and risk, and the decision whether to publish them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from coterie.anonymize.output.audit import AuditRecord, Ledger, Publication, write_audit
from coterie.anonymize.output.identity_map import IdentityMap, write_identity_map
from coterie.anonymize.output.json_form import audit_json
from coterie.anonymize.output.public_summary import PublicSummary
from coterie.anonymize.output.release_folder import (
    check_folder,
    check_identity_map_path,
    private_folder,
    staged_folder,
)
from coterie.anonymize.policy import PolicyDecision
from coterie.anonymize.risk.assessment import Risk
from coterie.anonymize.utility.release_utility import Utility
from coterie.base import renderers
from coterie.base.errors import InputError, PolicyRefusedError
from coterie.data import Graph


@dataclass(frozen=True, eq=False)
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
        What attackers can find out: `a1` to `a4`. None if nothing could be drawn.
    decision : PolicyDecision
        Every limit of the policy, and the reasons if the release is refused.
    suggestions : list of str
        Parameters with which a refused release would pass; each was tried.
    summary : PublicSummary
        What the report shows. It contains nothing private.
    record : AuditRecord or None
        What `write` stores in audit.json. It is private. None if nothing could be drawn.
    identity_maps : list of IdentityMap
        Who is who in each of `graphs`. It is private; only ``write(..., research_truth=...)``
        writes it to a file.

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
    >>> release.risk.a1.smallest >= 10
    True
    """

    graphs: list[Graph]
    utility: Utility | None
    risk: Risk | None
    decision: PolicyDecision
    suggestions: list[str]
    summary: PublicSummary
    record: AuditRecord | None = field(repr=False, default=None)
    identity_maps: list[IdentityMap] = field(repr=False, default_factory=list)

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
        return replace(self, suggestions=suggestions, summary=summary, record=record)

    def write(
        self,
        folder: str | PathLike[str],
        renderer: renderers.Renderer | None = None,
        *,
        format: str = "csv",
        overwrite: bool = False,
        force: bool = False,
        research_truth: str | PathLike[str] | None = None,
        ledger: Ledger | None = None,
    ) -> Path:
        """Write the folder to publish, and the private audit next to it.

        The folder contains graph.csv (graph-2.csv … for more draws) and report.html. The audit is
        written to `folder`.private/audit.json, which only the owner can read.

        Parameters
        ----------
        folder : str or path-like
            The folder to publish. It must be new or empty.
        renderer : callable, optional
            Turns the summary into an HTML page. The default is the page of `coterie.report`.
        format : {"csv", "parquet", "graphml"}, default="csv"
            File format of the graphs.
        overwrite : bool, default=False
            Replace the release in the folder.
        force : bool, default=False
            Write a refused release. The audit and the report say so.
        research_truth : str or path-like, optional
            Also write the table published,original that says who is who. It must be outside the
            folder and must never be published. Only for a single draw.
        ledger : Ledger, optional
            Where releases of the same original are counted. The default is the user's state
            folder.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        PolicyRefusedError
            If the release is refused and `force` is not set. Nothing is written.
        InputError
            If the folder is not empty or cannot be created.
        """
        target = Path(folder)
        if self.record is None or (self.refused and not force):
            raise PolicyRefusedError([*self.reasons, *self.suggestions])
        check_folder(target, overwrite)
        identity_map = None if research_truth is None else Path(research_truth)
        if identity_map is not None:
            check_identity_map_path(identity_map, target)
            if len(self.graphs) > 1:
                raise InputError(
                    f"`research_truth` is possible for one draw, not for {len(self.graphs)}",
                    remedy="set `draws=1`",
                )
        forced = self.refused and force
        summary = replace(self.summary, name=target.name, forced=forced)
        page = renderer(summary) if renderer else renderers.render(renderers.RELEASE, summary)
        if page is None:
            raise InputError("there is no report to write", remedy="pass a `renderer`")
        counts = ledger or Ledger()
        input_hash = self.record.input_sha256
        # Without room for the release there is no audit, and without an audit no release.
        with staged_folder(
            target, self.graphs, page, format=format, overwrite=overwrite
        ) as publish:
            publication = Publication(
                counts.count(input_hash) + len(self.graphs),
                forced,
                None if identity_map is None else identity_map.resolve(),
                target.resolve(),
            )
            write_audit(private_folder(target), audit_json(self.record, publication))
            counts.add(input_hash, len(self.graphs))
            publish()
        if identity_map is not None:
            write_identity_map(identity_map, self.identity_maps[0])
        return target
