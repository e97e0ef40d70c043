"""Signals, closed streams and limits of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import COMMAND, coterie, started, wait_for_file

posix = pytest.mark.skipif(os.name != "posix", reason="signals and shells of POSIX")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large") / "edges.txt"
    rng = np.random.default_rng(0)
    np.savetxt(file, rng.integers(0, 2000, (30_000, 2)), "%d")
    return file


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_fit_keeps_its_best_result(
    large: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out, checkpoint = tmp_path / "labels.csv", tmp_path / "run.ckpt"
    process = started(
        "cluster", large, "--blocks", 20, "--search", "paper", "--iterations", 10**6, "--tol", 0,
        "--checkpoint", checkpoint, "--out", out, "--threads", 1,
    )  # fmt: skip
    wait_for_file(checkpoint, process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert out.exists()


@posix
def test_a_killed_shard_command_does_not_block_the_next_one(large: Path, tmp_path: Path) -> None:
    from coterie.base.errors import InputError
    from coterie.engine.sharding import shard_graph

    folder = tmp_path / "shards"
    (folder / ".buckets-abc").mkdir(parents=True)
    (folder / ".buckets-abc" / "0").write_bytes(b"private edges")
    (folder / "shard-00000.safetensors").write_bytes(b"half")
    shard_graph(large, folder, shards=2)
    assert (folder / "manifest.json").exists()
    assert not list(folder.glob(".buckets*"))
    with pytest.raises(InputError, match="not empty"):
        shard_graph(large, folder, shards=2)
    other = tmp_path / "other"
    (other / ".buckets-abc").mkdir(parents=True)
    (other / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        shard_graph(large, other, shards=2)
    assert (other / "letter.txt").read_text() == "mine"


@posix
@pytest.mark.parametrize("module", ["typing", "coterie.cli.main", "typer"])
def test_ctrl_c_while_the_command_is_loaded_is_silent(tmp_path: Path, module: str) -> None:
    script = tmp_path / "coterie"
    script.write_text(
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(name, path, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt)\n"
        "from coterie.__main__ import main\n"
        "sys.exit(main())\n"
    )
    command = [sys.executable, str(script), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_importing_the_library_does_not_change_what_ctrl_c_does() -> None:
    code = "import coterie, signal; print(signal.getsignal(2) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=240, check=False
    )


@posix
def test_closed_streams_are_an_error_of_usage(tmp_path: Path) -> None:
    file = tmp_path / "k.csv"
    file.write_text("1 2\n2 3\n")
    words = " ".join(COMMAND)
    done = shell(f"{words} cluster - --blocks 2 <&-")
    assert done.returncode == 2 and "standard input: is closed" in done.stderr
    done = shell(f"{words} cluster {file} --blocks 2 >&-")
    assert done.returncode == 2 and "standard output is closed" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space work on Linux")
def test_a_small_address_space_is_reported_as_such(tmp_path: Path) -> None:
    file = tmp_path / "k.csv"
    file.write_text("1 2\n2 3\n")
    done = shell(f"ulimit -v 500000; {' '.join(COMMAND)} cluster {file} --blocks 2")
    assert done.returncode == 2
    assert "out of memory: this shell allows" in done.stderr


def test_more_blocks_than_fit_into_memory_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "path.txt"
    file.write_text("".join(f"{n} {n + 1}\n" for n in range(400_000)))
    done = coterie("cluster", file, "--blocks", 300_000, "--search", "paper", "--iterations", 2)
    assert done.returncode == 2
    assert "GB of memory are free" in done.stderr and "--blocks" in done.stderr


def test_an_empty_file_name_is_not_the_present_folder() -> None:
    done = coterie("cluster", "", "--blocks", 2)
    assert done.returncode == 2
    assert "GRAPH is empty" in done.stderr


def test_a_policy_saved_as_utf_16_is_read_and_binary_refused(tmp_path: Path) -> None:
    from coterie.anonymize.policy import Policy
    from coterie.base.errors import InputError

    file = tmp_path / "policy.toml"
    text = "[limits]\nmin_class_size = 20\n"
    for encoding in ("utf-16", "utf-8-sig", "utf-8"):
        file.write_bytes(text.encode(encoding))
        assert Policy.from_file(file) == Policy.from_text(text)
    file.write_bytes(b"[limits]\n# caf\xe9\n")
    with pytest.raises(InputError, match=r"policy\.toml: not a text file in UTF-8"):
        Policy.from_file(file)
