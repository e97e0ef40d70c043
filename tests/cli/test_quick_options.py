"""Options read without Pydantic give what Typer gives."""

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
import typer

import coterie
from coterie.cli.quick_options import QuickParam, install

pytestmark = pytest.mark.skipif(not install(), reason="this Typer does not use Pydantic")


class Colour(StrEnum):
    """A choice of a test."""

    RED = "red"
    BLUE = "blue"


CASES: list[tuple[Any, dict[str, Any], list[Any]]] = [
    (str, {}, [None, "", "a", "1", "é"]),
    (int, {"min": 1, "max": 9}, [None, "5", 5, "0", "10", "007", "1_0", "x", "", "5.0", 1.5, True]),
    (int, {}, ["-3", "0", "-0", "999999999999999999", "9" * 40, " 4", "٣"]),
    (float, {"min": 0.0}, ["0.1", "1e-3", 1, 0.25, "-0.5", "nan", "inf", ".5", "1.", "0.30000001"]),
    (float, {"max": 1.0, "clamp": True}, ["3", "0.5"]),
    (bool, {}, [True, False, "yes", "maybe"]),
    (Colour, {}, ["red", Colour.BLUE, "RED", "green", None]),
    (Colour, {"case_sensitive": False}, ["RED", "red"]),
    (Literal["a", "b"], {}, ["a", "c"]),
    (Path, {}, ["x/y", "/", Path("a"), "", "-", "a\0b"]),
    (Path, {"exists": True}, ["/nowhere/at/all", "/"]),
    (Path, {"dir_okay": False}, ["/", "new.csv"]),
    (Path, {"resolve_path": True}, ["."]),
    (list[str], {}, [None, [], ["a", "b"], ("a",)]),
    (list[int], {}, [["1", "2"], ["x"]]),
    (list[Path], {}, [["x", "y"]]),
    (tuple[int, int], {}, [("1", "2")]),
]


@pytest.mark.parametrize(
    ("kind", "settings", "value"),
    [(kind, settings, value) for kind, settings, values in CASES for value in values],
)
def test_a_value_is_what_typer_makes_of_it(kind: Any, settings: dict[str, Any], value: Any) -> None:
    param = _parameter(kind, settings)
    quick = param.get_runtime_param()
    assert isinstance(quick, QuickParam)
    context: Any = SimpleNamespace(token_normalize_func=None)
    wanted = _outcome(quick._usual(), value, param, context)
    assert _outcome(quick, value, param, context) == wanted


def test_common_values_do_not_need_typers_own_way() -> None:
    def never() -> Any:
        raise AssertionError("asked Typer")

    for kind, value in [(str, "a"), (int, "5"), (float, "0.5"), (Colour, "red"), (Path, "x")]:
        param = _parameter(kind, {})
        quick = QuickParam(param.type_descriptor, never)
        quick.coerce(value, param, SimpleNamespace(token_normalize_func=None))
        quick.coerce(None, param, None)


def test_a_command_does_not_load_pydantic() -> None:
    code = (
        "import sys\n"
        "sys.argv = ['coterie', 'cluster', 'karate.csv', '--blocks', '4', '--dry-run']\n"
        "from coterie.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert 'pydantic' not in sys.modules\n"
    )
    file = Path(coterie.__file__).parent / "data" / "files"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=file, capture_output=True)


def _parameter(kind: Any, settings: dict[str, Any]) -> Any:
    app = typer.Typer()

    @app.command()
    def run(value: Annotated[kind, typer.Option(**settings)] = None) -> None: ...

    (found,) = [p for p in typer.main.get_command(app).params if p.name == "value"]
    return found


def _outcome(reader: Any, value: Any, param: Any, context: Any) -> tuple[str, Any]:
    try:
        result = reader.coerce(value, param=param, ctx=context)
    except Exception as error:
        return type(error).__name__, str(error)
    return type(result).__name__, "nan" if result != result else result
