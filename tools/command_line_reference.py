"""Write docs/reference/command-line.md from the commands themselves.

python tools/command_line_reference.py            # write the page
python tools/command_line_reference.py --check    # fail if the page is out of date
"""

from __future__ import annotations

import argparse
import enum
import inspect
import sys
import types
import typing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "command-line.md"
SHARED = ("seed", "threads", "json_", "quiet", "debug")
GENERATED_BY = "<!-- Written by tools/command_line_reference.py. Do not edit. -->"
INTRODUCTION = """\
Every command is `coterie COMMAND …`; `python -m coterie COMMAND …` is the same.
`coterie COMMAND --help` shows the text of this page in the terminal.

Results go to standard output, messages and progress bars to standard error.
An output file appears complete or not at all.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | any other failure (`--debug` shows the traceback) |
| 2 | wrong input or usage; the message says what, where and how to fix it |
| 3 | refused by the privacy policy or by the ledger |
| 130 | interrupted with Ctrl-C |
"""
_TYPE_NAMES = {int: "integer", float: "number", str: "text", Path: "path", bool: "flag"}


def load_application() -> Any:
    """The root command with every sub-command registered."""
    import typer

    from coterie.cli import main

    main.register_commands()
    return typer.main.get_command(main.app)


def walk(command: Any, name: str = "coterie") -> Iterator[tuple[str, Any]]:
    """Every command below the root with its full name; a group comes before its members."""
    for short in sorted(getattr(command, "commands", {})):
        member = command.commands[short]
        yield f"{name} {short}", member
        yield from walk(member, f"{name} {short}")


def option_names(command: Any) -> set[str]:
    """The options that a command accepts."""
    found = {"--help"}
    for parameter in command.params:
        found.update(parameter.opts, parameter.secondary_opts)
    return {name for name in found if name.startswith("-")}


def render_page(root: Any) -> str:
    """The whole page as Markdown: first what several commands share, then every command."""
    commands = list(walk(root))
    count = Counter(entry for _, command in commands for entry in _entries(command).values())
    # of an option that means different things, only the most frequent meaning is shared
    most = {entry.split(" (")[0]: entry for entry, times in reversed(count.most_common())}
    shared = {entry for name, entry in most.items() if count[entry] > 1}
    general = _entries(root.commands["cluster"])
    common = [general[name] for name in SHARED]
    further = sorted(shared - set(common))
    parts = [
        "# Command line",
        GENERATED_BY,
        INTRODUCTION,
        "## Common options (where a command has them)",
        *common,
        "## Options of several commands",
        "Each command lists the ones that it has.",
        *further,
    ]
    parts += [_section(name, command, set(common), set(further)) for name, command in commands]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _entries(command: Any) -> dict[str, str]:
    """The visible arguments and options of a command, each as an entry of a definition list."""
    if hasattr(command, "commands"):
        return {}
    visible = [p for p in command.params if not p.hidden and p.name != "help"]
    visible.sort(key=lambda p: p.param_type_name != "argument")
    return {p.name: _entry(p, command) for p in visible}


def _section(name: str, command: Any, common: set[str], further: set[str]) -> str:
    """One command; what several commands share is described once, above."""
    depth = "##" if name.count(" ") == 1 else "###"
    help_text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("<", "&lt;")
    lines = [f"{depth} {name}", help_text]
    if hasattr(command, "commands"):
        members = (f"[`{name} {short}`](#{_anchor(name, short)})" for short in command.commands)
        return "\n\n".join([*lines, ", ".join(sorted(members)), *_epilog(command.epilog or "")])
    needed = [p for p in command.params if not p.hidden]
    usage = [name, *(_argument_usage(p) for p in needed if p.param_type_name == "argument")]
    usage += [
        f"{p.opts[0]} {_placeholder(p, command)}"
        for p in needed
        if p.param_type_name == "option" and p.required
    ]
    lines.append(f"```text\n{' '.join(usage)} [OPTIONS]\n```")
    entries = list(_entries(command).values())
    lines += [entry for entry in entries if entry not in common | further]
    also = [entry.split(" (")[0] for entry in entries if entry in further]
    if also:
        lines.append(f"[Also](#options-of-several-commands): {', '.join(also)}.")
    return "\n\n".join(lines + _epilog(command.epilog or ""))


def _epilog(text: str) -> list[str]:
    """The paragraphs below the options of a help text: examples, and lists of names."""
    parts: list[str] = []
    for paragraph in text.replace("\b\n", "").strip().split("\n\n"):
        title, _, rest = paragraph.partition(":")
        lines = [line.strip() for line in rest.strip("\n").splitlines()]
        if title in ("Example", "Examples"):
            parts += ["Examples:", "```console\n" + "\n".join(f"$ {x}" for x in lines) + "\n```"]
        elif lines:
            body = "\n".join(rest.strip("\n").splitlines())
            parts += [f"{title}:", f"```text\n{inspect.cleandoc(body)}\n```"]
        elif paragraph:
            parts.append(paragraph)
    return parts


def _anchor(*names: str) -> str:
    return "-".join(names).replace(" ", "-")


def _argument_usage(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    return name if parameter.required else f"[{name}]"


def _entry(parameter: Any, command: Any) -> str:
    """One argument or option as an entry of a definition list."""
    if parameter.param_type_name == "argument":
        name = f"`{_argument_usage(parameter)}`"
    else:
        both = [*parameter.opts, *parameter.secondary_opts]
        name = ", ".join(f"`{option}`" for option in both)
    values, default = _values(parameter, command), _default(parameter)
    facts = [f"default {default}" if default.startswith("`") else default, values]
    return (
        f"{name} ({', '.join(filter(None, reversed(facts)))})\n:   {_escape(parameter.help or '')}"
    )


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def _annotation(parameter: Any, command: Any) -> Any:
    """The Python type of a parameter, without Annotated and Optional."""
    kind = inspect.signature(command.callback, eval_str=True).parameters[parameter.name].annotation
    if typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(part for part in typing.get_args(kind) if part is not type(None))
    return kind


def _values(parameter: Any, command: Any) -> str:
    kind = _annotation(parameter, command)
    if typing.get_origin(kind) is list:
        kind = typing.get_args(kind)[0]
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return " or ".join(f"`{member.value}`" for member in kind)
    return _TYPE_NAMES.get(kind, "text")


def _placeholder(parameter: Any, command: Any) -> str:
    return parameter.metavar or _values(parameter, command).split(" or ")[0].strip("`").upper()


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if callable(value) or value in (None, (), []):
        return ""
    if isinstance(value, bool):
        if not parameter.secondary_opts:
            return ""
        return f"`{(parameter.opts if value else parameter.secondary_opts)[0]}`"
    return f"`{value.value if isinstance(value, enum.Enum) else value}`"


def main() -> int:
    """Write the page, or compare it with the commands."""
    parser = argparse.ArgumentParser(description="Write the command line reference.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if different")
    check = parser.parse_args().check
    text = render_page(load_application())
    if not check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE} is out of date: run python tools/command_line_reference.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
