"""The commands that `coterie warmup` runs on tiny files so that every kernel gets compiled."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

# Name -> command lines, which run in this order, one at a time. Groups have few kernels in common:
# hardly ever do two processes compile the same.
RUNS: dict[str, list[str]] = {
    "cluster": [
        "cluster graph.txt --blocks auto",
        "cluster graph.txt --blocks 3 --search paper --score fixed",
        "cluster graph.txt --blocks 3 --search paper",
        "cluster graph.txt --blocks auto --objective degree-corrected",
        "cluster graph.txt --blocks nested --objective degree-corrected --plot nested.svg",
        "cluster graph.txt --blocks auto --objective communities --samples 2 --predict-links 2",
        "cluster graph.txt --blocks 3 --objective directed",
        "cluster weighted.txt --blocks 3 --objective weighted",
        "cluster names.csv --blocks 3 --truth truth.csv",
        "cluster ratings.csv --blocks 3,3 --objective ratings",
        "cluster ratings.csv --blocks 3,3 --objective likes",
    ],
    "recommend": [
        "recommend fit ratings.csv --model best --iterations 16 --runs 1 --out best.model",
        "recommend fit ratings.csv --model mmsbm --groups 3 --iterations 3 --out mmsbm.model",
        "recommend fit ratings.csv --model mcmmsbm --groups 3 --iterations 3 --out mc.model",
        "recommend fit ratings.csv --model hard --groups 3 --out hard.model",
        "recommend top best.model --user u1",
        "recommend top best.model --user new --ratings new.csv",
        "recommend top mmsbm.model --user new --ratings new.csv",
        "recommend predict best.model ratings.csv --out best.csv",
        "recommend predict mmsbm.model ratings.csv --out mmsbm.csv",
        "recommend similar best.model --item i1",
        "recommend explain best.model --user u1 --item i1",
    ],
    "soft": [
        "soft graph.txt --groups 3 --iterations 3",
        "soft graph.txt --groups 3 --iterations 3 --method monte-carlo",
    ],
    "compare": [
        "compare graph.txt other.txt --full",
        "attack graph.txt other.txt --truth identity.csv",
    ],
    "sketch": [
        "sketch graph.txt --dataset sketch --epsilon 1 --nodes 90 --out graph.sketch",
        "draw graph.sketch --out drawn",
    ],
    "anonymize": [
        "anonymize graph.txt --out release --dataset warmup --force",
        "anonymize graph.txt --out exact --dataset counts --model exact-counts --force",
        "anonymize graph.txt --out known --dataset known --attributes people.csv --force",
        "anonymize graph.txt --out ways --dataset ways --objective directed --force",
        "anonymize weighted.txt --out weights --dataset weights --objective weighted --force",
        "anonymize bought.csv --out bought --dataset bought --objective bipartite --force",
    ],
}
# What `coterie demo` needs
_DEMO = [
    RUNS["cluster"][3:4],
    [RUNS["recommend"][1], RUNS["recommend"][6]],
    RUNS["anonymize"][:1],
]
# What `coterie warmup --only` may ask for -> chains of command lines
GROUPS = {"all": [*RUNS.values()], "demo": _DEMO} | {name: [RUNS[name]] for name in RUNS}


def write_inputs(folder: Path) -> None:
    """Write the tiny files that the commands read: 90 nodes in 3 blocks, 12 users, 8 items."""
    n, lines = 90, []
    for i in range(n):
        lines += [f"{i} {3 * ((i // 3 + step) % (n // 3)) + i % 3}" for step in (1, 2, 5)]
        if i % 4 == 0:
            lines.append(f"{i} {(i + 1) % n}")
    graph = "\n".join(lines) + "\n"
    (folder / "graph.txt").write_text(graph)
    (folder / "other.txt").write_text("\n".join(lines[7:]) + "\n")
    weighted = (f"{line} {1 + place % 3}\n" for place, line in enumerate(lines))
    (folder / "weighted.txt").write_text("".join(weighted))
    names = ("n" + line.replace(" ", ",n") for line in lines)
    (folder / "names.csv").write_text("source,target\n" + "\n".join(names) + "\n")
    people = "".join(f"{i},t{i % 3},{20 + i % 9}\n" for i in range(n))
    (folder / "people.csv").write_text("node,team,age\n" + people)
    bought = (f"u{line.replace(' ', ',i')}\n" for line in lines)
    (folder / "bought.csv").write_text("user,item\n" + "".join(bought))
    truth = "".join(f"n{i},{i % 3}\n" for i in range(n))
    (folder / "truth.csv").write_text("node,block\n" + truth)
    identity = "".join(f"{i},{i}\n" for i in range(n))
    (folder / "identity.csv").write_text("original,published\n" + identity)
    ratings = (f"u{u},i{i},{1 + (u * i + u) % 5}" for u in range(12) for i in range(8) if u != i)
    (folder / "ratings.csv").write_text("user,item,rating\n" + "\n".join(ratings) + "\n")
    (folder / "new.csv").write_text("user,item,rating\nnew,i1,5\nnew,i2,1\n")


def prepare_process(folder: str, prebuilt: str = "off") -> None:
    """Set up a process that runs the commands; nothing outside the folder is touched.

    Without the kernels of a wheel, it compiles for exactly this processor."""
    os.chdir(folder)
    os.environ["COTERIE_STATE"] = str(Path(folder) / "state")
    os.environ["COTERIE_PREBUILT"] = prebuilt


def run_line(line: str) -> str:
    """Run a command line; return what was wrong if it failed, else an empty text."""
    from coterie.cli.main import app, register_commands
    from coterie.cli.session import REFUSED

    register_commands()
    output, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = app([*line.split(), "--json"], standalone_mode=False)
    except Exception as error:  # reported by the caller; the other lines still run
        return f"{line}: {type(error).__name__}: {error}"
    return "" if code in (None, 0, REFUSED) else f"{line}: {errors.getvalue().strip()}"
