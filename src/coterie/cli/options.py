"""The catalogue of options: what each option and argument of the command line means, said once.

A command declares an option by a parameter of its function: the name, the Python type and the
default. Everything else comes from here: the help text, other names, the form of the value, its
limits, its choices, and whether it names a file. `name@command` (or `name@group`) is an entry for
one command (or the commands of one group) where a name means something else there; `|` separates
commands that share an entry.

The commands, their help, docs/reference/command-line.md, the check that no output replaces an
input, and the names of options in error messages derive from this file.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import typer

from coterie.base.errors import InputError, near_miss
from coterie.data.byte_source import suffixes
from coterie.data.formats import FORMATS, TABLES, listed

_GRAPH_FILE = f"Graph as a {listed(FORMATS)} file, also as .gz"
_FORMAT_DEFAULT = "default: from the first bytes, then from the file name"


class File(Enum):
    """What a command does with a file or folder that an option names."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True)
class Option:
    """One option or argument of the command line."""

    help: str
    metavar: str | None = None
    names: tuple[str, ...] = ()  # default: the name of the parameter, as in --min-class-size
    choices: str = ""  # the allowed values, separated by blanks
    suffixes: str = ""  # the allowed suffixes of a file, separated by blanks; each also with .gz
    least: float | None = None
    most: float | None = None
    file: File | None = None
    argument: bool = False  # given by its place, not by its name
    hidden: bool = False  # understood, but not shown in the help

    def check(self, parameter: str, value: Any) -> None:
        """Raise InputError for a value that is not one of the choices, or another kind of file."""
        known = self.choices.split()
        if known and value is not None and value not in known:
            raise InputError(
                f"{self.user_name(parameter)} {value!r} is not known",
                remedy=f"use one of {', '.join(known)}{near_miss(value, known)}",
            )

        endings = self.suffixes.split()
        if endings and value is not None and str(value) != "-":
            found = (suffixes(value) or [""])[-1]
            if found not in endings and (found or ".csv" not in endings):
                raise InputError(
                    f"{self.user_name(parameter)} cannot be a {found or 'file without a suffix'}",
                    path=value,
                    remedy=f"use one of {', '.join(endings)}",
                )
            if found == ".pdf":
                from coterie.report.pdf import find_browser

                find_browser(value)

    def missing(self, parameter: str) -> InputError:
        """Return the error of a required option that was not given: what it is for."""
        name, what = self.user_name(parameter), self.help[:1].lower() + self.help[1:]
        return InputError(f"{name} is required: {what.rstrip('.')}")

    def user_name(self, parameter: str) -> str:
        """Return what users call it: --research-truth, or GRAPH for an argument."""
        if self.argument:
            return self.metavar or parameter.upper()
        long = [name for name in self.names if name.startswith("--")]
        return long[0].partition("/")[0] if long else option_name(parameter)


def count(help: str, **limits: Any) -> Option:
    """Return an option whose value is a whole number, by default at least 1."""
    return Option(help, "N", **{"least": 1} | limits)


def reads(help: str, metavar: str = "FILE") -> Option:
    """Return an option that names a file to read."""
    return Option(help, metavar, file=File.READ)


_TABLE = ".csv .tsv .txt .parquet .pq"
_GRAPH = f"{_TABLE} .graphml .gexf .json"


def writes(help: str, metavar: str = "FILE", **more: Any) -> Option:
    """Return an option that names a file or folder to write."""
    return Option(help, metavar, file=File.WRITE, **more)


def argument(help: str, metavar: str) -> Option:
    """Return an argument that names a file to read."""
    return Option(help, metavar, file=File.READ, argument=True)


