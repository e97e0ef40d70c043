"""The data sets of Prost & Yoon: from $COTERIE_DATA, from the cache, or downloaded.

The karate club is a file of the package.

The counts of every file are checked. The registry says which files have a checksum by their
publisher, and whether a download was compared with it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from coterie.base.errors import AssumptionWarning, InputError, near_miss
from coterie.data.graph import Graph
from coterie.data.ratings import Ratings


class Dataset(NamedTuple):
    """One data set: its source, its files and its counts."""

    name: str
    about: str
    files: tuple[str, ...]  # names under $COTERIE_DATA or in the cache; the first that exists
    counts: dict[str, int]
    address: str = ""
    member: str = ""  # the file inside a downloaded archive
    checksum: str | None = None  # of the downloaded file, with its algorithm
    verified: bool = False  # whether a download was compared with the checksum
    titles: str = ""  # a file in the same folder with the titles of the items
    cite: str = ""

    @property
    def is_ratings(self) -> bool:
        """Whether it is a table of ratings, not a graph."""
        return "users" in self.counts


_DATASETS = (
    Dataset(
        "as-caida",
        "the Internet's autonomous systems, CAIDA, 5 November 2007",
        ("as-caida20071105.txt.gz", "as-caida20071105.txt"),
        {"nodes": 26_475, "edges": 53_381, "self_loops": 0},
        "https://snap.stanford.edu/data/as-caida20071105.txt.gz",
        cite="Leskovec, Kleinberg, Faloutsos: Graphs over Time, KDD 2005",
    ),
    Dataset(
        "ca-astroph",
        "who wrote papers with whom, arXiv astrophysics",
        ("ca-AstroPh.txt.gz", "ca-AstroPh.txt"),
        {"nodes": 18_772, "edges": 198_050, "self_loops": 60},
        "https://snap.stanford.edu/data/ca-AstroPh.txt.gz",
        cite="Leskovec, Kleinberg, Faloutsos: Graph Evolution, ACM TKDD 1(1), 2007",
    ),
    Dataset(
        "karate",
        "friends in a karate club (comes with coterie)",
        ("karate.csv",),
        {"nodes": 34, "edges": 78, "self_loops": 0},
        cite="Zachary: An Information Flow Model for Conflict and Fission, 1977",
    ),
    Dataset(
        "ml-100k",
        "MovieLens: 100,000 ratings of films",
        ("ml-100k/u.data.gz", "ml-100k/u.data"),
        {"users": 943, "items": 1_682, "ratings": 100_000, "values": 5},
        "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
        member="ml-100k/u.data",
        checksum="md5:0e33842e24a9c977be4e0107933c0723",
        titles="u.item",
        cite="Harper, Konstan: The MovieLens Datasets, ACM TiiS 5(4), 2015",
    ),
)
REGISTRY = {dataset.name: dataset for dataset in _DATASETS}


def path(name: str, *, check: bool = True, fetch: bool = True) -> Path:
    """Return the file of a data set; download it into the cache if necessary and `fetch` is set."""
    dataset = find(name)
    file = local_path(dataset)
    if file is None:
        if fetch:
            file = _download(dataset)
        else:
            remedy = f"run `coterie datasets get {name}`, or {_where_to_put(dataset)}"
            raise InputError(f"the data set {name} was not found", remedy=remedy)
    if check:
        _check_counts(dataset, file, _read(dataset, file))
    return file


def load(name: str) -> Graph | Ratings:
    """Read a data set as a Graph or Ratings and check its counts."""
    dataset = find(name)
    file = path(name, check=False)
    data = _read(dataset, file)
    _check_counts(dataset, file, data)
    return data


def titles(name: str) -> Path | None:
    """Return the file with the titles of the items, if there is one (ml-100k: | and Latin-1)."""
    dataset = find(name)
    if not dataset.titles:
        return None
    file = path(name, check=False).with_name(dataset.titles)
    return file if file.exists() else None


def find(name: str) -> Dataset:
    """Return a data set by its name.

    >>> find("ml-100k").counts["users"]
    943
    """
    if name not in REGISTRY:
        remedy = f"use one of {', '.join(REGISTRY)}{near_miss(name, REGISTRY)}"
        raise InputError(f"unknown data set {name!r}", remedy=remedy)
    return REGISTRY[name]


def cache_folder() -> Path:
    """Return $COTERIE_CACHE, or the cache folder of the operating system."""
    import pooch

    return Path(os.environ.get("COTERIE_CACHE") or pooch.os_cache("coterie"))


def local_path(dataset: Dataset) -> Path | None:
    """Return where the file exists: in the package, in $COTERIE_DATA or in the cache."""
    if not dataset.address:
        return Path(__file__).with_name("files") / dataset.files[0]
    folders = [Path(folder) for folder in (os.environ.get("COTERIE_DATA"),) if folder]
    for folder in (*folders, cache_folder()):
        for file in dataset.files:
            if (folder / file).is_file():
                return folder / file
    return None


def _where_to_put(dataset: Dataset) -> str:
    """Describe which file to download, and where to put it."""
    unpack = "unpack it, " if dataset.member else ""
    folder = os.environ.get("COTERIE_DATA") or cache_folder()
    return f"download {dataset.address}, {unpack}and put {' or '.join(dataset.files)} into {folder}"


def _download(dataset: Dataset) -> Path:
    """Download a data set into the cache."""
    import pooch

    folder = cache_folder()
    processor = None
    if dataset.member:
        members = [dataset.member, f"{Path(dataset.member).parent}/{dataset.titles}"]
        processor = pooch.Unzip(members=members, extract_dir=str(folder))
    try:
        pooch.get_logger().setLevel("ERROR")
        got = pooch.retrieve(
            dataset.address,
            known_hash=dataset.checksum,
            fname=Path(dataset.address).name,
            path=folder,
            processor=processor,
            downloader=pooch.HTTPDownloader(timeout=30),
        )
    except Exception as error:  # no network, unknown host, wrong checksum, full disk …
        raise InputError(
            f"the data set {dataset.name} could not be downloaded ({type(error).__name__})",
            remedy=_where_to_put(dataset),
        ) from error
    if dataset.checksum is None:
        warnings.warn(
            f"{dataset.name}: the publisher gives no checksum; only the counts were checked",
            AssumptionWarning,
            stacklevel=3,
        )
    return folder / dataset.member if dataset.member else Path(got)


def _read(dataset: Dataset, path: Path) -> Graph | Ratings:
    """Read the file of a data set."""
    from coterie.data.readers import read_graph, read_ratings

    read: Callable[[Path], Any] = read_ratings if dataset.is_ratings else read_graph
    with warnings.catch_warnings():  # what is cleaned is part of the counts
        warnings.simplefilter("ignore", AssumptionWarning)
        data: Graph | Ratings = read(path)
    return data


def _check_counts(dataset: Dataset, path: Path, data: Graph | Ratings) -> None:
    """Raise InputError for a file whose counts differ from those of the data set."""
    if isinstance(data, Ratings):
        found = {
            "users": data.n_users,
            "items": data.n_items,
            "ratings": len(data),
            "values": len(data.values),
        }
    else:
        found = {
            "nodes": data.n_nodes,
            "edges": data.n_edges,
            "self_loops": data.cleaned.self_loops,
        }
    if found != dataset.counts:
        raise InputError(
            f"this is not {dataset.name}: it has {found}, but {dataset.counts} are expected",
            path=path,
            remedy="replace the file; " + _where_to_put(dataset),
        )
