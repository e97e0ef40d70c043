"""What the pages of both applications share: the style sheet, and how templates are filled."""

from __future__ import annotations

from functools import cache
from importlib import resources
from shlex import quote
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from coterie.base.number_text import figure, percent
from coterie.base.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def stylesheet() -> str:
    """Return the style sheet: that of the reports, and that of forms and steps."""
    # Read as files: importing the charts takes longer than the first page may.
    templates = resources.files("coterie.report") / "templates"
    parts = [templates / name for name in ("palette.css", "page.css", "chart.css", "network.css")]
    parts.append(resources.files("coterie.app") / "static" / "app.css")
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def static_text(name: str) -> str:
    """Return a script of the folder `static`."""
    return (resources.files("coterie.app") / "static" / name).read_text(encoding="utf-8")


def filled(template: str, **values: Any) -> str:
    """Return a template of the folder `templates` with these values; HTML is escaped."""
    return _environment().get_template(f"{template}.j2").render(version=__version__, **values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("coterie.app"),
        autoescape=lambda name: name is not None and ".html" in name,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    # Charts and tables of `report`, which escape every text themselves
    environment.filters |= {
        "own_markup": Markup,
        "shell": quote,
        "python": repr,
        "amount": lambda value, share: percent(value) if share else figure(value),
    }
    environment.policies["json.dumps_kwargs"] = {}
    return environment
