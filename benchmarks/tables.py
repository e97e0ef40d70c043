"""Write the tables of README.md and docs/ from benchmarks/results/*.json.

    python benchmarks/tables.py            # rewrite every table between its markers
    python benchmarks/tables.py --check    # exit 1 if a table differs from the results
    python benchmarks/tables.py --list     # names that can stand between markers

A page says where a table goes, and this script fills it in:

    <!-- table:cluster-best -->
    <!-- /table -->

Below each table stand the conditions of the run: what was asked, data, threads, versions, machine,
date and command. A figure therefore exists in one place only, the results file.
"""

from __future__ import annotations

import argparse
import json
import re
import string
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
_MARKED = re.compile(r"<!-- table:(?P<name>[^>]*?) -->\n.*?<!-- /table -->", re.DOTALL)
_OPEN = re.compile(r"<!-- table:[^>]*-->")
_EMPTY = "–"
_GRAPHS = {"as-caida": "CAIDA", "ca-astroph": "astro-ph"}

Row = Mapping[str, Any]
Sections = Mapping[tuple[str, str], Mapping[str, Any]]  # (file, section) -> what was recorded


@dataclass(frozen=True)
class Table:
    """A table of one or more sections.

    `columns` maps a header to a format of the row's values, such as "{seconds:.1f} s"; without it
    a table has the row's own keys and values. The conditions are those of the first section.
    """

    file: str
    sections: tuple[str, ...]
    columns: Mapping[str, str] | None = None

    def render(self, results: Sections) -> str:
        parts = [results[self.file, section] for section in self.sections]
        rows = [row for part in parts for row in part["rows"]]
        columns = self.columns or {str(key): f"{{{key}}}" for key in rows[0]}
        if not self.columns:
            cells = [[_text(row[key]) for key in rows[0]] for row in rows]
        else:
            cells = [[_formatted(form, row) for form in columns.values()] for row in rows]
        return markdown([*columns], cells) + "\n\n" + conditions(parts[0])


def _one(file: str, section: str, columns: Mapping[str, str] | None = None) -> Table:
    return Table(file, (section,), columns)


_FOLDS = {
    "model": "{model} ({settings})",
    "RMSE": "{rmse:.4f}",
    "MAE": "{mae:.4f}",
    "log-loss": "{log_loss:.3f}",
    "accuracy": "{accuracy:.3f}",
    "seconds": "{wall:.0f}",
    "CPU seconds": "{cpu:.1f}",
}
_LADDER = {
    "model": "{model} ({settings})",
    "information": "{information}",
    "RMSE": "{rmse:.4f}",
    "log-loss": "{log_loss:.3f}",
    "seconds": "{wall:.0f}",
    "CPU seconds": "{cpu:.1f}",
}
_SERVED = {
    "model": "{model}",
    "requests per second": "{requests_per_second:,.0f}",
    "median": "{median_ms:.1f} ms",
    "99th percentile": "{p99_ms:.1f} ms",
    "CPU of the server per request": "{cpu_ms_per_request:.2f} ms",
    "failed": "{failed}",
}

