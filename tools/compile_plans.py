"""Write down which kernels commands compile, and in which order: `compile_plans.json`.

About two minutes of processor time if the kernels are compiled (`coterie warmup`), else five.

A command that has to compile starts helpers, which work through its list from the end. Run this
after a kernel was added, renamed or got other arguments. Nothing breaks if a list is old: the
command then compiles alone what the list lacks.

    python tools/compile_plans.py              # write the file
    python tools/compile_plans.py --check      # exit code 1 if an entry is not right any more
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

# Name -> commands, of which only the last is recorded; each on an input that is worth compiling for
RUNS: dict[str, list[str]] = {
    "anonymize": ["anonymize many.csv --out release --dataset d"],
    "cluster": ["cluster many.csv --blocks auto"],
    "compare": ["compare many.csv other.csv"],
    "attack": ["attack many.csv other.csv --truth identity.csv"],
    "draw": [
        "sketch many.csv --dataset s --epsilon 2 --nodes 5000 --out s.sketch",
        "draw s.sketch --out drawn",
    ],
    "soft": ["soft people.csv --groups 3"],
    "recommend.fit best": ["recommend fit ratings.csv --out best.model"],
    "recommend.fit mmsbm": ["recommend fit ratings.csv --model mmsbm --out mmsbm.model"],
    "recommend.top": [
        "recommend fit ratings.csv --out best.model",
        "recommend top best.model --user 1",
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the file with the kernels")
    parser.add_argument("--only", default="", help="record only this command; keep the others")
    given = parser.parse_args()
    from coterie.kernels.numba.compile_plans import FILE, compile_plan

    if given.check:
        wrong = wrong_entries()
        for line in wrong:
            print(line)
        raise SystemExit(f"run `python {sys.argv[0]}`" if wrong else 0)
    plans = {name: list(compile_plan(name)) for name in RUNS}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COTERIE_STATE"] = str(Path(folder) / "state")
        write_inputs(Path(folder))
        with contextlib.chdir(folder):
            for name, lines in RUNS.items():
                if given.only in name:
                    plans[name] = record(lines)
                    print(f"{name}: {len(plans[name])} kernels")
    requests = sorted({text for plan in plans.values() for text in plan})
    place = {text: i for i, text in enumerate(requests)}
    content = {
        "commands": {name: [place[text] for text in plan] for name, plan in plans.items()},
        "requests": [json.loads(text) for text in requests],
    }
    FILE.write_text(_as_text(content), encoding="utf-8")


def _as_text(content: dict[str, Any]) -> str:
    """Return JSON with one command and one request per line."""
    commands = ",\n".join(
        f"{json.dumps(k)}: {json.dumps(v)}" for k, v in content["commands"].items()
    )
    requests = ",\n".join(map(json.dumps, content["requests"]))
    return f'{{"commands": {{\n{commands}\n}},\n"requests": [\n{requests}\n]}}\n'


def wrong_entries() -> list[str]:
    """Return what is wrong with the file: kernels that are gone or have other arguments."""
    from coterie.kernels.numba.background import read_request
    from coterie.kernels.numba.compile_plans import FILE

    wrong = []
    for request in json.loads(FILE.read_text(encoding="utf-8"))["requests"]:
        try:
            kernel, examples = read_request(json.dumps(request))
        except (AttributeError, ImportError, TypeError, ValueError) as error:
            wrong.append(f"{'.'.join(request['kernel'])}: {error}")
            continue
        expected = kernel.py_func.__code__.co_argcount
        if len(examples) != expected:
            wrong.append(f"{kernel}: {len(examples)} arguments instead of {expected}")
    return wrong


def record(lines: list[str]) -> list[str]:
    """Run commands in a new process; return what the last one compiles in an empty cache."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as file:
            json.dump(_recorded(lines), file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    return list(json.loads(text))


def _recorded(lines: list[str]) -> list[str]:
    from coterie.cli.main import app, register_commands
    from coterie.kernels.numba import dispatch
    from coterie.kernels.numba.background import described_request
    from coterie.kernels.numba.dispatch import Kernel

    register_commands()
    found: dict[str, None] = {}
    compiled = Kernel._compiled

    def remember(kernel: Kernel, args: tuple[Any, ...]) -> Any:
        if text := described_request(kernel, args):
            found[text] = None
        return compiled(kernel, args)

    # What runs for longer than a moment belongs to the list
    dispatch._SECONDS_PER_KERNEL, dispatch._SECONDS_PER_BYTE = 0.02, 0.0
    Kernel._compiled = remember  # type: ignore[method-assign]
    Kernel.has_cache_file = lambda *_, **__: False  # type: ignore[method-assign]
    for line in lines:
        found.clear()
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                app(line.split(), standalone_mode=False)
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{line}: {printed.getvalue()}") from None
    return list(found)


def write_inputs(folder: Path) -> None:
    """Write networks of 300 and 5,000 people, and 2,000 ratings."""
    rng = random.Random(0)
    (folder / "people.csv").write_text(_blocks(rng, 300, 900))
    (folder / "many.csv").write_text(_blocks(rng, 5000, 20000))
    (folder / "other.csv").write_text(_blocks(rng, 5000, 20000))
    pairs = "".join(f"{i},{i}\n" for i in range(5000))
    (folder / "identity.csv").write_text("original,published\n" + pairs)
    rated = rng.sample([(u, i) for u in range(100) for i in range(200)], 2000)
    lines = (f"{u},{i},{1 + (u * 7 + i * 3 + rng.randrange(3)) % 5}\n" for u, i in rated)
    (folder / "ratings.csv").write_text("user,item,rating\n" + "".join(lines))


def _blocks(rng: random.Random, nodes: int, edges: int) -> str:
    """Return an edge list in which seven of ten edges are inside a block of 100."""
    found = {(node, node - 1) for node in range(1, nodes)}
    while len(found) < edges:
        a = rng.randrange(nodes)
        b = a - a % 100 + rng.randrange(100) if rng.random() < 0.7 else rng.randrange(nodes)
        if a != b and b < nodes and (b, a) not in found:
            found.add((a, b))
    return "from,to\n" + "".join(f"{a},{b}\n" for a, b in sorted(found))


if __name__ == "__main__":
    main()
