"""Saved recommenders: a safetensors file with a JSON header and a checksum.

Loading a file runs no code. A file that was truncated, changed, or written in an unknown format is
refused. The same recommender always gives the same bytes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from coterie.base.array_checks import ArrayError, check_array, file_errors
from coterie.base.checksums import checksum
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data.atomic_files import atomic_write
from coterie.data.ids import IdLookup
from coterie.models.interaction.estimator import FittedInteractions
from coterie.recommend.fitted_state import FittedState, liked_level
from coterie.recommend.rating_table import RatingTable
from coterie.recommend.recommender import Recommender
from coterie.recommend.registry import MODELS, SavedModel

FORMAT = 4  # 4 adds the interaction model (fitted from the ratings of older files) and features
OLDEST_FORMAT = 2
_KEY = "coterie"


def save(state: FittedState, path: str | os.PathLike[str]) -> None:
    """Write a fitted recommender; the file appears complete or not at all."""
    table = state.table
    tensors = {
        **{f"model.{name}": array for name, array in state.predictor.to_arrays().items()},
        "table.users": table.users,
        "table.items": table.items,
        "table.levels": table.levels,
        "table.unrated_users": table.unrated[0],
        "table.unrated_items": table.unrated[1],
        **_interaction_arrays(state),
        **_packed_ids("users", state.users),
        **_packed_ids("items", state.items),
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header = {
        "kind": state.predictor.kind,
        "estimator": type(state.model).__name__,
        "parameters": _plain_parameters(state.model.get_params()),
        "format": FORMAT,
        "liked_level": state.liked_level,
    }
    header["sha256"] = checksum(header, tensors)
    content = write_tensors(tensors, {_KEY: json.dumps(header, sort_keys=True)})
    with atomic_write(path, "wb") as file:
        file.write(content)


def load_recommender(path: str | os.PathLike[str]) -> Recommender:
    """Read a recommender that `Recommender.save` or `coterie recommend fit` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Recommender
        A fitted recommender with the same predictions. `fit` refits the same model.

    Raises
    ------
    InputError
        If the file is not a saved recommender, was truncated or changed, or has a format that
        this version does not read.

    Examples
    --------
    >>> import coterie as ct
    >>> from tempfile import TemporaryDirectory
    >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
    >>> with TemporaryDirectory() as folder:
    ...     ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings).save(f"{folder}/model")
    ...     ct.load_recommender(f"{folder}/model")
    Recommender(MMSBM(n_groups=2))
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    header = _header(content, path)
    try:
        tensors = read_tensors(content)
    except (SafetensorError, ValueError, KeyError, MemoryError, OverflowError) as error:
        raise InputError(
            f"was truncated or changed ({error})", path=path, remedy="save the model again"
        ) from error
    expected = header.pop("sha256", None)
    if checksum(header, tensors) != expected:
        raise InputError(
            "was changed after it was saved: the checksum is wrong",
            path=path,
            remedy="save the model again",
        )
    with file_errors(path, "model file", "save the model again"):
        return Recommender._from_state(_state(header, tensors, path))