TABLES: dict[str, Table] = {
    "serve-known": _one("serve", "known", {**_SERVED, "remembers answers": "{remembers_answers}"}),
    "serve-fold-in": _one("serve", "fold-in", _SERVED),
    "serve-reload": _one(
        "serve",
        "reload",
        {
            "model": "{model}",
            "seconds": "{seconds}",
            "requests": "{requests:,}",
            "failed": "{failed}",
            "models loaded again": "{reloads}",
            "median": "{median_ms:.0f} ms",
            "99th percentile": "{p99_ms:.0f} ms",
            "memory after the first minute": "{memory_second_mb:.0f} MB",
            "at the end": "{memory_last_mb:.0f} MB",
        },
    ),
    "serve-start": _one(
        "serve",
        "start",
        {
            "command": "`coterie app --demo --no-browser`",
            "seconds to the first page": "{seconds:.2f}",
        },
    ),
    "start-up": _one(
        "start-up",
        "commands",
        {
            "command": "{command}",
            "first time, CPU seconds": "{first_cpu:.1f}",
            "second time, CPU seconds": "{second_cpu:.1f}",
        },
    ),
    "default-releases": _one(
        "releases",
        "communities",
        {
            "network": "{network}",
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "communities of the release in the original, share of its own": "{foreign_share:.2f}",
            "agreement (NMI), share of two searches on the original": "{agreement_share:.2f}",
            "global clustering": "{global_clustering:.2f}",
            "local clustering": "{local_clustering:.2f}",
            "path length": "{path_length:.2f}",
            "degree KS": "{degree_ks:.3f}",
            "4-cliques": "{four_cliques:.2f}",
            "squares": "{squares:.2f}",
            "edges named because they are in the data": "{named_bound:.1%}",
            "CPU seconds": "{cpu:.0f}",
        },
    ),
    "red-team-people": _one(
        "red-team",
        "people",
        {
            "network": "{network}",
            "attack": "{attack}",
            "guesses": "{guesses:,}",
            "right": "{right}",
            "by luck": "{by_luck:.1f}",
            "z": "{z:+.1f}",
            "copy without names: right of guesses": "{copy_right:,} of {copy_guesses:,}",
        },
    ),
    "red-team-edges": _one(
        "red-team",
        "edges",
        {
            "network": "{network}",
            "edges compared: kept, left out": "{kept:,}, {left_out:,}",
            "kept edge is closer": "{auc:.3f}",
            "people exchanged": "{auc_exchanged:.3f}",
            "z": "{z:+.1f}",
            "copy without names": "{copy_auc:.3f}",
            "named of kept edges": "{named_kept:.1%}",
            "named of left-out edges": "{named_left_out:.1%}",
            "standard error": "{named_error:.1%}",
        },
    ),
    "links": _one(
        "links",
        "held-out",
        {
            "network": "{network}",
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "blocks": "{blocks}",
            "common neighbours": "{auc_common_neighbours:.4f} / {ap_common_neighbours:.4f}",
            "Adamic-Adar": "{auc_adamic_adar:.4f} / {ap_adamic_adar:.4f}",
            "spectral": "{auc_spectral:.4f} / {ap_spectral:.4f}",
            "coterie, blocks alone": "{auc_coterie_blocks_alone:.4f} / "
            "{ap_coterie_blocks_alone:.4f}",
            "coterie": "{auc_coterie:.4f} / {ap_coterie:.4f}",
            "CPU seconds of the fit": "{fit_cpu:.1f}",
        },
    ),
    "cluster-best": _one(
        "cluster",
        "best",
        {
            "graph": "{graph}",
            "k": "{k}",
            "library": "{library}",
            "minimises": "{minimises}",
            "threads": "{threads}",
            "S": "{entropy:,.0f}",
            "seconds": "{seconds:.2f}",
        },
    ),
    "cluster-paper": _one(
        "cluster",
        "paper",
        {
            "graph": "{graph}",
            "k": "{k}",
            "score": "{score}",
            "iterations": "{iterations}",
            "S": "{entropy:,.0f}",
            "seconds": "{seconds:.2f}",
            "seconds in the paper (32 cores)": "{paper_seconds}",
        },
    ),
    "cluster-threads": _one(
        "cluster",
        "threads",
        {
            "graph": "{graph}",
            "k": "{k}",
            "threads": "{threads}",
            "seconds": "{seconds:.2f}",
            "speed-up": "{speedup:.2f}",
            "same labels": "{same_labels}",
        },
    ),
    "cluster-growth": _one(
        "cluster", "growth", {"k": "{k}", "milliseconds per iteration": "{milliseconds:.1f}"}
    ),
    "cluster-million": _one(
        "cluster",
        "million",
        {
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "k": "{k}",
            "iterations": "{iterations}",
            "seconds": "{seconds:.1f}",
            "peak memory (GB)": "{peak_gb:.2f}",
        },
    ),
    "cluster-description": _one(
        "cluster",
        "description",
        {
            "network": "{graph}",
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "coterie: nats": "{length:,.0f}",
            "blocks": "{blocks}",
            "CPU seconds": "{cpu:.2f}",
            "graph-tool: nats": "{peer_length:,.0f}",
            "its blocks": "{peer_blocks}",
            "its CPU seconds": "{peer_cpu:.2f}",
            "difference": "{difference:+.2%}",
        },
    ),
    "cluster-nested": _one(
        "cluster",
        "nested",
        {
            "network": "{graph}",
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "coterie: nats": "{length:,.0f}",
            "blocks per level": "{blocks}",
            "CPU seconds": "{cpu:.2f}",
            "graph-tool: nats": "{peer_length:,.0f}",
            "its blocks": "{peer_blocks}",
            "its CPU seconds": "{peer_cpu:.2f}",
            "difference": "{difference:+.2%}",
        },
    ),
    "cluster-recovery": _one(
        "cluster",
        "recovery",
        {
            "graphs": "{graphs}",
            "agreement": "{ari_min:.4f} to {ari_max:.4f}",
            "entropy above the planted": "{above_min:+.1f} to {above_max:+.1f}",
            "CPU seconds": "{cpu:.1f}",
        },
    ),
    "cluster-planted": _one(
        "cluster",
        "planted",
        {
            "kind": "{kind}",
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "planted / found": "{planted} / {found}",
            "precision": "{precision:.3f}",
            "recall": "{recall:.3f}",
            "CPU seconds": "{cpu:.1f}",
        },
    ),
    "cluster-size": _one(
        "cluster",
        "size",
        {
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "k": "{k}",
            "pairwise precision / recall": "{precision:.4f} / {recall:.4f}",
            "CPU seconds": "{cpu:.1f}",
            "peak memory (GB)": "{peak_gb:.2f}",
        },
    ),
    "cluster-iteration-parts": _one("cluster", "iteration-parts"),
    "cluster-auto": _one("cluster", "auto"),
    "soft-iteration": _one(
        "soft",
        "iteration",
        {
            "k = l": "{k}",
            "coterie (CPU ms)": "{coterie_ms:.1f}",
            "mmsbm (CPU ms)": "{mmsbm_ms:.1f}",
            "mmsbm / coterie": "{ratio:.1f}",
        },
    ),
    "soft-growth": _one(
        "soft",
        "growth",
        {
            "k = l": "{k}",
            "CPU ms per iteration": "{coterie_ms:.1f}",
            "compared with k = 10": "{times_k10:.1f} times",
        },
    ),
    "soft-paper": _one(
        "soft",
        "paper",
        {"task": "{what}", "S": "{entropy:,.0f}", "seconds": "{seconds:.2f}"},
    ),
    "soft-monte-carlo": _one(
        "soft",
        "monte-carlo",
        {
            "k = l": "{k}",
            "update": "{update}",
            "CPU ms, update": "{update_ms:.1f}",
            "CPU ms, with entropy": "{with_entropy_ms:.1f}",
            "S after the given time": "{entropy_after:,.0f}",
        },
    ),
    "soft-monte-carlo-200": _one("soft", "monte-carlo-200"),
    "soft-scale": _one(
        "soft",
        "scale",
        {
            "ratings": "{ratings:,}",
            "users": "{users:,}",
            "items": "{items:,}",
            "seconds per iteration": "{seconds:.3f}",
            "peak memory (GB)": "{peak_gb:.2f}",
        },
    ),
    "soft-graphs": _one(
        "soft",
        "graphs",
        {
            "graph": "{graph}",
            "absent pairs": "{absent}",
            "k": "{k}",
            "seconds per iteration": "{seconds:.2f}",
        },
    ),
    "recommend-rankings": _one(
        "recommend",
        "rankings",
        {
            "protocol": "{protocol}",
            "model": "{model} ({settings})",
            "saw": "{information}",
            "NDCG@10": "{ndcg10:.4f}",
            "Recall@20": "{recall20:.4f}",
            "NDCG@100": "{ndcg100:.4f}",
            "CPU seconds": "{cpu:.1f}",
        },
    ),
    "recommend-folds": _one("recommend", "folds", _FOLDS),
    "recommend-ladder": _one("recommend", "ladder", _LADDER),
    "recommend-u1": _one("recommend", "u1", _LADDER),
    "recommend-sizes": _one(
        "recommend",
        "sizes",
        {
            "ratings": "{ratings:,}",
            "users": "{users:,}",
            "items": "{items:,}",
            "seconds": "{seconds:.1f}",
            "CPU seconds": "{cpu_seconds:.1f}",
            "peak memory (GB)": "{peak_gb:.2f}",
            "RMSE": "{rmse:.4f}",
            "RMSE of offsets": "{offsets_rmse:.4f}",
            "chains": "{chains}",
            "factors": "{factors}",
            "sweeps": "{sweeps}",
        },
    ),
    "recommend-folds-seed-1": _one("recommend", "folds-seed-1", _FOLDS),
    "recommend-shapes": _one(
        "recommend",
        "shapes",
        {
            "shape": "{shape}",
            "table": "{table}",
            "RMSE of best minus RMSE of tuned offsets": "{difference:+.4f}",
        },
    ),
    "recommend-million": _one(
        "recommend",
        "million",
        {
            "settings": "{settings}",
            "chains": "{chains}",
            "sweeps": "{sweeps}",
            "seconds": "{seconds:.0f}",
            "CPU seconds": "{cpu_seconds:.0f}",
            "peak memory (GB)": "{peak_gb:.2f}",
        },
    ),
    "recommend-mmsbm-prior": _one("recommend", "mmsbm-prior"),
    "recommend-unseen": _one("recommend", "unseen"),
    "recommend-ranking": _one("recommend", "ranking"),
    "recommend-genres": _one(
        "genres", "groups", {"item group": "{group}", "films with the largest share": "{films}"}
    ),
    "additive-tuning": _one("additive_defaults", "tuning"),
    "additive-check": _one(
        "additive_defaults",
        "movielens",
        {"setting": "{setting}", "RMSE": "{rmse:.4f}", "log-loss": "{log_loss:.4f}"},
    ),
    "anonymize-attacks": _one(
        "anonymize",
        "attacks",
        {
            "graph": "{graph}",
            "attack": "{attack}",
            "found in a release": "{correct:,.1f}",
            "expected": "{expected:,.1f}",
            "found in a copy without names": "{naive:,.0f}",
            "the same, 10 % of the edges deleted": "{deleted:,.0f}",
        },
    ),
    "anonymize-known-degrees": _one("anonymize", "known-degrees"),
    "anonymize-known-degrees-stronger": _one("anonymize", "known-degrees-stronger"),
    "anonymize-known-degrees-control": _one("anonymize", "known-degrees-control"),
    "anonymize-spread-astro-ph": _one("anonymize", "spread-astro-ph"),
    "anonymize-spread-caida": _one("anonymize", "spread-caida"),
    "anonymize-steps-astro-ph": _one("anonymize", "steps-astro-ph"),
    "anonymize-steps-caida": _one("anonymize", "steps-caida"),
    "anonymize-techniques-astro-ph": _one("anonymize", "techniques-astro-ph"),
    "anonymize-techniques-caida": _one("anonymize", "techniques-caida"),
    "anonymize-kinds": _one("anonymize", "kinds"),
    "anonymize-unseen": _one("anonymize", "unseen"),
    "anonymize-communities-variants": _one("anonymize", "communities-variants"),
    "private-astro-ph": _one(
        "private",
        "astro-ph",
        {name: f"{{{name}}}" for name in ("query", "sketch, ε = 1", "configuration model, ε = 1")},
    ),
    "private-caida": _one("private", "caida"),
    "private-small": _one("private", "small"),
    "private-coverage": _one("private_intervals", "by-figure"),
    "scaling-best": _one(
        "distributed",
        "best",
        {
            "nodes": "{nodes:,}",
            "edges": "{edges:,}",
            "k": "{k}",
            "engine": "{engine}",
            "search (s)": "{seconds:,.0f}",
            "whole command (s)": "{wall_seconds:,.0f}",
            "CPU seconds": "{cpu_seconds:,.0f}",
            "peak memory (GB)": "{peak_gb:.1f}",
            "agreement (ARI)": "{ari:.4f}",
        },
    ),
    "scaling-dask": Table(
        "distributed",
        ("mmsbm", "hard"),
        {
            "model": "{model}",
            "threads (s per iteration)": "{local_seconds:.3f}",
            "Dask (s per iteration)": "{dask_seconds:.3f}",
            "ratio": "{ratio:.2f}",
            "MB per iteration": "{megabytes:.2f}",
            "MB by the formula": "{formula_megabytes:.2f}",
        },
    ),
    "scaling-shard": _one(
        "distributed",
        "shard",
        {
            "input": "{input}",
            "shards": "{shards}",
            "seconds": "{seconds:.0f}",
            "peak memory (GB)": "{peak_gb:.1f}",
        },
    ),
    "scaling-shard-text": _one(
        "distributed",
        "shard-text",
        {
            "input": "{input}",
            "shards": "{shards}",
            "seconds": "{seconds:.0f}",
            "peak memory (GB)": "{peak_gb:.1f}",
        },
    ),
    "scaling-malloc": _one("distributed", "malloc"),
    "io-read": _one(
        "io",
        "read",
        {
            "file": "{file}",
            "coterie (s)": "{seconds:.2f}",
            "coterie, one thread (s)": "{seconds_one_thread:.2f}",
            "pandas (s)": "{pandas_seconds:.2f}",
            "peak memory of coterie (MB)": "{peak_mb:.0f}",
            "of which the graph (MB)": "{final_mb:.0f}",
        },
    ),
    "reproduction-machine": _one("reproduction", "machine"),
    "reproduction-claims": _one("reproduction", "claims"),
    "reproduction-extensions": _one("reproduction", "extensions"),
    "reproduction-table2": _one("reproduction", "table2"),
    "reproduction-table3": _one("reproduction", "table3"),
    "reproduction-degrees": _one("reproduction", "degrees"),
    "reproduction-tradeoff": _one("reproduction", "tradeoff"),
}


