"""Build a wheel that carries its compiled kernels, for a whole family of processors.

python tools/build_wheel.py --out dist              # every kernel; some minutes
python tools/build_wheel.py --out dist --check      # and try it in a new environment
python tools/build_wheel.py --out dist --only cluster

The kernels are compiled for x86-64-v3 (every x86 server and desktop processor since about 2015),
or for generic 64-bit ARM. At run time they are used if the versions of Python, Numba and llvmlite
are those of the build and the processor has all features; otherwise coterie compiles as usual.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
X86_64_V3 = (
    "+64bit,+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,"
    "+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)
TARGETS = {
    "x86_64": ("x86-64-v3", X86_64_V3),
    "amd64": ("x86-64-v3", X86_64_V3),
    "aarch64": ("generic", "+neon"),
    "arm64": ("generic", "+neon"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheel")
    parser.add_argument("--only", default="all", help="kernels to include, see `coterie warmup`")
    parser.add_argument("--check", action="store_true", help="install it in a new environment")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sources = copy_sources(Path(folder) / "sources")
        count = compile_kernels(sources, options.only)
        wheel = build(sources, options.out)
    print(f"{wheel}: {count} compiled versions, {wheel.stat().st_size / 1e6:.1f} MB")
    print(f"they are used with {versions()}; with other versions coterie compiles as usual")
    if options.check:
        check(wheel)


def copy_sources(folder: Path) -> Path:
    """Copy what the wheel is built from, so that the checkout stays as it is."""
    writable_copy(ROOT / "src", folder / "src", "__pycache__", "prebuilt", "*.nbc", "*.nbi")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def writable_copy(source: Path, target: Path, *ignored: str) -> Path:
    """Copy a folder without what matches the patterns; the owner may change the copy.

    Files of a read-only checkout could not be changed in an ordinary copy either.
    """
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*ignored))
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    return target


def compile_kernels(sources: Path, only: str) -> int:
    """Compile the kernels of a source tree into its folder `prebuilt`; return their number."""
    cpu, features = TARGETS[platform.machine().lower()]
    prebuilt = sources / "src" / "coterie" / "kernels" / "prebuilt"
    cache = sources / "cache"
    environment = {
        **os.environ,
        "PYTHONPATH": str(sources / "src"),
        "NUMBA_CACHE_DIR": str(cache),
        "NUMBA_CPU_NAME": cpu,
        "NUMBA_CPU_FEATURES": features,
        "COTERIE_PREBUILT": "off",
    }
    run([sys.executable, "-m", "coterie", "warmup", "--only", only], environment)
    # Not functions that only kernels call: their callers contain them
    skip = shutil.ignore_patterns("*._*")
    shutil.copytree(cache / "coterie", prebuilt, ignore=skip)
    code = "from coterie.kernels.numba.cache import host_target; print(*host_target(), sep='\\n')"
    fields = ("python", "numba", "llvmlite", "triple", "cpu", "features")
    target = dict(zip(fields, output([sys.executable, "-c", code], environment), strict=True))
    (prebuilt / "target.json").write_text(json.dumps(target, indent=1), encoding="utf-8")
    return len(list(prebuilt.glob("*.nbc")))


def build(sources: Path, out: Path) -> Path:
    """Build the wheel and give it the tags of this Python and platform."""
    out.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    built = sources / "built"
    run([*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(built), str(sources)])
    (pure,) = built.glob("*.whl")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    from sysconfig import get_platform

    tag = get_platform().replace("-", "_").replace(".", "_")
    command = [sys.executable, "-m", "wheel", "tags", "--remove"]
    command += ["--python-tag", python, "--abi-tag", python, "--platform-tag", tag, str(pure)]
    name = output(command)[-1]
    return Path(shutil.move(built / name, out / name))


def check(wheel: Path) -> None:
    """Install the wheel into a new environment and assert that nothing is compiled there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", str(folder / "venv")])
        python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        run([str(python), "-m", "pip", "install", "--quiet", str(wheel), *versions().split()])
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        print(f"nothing was compiled by {run_commands(str(python), folder, environment)} commands")


def run_commands(python: str, folder: Path, environment: dict[str, str], only: str = "all") -> int:
    """Run the commands of `coterie warmup` with an empty cache, which must stay empty."""
    cache = folder / "cache"
    code = (
        "import sys; from pathlib import Path; from coterie.cli import warmup_runs as w; "
        "w.prepare_process('.', 'on'); w.write_inputs(Path('.')); "
        "lines = [line for chain in w.GROUPS[sys.argv[1]] for line in chain]; "
        "print([message for message in map(w.run_line, lines) if message]); print(len(lines))"
    )
    work = folder / "work"
    work.mkdir()
    environment = {**environment, "NUMBA_CACHE_DIR": str(cache)}
    *_, failed, count = output([python, "-c", code, only], environment, work)
    new = sorted(file.name for file in (cache / "coterie").glob("*.nbc"))
    if failed != "[]" or new:
        sys.exit(f"the wheel had to compile {len(new)} kernels: {new}; failed: {failed}")
    return int(count)


def versions() -> str:
    """Return the requirements under which the compiled kernels are used."""
    from importlib.metadata import version

    return f"numba=={version('numba')} llvmlite=={version('llvmlite')}"


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, check=True, env=environment)


def output(
    command: list[str], environment: dict[str, str] | None = None, folder: Path | None = None
) -> list[str]:
    done = subprocess.run(
        command, check=True, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()


if __name__ == "__main__":
    main()
