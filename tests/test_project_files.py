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


_WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", _WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash_and_may_only_read(path: Path) -> None:
    text = path.read_text()
    workflow = yaml.safe_load(text)
    assert set(workflow["permissions"].values()) <= {"read"}
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v?\d+\.\d+\.\d+", comment), f"{action}: name the version"


def test_a_hash_means_one_version_everywhere() -> None:
    found: dict[str, set[str]] = {}
    for path in _WORKFLOWS:
        for action, rest in re.findall(r"uses: ([^@\s]+)@(.*)", path.read_text()):
            found.setdefault(action, set()).add(rest)
    assert all(len(versions) == 1 for versions in found.values()), found


def test_the_project_has_what_a_public_project_is_expected_to_have() -> None:
    for name in (
        "CODE_OF_CONDUCT.md",
        "GOVERNANCE.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "CHANGELOG.md",
    ):
        assert (ROOT / name).read_text().strip(), name
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(PROJECT["urls"])
    assert PROJECT["authors"]
    tested = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    versions = tested["jobs"]["test"]["strategy"]["matrix"]["python"]
    stated = [c.split(" :: ")[-1] for c in PROJECT["classifiers"] if " :: 3." in c]
    assert stated == versions
    assert "threat-model.md" in (ROOT / "SECURITY.md").read_text()


def test_the_paper_cites_what_its_bibliography_has() -> None:
    paper = (ROOT / "paper" / "paper.md").read_text()
    entries = set(re.findall(r"@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text()))
    assert set(re.findall(r"@(\w+)", paper)) == entries
    for heading in ("Summary", "Statement of need", "State of the field", "References"):
        assert f"# {heading}" in paper
    assert 250 < len(paper.split()) < 1750  # the journal's limits


def test_the_version_is_the_same_everywhere() -> None:
    for name in ("README.md", "docs/project/index.md"):
        assert __version__ in (ROOT / name).read_text(), name