def _header(content: bytes, path: str | os.PathLike[str]) -> JsonObject:
    """Return the JSON header of a file in a format that can be read."""
    length = int.from_bytes(content[:8], "little")
    try:
        outer = json.loads(content[8 : 8 + length]) if length <= len(content) else None
        header: JsonObject = json.loads(outer["__metadata__"][_KEY])  # type: ignore[index]
        version = int(header["format"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise InputError(
            "is not a saved model of coterie, or was truncated",
            path=path,
            remedy="give a file that `coterie recommend fit` or Recommender.save wrote",
        ) from None
    if not OLDEST_FORMAT <= version <= FORMAT:
        raise InputError(
            f"has format {version}, but this version of coterie reads formats {OLDEST_FORMAT} to "
            f"{FORMAT}",
            path=path,
            remedy="upgrade coterie" if version > FORMAT else "fit the model again",
        )
    return header


def _state(
    header: JsonObject, tensors: dict[str, np.ndarray], path: str | os.PathLike[str]
) -> FittedState:
    """Return the state that a file holds."""
    if all(entry.kind != header["kind"] for entry in MODELS):
        raise InputError(
            f"holds a model of an unknown kind {header['kind']!r}",
            path=path,
            remedy="upgrade coterie",
        )
    source = _saved_model(header, path)
    arrays = {
        name.removeprefix("model."): array
        for name, array in tensors.items()
        if name.startswith("model.")
    }
    predictor = source.entry.predictor_class().from_arrays(arrays)
    users, items = _unpacked_ids("users", tensors), _unpacked_ids("items", tensors)
    predictor.check(len(users), len(items))
    table = _table(tensors, len(users), len(items), len(predictor.values))
    level = header.get("liked_level", liked_level(predictor.values, table))
    if not isinstance(level, int) or not 0 <= level <= len(predictor.values):
        raise InputError(f"holds an invalid level of likes: {level!r}", path=path)
    return FittedState(
        source,
        predictor,
        table,
        users,
        items,
        level,
        _interactions(tensors, len(items), path),
    )


def _table(
    tensors: dict[str, np.ndarray], n_users: int, n_items: int, n_levels: int
) -> RatingTable:
    """Return the rated pairs, after checking that every number is in range."""
    users, items, levels = (tensors[f"table.{name}"] for name in ("users", "items", "levels"))
    unrated = (tensors["table.unrated_users"], tensors["table.unrated_items"])
    sizes = (n_users, n_items, n_levels)
    for array, size in zip((users, items, levels), sizes, strict=True):
        check_array("table", array, np.int64, (len(users),), low=0, below=size)
    for array, size in zip(unrated, sizes, strict=False):
        check_array("unrated pairs", array, np.int64, (len(unrated[0]),), low=0, below=size)
    return RatingTable(users, items, levels, n_users, n_items, n_levels, unrated)


def _interaction_arrays(state: FittedState) -> dict[str, np.ndarray]:
    """Return the arrays of the interaction model, none if it was never needed."""
    if state.interactions is None:
        return {}
    return {f"interactions.{k}": v for k, v in state.interactions.to_arrays().items()}


def _interactions(
    tensors: dict[str, np.ndarray], n_items: int, path: str | os.PathLike[str]
) -> FittedInteractions | None:
    """Return the interaction model of a file, or None if it has none."""
    prefix = "interactions."
    arrays = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    if not arrays:
        return None
    try:
        return FittedInteractions.from_arrays(arrays, n_items)
    except KeyError as error:
        raise InputError(
            f"the array {error.args[0]!r} of the interaction model is missing", path=path
        ) from error
    except InputError as error:
        raise InputError(str(error), path=path, remedy="save the model again") from error


def _plain_parameters(parameters: JsonObject) -> JsonObject:
    """Return those parameters of a model that a file can hold."""
    return {
        name: value
        for name, value in parameters.items()
        if value is None or isinstance(value, int | float | str | tuple | list)
    }


def _saved_model(header: JsonObject, path: str | os.PathLike[str]) -> SavedModel:
    """Return the estimator that a header describes, without importing it."""
    name = header["estimator"]
    entry = next((entry for entry in MODELS if entry.estimator_name == name), None)
    if entry is None:
        raise InputError(f"holds an unknown model {name!r}", path=path, remedy="upgrade coterie")
    if entry.kind != header["kind"]:
        raise ArrayError(f"kind {header['kind']!r} does not belong to {name}")
    return SavedModel(entry, dict(header["parameters"]), str(path))


def _packed_ids(side: str, lookup: IdLookup) -> dict[str, np.ndarray]:
    """Return integer ids as they are; text as UTF-8 and where each id ends."""
    if lookup.ids.dtype.kind in "iu":
        return {f"{side}.ids": lookup.ids.astype(np.int64)}
    if unsupported := [id_ for id_ in lookup.ids.tolist() if not isinstance(id_, str)]:
        raise InputError(
            f"the id {unsupported[0]!r} is neither an integer nor text and cannot be saved",
            remedy="use integers or text as ids",
        )
    encoded = [id_.encode() for id_ in lookup.ids.tolist()]
    return {
        f"{side}.text": np.frombuffer(b"".join(encoded), np.uint8),
        f"{side}.ends": np.cumsum([len(id_) for id_ in encoded], dtype=np.int64),
    }


def _unpacked_ids(side: str, tensors: dict[str, np.ndarray]) -> IdLookup:
    """Return the ids that `_packed_ids` packed."""
    if f"{side}.ids" in tensors:
        ids = check_array(side, tensors[f"{side}.ids"], np.int64, (None,))
        n_distinct = len(np.unique(ids))
    else:
        text = check_array(side, tensors[f"{side}.text"], np.uint8, (None,)).tobytes()
        ends = check_array(side, tensors[f"{side}.ends"], np.int64, (None,), low=0)
        if (np.diff(ends) < 0).any() or (len(ends) and ends[-1] != len(text)):
            raise ArrayError(f"{side}: the ids do not follow each other")
        ids = np.empty(len(ends), object)
        places = ends.tolist()
        ids[:] = [text[a:b].decode() for a, b in zip([0, *places], places, strict=False)]
        n_distinct = len(set(ids.tolist()))
    if n_distinct != len(ids):
        raise ArrayError(f"{side}: an id occurs twice")
    return IdLookup(ids)
