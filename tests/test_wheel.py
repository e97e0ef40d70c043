"""A wheel that carries compiled kernels runs commands without compiling."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tools.build_wheel import build, compile_kernels, copy_sources, run_commands

pytest.importorskip("hatchling")
pytest.importorskip("wheel")
pytest.importorskip("pip")


def test_an_installed_wheel_compiles_nothing(tmp_path):
    sources = copy_sources(tmp_path / "sources")
    count = compile_kernels(sources, "soft")
    wheel = build(sources, tmp_path / "dist")
    assert "none-any" not in wheel.name  # machine code fits one platform
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(installed), str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    where = "import coterie; print(coterie.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", where], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(str(installed))
    assert count > 10
    assert run_commands(sys.executable, tmp_path, environment, "soft") == 2