def comparison(results: Sections) -> str:
    """The summary of README.md: one figure and one condition per cell."""
    clustering, soft = results["cluster", "best"], results["soft", "iteration"]
    folds, ladder = results["recommend", "folds"], results["recommend", "ladder"]
    reading = results["io", "read"]
    rows: list[list[str]] = []
    for graph, k in dict.fromkeys((row["graph"], row["k"]) for row in clustering["rows"]):
        ours, theirs = _same_threads(clustering["rows"], graph)
        threads = f"{ours['threads']} thread" + "s" * (ours["threads"] != 1)
        task, peer = f"{_GRAPHS[graph]}, {k} blocks", str(theirs["library"])
        for what, form in (("entropy S", "{entropy:,.0f}"), ("seconds", "{seconds:.2f}")):
            figures = (_formatted(form, row) for row in (ours, theirs))
            rows.append([f"{task}: {what}", *_with_peer(figures, peer), threads])
    peer = f"mmsbm {soft['versions'].get('mmsbm', '')}".strip()
    for row in soft["rows"]:
        task = f"an exact MMSBM iteration, {row['k']} groups per side: CPU ms"
        figures = (_formatted(form, row) for form in ("{coterie_ms:.1f}", "{mmsbm_ms:.1f}"))
        rows.append([task, *_with_peer(figures, peer), "MovieLens-100k, 1 thread"])
    task = "predicted ratings, MovieLens-100k: RMSE"
    ours, theirs = _best_of(ladder["rows"], same_information=True)
    figures = (f"{row['rmse']:.4f}" for row in (ours, theirs))
    rows.append([task, *_with_peer(figures, theirs["model"]), "the same information, folds 0, 1"])
    ours, theirs = _best_of(folds["rows"], same_information=False)
    figures = (f"{row['rmse']:.4f}" for row in (ours, theirs))
    rows.append([task, *_with_peer(figures, theirs["model"]), "peer sees ids only, five folds"])
    first = reading["rows"][0]
    figures = (_formatted(form, first) for form in ("{seconds:.2f}", "{pandas_seconds:.2f}"))
    task = f"reading {first['file']}: seconds"
    rows.append([task, *_with_peer(figures, "pandas"), "2 threads; pandas 1, no graph"])
    used = (clustering, soft, folds, ladder, reading)
    dates = sorted({part["date"] for part in used})
    text = (
        f"Lower is better in every row. Machine: {_machine(clustering)}. coterie "
        f"{clustering['versions']['coterie']}; {dates[0]} to {dates[-1]}. graph-tool minimises the "
        "description length with the number of blocks fixed, coterie the entropy S; both "
        "labellings are scored by S. Settings, more peers, more data and all conditions: "
        "docs/benchmarks."
    )
    return markdown(["task", "coterie", "peer", "condition"], rows) + f"\n\n<small>{text}</small>"


