"""A release: new graphs, how alike they are, what could be found in them, and may they go out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from coterie.anonymize.output.audit import Ledger, write_audit
from coterie.anonymize.output.identity_map import write_truth
from coterie.anonymize.output.release_folder import (
    check_folder,
    check_truth_path,
    private_folder,
    staged_folder,
)
from coterie.base import renderers
from coterie.base.errors import InputError, PolicyRefusedError
from coterie.data import Graph


@dataclass(frozen=True, eq=False)
class Release:
    """What `Anonymizer.release` gives.

    `graph` is the first of `graphs`, with new random ids 0..n-1; None where nothing could be drawn.
    Who is who stays in memory and is written by nobody but `write(..., research_truth=...)`.
    """

    graphs: list[Graph]
    utility: dict[str, Any]
    risk: dict[str, Any]
    reasons: list[str]
    advice: list[str]
    summary: dict[str, Any]  # for the report: nothing private
    record: dict[str, Any] = field(repr=False)  # for the audit: everything
    _ids: np.ndarray = field(repr=False, default_factory=lambda: np.empty(0))
    _truths: list[np.ndarray] = field(repr=False, default_factory=list)

    @property
    def graph(self) -> Graph | None:
        return self.graphs[0] if self.graphs else None

    @property
    def refused(self) -> bool:
        return bool(self.reasons)

    def with_advice(self, advice: list[str]) -> Release:
        """The same, with what would pass."""
        return replace(
            self,
            advice=advice,
            summary={**self.summary, "advice": advice},
            record={**self.record, "advice": advice},
        )

    def write(
        self,
        folder: str | PathLike[str],
        renderer: renderers.Renderer | None = None,
        *,
        form: str = "csv",
        overwrite: bool = False,
        force: bool = False,
        research_truth: str | PathLike[str] | None = None,
        ledger: Ledger | None = None,
    ) -> Path:
        """folder/graph.csv and report.html to publish; folder.private/audit.json to keep.

        A refused release raises PolicyRefusedError and writes nothing, unless `force` is given;
        that is recorded, and said in the report. `renderer` turns the summary into HTML; without
        one the page of `coterie.report` is used.
        """
        target = Path(folder)
        if self.refused and not (force and self.graphs):
            raise PolicyRefusedError([*self.reasons, *self.advice])
        check_folder(target, overwrite)
        truth = None if research_truth is None else Path(research_truth)
        if truth is not None:
            check_truth_path(truth, target)
            if len(self.graphs) > 1:
                raise InputError(
                    f"research truth of {len(self.graphs)} draws", remedy="ask for one draw"
                )
        summary = {**self.summary, "name": target.name, "forced": self.refused and force}
        page = renderer(summary) if renderer else renderers.render(renderers.RELEASE, summary)
        if page is None:
            raise InputError("there is no report to write", remedy="pass a renderer")
        counted = ledger or Ledger()
        of_this_input = self.record["input_sha256"]
        with staged_folder(
            target, self.graphs, page, form=form, overwrite=overwrite
        ) as publish:  # where there is no room for the release, there is no audit of it either
            write_audit(  # and no graph goes out without its audit
                private_folder(target),
                {
                    **self.record,
                    "releases_of_this_input": counted.count(of_this_input) + len(self.graphs),
                    "forced": self.refused and force,
                    "research_truth": None if truth is None else str(truth.resolve()),
                    "folder": str(target.resolve()),
                },
            )
            counted.add(of_this_input, len(self.graphs))
            publish()
        if truth is not None:
            write_truth(truth, self._ids, self._truths[0])
        return target