CATALOGUE = {
    "debug": Option("Show the traceback of an error."),
    "dry_run": Option("Read the input, show what was recognised and the first rows, and stop."),
    "header": Option(
        "Whether the first line has the names of the columns (default: detected).",
        names=("--header/--no-header",),
    ),
    "json_": Option("Print one JSON object on stdout and nothing else.", names=("--json",)),
    "quiet": Option(
        "Print nothing but errors, and the answers of commands that answer a question."
    ),
    "seed": count(
        "Random seed. The same seed gives the same result, for any number of threads.", least=0
    ),
    "seed@anonymize": count(
        "Seed of the clustering and of the attacks. It does not determine the new graph, which is "
        "drawn with randomness of the operating system.",
        least=0,
    ),
    "seed@demo": count(
        "Random seed of the data and the models. The released network also depends on a secret "
        "random number and differs from run to run.",
        least=0,
    ),
    "threads": count("Number of threads (default: all cores)."),
    "absent_pairs": Option(
        "How pairs without an edge are used: exact (all of them), sampled (a random part), "
        "ignored (weighted graphs only), or auto (by the size of the graph).",
        choices="auto exact sampled ignored",
        names=("--absent-pairs", "--absent"),
    ),
    "after_release": Option(
        "Make the sketch although measured releases of the same dataset were published: the "
        "epsilon does not hold for both together."
    ),
    "allow_large_epsilon": Option("Allow an epsilon above 10, which protects little."),
    "allow_host": Option(
        "Name under which clients may ask for this server, in addition to its address; can be "
        "repeated. Example: --allow-host films.example",
        "NAME",
    ),
    "allow_origin": Option(
        "Web site whose pages may send requests to this server (CORS); can be repeated. Example: "
        "--allow-origin https://films.example",
        "ORIGIN",
    ),
    "alpha": Option(
        "Share of the nodes that may move per iteration, 0 to 1 (--search paper).", "SHARE"
    ),
    "answer_memory": Option(
        "Megabytes for answers that were given before, so that the same request is not computed "
        "again; 0 computes every answer.",
        "MB",
        least=0,
        most=65536,
    ),
    "attributes": reads(
        "Table of what is known about each node of ORIGINAL: a column node, then one column per "
        "attribute."
    ),
    "attributes@anonymize": reads(
        "Table of what is known about each node, released too: a column node, then one column per "
        "attribute (CSV or Parquet). Example: --attributes staff.csv"
    ),
    "blocks": count(
        "Number of blocks (default: one per 40 to 100 people, more people in denser networks, but "
        "at least half and at most four times the square root of their number; half the square "
        "root if hubs connect mostly to people with few contacts; one per community if there are "
        "more communities of twice --min-class-size)."
    ),
    "blocks@cluster": Option(
        "Number of blocks: one number, two for two kinds of nodes (--two-mode --blocks 2,3), auto "
        "to find the blocks with the shortest description length, or nested to find a hierarchy "
        "of blocks, which can tell apart more and smaller ones.",
        "K|K,L|auto|nested",
    ),
    "candidates": reads(
        "Recommend only the items listed in this file, one id per line; a header is recognised. "
        "Unknown items are left out, with a message."
    ),
    "cap": Option(
        "Lower the maximum of the total epsilon of the dataset for this sketch. The stored maximum "
        "is 4, unless `coterie ledger init` set another; only its owner raises it.",
        "E",
    ),
    "cap@ledger": Option("Maximum of the total epsilon of the dataset.", "E"),
    "checkpoint": writes(
        "Save the state of the fit to this file: every ten iterations; cluster --search best and "
        "--blocks auto or nested after every step, for at most 3 % of the time."
    ),
    "effort": Option(
        "How long to search with --blocks auto or nested, in about the time of a fit with 1, the "
        "default: 10 takes ten times as long for a shorter description. Ctrl-C ends the search "
        "and keeps the best blocks so far.",
        "X",
        least=1,
    ),
    "communities": Option(
        "The densities of --objective communities: per-block (one inside each block; the default) "
        "or uniform (one inside all blocks). With --objective auto, only this kind is tried.",
        choices="per-block uniform",
    ),
    "compare_models": Option(
        "Also describe the graph by every model (one block, simple, degree-corrected, "
        "communities, nested) and compare the description lengths."
    ),
    "connected": Option(
        "Keep every block connected: split blocks that fall apart and merge adjacent parts again "
        "(graphs only)."
    ),
    "continues": Option(
        "Name under which the dataset was published before: what was spent and released under it "
        "is recorded under the new name.",
        "NAME",
    ),
    "data": argument(
        "Edge list or ratings (text, .gz or Parquet); several files, a quoted pattern such as "
        "'data/*.parquet', or a folder of Parquet files are read as one.",
        "INPUT",
    ),
    "dataset": Option("Name of the dataset (default: all datasets).", "NAME"),
    "dataset@anonymize": Option(
        "Name of the dataset in the ledger, which counts what was published from it; use the same "
        "name each time (default: name of the input file; required if the policy limits "
        "releases). Example: --dataset staff-2026",
        "NAME",
    ),
    "dataset@sketch": Option(
        "Name of the network in the ledger. Use the same name for all publications of one network.",
        "NAME",
    ),
    "demo": Option("Begin with the demo network."),
    "draws": count("Number of graphs to draw and publish."),
    "draws@draw": count("Number of graphs to draw.", most=10000),
    "engine": Option(
        "Where the work runs: on the threads of this process, or on Dask workers.",
        choices="local dask",
    ),
    "epsilon": Option(
        "Privacy loss, a decimal number. One edge more or less makes no result more than e^E "
        "times as likely. Example: --epsilon 1",
        "E",
    ),
    "edges": count("With --plan: about how many edges the network has.", least=0),
    "epsilon@ledger": Option("Privacy loss that was spent, a decimal number.", "E"),
    "exclude": reads("Never recommend the items listed in this file, one id per line."),
    "folds@recommend compare": count(
        "Test in this many folds instead of one --split: every rating is tested once.", least=2
    ),
    "folds": count("Number of parts; each is predicted by a model fitted to the others.", least=2),
    "force": Option(
        "Write the release even if the policy refuses it (recorded in audit and report)."
    ),
    "format": Option(f"File format: {listed(FORMATS, titles=False)}; {_FORMAT_DEFAULT}.", "FORMAT"),
    "format@recommend": Option(
        f"File format: {listed(TABLES, titles=False)}; {_FORMAT_DEFAULT}.", "FORMAT"
    ),
    "full": Option(
        "Measure more: patterns of 3 and 4 nodes, cores, betweenness, robustness, epidemic size, "
        "bridges."
    ),
    "gate": Option(
        "Refuse to write a model that predicts the last tenth of the new ratings clearly worse, "
        "after an update with the others, than the one in place."
    ),
    "graphs@ledger": count("Number of graphs that measured releases published.", least=0),
    "graph": argument(f"{_GRAPH_FILE}; - reads stdin.", "GRAPH"),
    "graph@cluster|soft": argument(
        f"{_GRAPH_FILE}; a table of user, item and rating with --objective ratings; or a folder "
        "made by `coterie shard`. - reads stdin.",
        "GRAPH",
    ),
    "groups": Option(
        "Number of groups, or of user groups and item groups (default: 3,5 for best, 10 for mmsbm "
        "and mcmmsbm, 15 for hard). Example: --groups 10,8",
        "K|K,L",
    ),
    "groups@soft": Option(
        "Number of groups: one number, or two for users and items (--groups 10,12).", "K|K,L"
    ),
    "host": Option(
        "Address to listen on. Any other address than a loopback address requires a token: set "
        "COTERIE_TOKEN, or one is made and printed. Example: --host 0.0.0.0",
        "H",
    ),
    "init": Option(
        "Start of the fit: hard (cluster the nodes first, one block per group; ends lower) or "
        "random. Default: hard; random for a graph in shards.",
        choices="hard random",
    ),
    "interval": Option(
        "Add an interval that contains the rating with this probability. Example: --interval 0.8",
        "P",
    ),
    "item@recommend explain": Option("Id of the item.", "ID"),
    "item@recommend similar": Option("Id of the item to compare with.", "ID"),
    "item_features": reads("The same for items. Example: --item-features movies.csv"),
    "items": reads(
        "Table of item features for --where: a header, and the item ids in the first column. "
        "Several values in one cell are separated by |."
    ),
    "iterations": count("Maximum number of iterations.", least=0),
    "iterations@recommend": count(
        "Maximum number of iterations; for best, sweeps per chain. Default for best: until more "
        "would hardly help, at most 200; for mmsbm and mcmmsbm: 200; for hard: 300."
    ),
    "layers": Option(
        "Column with the layer of each edge: find the blocks of every layer, and which layers "
        "share them.",
        "COLUMN",
    ),
    "every": Option(
        "Length of the periods of --time: find blocks that persist, and when they change.",
        choices="hour day week month year",
    ),
    "likes": Option(
        "Read pairs of user and item without ratings: predictions are then probabilities of a "
        "like. --no-likes reads ratings even if all of them are 1 (default: likes if all ratings "
        "are 1).",
        names=("--likes/--no-likes",),
    ),
    "log": Option(
        "Access log on stderr: none, or json (one JSON object per request).", choices="none json"
    ),
    "accept_inference": Option(
        "Accept that this share of all connections can be concluded from groups and degrees, "
        "whether or not they are in the data; recorded in audit and report (default: 0.5, or that "
        "of the policy file). Example: --accept-inference 0.6",
        "SHARE",
        least=0.0,
        most=1.0,
    ),
    "min_utility": Option(
        "Refuse a release that preserves a smaller share of the judged properties (default: 0, or "
        "that of the policy file). Example: --min-utility 0.5",
        "SHARE",
        least=0.0,
        most=1.0,
    ),
    "max_contacts": Option(
        "Count at most K edges per node; a public rule leaves others out. Epsilon stays that of "
        "one edge; the counted edges of a node have K times as much together. Answers on blocks, "
        "triangles and clustering get three times the noise.",
        "K",
        least=1,
    ),
    "max_edge_probability": Option(
        "Merge classes until no original edge connects two classes whose members are connected "
        "with this probability or more.",
        "P",
        least=0.01,
        most=1.0,
    ),
    "method": Option(
        "Update of the memberships: exact (MMSBM), or estimated from random samples (MCMMSBM of "
        "Prost & Yoon).",
        choices="exact monte-carlo",
    ),
    "min_block_size": count("Minimum number of nodes per block.", least=0),
    "min_class_size": count(
        "Minimum number of people per class; they cannot be distinguished in the release."
    ),
    "model": argument("Model file that `coterie recommend fit` wrote.", "MODEL"),
    "model@recommend fit|recommend evaluate": Option(
        "Model to fit: best (additive block model, the lowest errors), mmsbm or mcmmsbm (mixed "
        "membership), hard (one block per user and item).",
        choices="best mmsbm mcmmsbm hard",
    ),
    "model@anonymize": Option(
        "How the new graph is drawn: dcsbm reproduces degrees, clustering and path lengths; sbm "
        "draws from the block model of the paper; exact-counts also keeps the number of edges "
        "between blocks.",
        choices="dcsbm sbm exact-counts",
    ),
    "models": Option(
        "Models to compare, separated by commas: best, mmsbm, mcmmsbm, hard, popularity, "
        "item-mean, ease (item regression), ials (factors).",
        "NAME,…",
    ),
    "n@recommend compare": count("Length of the lists that are compared.", names=("-n",)),
    "n": count("Maximum number of items to show.", names=("-n",)),
    "name": Option(
        "Name of the data set: ml-100k, as-caida, ca-astroph or karate.", "NAME", argument=True
    ),
    "name@ledger": Option("Name of the dataset.", "NAME", argument=True),
    "negatives": Option(
        "Unrated pairs to learn from, per rating (default: 1 for best, 0 for mmsbm and mcmmsbm; "
        "not for hard).",
        "X",
        least=0,
        names=("--negatives", "--absent"),
    ),
    "no_browser": Option("Print the address only; do not open a browser."),
    "nodes": reads(
        "The public node list: N for the ids 0..N-1, or a file with one id per line. It is "
        "published, and must not be made from the edges.",
        "N|FILE",
    ),
    "objective": Option(
        "What the network has: simple (edges alone), directed, weighted (the third column is the "
        "weight), or bipartite (two kinds of nodes; the first column holds one kind, the second "
        "the other).",
        choices="simple directed weighted bipartite",
    ),
    "objective@shard|soft": Option(
        "What the input contains: simple (undirected edges without weights), directed, weighted "
        "(the third column is a count), or ratings (user, item, rating).",
        choices="simple directed weighted ratings",
        names=("--objective", "--kind"),
    ),
    "objective@cluster": Option(
        "What the input contains and how it is modelled. Graphs: simple, degree-corrected (hubs "
        "and leaves may share a block), communities (groups that are denser inside; with --blocks "
        "auto), auto (the one with the shortest description: the default with --blocks auto or "
        "nested; otherwise the default is simple), "
        "directed, directed-degree-corrected (with --blocks auto), weighted (the third column is "
        "a count; see --weights for measured values). Ratings: ratings (any scale), binomial (a "
        "scale in equal steps), likes (pairs without a rating count as not liked).",
        choices="simple degree-corrected communities auto directed directed-degree-corrected "
        "weighted ratings binomial likes",
        names=("--objective", "--kind"),
    ),
    "order": Option(
        "What comes first: both (items that the user will probably interact with and like), "
        "interaction (will probably interact with), rating (highest expected rating), explore "
        "(highest rating in one draw of the posterior, which --seed chooses).",
        choices="both interaction rating explore",
    ),
    "original": argument("The original graph, which attackers know.", "ORIGINAL"),
    "original@compare": argument("The original graph; - reads stdin.", "ORIGINAL"),
    "out": writes("Folder to publish; must be new or empty.", "DIR"),
    "out@cluster": writes(
        "Write the block of every node: columns node,block; with --blocks nested also level_1, "
        "level_2, … (the larger blocks), with --samples also confidence. .csv and .parquet are "
        "tables; .graphml, .gexf and .json are the graph with these as attributes of its nodes.",
        "FILE.csv",
        suffixes=_GRAPH,
    ),
    "out@demo": writes(
        "Folder for the released network and its report; if it exists, DIR-2, DIR-3 … is used.",
        "DIR",
    ),
    "out@draw": writes("Folder to write; must be new or empty.", "DIR", names=("--out", "-o")),
    "out@shard": writes("New folder that every worker can read.", "DIR"),
    "out@sketch": writes("The sketch file to write.", names=("--out", "-o")),
    "out@soft": writes(
        "Write the memberships of every node: columns node,g_0,g_1,…", "FILE.csv", suffixes=_TABLE
    ),
    "out@recommend fit": writes("Model file to write."),
    "out@recommend update": writes("Model file to write; not the one that is read."),
    "out@recommend predict": writes(
        "File to write, .csv or .parquet (default: stdout).", suffixes=_TABLE
    ),
    "out@recommend compare": writes(
        "Table to write with the errors and metrics of each user and model.", suffixes=_TABLE
    ),
    "out@recommend top": writes(
        "Write the lists to this table (.csv, .csv.gz or .parquet): user, rank, item, score, "
        "rating.",
        suffixes=_TABLE,
    ),
    "output_format": Option("File format of the new graph.", choices="csv parquet graphml"),
    "overwrite": Option(
        "Replace the release that is in DIR; other files in it are never overwritten."
    ),
    "overwrite@sketch": Option("Replace the file if it exists."),
    "owner": Option("Who decides about the dataset. Example: --owner 'HR, Ms Lee'", "TEXT"),
    "pairs": argument("Table of user and item; - reads stdin.", "PAIRS"),
    "plan": Option(
        "Print the errors to expect for --nodes, --edges and --epsilon, from these public numbers "
        "alone; nothing is read or spent."
    ),
    "plot@sketch": writes(
        "With --plan: draw the expected errors over epsilon (FILE.svg, FILE.png or FILE.pdf).",
        "FILE.svg",
    ),
    "plot": writes(
        "Draw the network (above 50,000 nodes its blocks), the convergence and the block matrix as "
        "a picture: FILE.svg, FILE.png or FILE.pdf.",
        "FILE.svg",
    ),
    "point": Option(
        "Use the noisy answers as they are in every draw, instead of drawing the true answers from "
        "what the noise leaves open."
    ),
    "policy": reads(
        "TOML file with the limits of the privacy policy, in a table [limits] (default: built-in "
        "limits). Example: --policy strict.toml",
        "FILE.toml",
    ),
    "port": Option("Port to listen on (default: 0, a free one).", "P", least=0, most=65535),
    "port@serve": Option("Port to listen on; 0 takes a free one.", "P", least=0, most=65535),
    "predict_links": count("List the N absent edges with the highest probability (graphs only)."),
    "private_options": Option(
        "Options of `coterie sketch`.", names=("--epsilon", "--nodes", "--cap"), hidden=True
    ),
    "prior": Option(
        "Pseudo-count added to every group membership (mmsbm and mcmmsbm; default: 0.1).",
        "X",
        least=0,
    ),
    "prior@soft": Option(
        "Pseudo-count added to every membership and probability; larger values smooth more.",
        "X",
        least=0,
    ),
    "private": writes(
        "Folder for the private audit and report; never publish it. Refused in a tree that might "
        "be published with the release (default: private/NAME in the state folder, see "
        "COTERIE_STATE). Example: --private ~/keep/staff",
        "DIR",
    ),
    "private@app": writes(
        "Folder for the private files of releases; never publish it (default: private/ in the "
        "state folder, see COTERIE_STATE).",
        "DIR",
    ),
    "purpose": Option(
        "Which questions get most of epsilon; the guarantee is the same.",
        names=("--for",),
        choices="balanced degrees communities clustering",
    ),
    "published": argument("The published graph to attack.", "PUBLISHED"),
    "published@compare": argument("The graph to compare with it.", "PUBLISHED"),
    "published_attributes": reads("The same for PUBLISHED, for example nodes.csv of a release."),
    "rated": Option("Include items that the user has rated already."),
    "ratings": argument(
        f"Table of user, item, rating and optionally timestamp as a {listed(TABLES)} file, also as "
        ".gz, or a folder made by `coterie shard`; - reads stdin.",
        "RATINGS",
    ),
    "ratings@recommend update": argument(
        "Table of new ratings: user, item and rating (text, .gz, Parquet or Excel).", "NEW"
    ),
    "ratings@recommend top": reads(
        "Table of item and rating (of likes: item alone): the ratings of a new user, or more "
        "ratings of --user. They are added without refitting the model."
    ),
    "ratings@recommend evaluate": argument(
        "Table of user, item and rating, divided into --folds; - reads stdin.", "RATINGS"
    ),
    "reason": Option("Why, for the record. It is stored in the ledger.", "TEXT"),
    "ratings_log": writes(
        "File for the ratings that clients send to /ratings (default: MODEL.ratings). It is read "
        "when the server starts and when the model is replaced."
    ),
    "report": writes(
        "Write a report to open in a browser, FILE.html, or to print, FILE.pdf (by an installed "
        "Chromium, Chrome or Edge).",
        "FILE.html",
        suffixes=".html .htm .pdf",
    ),
    "research_truth": writes(
        "Also write who is who (columns published,original). Never publish this file."
    ),
    "resume": Option(
        "Continue an interrupted fit from the --checkpoint file; without such a file, start a new "
        "fit. A single run that has ended goes on if --iterations is larger or --tol smaller now."
    ),
    "rewire": Option(
        "Swap edges until clustering matches the original (dcsbm only).",
        names=("--rewire/--no-rewire",),
    ),
    "rules": reads(
        "TOML file with rules for the lists: quota, boost, max_per, min_novelty, seen, diversity. "
        "Example: --rules rules.toml"
    ),
    "runs": count("Number of random starts; the best result is kept."),
    "runs@recommend": count(
        "Number of random starts. mmsbm and mcmmsbm average them, best averages as many chains, "
        "hard keeps the best one (default: 1; for best, 4)."
    ),
    "samples": count("Monte Carlo samples per rating and iteration (mcmmsbm only; default: 30)."),
    "samples@cluster": count(
        "Draw N partitions (or hierarchies) from the posterior, in four chains together, to see "
        "how certain the blocks are: adds the column confidence to --out and a section to "
        "--report. 0: none.",
        least=0,
    ),
    "samples@soft": count(
        "Monte Carlo samples per pair; requires --method monte-carlo (default: 30)."
    ),
    "scheduler": Option(
        "Address of a running Dask scheduler (default: start a Dask cluster on this machine). "
        "Example: --engine dask --scheduler tcp://10.0.0.5:8786",
        "ADDRESS",
    ),
    "score": Option(
        "How the gain of a move is computed: exact, or the paper's approximation with fixed block "
        "probabilities.",
        choices="exact fixed",
    ),
    "search": Option(
        "best reaches the lowest entropy; paper is Generalized k-means of Prost & Yoon from a "
        "random start.",
        choices="paper best",
    ),
    "sensitive": Option(
        "Attribute that classes must not disclose; may be repeated. Example: --sensitive diagnosis",
        "COLUMN",
    ),
    "not_sensitive": Option(
        "Attribute whose name sounds sensitive and that is released as an ordinary column; may be "
        "repeated. Example: --not-sensitive party_size",
        "COLUMN",
    ),
    "separator": Option(
        "Field separator of a text file: comma, semicolon, tab, whitespace, '|' or '::' "
        "(auto-detected). Example: --separator ';'",
        "TEXT",
    ),
    "shards": count("Number of shards (default: from the input size)."),
    "sheet": Option(
        "Sheet of an Excel workbook (default: the only one with content). Example: --sheet Calls",
        "NAME",
    ),
    "show": reads("Print what a sketch file contains, and exit."),
    "sketch": argument("File that `coterie sketch` wrote.", "SKETCH"),
    "split": Option(
        "Test on one split instead of folds: random (a share of all ratings), time (the latest "
        "share), last-n (the latest ratings of each user), cold-users or cold-items (all ratings "
        "of a share of the users or items). time and last-n need timestamps.",
        choices="random time last-n cold-users cold-items",
    ),
    "test": reads("Table to test on, with --train."),
    "split@recommend compare": Option(
        "Which ratings are tested: random (a share of all), time (the latest share), last-n (the "
        "latest of each user), cold-users or cold-items (all of a share of the users or items).",
        choices="random time last-n cold-users cold-items",
    ),
    "test_last": count("Number of ratings per user to test on, with --split last-n (default: 1)."),
    "test_share": Option(
        "Share of the ratings, users or items to test on, with every --split but last-n (default: "
        "0.2).",
        "X",
    ),
    "titles": reads(
        "Table of item id and title, such as u.item or movies.csv of MovieLens; titles are shown "
        "next to the ids."
    ),
    "token_file": reads(
        "File with the tokens that clients may use, one per line. It is read again when it "
        "changes, so that tokens can be replaced without a restart."
    ),
    "tol": Option(
        "Stop when the last iterations lowered the entropy by less than this share: 0.001 is 0.1 "
        "%. 0 runs all iterations.",
        "X",
        least=0,
    ),
    "top": Option(
        "Length of the rankings for NDCG, precision, recall, hit rate, MRR, MAP, coverage and "
        "novelty; several lengths are separated by commas. Example: --top 10,20,100",
        "N,…",
    ),
    "train": reads("Fit to this table instead, and test on --test."),
    "truth": reads(
        "Who is who: a table with the columns published,original, as written by `coterie "
        "anonymize --research-truth`."
    ),
    "truth@cluster": reads(
        "Compare with known labels (columns node,block): adjusted Rand index (ARI) and adjusted "
        "mutual information (AMI).",
        "FILE.csv",
    ),
    "start": reads(
        "Begin with these blocks (columns node,block, as --out writes them), for example those of "
        "an earlier version of the network. The search is short, blocks that persist keep their "
        "names, and what changed is printed."
    ),
    "frozen": reads("Nodes that keep the block given here (columns node,block)."),
    "never_together": Option(
        "Column of --attributes whose values no block mixes. Nodes without a value may be in any "
        "block. Example: --never-together team --attributes staff.csv",
        "COL",
    ),
    "attributes@cluster": reads(
        "Table of what is known about the nodes: a column node, then one column per attribute "
        "(used by --never-together)."
    ),
    "truth@compare": reads(
        "Who is who: a table with the columns published,original, as written by `coterie "
        "anonymize --research-truth`. Compares the communities person by person."
    ),
    "two_mode": Option(
        "The two columns hold two kinds of nodes, such as people and events: each kind gets its "
        "own blocks. Example: --two-mode --blocks 2,3"
    ),
    "user@recommend top": Option("Id of the user to recommend items to.", "ID"),
    "user@recommend explain": Option("Id of the user.", "ID"),
    "user@recommend similar": Option("Id of the user to compare with, instead.", "ID"),
    "user_features": reads(
        "Table of user id and features (numbers, categories, several categories separated by |), "
        "for --model best. Users without ratings are predicted from it."
    ),
    "users": reads(
        "Recommend to all users of the model, or to the users listed in a file, one id per line; "
        "requires --out. Example: --users all --out lists.parquet",
        "all|FILE",
    ),
    "weights": Option(
        "What the weights in the third column are: counts (with --objective weighted), or values "
        "measured on the edges that exist: normal (may be negative), lognormal or exponential, "
        "with --objective weighted, degree-corrected or directed.",
        choices="counts normal lognormal exponential",
    ),
    "where": Option(
        "Recommend only items with this feature: COLUMN=VALUE, COLUMN!=VALUE, COLUMN>=NUMBER or "
        "COLUMN<=NUMBER; may be repeated, all must hold. Requires --items. Example: --where "
        'genres=Comedy --where "year>=1990"',
        "CONDITION",
    ),
    "workers": count(
        "Number of processes that answer. They share the memory of the model that they start with."
    ),
}

