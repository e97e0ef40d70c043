"""Downloads: results, and the command and the script that repeat them without the application.

Files are chosen from a fixed table: no path of a client is opened.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from coterie.app.problem import ProblemError
from coterie.app.web.routes import page_route
from coterie.app.web.state import Input, Workspace
from coterie.base.json_values import JsonObject
from coterie.base.version import __version__

_UNSAFE = re.compile(r"[^\w.@+=-]+")
_FILES = {  # what can be downloaded: (step, file) -> name for the user
    ("explore", "labels.csv"): "blocks.csv",
    ("explore", "report.html"): "blocks-report.html",
    ("explore", "picture.svg"): "network.svg",
    ("release", "release.zip"): "release.zip",
    ("release", "report.html"): "release-report.html",
    ("release", "graph.csv"): "graph.csv",
    ("release", "network.sketch"): "network.sketch",
    ("recommend", "model.coterie"): "recommender.model",
    ("recommend", "recommendations.csv"): "recommendations.csv",
    ("recommend", "report.html"): "recommender-report.html",
}


class DownloadRoutes:
    """Answer with files: results, and what repeats them without the application."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def routes(self) -> list[Route]:
        """Return the routes by path."""
        return [
            Route("/download/input", self.download_input),
            Route("/download/people", self.download_people),
            page_route("/download/reproduce.sh", self.download_command),
            page_route("/download/reproduce.py", self.download_script),
            page_route("/download/policy.toml", self.download_policy),
            Route("/download/{step}/{file}", self.download),
        ]

    async def download(self, request: Request) -> Response:
        step, file = request.path_params["step"], request.path_params["file"]
        name = _FILES.get((step, file))
        if name is None:
            raise ProblemError(404, "there is no such file")
        path = self.workspace.required_result(step).folder / file
        if not path.exists():
            raise ProblemError(404, "this release was refused, so there is nothing to download")
        return _file(path, name)

    async def download_input(self, request: Request) -> Response:
        current = self.workspace.current
        if current is None or current.read is None:
            raise ProblemError(404, "there are no data")
        return _file(current.read["path"], _input_name(current))

    async def download_people(self, request: Request) -> Response:
        nodes = self.workspace.required_result("release").settings.get("nodes")
        if not isinstance(nodes, str):
            raise ProblemError(404, "this release was made without a node list")
        return _file(nodes, "nodes.txt")

    def download_command(self, request: Request) -> Response:
        return _attachment(release_command(*self._release_settings()), "reproduce.sh")

    def download_script(self, request: Request) -> Response:
        return _attachment(release_script(*self._release_settings()), "reproduce.py")

    def download_policy(self, request: Request) -> Response:
        limits = policy_limits(self.workspace.required_result("release").settings)
        lines = "\n".join(f"{name} = {value}" for name, value in limits)
        text = f"# The limits of coterie's privacy policy.\n[limits]\n{lines}\n"
        return _attachment(text, "policy.toml")

    def _release_settings(self) -> tuple[JsonObject, str]:
        current = self.workspace.current
        assert current is not None
        return self.workspace.required_result("release").settings, _input_name(current)


def _input_name(current: Input) -> str:
    """Return the name of the file that the commands read: as given, or with chosen columns."""
    assert current.read is not None
    return "columns.csv" if current.read["chosen"] else file_name(current.name)


def _file(path: str | Path, name: str) -> Response:
    return FileResponse(path, filename=name, media_type="application/octet-stream")


def _attachment(text: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, headers=headers, media_type="text/plain; charset=utf-8")


def file_name(name: str) -> str:
    """Return a name that is safe in a folder, a header and a shell.

    >>> file_name("../my net*work.csv"), file_name("…")
    ('my-net-work.csv', 'data.csv')
    """
    plain = _UNSAFE.sub("-", name.rpartition("/")[2].encode("ascii", "ignore").decode()).strip("-.")
    return plain[:80] or "data.csv"


def policy_limits(settings: JsonObject) -> list[tuple[str, Any]]:
    """Return the name and the value of every limit of a release."""
    from coterie.anonymize.policy import Policy  # slow to import; the first page is not to wait

    policy = Policy(**settings.get("policy", {}))
    return [(entry.name, getattr(policy, entry.name)) for entry in fields(policy)]


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
    limits = ", ".join(f"{name}={value!r}" for name, value in policy_limits(settings))
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
