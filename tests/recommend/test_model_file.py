"""Saved recommenders: back to the bit, or refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import coterie as ct
from coterie.base.errors import InputError


def test_the_round_trip_is_exact(rec, ratings, tmp_path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    rec.save(first)
    again = ct.load_recommender(first)
    again.save(second)
    assert first.read_bytes() == second.read_bytes()
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    assert_array_equal(again.predict_proba(users, items), rec.predict_proba(users, items))
    assert again.recommend("u4") == rec.recommend("u4")
    assert repr(again.model) == repr(rec.model_)


def test_a_newcomer_is_saved_too(rec, tmp_path) -> None:
    rec.fold_in(ct.Ratings.from_arrays(["né"] * 5, [100, 101, 102, 103, 104], [5, 1, 5, 1, 5]))
    rec.save(tmp_path / "m")
    assert ct.load_recommender(tmp_path / "m").recommend("né") == rec.recommend("né")


def test_a_loaded_recommender_can_be_fitted_again(rec, ratings, tmp_path) -> None:
    rec.save(tmp_path / "m")
    again = ct.load_recommender(tmp_path / "m").fit(ratings)
    assert again.predict(["u1"], [100])[0] == pytest.approx(rec.predict(["u1"], [100])[0])


@pytest.fixture
def file(fitted, tmp_path):
    fitted["mmsbm"].save(tmp_path / "model")
    return tmp_path / "model"


def refused(file, *words: str) -> None:
    with pytest.raises(InputError) as caught:
        ct.load_recommender(file)
    message = str(caught.value)
    assert str(file) in message and any(word in message for word in words), message


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.999])
def test_a_truncated_file_is_refused(file, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    refused(file, "cut short")


def test_every_changed_byte_is_noticed(file) -> None:
    content = file.read_bytes()
    for place in np.linspace(0, len(content) - 1, 40).astype(int):
        changed = bytearray(content)
        changed[place] ^= 0x55
        file.write_bytes(bytes(changed))
        with pytest.raises(InputError):
            ct.load_recommender(file)


def rewritten(file, **changes) -> None:
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["coterie"])
    file.write_bytes(
        write_tensors(read_tensors(content), {"coterie": json.dumps(header | changes)})
    )


def test_a_newer_format_is_refused(file) -> None:
    rewritten(file, format=99)
    refused(file, "upgrade coterie")


def test_an_edited_header_is_refused(file) -> None:
    rewritten(file, kind="hard")
    refused(file, "checksum")


@pytest.mark.parametrize("content", [b"", b"user,item\n1,2\n", b"\x00" * 100, b"\xff" * 100])
def test_other_files_are_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    refused(tmp_path / "x", "not a saved model")


def test_no_such_file(tmp_path) -> None:
    refused(tmp_path / "nothing", "cannot be read")


def test_nothing_is_left_when_saving_fails(tmp_path) -> None:
    table = ct.Ratings.from_arrays([1, 2], [1, 1], [1, 2])
    rec = ct.Recommender(ct.MMSBM(n_groups=1, max_iter=1)).fit(table)
    rec.users_.ids = np.empty(2, object)
    rec.users_.ids[:] = [(1, 2), (3, 4)]
    with pytest.raises(InputError, match="neither a number nor text"):
        rec.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