def _with_peer(figures: Iterable[str], peer: str) -> list[str]:
    ours, theirs = figures
    return [ours, f"{peer}: {theirs}"]


def _best_of(rows: Iterable[Row], *, same_information: bool) -> tuple[Row, Row]:
    """Return the row of `best` and that of the best peer, with as much information if asked."""
    scored = sorted(rows, key=lambda row: float(row["rmse"]))
    ours = next(row for row in scored if row["model"] == "coterie best")
    peers = [row for row in scored if not row["model"].startswith("coterie")]
    if same_information:
        peers = [row for row in peers if row["information"] == ours["information"]]
    return ours, peers[0]


def _same_threads(rows: Iterable[Row], graph: str) -> tuple[Row, Row]:
    """Return the fits of coterie and of its peer with the largest number of threads of both."""
    found: dict[bool, dict[int, Row]] = {True: {}, False: {}}
    for row in rows:
        if row["graph"] == graph:
            found[str(row["library"]).startswith("coterie")][int(row["threads"])] = row
    threads = max(set(found[True]) & set(found[False]))
    return found[True][threads], found[False][threads]


def releases(results: Sections) -> str:
    """What eight releases of each graph keep, and whom the attacks identify."""
    rows = []
    for graph, nodes in (("astro-ph", "18,772 people"), ("CAIDA", "26,475 nodes")):
        spread = {r["measure"]: r for r in results["anonymize", f"spread-{graph.lower()}"]["rows"]}
        attacks = [r for r in results["anonymize", "attacks"]["rows"] if r["graph"] == graph]
        seeded = spread["people found, seeded attack, 200 known"]
        gcc, path = spread["global clustering"], spread["average path length"]
        everyone = attacks[2]
        rows.append(
            [
                f"{graph}, {nodes}",
                f"{gcc['original']} → {gcc['mean']} (sd {gcc['sd']})",
                f"{path['original']} → {path['mean']} (sd {path['sd']})",
                f"at most {float(seeded['max']):.0f} in each release; "
                f"{attacks[0]['naive']:,.0f} in a copy without names",
                f"{everyone['correct']:.1f} right on average, {everyone['expected']:.1f} expected "
                f"from class sizes; {everyone['naive']:,.0f} in a copy without names",
            ]
        )
    head = [
        "network",
        "global clustering",
        "average path length",
        "found by the seeded attack (200 known)",
        "found by an attacker who knows nobody and guesses for everyone",
    ]
    part = results["anonymize", "spread-astro-ph"]
    both = results["anonymize", "attacks"]["data"]
    return markdown(head, rows) + "\n\n" + conditions({**part, "data": both})


