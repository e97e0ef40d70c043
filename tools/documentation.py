"""Read the Markdown pages of the documentation: code blocks, links, and running the code.

The tests run the tutorials with this module. After an intended change of an output,

    python tools/documentation.py docs/tutorials/find-groups.md

runs a page and writes the new outputs into it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# Lines that depend on what has been compiled before
_ABOUT_COMPILING = re.compile(r"^compiling numerical code|in code that is not compiled")
ANYTHING = "…"  # in a shown output: any text
NOT_RUN = "<!-- not run"  # in the line before a block: shown, but not executed
NUMBERS_VARY = "<!-- numbers vary"  # in the line before a block: each run prints other numbers

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)")
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)>\s]+)>?[^)]*\)")
_PROGRESS = re.compile(r"^[a-z ]+: .* \(\d+ s\)\n?", re.MULTILINE)  # lines of a slow machine
_SECONDS = re.compile(r"(?m)^( *[a-z ]*seconds +).*$")
_CODE = re.compile(r"`[^`\n]+`")


class Block(NamedTuple):
    """One fenced code block of a page."""

    language: str
    text: str
    line: int  # of its first line, counted from 1
    note: str  # the last line of text before it

    @property
    def skipped(self) -> bool:
        return self.note.startswith(NOT_RUN)

    @property
    def numbers_vary(self) -> bool:
        return self.note.startswith(NUMBERS_VARY)


class Console(NamedTuple):
    """A command of a console block and the output that the page shows for it."""

    command: str
    shown: str


class MismatchError(AssertionError):
    """What a page shows is not what its code prints."""


def pages() -> list[Path]:
    """Every Markdown page of the documentation, and the README."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def read_blocks(page: Path) -> list[Block]:
    """The fenced code blocks of a page, in order."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        at += 1
        if opening is None:
            continue
        start, indent = at, len(opening["indent"])
        while at < len(lines) and lines[at].strip() != "```":
            at += 1
        text = "\n".join(line[indent:] for line in lines[start:at])
        before = next((line for line in reversed(lines[: start - 1]) if line.strip()), "")
        found.append(Block(opening["language"], text, start + 1, before.strip()))
        at += 1
    return found


def prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    kept: list[str] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if _FENCE.match(line) or (inside and line.strip() == "```"):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def links(page: Path) -> list[str]:
    """The targets of the links and images of a page."""
    return _LINK.findall(_CODE.sub("", prose(page)))


def commands(block: Block) -> Iterator[Console]:
    """The commands of a console block (lines that start with "$ ") with their outputs."""
    command, shown = "", []
    open_line = False
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield Console(command, "\n".join(shown))
            command, shown = line[2:], []
        elif open_line:
            command += "\n" + line
        else:
            shown.append(line)
            continue
        open_line = line.endswith("\\")
    if command:
        yield Console(command, "\n".join(shown))


class Output(NamedTuple):
    """What a page shows for one piece of code, and what the code printed."""

    block: Block  # the block that shows it
    shown: str
    printed: str
    source: str


def run_page(page: Path, folder: Path) -> tuple[dict[str, Any], list[Output]]:
    """Run the blocks of a page in order in `folder`.

    Return the names that its Python code leaves, and every output that the page shows. A text
    block that follows a Python block is its output.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs: list[Output] = []
    blocks = read_blocks(page)
    with contextlib.chdir(folder):
        for number, block in enumerate(blocks):
            if block.skipped:
                continue
            if block.language == "python":
                printed = _run_python(block, page, names)
                after = blocks[number + 1] if number + 1 < len(blocks) else None
                if after is not None and after.language == "text":
                    outputs.append(Output(after, after.text, printed, block.text))
            elif block.language == "console":
                for command, shown in commands(block):
                    printed = _run_command(command, fails=_shows_failure(shown))
                    if shown.strip():
                        outputs.append(Output(block, shown, printed, command))
    return names, outputs


def check_page(page: Path, folder: Path) -> dict[str, Any]:
    """Run a page and raise MismatchError where it shows something else than its code prints."""
    names, outputs = run_page(page, folder)
    for output in outputs:
        if not same_output(output):
            raise MismatchError(
                f"{page.name}, line {output.block.line}: the page shows\n{output.shown}\n"
                f"--- but the code prints\n{output.printed}"
            )
    return names


def update_page(page: Path, folder: Path) -> int:
    """Run a page and write the outputs that differ into it; return their number."""
    text = page.read_text(encoding="utf-8")
    stale = [output for output in run_page(page, folder)[1] if not same_output(output)]
    for output in stale:
        fresh = _SECONDS.sub(rf"\g<1>{ANYTHING}", _tidy(output.printed))
        head = text.index(output.source)
        start = text.index(output.shown, head + len(output.source))
        text = text[:start] + fresh + text[start + len(output.shown) :]
    page.write_text(text, encoding="utf-8")
    return len(stale)


def same_output(output: Output) -> bool:
    """Compare up to blanks at line ends, wildcards and, where the page says so, numbers."""
    wanted, found = (_tidy(_PROGRESS.sub("", text)) for text in (output.shown, output.printed))
    if output.block.numbers_vary:
        wanted, found = _without_numbers(wanted), _without_numbers(found)
    # a longer number takes blanks away from before it
    pattern = ".*?".join(re.escape(part) for part in re.split(f" *{ANYTHING}", wanted))
    return re.fullmatch(pattern, found, re.DOTALL) is not None


def _run_python(block: Block, page: Path, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def _shows_failure(shown: str) -> bool:
    """Return whether the output that a page shows has an error message."""
    return any(line.startswith("coterie: ") for line in shown.splitlines())


def _run_command(command: str, *, fails: bool) -> str:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    if bool(done.returncode) != fails:
        raise MismatchError(f"{command}: exit code {done.returncode}\n{done.stdout}")
    return "".join(
        line for line in done.stdout.splitlines(True) if not _ABOUT_COMPILING.search(line)
    )


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip()


def _without_numbers(text: str) -> str:
    """Numbers, and the blanks and lines that a table adds for their widths, made equal."""
    return re.sub(r"[ ━─]+", " ", re.sub(r"[-−]?\d[\d,.]*(e-?\d+)?", "0", text))


def main() -> None:
    """Run the pages that are named and write their new outputs."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
            os.environ["COTERIE_STATE"] = state  # a ledger without earlier runs
            changed = update_page(Path(name).resolve(), Path(folder))
            print(f"{name}: {changed} outputs written")


if __name__ == "__main__":
    main()
