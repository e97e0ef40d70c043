"""Saved sketches: files of arrays with a JSON header and a checksum (data/array_file.py).

The file holds noisy answers and public facts only, so it may be published. It has no hash of the
input, no path, no time, no seed and no exact figure; the same answers always give the same bytes.
Loading runs no code, and checks everything that the rules of a sketch determine.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np

from coterie.anonymize.ledger import exact_text
from coterie.anonymize.private import public_rules
from coterie.anonymize.private.answers import SketchAnswers
from coterie.anonymize.private.budget import (
    DAMPING_BEFORE,
    DAMPING_DEGREES,
    PURPOSES,
    SHARES_BEFORE,
    Shares,
    parse_epsilon,
)
from coterie.anonymize.private.contact_bound import STABILITY
from coterie.anonymize.private.noise import ANSWER_LIMIT
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data import array_file

FORMAT = 3  # 2: capped sums, from the rules 3 on; 3: with a bound on the contacts
_KIND = array_file.FileKind(
    key="coterie sketch",
    what="a sketch of coterie",
    written_by="`coterie sketch` or PrivateSketch.save",
    written="written",
    remedy="get the file again from its source",
)
_ARRAYS = {
    "noisy_degrees": np.int64,
    "degree_counts": np.int64,
    "largest_degrees": np.int64,
    "labels": np.int32,
    "block_edges": np.int64,
    "bin_thresholds": np.int64,
    "bin_edges": np.int64,
}


def to_bytes(answers: SketchAnswers) -> bytes:
    """Return the content of the file of a sketch."""
    tensors = {name: np.asarray(getattr(answers, name), dtype) for name, dtype in _ARRAYS.items()}
    tensors |= _packed_ids(answers.node_ids)
    header: JsonObject = {
        "format": 1 if answers.rules < 3 else 2 if answers.max_contacts is None else FORMAT,
        "rules": answers.rules,
        "nodes": answers.n_nodes,
        "epsilon": answers.epsilon,
        "shares": _share_texts(answers.shares),
        "damping_degrees": list(answers.damping_degrees),
        "clustering_unit": answers.clustering_unit,
        "edge_count": answers.edge_count,
        "triangles": answers.triangles,
        "clustering_sums": list(answers.clustering_sums),
    }
    if answers.rules >= 3:
        header["capped_sums"] = list(answers.capped_sums)
    if answers.max_contacts is not None:
        header["max_contacts"] = answers.max_contacts
    return array_file.to_bytes(_KIND, header, tensors)


def largest_size(n_nodes: int, node_ids: np.ndarray) -> int:
    """Return the largest number of bytes that the file of a sketch may have."""
    text = 0 if node_ids.dtype.kind == "i" else sum(len(id_.encode()) for id_ in node_ids.tolist())
    return 2**16 + text + n_nodes * (8 + 8 + 8 + 8 + 4)


def read_answers(path: str | os.PathLike[str]) -> SketchAnswers:
    """Read the file of a sketch; raise InputError if it is not complete and consistent."""

    def check_format(header: JsonObject) -> None:
        version, rules = header["format"], header["rules"]
        if not (_is_count(version, 10**6) and _is_count(rules, 10**6)):
            raise ValueError
        if version > FORMAT or rules > public_rules.RULES:
            raise InputError(
                f"has format {version} and rules {rules}, but this version of coterie reads "
                f"format {FORMAT} and rules {public_rules.RULES}",
                path=path,
                remedy="upgrade coterie",
            )

    header, tensors = array_file.read_arrays(_KIND, path, check_format)
    try:
        return _checked(header, tensors)
    except InputError as error:
        raise InputError(
            f"is not a valid sketch: {error.problem}", path=path, remedy=_KIND.remedy
        ) from None


def _checked(header: JsonObject, tensors: dict[str, np.ndarray]) -> SketchAnswers:
    """Return the answers, after checking types, shapes, ranges and what the rules determine."""
    _require(_is_count(header.get("nodes"), 2**31 - 1), "the number of nodes")
    _require(isinstance(header.get("epsilon"), str), "epsilon")
    n: int = header["nodes"]
    epsilon = parse_epsilon(header["epsilon"], allow_large_epsilon=True, smallest=Fraction(0))
    _require(n >= 2, "the number of nodes")
    _require(exact_text(epsilon) == header["epsilon"], "epsilon")
    known = PURPOSES.values() if header["rules"] >= 3 else [SHARES_BEFORE]
    fitting = [each for each in known if header.get("shares") == _share_texts(each)]
    _require(len(fitting) == 1, "the shares")
    contacts: int | None = header.get("max_contacts") if header["format"] >= FORMAT else None
    if header["format"] >= FORMAT:
        _require(_is_count(contacts, n - 2) and contacts != 0, "the maximum number of contacts")
    shares = fitting[0] if contacts is None else fitting[0].divided(STABILITY)
    damping = DAMPING_DEGREES if header["rules"] >= 3 else DAMPING_BEFORE
    _require(header.get("damping_degrees") == list(damping), "the damping degrees")
    sums: list[int] = header.get("clustering_sums", [])
    capped: list[int] = header.get("capped_sums", [])
    _require(isinstance(sums, list) and len(sums) == len(damping), "the clustering sums")
    _require(isinstance(capped, list) and len(capped) == len(shares.capped_sums), "the capped sums")
    numbers = [header.get("edge_count"), header.get("triangles"), *sums, *capped]
    _require(all(type(x) is int and abs(x) < 2**200 for x in numbers), "an answer")
    _require(abs(int(header["edge_count"])) <= ANSWER_LIMIT, "the number of edges")

    names = {*_ARRAYS, "ids"} if "ids" in tensors else {*_ARRAYS, "id_text", "id_ends"}
    _require(set(tensors) == names, "the list of arrays")
    for name, dtype in _ARRAYS.items():
        array = tensors[name]
        _require(array.dtype == dtype, f"the type of {name}")
        _require(array.ndim == (2 if name in ("block_edges", "bin_edges") else 1), name)
        within = array.size == 0 or (array.min() >= -ANSWER_LIMIT and array.max() <= ANSWER_LIMIT)
        _require(bool(within), f"the range of {name}")

    degrees, labels = tensors["noisy_degrees"], tensors["labels"]
    _require(len(degrees) == n and len(labels) == n, "the number of nodes")
    cap = public_rules.n_degree_counts(n, degrees)
    _require(len(tensors["degree_counts"]) == cap, "the number of degree counts")
    largest = public_rules.n_largest_degrees(n, epsilon, shares)
    _require(len(tensors["largest_degrees"]) == largest, "the number of largest degrees")
    n_blocks = public_rules.n_blocks(n, epsilon / shares.stability, header["edge_count"])
    _require(bool((labels >= 0).all() and (labels < n_blocks).all()), "a block")
    thresholds = public_rules.bin_thresholds(degrees)
    _require(np.array_equal(tensors["bin_thresholds"], thresholds), "the degree bins")
    for name, size in (("block_edges", n_blocks), ("bin_edges", len(thresholds) + 1)):
        table = tensors[name]
        _require(table.shape == (size, size) and np.array_equal(table, table.T), name)
    answers = SketchAnswers(
        node_ids=_unpacked_ids(tensors, n),
        epsilon=header["epsilon"],
        edge_count=header["edge_count"],
        triangles=header["triangles"],
        clustering_sums=tuple(sums),
        capped_sums=tuple(capped),
        shares=shares,
        max_contacts=contacts,
        rules=header["rules"],
        **{name: tensors[name] for name in _ARRAYS},
    )
    _require(header.get("clustering_unit") == answers.clustering_unit, "the clustering unit")
    return answers


def _share_texts(shares: Shares) -> list[str]:
    return [exact_text(share) for share in shares.parts()]


def _require(right: bool, what: str) -> None:
    if not right:
        raise InputError(f"{what} does not fit the rest of the file")


def _is_count(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _packed_ids(ids: np.ndarray) -> dict[str, np.ndarray]:
    """Return integer ids as they are; text as UTF-8 and where each id ends."""
    if ids.dtype.kind == "i":
        return {"ids": np.asarray(ids, np.int64)}
    text, ends = array_file.packed_text(ids.tolist())
    return {"id_text": text, "id_ends": ends}


def _unpacked_ids(tensors: dict[str, np.ndarray], n: int) -> np.ndarray:
    """Return the ids that `_packed_ids` packed, checked."""
    if "ids" in tensors:
        ids = tensors["ids"]
        _require(ids.dtype == np.int64 and ids.shape == (n,), "the list of ids")
        _require(len(np.unique(ids)) == n, "the list of ids")
        return ids
    text, ends = tensors["id_text"], tensors["id_ends"]
    _require(text.dtype == np.uint8 and text.ndim == 1, "the list of ids")
    _require(ends.dtype == np.int64 and ends.shape == (n,), "the list of ids")
    steps = np.diff(np.r_[0, ends])
    _require(bool((steps >= 0).all()) and int(ends[-1]) == len(text), "the list of ids")
    try:
        ids = array_file.unpacked_text(text, ends)
    except UnicodeDecodeError:
        _require(False, "an id")
    _require(len(set(ids.tolist())) == n, "the list of ids")
    return ids
