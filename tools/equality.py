"""Record what coterie answers, and compare two recordings: the safety net of a restructuring.

    python tools/equality.py record BEFORE --source /path/to/old/src
    python tools/equality.py record AFTER --source src [--only 'release-*'] [--big]
    python tools/equality.py compare BEFORE AFTER [--all]

`record` runs every command of tools/equality_cases.py with PYTHONPATH set to the source folder, in
a temporary folder, and writes one JSON file per command: exit code, stdout, stderr, and every file
that it wrote. The system's random bits are replaced by a sequence that follows from the name of
the case, so releases and sketches are the same each time. `--only` selects cases by a pattern of
their names (group/number); all commands of a group with a selected case are run. `--big` records
the cases on COTERIE_DATA instead. Compiled kernels are kept in NUMBA_CACHE_DIR.

`compare` prints one row per case: equal, equal after renames, different words (HTML, SVG, messages
and text for people), or different (values), with the first difference. The exit code is 1 if
something differs. The tables VOLATILE_…, RENAMED_… and ADDED_KEYS below are the complete list of
what may differ.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equality_cases import BIG, CASES, Form
from equality_data import write_data

TOOLS = Path(__file__).resolve().parent
TIMEOUT = 600.0  # seconds per command

# --- What may differ ----------------------------------------------------------------------------

# Values under these keys, and those that end with seconds, depend on clock, machine or version.
VOLATILE_KEYS = ("time", "date", "created", "version", "memory", "sha256", "hash", "previous")
# (pattern, replacement) in every text
VOLATILE_TEXT = (
    (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?)?( UTC)?", "<date>"),
    (r"\b\d+(\.\d+)?(e-\d+)? ?(ms|µs|s|sec|seconds?|minutes?|min)\b", "<seconds>"),
    (r"\bless than a second\b", "<seconds>"),
    (r"127\.0\.0\.1:\d+", "<address>"),
    (r"^[\w ]*\bseconds +[\d.]+ *$", "<seconds>"),
    (r"coterie[ -]\d+\.\d+(\.\d+)?\w*", "<version>"),
)
# Charts and tables of a report in which time is an axis or a column
VOLATILE_HTML = (
    r'<svg[^>]*aria-label="[^"]*\bseconds\b[^"]*".*?</svg>',
    r'<td data-of="[^"]*\b(seconds|s)\b[^"]*">[^<]*</td>',
    r"<table[^>]*>(?:(?!</table>).)*?<th[^>]*>[^<]*\bseconds\b.*?</table>",
)
# Messages about compiling and, in commands that take long, progress
VOLATILE_LINES = r"compiling numerical code|\(\d+ s\)$"
# stderr of these commands is not compared: Dask prints races of its own shutdown there
VOLATILE_STDERR = ("--engine dask", "dask_engine")
# old key -> new key, anywhere in JSON output and in results of Python cases
RENAMED_KEYS = {
    "a1": "class_size",
    "a2": "disclosed_edges",
    "a3": "edge_inference",
    "a4": "attacks",
    "absent_samples": "n_absent_samples",
    "bold": "guess_everyone",
    "samples": "n_samples",
    "score": "move_score",
}
# (pattern, replacement) in messages, reports and names of classes
RENAMED_TEXT = (
    (r"--score\b", "--move-score"),
    (r"GeneralizedKMeans\((n_blocks=)?'(auto|nested)'", "BlockModel("),
)
REMOVED_KEYS = frozenset({"weight_model"})  # of GeneralizedKMeans: it has no measured weights
# The JSON of a release and of an attack has other keys at other places: values are compared as a
# set, each number of the old version must occur in the new one.
MOVED = ("/stdout", "audit.json")
MOVED_BY = ("anonymize", "attack", "demo", "python")
ADDED_KEYS = frozenset({"format", "format_version"})  # keys that only the new version writes

# A new version may refuse old checkpoints; the names in published/ are hashes of temporary paths.
IGNORED_FILES = ("*.ckpt", "*/lock", "*/published/*.json")
WORDS = (".html", ".svg", "stderr", "stdout.txt")  # a difference here is one of words

# --- Recording ----------------------------------------------------------------------------------

_SITE = '''"""Seed the random bits of the system in every process of a case."""
import hashlib, os, random
_count = {}
def _seeded(size):  # one sequence per size, so that unrelated requests do not shift each other
    _count[size] = _count.get(size, 0) + 1
    name = f"{os.environ['EQUALITY_CASE']} {size} {_count[size]}"
    return hashlib.shake_256(name.encode()).digest(size)
os.urandom = random._urandom = _seeded
'''


def record(out: Path, source: Path, only: str, big: bool) -> int:
    """Run the cases and write one file per command."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="equality-") as name:
        folder = Path(name)
        write_data(folder / "data")
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(_SITE)
        for group, commands in (BIG if big else CASES).items():
            names = [f"{group}/{number:02d}" for number in range(1, len(commands) + 1)]
            if not any(fnmatch.fnmatch(case, only) for case in names):
                continue
            (folder / group / "work").mkdir(parents=True)
            for case, command in zip(names, commands, strict=True):
                found = _run(command, case, folder, group, source)
                target = out / f"{case}.json"
                target.parent.mkdir(exist_ok=True)
                target.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
                print(f"{case}  exit {found['exit']}  {found['command']}", flush=True)
            shutil.rmtree(folder / group)
    return 0


