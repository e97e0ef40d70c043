"""Files about the project agree with the code: versions, dependencies, notebooks, workflows."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from tools.tutorial_notebooks import wanted

from coterie.base.version import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]


def test_the_conda_recipe_requires_what_the_package_requires() -> None:
    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    section = text.split("  run:\n")[1].split("  run_constrained:")[0]
    lines = [line.strip("- ") for line in section.splitlines()]
    recipe = set(lines) - {"python >=3.11"}
    ours = {re.sub(r"(>=)", r" \1", requirement) for requirement in PROJECT["dependencies"]}
    assert recipe == ours
    assert PROJECT["scripts"]["coterie"] in text


@pytest.mark.parametrize("path", wanted(), ids=lambda path: path.stem)
def test_the_notebook_of_each_tutorial_is_current(path: Path) -> None:
    assert path.exists() and path.read_text("utf-8") == wanted()[path], "run make notebooks"
    notebook = json.loads(path.read_text("utf-8"))
    code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert code
    for cell in code:
        if not cell.startswith("!"):
            compile(cell, str(path), "exec")
    for cell in notebook["cells"]:
        for link in re.findall(r"\]\((\.\./[^)#\s]+)", "".join(cell["source"])):
            assert (path.parent / link).exists(), link


def test_the_workflows_are_valid_and_call_the_script_that_runs_here() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    jobs = workflow["jobs"]
    steps = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    targets = set(re.findall(r"make (\w+)", " ".join(steps)))
    makefile = (ROOT / "Makefile").read_text()
    assert ".ci/run" in steps
    assert targets <= set(re.findall(r"^(\w+):", makefile, re.MULTILINE))
    matrix = jobs["test"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    for template in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(template.read_text())