def verdicts(results: Sections) -> str:
    """How many claims of the paper hold in the recorded run."""
    part = results["reproduction", "claims"]
    counts: dict[str, int] = {}
    for row in part["rows"]:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    order = ("holds", "holds with a remark", "does not hold")
    cells = [[verdict, str(counts.get(verdict, 0))] for verdict in order]
    total = ["all claims", str(len(part["rows"]))]
    return markdown(["verdict", "claims"], [*cells, total]) + "\n\n" + conditions(part)


SUMMARIES: dict[str, Callable[[Sections], str]] = {
    "comparison": comparison,
    "releases": releases,
    "reproduction-verdicts": verdicts,
}


def conditions(part: Mapping[str, Any]) -> str:
    """The paragraph below a table: everything a reader needs to judge or repeat it."""
    versions = ", ".join(f"{name} {number}" for name, number in part["versions"].items())
    quiet = "nothing else running" if part["quiet"] else "shared with other work"
    measured = "" if part["source"].startswith("measured") else f", {part['source']}"
    said = [
        f"Data: {part['data']}",
        f"Asked: {part['asked']}",
        f"Threads: {part['threads']}",
        f"Versions: {versions}" if versions else "",
        f"Machine: {_machine(part)}, {quiet}",
        f"Date: {part['date']} (commit {part['commit']}){measured}",
        f"Command: {_command(part)}",
        part["remarks"],
    ]
    return "<small>" + ". ".join(words.rstrip(".") for words in said if words) + ".</small>"