def _run(form: Form, case: str, folder: Path, group: str, source: Path) -> dict[str, Any]:
    """Run one command, in the first form that the version knows, and describe what it did."""
    before = _contents(folder / group)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder / "site"), str(source)]),
        "EQUALITY_CASE": case,
        "COTERIE_STATE": str(folder / group / "state"),
        "COTERIE_KERNELS": "compiled",
        "COTERIE_BACKGROUND": "off",
        "COLUMNS": "100",
        "DASK_LOGGING__DISTRIBUTED": "critical",
        "NO_COLOR": "1",
        "PYTHONHASHSEED": "0",
    }
    for command in (form,) if isinstance(form, str) else form:
        words = [word.replace("@/", "../../data/") for word in shlex.split(command)]
        words = [word.replace("$", os.environ.get("COTERIE_DATA", "$")) for word in words]
        python = words[0] == "python"
        program = [str(TOOLS / "equality_python.py"), words[1]] if python else ["-m", "coterie"]
        done = subprocess.run(
            [sys.executable, *program, *([] if python else words)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            cwd=folder / group / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 2 or "No such" not in done.stderr:
            break

    def clean(text: str) -> str:
        text = text.replace(str(folder), "<folder>").replace(str(source), "<source>")
        return text.replace(os.environ.get("COTERIE_DATA", "<data>"), "<data>")

    found = {"command": command, "exit": done.returncode, "stderr": clean(done.stderr).split("\n")}
    try:
        found["stdout"] = json.loads(clean(done.stdout))
    except ValueError:
        found["stdout.txt"] = clean(done.stdout).split("\n")
    after = _contents(folder / group)
    written = {path for path in after if before.get(path) != after[path]}
    found["files"] = {
        str(path.relative_to(folder / group)): _described(path, clean) for path in sorted(written)
    }
    return found


def _contents(folder: Path) -> dict[Path, bytes]:
    return {
        path: hashlib.sha256(path.read_bytes()).digest()
        for path in folder.rglob("*")
        if path.is_file() and not _is_ignored(str(path))
    }


def _is_ignored(path: str) -> bool:
    return any(fnmatch.fnmatch(path, pattern) for pattern in IGNORED_FILES)


def _described(path: Path, clean: Any) -> Any:
    """Return the content of a file as JSON: text as lines, tables of arrays by checksum."""
    content = path.read_bytes()
    if path.suffix == ".parquet":
        import pandas

        return pandas.read_parquet(path).to_csv(index=False).split("\n")
    if content[8:9] == b"{" and int.from_bytes(content[:8], "little") < len(content):
        return _safetensors(content)
    try:
        text = clean(content.decode())
    except UnicodeDecodeError:
        return {"bytes": len(content), "content": hashlib.sha256(content).hexdigest()}
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return text.split("\n")


def _safetensors(content: bytes) -> dict[str, Any]:
    """Return the arrays of a model file by type, shape and checksum, and its header."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    facts = {key: _parsed(value) for key, value in header.pop("__metadata__", {}).items()}
    arrays = {}
    for name, array in sorted(header.items()):
        begin, end = array["data_offsets"]
        checksum = hashlib.sha256(content[start + begin : start + end]).hexdigest()
        arrays[name] = [array["dtype"], array["shape"], checksum]
    return {"header": facts, "arrays": arrays}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# --- Comparing ----------------------------------------------------------------------------------


def flatten(value: Any, path: str = "", renames: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every value that must be equal in two recordings."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in VOLATILE_KEYS or key.endswith("seconds") or _is_ignored(key):
                continue
            if renames and key in ADDED_KEYS | REMOVED_KEYS:
                continue
            name = RENAMED_KEYS.get(key, key) if renames else key
            if key.endswith(".html"):
                page = "\n".join(inner)
                for pattern in VOLATILE_HTML:
                    page = re.sub(pattern, "<seconds>", page, flags=re.DOTALL)
                inner = page.split("\n")
            yield from flatten(inner, f"{path}/{name}", renames)
    elif isinstance(value, list):
        value = [x for x in value if not (isinstance(x, str) and re.search(VOLATILE_LINES, x))]
        yield f"{path}#", str(len(value))
        for number, inner in enumerate(value):
            yield from flatten(inner, f"{path}/{number}", renames)
    elif isinstance(value, str):
        for pattern, replacement in (*VOLATILE_TEXT, *(RENAMED_TEXT if renames else ())):
            value = re.sub(pattern, replacement, value)
        yield path, value
    else:
        yield path, repr(value)


def differences(before: Any, after: Any, renames: bool) -> list[tuple[str, str, str]]:
    """Return path, value before and value after of everything that differs."""
    left, right = dict(flatten(before, "", renames)), dict(flatten(after, "", renames))
    paths = [*left, *(path for path in right if path not in left)]
    return [
        (path, left.get(path, "(missing)"), right.get(path, "(missing)"))
        for path in paths
        if left.get(path) != right.get(path) and path != "/command"
    ]


def compare_case(before: Any, after: Any) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the verdict about one case, and what differs."""
    if any(words in before.get("command", "") for words in VOLATILE_STDERR):
        before, after = before | {"stderr": []}, after | {"stderr": []}
    if not differences(before, after, renames=False):
        return "equal", []
    found = differences(before, after, renames=True)
    if not found:
        return "equal after renames", []
    values = [one for one in found if not any(word in one[0] for word in WORDS)]
    if not values:
        return "different words", found
    if before.get("command", "").startswith(MOVED_BY):
        numbers = {new for _, new in flatten(after, renames=True)}
        lost = [one for one in values if _is_number(one[1]) and one[1] not in numbers]
        if lost or not all(any(place in one[0] for place in MOVED) for one in values):
            return "different", lost or values
        return "same numbers under other keys", []
    return "different", values


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text))


