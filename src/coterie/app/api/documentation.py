"""The page at / of the API: every route with a command to try it. It loads nothing else."""

from __future__ import annotations

import json
from functools import lru_cache
from html import escape

from coterie.app.api.routes import PLAIN_ROUTES, ROUTES

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">
<title>coterie serve</title></head>
<body class="coterie"><header><p class="brand"><b>coterie</b> · serve</p>
<h1>The API of a recommender</h1>
<p>A model of the kind {model} answers here. The full description is
<a href="/openapi.json">openapi.json</a>.</p></header>
<main>{routes}</main></body></html>"""


@lru_cache(maxsize=8)
def documentation_page(model: str, address: str) -> str:
    """Return the page as HTML; the commands ask the server at this address."""
    parts = []
    for route in ROUTES:
        example = json.dumps(route.request.model_json_schema()["examples"][0])
        parts.append(
            _section(
                f"POST {route.path}",
                route.summary,
                f"curl -H 'Content-Type: application/json' -d '{example}' \\\n"
                f"  {address}{route.path}",
            )
        )
    parts += [
        _section(f"GET {route.path}", route.summary, f"curl {address}{route.path}")
        for route in PLAIN_ROUTES
    ]
    return _PAGE.format(model=escape(model), routes="\n".join(parts))


def _section(title: str, summary: str, command: str) -> str:
    return (
        f"<section><h2>{escape(title)}</h2><p>{escape(summary)}</p>"
        f'<pre tabindex="0">{escape(command)}</pre></section>'
    )
