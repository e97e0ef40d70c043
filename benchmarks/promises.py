"""Try the seven statements of the privacy page that once were false, on the code that is imported.

Each part prints what an attacker or a careless owner can do. The script uses only what both old and
new versions have, so it shows a statement failing before and holding after:

    python benchmarks/promises.py --blocks-in FOLDER --make-blocks     once, with this version
    python benchmarks/promises.py --blocks-in FOLDER [--only A1 …]     this version
    git worktree add ../old 08487f0
    PYTHONPATH=../old/src python benchmarks/promises.py --blocks-in FOLDER     before the fixes

A1, A2 and A4 judge the classes, figures and degrees that a version makes from the same blocks (half
the square root of the people, the default of the old version); nothing is drawn but degrees.

A1  exact degrees: a maximum-entropy attacker, written here again, against the reported figure
A2  cells: the densest pair of classes, by counting pairs
A3  the public report: people counted exactly by the degree curve of the original
A4  hubs: the largest degree in twelve releases
A5  the count of releases: five ways around it
A6  a policy without limits: the verdict
A7  folders: seven places that must be refused
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import coterie as ct
from coterie.anonymize.draw.classes import occupied_cells
from coterie.anonymize.draw.dcsbm import release_classes
from coterie.data import Graph
from coterie.data.demo_data import social_network

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from networks import KINDS, make_network  # noqa: E402 - benchmarks/networks.py of this version

DRAWS = 12


def say(part: str, text: str) -> None:
    print(f"{part}  {text}", flush=True)


def network(kind: str) -> Graph:
    return make_network(KINDS[kind], np.random.default_rng(list(KINDS).index(kind)))


def adjacency(graph: Graph) -> np.ndarray:
    matrix = np.zeros((graph.n_nodes, graph.n_nodes))
    source, target = graph.edges()
    matrix[source, target] = matrix[target, source] = 1
    return matrix


# --- A1 and A2 -------------------------------------------------------------------------------


def most_random(matrix: np.ndarray, block: np.ndarray, steps: int = 150) -> np.ndarray:
    """Return p_uv = x_u x_v w_rs / (1 + x_u x_v w_rs) with the degrees and block edges given."""
    n, member = len(matrix), np.eye(block.max() + 1)[block]
    degree, edges = matrix.sum(1), member.T @ matrix @ member
    x = np.log(np.maximum(degree, 1e-9) / np.sqrt(degree.sum()))
    w = np.zeros_like(edges)
    possible = np.where((edges > 0)[np.ix_(block, block)], 0.0, -np.inf)
    np.fill_diagonal(possible, -np.inf)

    def probability() -> np.ndarray:
        return 1 / (1 + np.exp(-(x[:, None] + x + w[np.ix_(block, block)] + possible)))

    for _ in range(steps):
        p = probability()
        v = p * (1 - p)
        x += np.clip((degree - p.sum(1)) / np.maximum(v.sum(1) + np.diag(v), 1e-9) / 2, -1, 1)
        p = probability()
        v = p * (1 - p)
        w += np.clip(
            (edges - member.T @ p @ member) / np.maximum(member.T @ v @ member, 1e-9), -1, 1
        )
    assert n and abs(probability().sum() - degree.sum()) < 0.01 * degree.sum()
    return probability()


def classes_of(kind: str, blocks: Path) -> tuple[Graph, Any]:
    """Return a network and the classes that this version makes from its blocks."""
    graph = network(kind)
    labels = np.load(blocks / f"{kind}.npy")
    return graph, release_classes(graph, labels, 10, 0.85)


def make_blocks(folder: Path) -> None:
    from coterie.anonymize.draw.clustering import cluster_for_release
    from coterie.engine import LocalEngine

    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("email", "pages", "ego"):
        graph = network(kind)
        labels = cluster_for_release(
            graph,
            int(np.sqrt(graph.n_nodes) / 2),
            degree_corrected=True,
            min_block_size=10,
            rng=0,
            engine=LocalEngine(1),
        )
        np.save(folder / f"{kind}.npy", labels)


def exact_degrees(blocks: Path) -> None:
    from coterie.anonymize.risk.disclosure import degree_disclosure

    for kind in ("email", "pages"):
        graph, classes = classes_of(kind, blocks)
        matrix = adjacency(graph)
        upper = np.triu_indices(len(matrix), 1)
        p, true = most_random(matrix, classes.block)[upper], matrix[upper]
        order = np.argsort(-p, kind="stable")
        own = np.flatnonzero(np.cumsum(p[order]) >= 0.9 * np.arange(1, len(p) + 1))
        named = own[-1] + 1 if len(own) else 0
        hits = true[order[:named]].sum()
        reported = degree_disclosure(graph, classes, 0.9).named
        say(
            "A1",
            f"{kind}: the attacker names {100 * hits / true.sum():.2f} % of the edges, "
            f"{100 * hits / max(named, 1):.0f} % of the pairs true; reported in all "
            f"{100 * reported:.2f} %",
        )


def circles() -> tuple[Graph, Any]:
    """Two blocks of a close circle of 63 people (92 % of the pairs joined) and 400 others each."""
    rng = np.random.default_rng(0)
    edges = [rng.integers(0, 926, (60, 2))]
    for first in (0, 463):
        u, v = np.triu_indices(63, 1)
        joined = rng.random(len(u)) < 0.92
        edges.append(first + np.column_stack((u, v))[joined])
        edges.append(first + 63 + rng.integers(0, 400, (1000, 2)))
    pairs = np.concatenate(edges)
    graph = Graph.from_edges(*pairs[pairs[:, 0] != pairs[:, 1]].T, n_nodes=926)
    return graph, release_classes(graph, np.repeat([0, 1], 463).astype(np.int32), 10, 0.85)


def cells(blocks: Path) -> None:
    for kind in ("circles", "ego", "pages", "email"):
        graph, classes = circles() if kind == "circles" else classes_of(kind, blocks)
        label = classes.label
        source, target = graph.edges()
        k, size = label.max() + 1, np.bincount(label)
        ends = np.sort([label[source], label[target]], axis=0)
        count = np.bincount(ends[0] * k + ends[1], minlength=k * k).reshape(k, k)
        pairs = np.triu(np.outer(size, size), 1) + np.diag(size * (size - 1) // 2)
        density = count / np.maximum(pairs, 1)
        r, s = np.unravel_index(density.argmax(), density.shape)
        certain = count[density >= 0.9].sum() / graph.n_edges
        found = occupied_cells(graph, classes)
        by_model = found.edges[found.probability >= 0.9].sum() / graph.n_edges
        say(
            "A2",
            f"{kind}: densest cell {100 * density[r, s]:.0f} % of {pairs[r, s]:,} pairs "
            f"({size[r]} and {size[s]} people); edges in cells of 90 % or more: "
            f"{100 * certain:.2f} % by counting, {100 * by_model:.2f} % by the model",
        )


# --- A3 and A4 -------------------------------------------------------------------------------


def public_report(blocks: Path) -> None:
    from coterie.anonymize.output import public_summary

    for kind in ("email", "pages"):
        graph = network(kind)
        degrees, n = np.sort(graph.degrees)[::-1], graph.n_nodes
        if hasattr(public_summary, "_public_degree_tail"):
            from coterie.anonymize.output.public_figures import PublicRounding

            rounding = PublicRounding(n, 10)
            curve = public_summary._public_degree_tail(graph.degrees, rounding)
            width = rounding.bin_width
        else:
            curve = public_summary._degree_tail(graph.degrees)
            curve = public_summary._pair(curve, curve).original
            width = 1
        exact = 0
        for x, y in zip(curve.x, curve.y, strict=True):
            people = int((degrees >= x).sum())
            # Numbers of people for which the page would show the same share, by its own rule.
            alike = [c for c in range(n + 1) if c // width == people // width]
            if width == 1:
                alike = [c for c in range(n + 1) if float(f"{c / n:.3g}") == float(f"{y:.3g}")]
            exact += len(alike) == 1
        say(
            "A3",
            f"{kind}: the degree curve of the original ends at {curve.x[-1]}; the tenth largest "
            f"degree is {degrees[9]}; {exact} of {len(curve.x)} points give an exact number of "
            "people",
        )


def drawn_degrees(graph: Graph, classes: Any, seed: int) -> np.ndarray:
    from coterie.anonymize.draw import degrees

    rng = np.random.default_rng(seed)
    if hasattr(degrees, "group_degrees"):
        return degrees.redraw_degrees(degrees.group_degrees(graph.degrees, classes, 10), rng)
    known = degrees.quantiles_by_class(graph.degrees, classes)
    return degrees.redraw_degrees(known, classes, rng)


def hubs(blocks: Path) -> None:
    base, labels = network("email"), np.load(blocks / "email.npy")
    source, target = base.edges()
    for hub in (None, 300, 345):
        s, t = source, target
        if hub is not None:
            top = int(base.degrees.argmax())
            near = np.r_[target[source == top], source[target == top], top]
            more = np.setdiff1d(np.arange(base.n_nodes), near)[: hub - len(near) + 1]
            s, t = np.r_[source, np.full(len(more), top)], np.r_[target, more]
        graph = Graph.from_edges(s, t, n_nodes=base.n_nodes)
        largest = np.sort(graph.degrees)[::-1]
        classes = release_classes(graph, labels, 10, 0.85)
        drawn = np.array([drawn_degrees(graph, classes, seed).max() for seed in range(DRAWS)])
        say(
            "A4",
            f"email, largest degrees {largest[0]}, {largest[1]}: in {DRAWS} draws {drawn.min()} to "
            f"{drawn.max()}, mean {drawn.mean():.1f} ({100 * (drawn.mean() / largest[0] - 1):+.1f} "
            "%)",
        )


# --- A5 to A7: the command -------------------------------------------------------------------


class Desk:
    """A folder with a small network, in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        graph, _ = social_network()
        source, target = graph.edges()
        ids = list(graph.ids)
        self.rows = [(ids[u], ids[v]) for u, v in zip(source, target, strict=True)]
        self.write("people.csv", self.rows)
        (folder / "once.toml").write_text("[limits]\nreleases = 1\n")

    def write(self, name: str, rows: list[tuple[str, str]]) -> None:
        with open(self.folder / name, "w", newline="") as file:
            csv.writer(file).writerows([("from", "to"), *rows])

    def start(self, *arguments: str, state: Path | None = None) -> subprocess.Popen[str]:
        with_name = "--dataset" in self.help
        if not with_name:  # the old command has no such options
            arguments = tuple(
                a
                for i, a in enumerate(arguments)
                if a != "--dataset" and (i == 0 or arguments[i - 1] != "--dataset")
            )
        return subprocess.Popen(
            [sys.executable, "-m", "coterie", "anonymize", *arguments, "--blocks", "6"],
            cwd=self.folder,
            env={**os.environ, "COTERIE_STATE": str(state or self.state)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def help(self) -> str:
        if not hasattr(self, "_help"):
            self._help = subprocess.run(
                [sys.executable, "-m", "coterie", "anonymize", "--help"],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "COLUMNS": "200"},
            ).stdout
        return self._help

    def run(self, *arguments: str, state: Path | None = None) -> str:
        """Run the command; return its outcome."""
        return self.outcome(self.start(*arguments, state=state))

    def outcome(self, process: subprocess.Popen[str]) -> str:
        self.out, self.err = process.communicate()
        if process.returncode == 0:
            return "released"
        lines = [line for line in self.err.strip().splitlines() if line.strip()]
        return f"exit {process.returncode}: {' '.join(lines[-3:])[-150:]}"


def count_of_releases(desk: Desk) -> None:
    limited = ("--policy", "once.toml", "--dataset", "staff")
    say("A5", f"first release: {desk.run('people.csv', '--out', 'r0', *limited)}")
    say("A5", f"the same file again: {desk.run('people.csv', '--out', 'r1', *limited)}")
    desk.write("renamed.csv", [(u + "x", v + "x") for u, v in desk.rows])
    say("A5", f"renamed ids: {desk.run('renamed.csv', '--out', 'r2', *limited)}")
    desk.write("shorter.csv", desk.rows[1:])
    say("A5", f"a line left out: {desk.run('shorter.csv', '--out', 'r3', *limited)}")
    other = desk.folder / "other-state"
    say(
        "A5",
        "another state folder (another account): "
        + desk.run("people.csv", "--out", "r4", *limited, state=other),
    )
    fresh = desk.folder / "fresh-state"
    both = [desk.start("people.csv", "--out", f"two{i}", *limited, state=fresh) for i in (1, 2)]
    say("A5", f"two at once, none before: {[desk.outcome(process) for process in both]}")
    for file in desk.state.rglob("*.json*"):
        if file.name.startswith("releases") or "ledger" in str(file):
            file.write_text("{")
    for file in desk.state.glob("ledger*"):
        if file.is_file():
            file.write_text("{")
    say("A5", f"a garbled counter: {desk.run('people.csv', '--out', 'r5', *limited)}")
    same = any(
        file.read_text(errors="replace") == "{" for file in desk.state.rglob("*") if file.is_file()
    )
    say("A5", f"the garbled file is {'left as it is' if same else 'overwritten'}")


def permissive_policy(desk: Desk) -> None:
    (desk.folder / "weak.toml").write_text(
        "[limits]\nmin_class_size = 1\nedge_share = 1.0\nknown_degrees_share = 1.0\n"
        "attack_margin = 1.0\nedge_inference = 1.0\nreleases = 0\n"
    )
    outcome = desk.run(
        "people.csv", "--policy", "weak.toml", "--out", "weak", "--dataset", "w", "--json"
    )
    page = (desk.folder / "weak" / "report.html").read_text()
    say(
        "A6",
        f"{outcome}; the report says 'within every limit': {'within every limit' in page}; "
        f"weaker limits named: {json.loads(desk.out).get('weaker', 'no')}",
    )


def folders(desk: Desk) -> None:
    folder = desk.folder

    def private_files_in(place: str) -> list[str]:
        return sorted(str(p.relative_to(folder)) for p in (folder / place).rglob("audit*.json"))

    name = ("--dataset", "folders")
    desk.run("people.csv", "--out", "a", *name)
    outcome = desk.run("people.csv", "--out", "a.private", "--overwrite", *name)
    both = (folder / "a.private/graph.csv").exists() and private_files_in("a.private")
    say("A7", f"--out a, then --out a.private: {outcome}; audit next to graph.csv: {bool(both)}")
    outcome = desk.run("people.csv", "--out", "site/release", *name)
    say("A7", f"--out site/release: {outcome}; private files in site: {private_files_in('site')}")
    if "--private" in desk.help:
        (folder / "elsewhere").mkdir()
        (folder / "tree").mkdir()
        (folder / "tree" / "link").symlink_to(folder / "elsewhere")
        for place in ("tree/priv", "tree/deep/priv", "tree/link"):
            outcome = desk.run("people.csv", "--out", "tree/r", "--private", place, *name)
            say("A7", f"--out tree/r --private {place}: {outcome}")
    (folder / "mixed").mkdir()
    (folder / "mixed/graph_notes.csv").write_text("mine")
    outcome = desk.run("people.csv", "--out", "mixed", "--overwrite", *name)
    kept = (folder / "mixed/graph_notes.csv").exists()
    say("A7", f"--overwrite in a folder with graph_notes.csv: {outcome}; the file is kept: {kept}")
    (folder / "own").mkdir()
    desk.write("own/graph.csv", desk.rows)
    before = (folder / "own/graph.csv").read_text()
    outcome = desk.run("own/graph.csv", "--out", "own", "--overwrite", *name)
    now = folder / "own/graph.csv"
    kept = now.exists() and now.read_text() == before
    say("A7", f"--overwrite in the folder of the input: {outcome}; the input is kept: {kept}")
    say("A7", f"--out . : {desk.run('people.csv', '--out', '.', *name)}")
    both_at_once = [desk.start("people.csv", "--out", "race", *name) for _ in range(2)]
    say("A7", f"two at once into one folder: {[desk.outcome(p) for p in both_at_once]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {
        "A1": exact_degrees,
        "A2": cells,
        "A3": public_report,
        "A4": hubs,
        "A5": count_of_releases,
        "A6": permissive_policy,
        "A7": folders,
    }
    parser.add_argument("--only", nargs="*", choices=parts, default=list(parts))
    parser.add_argument("--blocks-in", type=Path, default=Path("promises-blocks"))
    parser.add_argument("--make-blocks", action="store_true")
    arguments = parser.parse_args()
    if arguments.make_blocks:
        make_blocks(arguments.blocks_in)
        return
    print(f"coterie from {Path(ct.__file__).parents[2]}")
    with tempfile.TemporaryDirectory() as name:
        for part in arguments.only:
            run: Any = parts[part]
            if part in ("A5", "A6", "A7"):
                place = Path(name) / part
                place.mkdir()
                run(Desk(place))
            else:
                run(arguments.blocks_in)


if __name__ == "__main__":
    main()