def compare(before: Path, after: Path, everything: bool) -> int:
    """Print one row per case and the counts; return the exit code."""
    names = {
        path.relative_to(folder) for folder in (before, after) for path in folder.rglob("*.json")
    }
    counts: Counter[str] = Counter()
    for name in sorted(names):
        missing = [folder for folder in (before, after) if not (folder / name).exists()]
        if missing:
            verdict, found = "not recorded", [(str(missing[0]), "", "")]
        else:
            left, right = (json.loads((folder / name).read_text()) for folder in (before, after))
            verdict, found = compare_case(left, right)
        counts[verdict] += 1
        print(f"{name.with_suffix('')!s:<28} {verdict}")
        for path, old, new in found if everything else found[:1]:
            print(f"    {path}\n      before: {old[:160]}\n      after:  {new[:160]}")
        if len(found) > 1 and not everything:
            print(f"    … and {len(found) - 1} more")
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    return int(any("different" in verdict or verdict == "not recorded" for verdict in counts))


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="run the cases and store what they answer")
    recording.add_argument("out", type=Path)
    recording.add_argument("--source", type=Path, required=True, help="folder with coterie/")
    recording.add_argument("--only", default="*", help="pattern of cases, such as 'release-*'")
    recording.add_argument("--big", action="store_true", help="the cases on COTERIE_DATA instead")
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--all", action="store_true", help="print every difference")
    options = parser.parse_args()
    if options.command == "record":
        return record(options.out, options.source.resolve(), options.only, options.big)
    return compare(options.before, options.after, options.all)


if __name__ == "__main__":
    sys.exit(main())