def _machine(part: Mapping[str, Any]) -> str:
    found = part["machine"]
    return f"{found['cpu']}, {found['cores']} cores"


def _command(part: Mapping[str, Any]) -> str:
    words = str(part["command"])
    runs = words.startswith(("python ", "coterie "))
    return f"`{words}`" if runs else words


def _formatted(form: str, row: Row) -> str:
    """Fill in one cell; a value that was not recorded is a dash."""
    names = [name for _, name, _, _ in string.Formatter().parse(form) if name]
    values = {name: row.get(name) for name in names}
    if any(value is None for value in values.values()):
        return _EMPTY
    plain = {"True": "yes", "False": "no"}
    if values.get("graph") in _GRAPHS:
        values["graph"] = _GRAPHS[str(values["graph"])]
    text = form.format_map(values)
    return plain.get(text, text)


def _text(value: Any) -> str:
    if value is None or value == "":
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def read_results(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Read every section of every results file."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        for name, section in json.loads(path.read_text(encoding="utf-8"))["sections"].items():
            found[path.stem, name] = section
    return found


def render(name: str, results: Sections) -> str:
    """Return the Markdown of one table.

    Raises
    ------
    KeyError
        If there is no table of that name, or no results for it.
    """
    if name in SUMMARIES:
        return SUMMARIES[name](results)
    if name not in TABLES:
        raise KeyError(f"there is no table {name!r}; `python benchmarks/tables.py --list` has all")
    return TABLES[name].render(results)


def filled(text: str, results: Sections) -> str:
    """Return a page with every marked table written from the results."""

    def fill(found: re.Match[str]) -> str:
        name = found["name"].strip()
        return f"<!-- table:{name} -->\n\n{render(name, results)}\n\n<!-- /table -->"

    if len(_OPEN.findall(text)) != len(_MARKED.findall(text)):
        raise ValueError("a table marker has no <!-- /table --> after it")
    return _MARKED.sub(fill, text)


def pages(root: Path) -> list[Path]:
    """Return README.md and every page below docs/."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 on drift")
    parser.add_argument("--list", action="store_true", help="print the names of all tables")
    given = parser.parse_args()
    if given.list:
        print(*sorted([*TABLES, *SUMMARIES]), sep="\n")
        return 0
    results = read_results(RESULTS)
    wrong = 0
    for page in pages(ROOT):
        text = page.read_text(encoding="utf-8")
        try:
            new = filled(text, results)
        except (KeyError, ValueError) as error:
            print(f"{page.relative_to(ROOT)}: {error}", file=sys.stderr)
            wrong += 1
            continue
        if new == text:
            continue
        if given.check:
            print(
                f"{page.relative_to(ROOT)}: a table differs from benchmarks/results; "
                "run `python benchmarks/tables.py`",
                file=sys.stderr,
            )
            wrong += 1
        else:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: tables rewritten")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