CATALOGUE |= {
    name: Option(
        f"Name of the column with the {what} (default: by known names, then by order). "
        f"Example: --{name} {example}",
        metavar="COL",
    )
    for name, what, example in (
        ("source", "source of an edge", "'Person A'"),
        ("target", "target of an edge", "'Person B'"),
        ("weight", "weight of an edge", "calls"),
        ("user", "user", "reader_id"),
        ("item", "item", "isbn"),
        ("rating", "rating", "score"),
        ("time", "time of the rating", "created"),
    )
}
_BY_COMMAND = {
    f"{name}@{command}" if command else name: option
    for key, option in CATALOGUE.items()
    for name, _, commands in [key.partition("@")]
    for command in commands.split("|")
}

# Parameters of the library that have another name as options; error messages name parameters
_OTHER_NAMES = {
    "absent": "absent-pairs",
    "density": "communities",
    "directed": "objective directed",
    "max_iter": "iterations",
    "move_score": "score",
    "n_blocks": "blocks",
    "n_chains": "runs",
    "n_groups": "groups",
    "n_init": "runs",
    "n_samples": "samples",
    "n_sweeps": "iterations",
    "negatives_per_rating": "negatives",
    "nested": "blocks nested",
    "rng": "seed",
    "accepted_inference": "accept-inference",
    "weight_model": "weights",
    "weighted": "objective weighted",
}


