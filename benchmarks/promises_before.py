"""Count and write releases as version 08487f0 did (A5, A6 and A7 before the fixes).

Only for that version; the functions are called directly, because its commands take minutes to
compile. `promises.py` tries the same with the commands of the present version.

    git worktree add ../old 08487f0
    PYTHONPATH=../old/src python benchmarks/promises_before.py
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie.anonymize import anonymizer
from coterie.anonymize.output import audit, release_folder
from coterie.anonymize.output.public_summary import PublicSummary
from coterie.data import Graph
from coterie.data.demo_data import social_network
from coterie.report import release_report

old_audit: Any = audit
old_folder: Any = release_folder
fingerprint: Any = getattr(anonymizer, "fingerprint", None)


def count_of_releases(state: Path) -> None:
    graph, _ = social_network()
    source, target = graph.edges()

    def count(of: Graph, folder: Path | None = None) -> int:
        return int(old_audit.Ledger(folder).count(fingerprint(of)))

    old_audit.Ledger().add(fingerprint(graph), 1)
    print("A5  after one release, the same file:", count(graph))
    ids = np.array([f"{name}x" for name in graph.ids])
    print("A5  renamed ids:", count(Graph(graph.indptr, graph.indices, ids)))
    shorter = Graph.from_edges(source[1:], target[1:], n_nodes=graph.n_nodes)
    print("A5  a line left out:", count(shorter))
    print("A5  another state folder:", count(graph, state.with_name("other")))
    both = [count(graph, state.with_name("two")) for _ in range(2)]
    print("A5  two at once, both read before either adds:", both)
    file = state / "releases.json"
    file.write_text("{")
    print("A5  a garbled counter:", count(graph))
    old_audit.Ledger().add("abc", 1)
    print("A5  the garbled file afterwards:", json.loads(file.read_text()))


def verdict() -> None:
    summary = PublicSummary(refused=False)
    print("A6  whatever the limits are:", release_report._verdict(summary)[:3])


def folders() -> None:
    def publish(name: str, *, overwrite: bool = False) -> None:
        folder = Path(name)
        old_folder.check_folder(folder, overwrite)
        graphs = [Graph.from_edges([0], [1])]
        with old_folder.staged_folder(folder, graphs, "<html>", overwrite=overwrite) as go:
            go()

    publish("a")
    old_audit.write_audit(old_folder.private_folder(Path("a")), {"exact": 1})
    publish("a.private", overwrite=True)
    print("A7  --out a, then --out a.private:", sorted(p.name for p in Path("a.private").iterdir()))
    print("A7  private folder of site/release:", old_folder.private_folder(Path("site/release")))
    Path("own").mkdir()
    for name in ("graph.csv", "graph_notes.csv"):
        Path("own", name).write_text("mine")
    publish("own", overwrite=True)
    kept = [p.name for p in Path("own").iterdir() if p.read_text() == "mine"]
    print("A7  files of the owner after --overwrite in their folder:", kept)


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"coterie from {Path(coterie.__file__).parents[2]}")
    os.chdir(tempfile.mkdtemp())
    state = Path("state").resolve()
    os.environ["COTERIE_STATE"] = str(state)
    count_of_releases(state)
    verdict()
    folders()


if __name__ == "__main__":
    main()
