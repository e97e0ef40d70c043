"""The command line and the Python script that repeat what was done in the application."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from typing import TYPE_CHECKING

from coterie.base.json_values import JsonObject
from coterie.base.version import __version__

if TYPE_CHECKING:
    from coterie.anonymize.policy import Policy

_UNSAFE = re.compile(r"[^\w.@+=-]+")


def file_name(name: str) -> str:
    """Return a name that is safe in a folder, a header and a shell.

    >>> file_name("../my net*work.csv"), file_name("…")
    ('my-net-work.csv', 'data.csv')
    """
    plain = _UNSAFE.sub("-", name.rpartition("/")[2].encode("ascii", "ignore").decode()).strip("-.")
    return plain[:80] or "data.csv"


def policy_toml(policy: Policy) -> str:
    """Return the policy as a TOML file with every limit."""
    lines = [f"{entry.name} = {getattr(policy, entry.name)}" for entry in fields(policy)]
    return "# The limits of coterie's privacy policy.\n[limits]\n" + "\n".join(lines) + "\n"


def release_command(settings: JsonObject, name: str) -> str:
    """Return the shell commands that make a release with the same settings."""
    source = shlex.quote(file_name(name))
    dataset = shlex.quote(settings["dataset"])
    if "epsilon" in settings:
        nodes = settings["nodes"] if isinstance(settings["nodes"], int) else "nodes.txt"
        command = (
            f"coterie sketch {source} --dataset {dataset} --epsilon {settings['epsilon']} "
            f"--cap {settings['cap']} --nodes {nodes} --out new.sketch\n"
            "coterie draw new.sketch --out release"
        )
        return (
            "#!/bin/sh\n"
            f"# Made by coterie {__version__}. Makes a private release with the same settings.\n"
            "# The noise is new, so this spends epsilon again; the ledger counts it.\n"
            f"{command}\n"
            "\n"
            "# Free of charge, the same network again from the sketch of the application:\n"
            "# coterie draw network.sketch --seed 0 --out graphs\n"
        )
    command = (
        f"coterie anonymize {source} --dataset {dataset} --blocks {settings['blocks']} "
        f"--min-class-size {settings['min_class_size']} --policy policy.toml --out release"
    )
    return (
        "#!/bin/sh\n"
        f"# Made by coterie {__version__}. Repeats the release of the application with the same\n"
        "# settings. The new graph is drawn again, with randomness of the operating system.\n"
        f"{command}\n"
    )


def release_script(settings: JsonObject, name: str) -> str:
    """Return the Python script that makes a release with the same settings."""
    source, dataset = repr(file_name(name)), repr(settings["dataset"])
    if "epsilon" in settings:
        nodes = settings["nodes"] if isinstance(settings["nodes"], int) else "nodes.txt"
        return (
            f'"""Made by coterie {__version__}: draws the network of the application again.\n\n'
            "It reads network.sketch alone, so it costs no epsilon and gives the same network.\n"
            '"""\n\n'
            "import coterie as ct\n\n"
            'sketch = ct.load_sketch("network.sketch")\n'
            "drawn = sketch.draw(rng=0)\n"
            'ct.write_graph(drawn, "drawn.csv")\n'
            'print(drawn.n_nodes, "nodes,", drawn.n_edges, "edges")\n\n'
            "# A new sketch would have new noise and spend epsilon again:\n"
            f"#     graph = ct.read_graph({source})\n"
            f"#     sketch = ct.PrivateSketch(\n"
            f"#         epsilon={settings['epsilon']!r}, dataset={dataset}, "
            f"cap={settings['cap']!r}\n"
            f'#     ).fit(graph, nodes={nodes!r}, path="new.sketch")\n'
        )
    head = (
        f'"""Made by coterie {__version__}: repeats the release of the application.\n\n'
        "The new graph is drawn again, with randomness of the operating system, so that figures "
        'that\ndepend on the draw differ a little.\n"""\n\n'
        "import coterie as ct\n\n"
        f"graph = ct.read_graph({source})\n"
    )
    from coterie.anonymize.policy import Policy  # slow to import; the first page is not to wait

    policy = Policy(**settings.get("policy", {}))
    limits = ", ".join(f"{entry.name}={getattr(policy, entry.name)!r}" for entry in fields(policy))
    return head + (
        f"policy = ct.Policy({limits})\n"
        "release = ct.Anonymizer(\n"
        f"    {int(settings['blocks'])},\n"
        f"    min_class_size={int(settings['min_class_size'])},\n"
        "    policy=policy,\n"
        f"    dataset={dataset},\n"
        "    rng=0,\n"
        ").release(graph)\n"
        "for limit in release.decision.limits:\n"
        '    print(f"{limit.label}: {limit.value:g} (limit {limit.limit:g})")\n'
        "if release.refused:\n"
        '    raise SystemExit("refused: " + "; ".join(release.reasons))\n'
        'release.write("release")\n'
    )