def option_name(parameter: str) -> str:
    """Return the option that sets a parameter of the library or of a command.

    >>> option_name("n_blocks"), option_name("min_class_size")
    ('--blocks', '--min-class-size')
    """
    return "--" + _OTHER_NAMES.get(parameter, parameter).replace("_", "-")


def option_of(command: str, parameter: str) -> Option:
    """Return the entry of a parameter of a command such as "cluster" or "recommend fit"."""
    group = command.partition(" ")[0]
    for key in (f"{parameter}@{command}", f"{parameter}@{group}", parameter):
        if key in _BY_COMMAND:
            return _BY_COMMAND[key]
    raise KeyError(f"{command}: {parameter} is not in the catalogue of options")


def typer_parameter(
    option: Option,
    parameter: inspect.Parameter,
    *,
    hidden: bool = False,
    required_later: bool = False,
) -> inspect.Parameter:
    """Return a parameter of a command as Typer reads it.

    `required_later`: the command checks itself whether it is given; the help says [required].
    """
    kind: Any = parameter.annotation
    choices = option.choices.split()
    settings: dict[str, Any] = {
        "metavar": f"[{'|'.join(choices)}]" if choices else option.metavar,
        "help": option.help + "  [required]" * required_later,
        "min": option.least,
        "max": option.most,
        "hidden": hidden or option.hidden,
        "autocompletion": (lambda: choices) if choices else None,
    }
    if option.argument:
        info = typer.Argument(**settings)
    else:  # with one name, a flag has no --no-…
        info = typer.Option(*(option.names or (option_name(parameter.name),)), **settings)
    if required_later:
        kind, parameter = kind | None, parameter.replace(default=None)
    annotation = Annotated[kind, info]
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
