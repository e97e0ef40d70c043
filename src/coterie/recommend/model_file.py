"""Saved recommenders: files of arrays with a JSON header and a checksum (data/array_file.py).

Loading a file runs no code. A file that was truncated, changed, or written in an unknown format is
refused. The same recommender always gives the same bytes.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from coterie.base.array_checks import ArrayError, check_array, file_errors
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data import array_file
from coterie.data.atomic_files import atomic_write
from coterie.data.ids import IdLookup
from coterie.models.interaction.ranking_model import FittedInteractions
from coterie.recommend.fitted_state import FittedState, liked_level
from coterie.recommend.rating_table import RatingTable
from coterie.recommend.recommender import Recommender
from coterie.recommend.registry import MODELS, SavedModel

FORMAT = 5  # 4 added features, 5 small arrays; older interaction models are fitted from the ratings
OLDEST_FORMAT = 2
_KIND = array_file.FileKind(
    key="coterie",
    what="a saved model of coterie",
    written_by="`coterie recommend fit` or Recommender.save",
    written="saved",
    remedy="save the model again",
)


def save(state: FittedState, path: str | os.PathLike[str]) -> None:
    """Write a fitted recommender; the file appears complete or not at all."""
    table = state.table
    rankings = {} if state.interactions is None else state.interactions.to_arrays()
    tensors = {
        **{f"model.{name}": array for name, array in state.predictor.to_arrays().items()},
        "table.users": _small(table.users, table.n_users),
        "table.items": _small(table.items, table.n_items),
        "table.levels": _small(table.levels, table.n_levels),
        "table.unrated_users": _small(table.unrated[0], table.n_users),
        "table.unrated_items": _small(table.unrated[1], table.n_items),
        **{f"interactions.{name}": array for name, array in rankings.items()},
        **_packed_ids("users", state.users),
        **_packed_ids("items", state.items),
    }
    header = {
        "kind": state.predictor.kind,
        "estimator": type(state.model).__name__,
        "parameters": _plain_parameters(state.model.get_params()),
        "format": FORMAT,
        "liked_level": state.liked_level,
        "fitted_ratings": state.fitted_ratings,
    }
    if state.placed_with is not None:
        tensors["table.placed_with"] = _small(state.placed_with, int(state.placed_with.max()) + 1)
    content = array_file.to_bytes(_KIND, header, tensors)
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

    def check_format(header: JsonObject) -> None:
        version = int(header["format"])
        if not OLDEST_FORMAT <= version <= FORMAT:
            raise InputError(
                f"has format {version}, but this version of coterie reads formats "
                f"{OLDEST_FORMAT} to {FORMAT}",
                path=path,
                remedy="upgrade coterie" if version > FORMAT else "fit the model again",
            )

    header, tensors = array_file.read_arrays(_KIND, path, check_format)
    with file_errors(path, "model file", _KIND.remedy):
        return Recommender._from_state(_state(header, tensors, path))


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
    predictor = source.entry.predictor_class().from_arrays(_part(tensors, "model."))
    users, items = _unpacked_ids("users", tensors), _unpacked_ids("items", tensors)
    predictor.check(len(users), len(items))
    table = _table(tensors, len(users), len(items), len(predictor.values))
    level = header.get("liked_level", liked_level(predictor.values, table))
    if not isinstance(level, int) or not 0 <= level <= len(predictor.values):
        raise InputError(f"holds an invalid level of likes: {level!r}", path=path)
    fitted_ratings = header.get("fitted_ratings", len(table.users))
    placed_with = tensors.get("table.placed_with")
    if placed_with is not None:
        placed_with = check_array("placed", _wide(placed_with), np.int64, (len(items),), low=0)
    if not isinstance(fitted_ratings, int) or fitted_ratings < 0:
        raise InputError(f"holds an invalid number of ratings: {fitted_ratings!r}", path=path)
    state = FittedState(
        source,
        predictor,
        table,
        users,
        items,
        level,
        fitted_ratings=fitted_ratings,
        placed_with=placed_with,
    )
    arrays = _part(tensors, "interactions.")
    if arrays and header["format"] == FORMAT:
        return replace(state, interactions=FittedInteractions.from_arrays(arrays, len(items)))
    return state


def _table(
    tensors: dict[str, np.ndarray], n_users: int, n_items: int, n_levels: int
) -> RatingTable:
    """Return the rated pairs, after checking that every number is in range."""
    users, items, levels, *others = (
        _wide(tensors[f"table.{name}"])
        for name in ("users", "items", "levels", "unrated_users", "unrated_items")
    )
    unrated = (others[0], others[1])
    sizes = (n_users, n_items, n_levels)
    for array, size in zip((users, items, levels), sizes, strict=True):
        check_array("table", array, np.int64, (len(users),), low=0, below=size)
    for array, size in zip(unrated, sizes, strict=False):
        check_array("unrated pairs", array, np.int64, (len(unrated[0]),), low=0, below=size)
    return RatingTable(users, items, levels, n_users, n_items, n_levels, unrated)


def _small(numbers: np.ndarray, size: int) -> np.ndarray:
    """Return numbers below `size` in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(max(size - 1, 0)))


def _wide(numbers: np.ndarray) -> np.ndarray:
    """Return numbers of a file as int64; anything else as it is, to be refused."""
    return numbers.astype(np.int64) if numbers.dtype.kind in "iu" else numbers


def _part(tensors: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with the prefix, under the rest of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in tensors.items()
        if name.startswith(prefix)
    }


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
    text, ends = array_file.packed_text(lookup.ids.tolist())
    return {f"{side}.text": text, f"{side}.ends": ends}


def _unpacked_ids(side: str, tensors: dict[str, np.ndarray]) -> IdLookup:
    """Return the ids that `_packed_ids` packed."""
    if f"{side}.ids" in tensors:
        ids = check_array(side, tensors[f"{side}.ids"], np.int64, (None,))
        n_distinct = len(np.unique(ids))
    else:
        text = check_array(side, tensors[f"{side}.text"], np.uint8, (None,))
        ends = check_array(side, tensors[f"{side}.ends"], np.int64, (None,), low=0)
        if (np.diff(ends) < 0).any() or (len(ends) and ends[-1] != len(text)):
            raise ArrayError(f"{side}: the ids do not follow each other")
        ids = array_file.unpacked_text(text, ends)
        n_distinct = len(set(ids.tolist()))
    if n_distinct != len(ids):
        raise ArrayError(f"{side}: an id occurs twice")
    return IdLookup(ids)
