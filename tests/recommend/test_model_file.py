"""Saved recommenders are read back exactly, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.array_file import checksum

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text())
FORMAT_4 = json.loads((FILES / "expected-format-4.json").read_text())


def test_save_and_load_preserve_everything(rec, ratings, tmp_path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    rec.save(first)
    again = ct.load_recommender(first)
    again.save(second)
    assert first.read_bytes() == second.read_bytes()
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    assert_array_equal(again.predict_proba(users, items), rec.predict_proba(users, items))
    assert again.recommend("u4") == rec.recommend("u4")
    assert repr(again.model) == repr(rec.model_)


def test_added_user_is_saved(rec, tmp_path) -> None:
    rec.fold_in(ct.Ratings.from_arrays(["né"] * 5, [100, 101, 102, 103, 104], [5, 1, 5, 1, 5]))
    rec.save(tmp_path / "m")
    assert ct.load_recommender(tmp_path / "m").recommend("né") == rec.recommend("né")


def test_loaded_recommender_can_be_refitted(rec, ratings, tmp_path) -> None:
    rec.save(tmp_path / "m")
    again = ct.load_recommender(tmp_path / "m").fit(ratings)
    assert again.predict(["u1"], [100])[0] == pytest.approx(rec.predict(["u1"], [100])[0])


@pytest.fixture
def file(fitted, tmp_path):
    fitted["mmsbm"].save(tmp_path / "model")
    return tmp_path / "model"


def assert_refused(file, *words: str) -> None:
    with pytest.raises(InputError) as caught:
        ct.load_recommender(file)
    message = str(caught.value)
    assert str(file) in message and any(word in message for word in words), message


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.999])
def test_truncated_file_is_refused(file, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    assert_refused(file, "truncated")


def test_changed_byte_is_detected(file) -> None:
    content = file.read_bytes()
    for place in np.linspace(0, len(content) - 1, 40).astype(int):
        changed = bytearray(content)
        changed[place] ^= 0x55
        file.write_bytes(bytes(changed))
        with pytest.raises(InputError):
            ct.load_recommender(file)


def rewrite_header(file, *, valid_checksum: bool = False, **changes) -> None:
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["coterie"])
    header |= changes
    tensors = read_tensors(content)
    if valid_checksum:
        header.pop("sha256")
        header["sha256"] = checksum(header, tensors)
    file.write_bytes(write_tensors(tensors, {"coterie": json.dumps(header)}))


def test_newer_format_is_refused(file) -> None:
    rewrite_header(file, format=99)
    assert_refused(file, "upgrade coterie")


def test_older_format_is_refused(file) -> None:
    rewrite_header(file, format=1)
    assert_refused(file, "reads formats 2 to 5; fit the model again")


def test_edited_header_is_refused(file) -> None:
    rewrite_header(file, kind="hard")
    assert_refused(file, "checksum")


def test_unknown_kind_is_refused(file) -> None:
    rewrite_header(file, valid_checksum=True, kind="quantum")
    assert_refused(file, "unknown kind 'quantum'; upgrade coterie")


def test_unknown_model_is_refused(file) -> None:
    rewrite_header(file, valid_checksum=True, estimator="QuantumModel")
    assert_refused(file, "unknown model 'QuantumModel'; upgrade coterie")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_file_of_format_2_is_read(name: str) -> None:
    rec = ct.load_recommender(FILES / f"{name}-format-2.coterie")
    expected = EXPECTED[name]
    predicted = rec.predict(["u0", "u3", "nobody"], [10, 13, 11])
    assert predicted.tolist() == pytest.approx(expected["predictions"], rel=1e-6)
    top = rec.recommend("u1", 3, order="rating")
    assert [found.item for found in top] == [item for item, _ in expected["top"]]
    assert [found.rating for found in top] == pytest.approx([r for _, r in expected["top"]])


@pytest.mark.parametrize("name", sorted(FORMAT_4))
def test_file_of_format_4_gives_the_same_answers(name: str) -> None:
    rec = ct.load_recommender(FILES / f"{name}-format-4.coterie")
    expected = FORMAT_4[name]
    users, items = expected["users"], expected["items"]
    probabilities = rec.predict_proba(users, items)
    assert probabilities == pytest.approx(np.array(expected["probabilities"]), rel=1e-9)
    for order, rows in expected["top"].items():
        top = rec.recommend(users[0], 4, order=order)
        if order != "rating":  # the interaction model is fitted again, with less precision
            assert len({found.item for found in top} & {row[0] for row in rows}) >= 2
            continue
        assert [found.item for found in top] == [row[0] for row in rows]
        assert [found.rating for found in top] == pytest.approx([row[1] for row in rows], rel=1e-9)
        assert [found.score for found in top] == pytest.approx([row[2] for row in rows], rel=1e-9)
    similar = rec.similar_items(items[0], 3)
    assert [item for item, _ in similar] == [item for item, _ in expected["similar"]]
    assert [s for _, s in similar] == pytest.approx([s for _, s in expected["similar"]], rel=1e-6)


def test_parameters_of_format_2_are_translated() -> None:
    mmsbm = ct.load_recommender(FILES / "mmsbm-format-2.coterie").model_
    assert (
        mmsbm.get_params()
        == ct.MMSBM(
            n_groups=(2, 2), max_iter=20, prior=0.1, n_init=2, negatives_per_rating=0.5
        ).get_params()
    )
    best = ct.load_recommender(FILES / "best-format-2.coterie").model_
    assert best.negatives_per_rating == 0.5
    hard = ct.load_recommender(FILES / "hard-format-2.coterie").model_
    assert hard.search == "paper"


@pytest.mark.parametrize("content", [b"", b"user,item\n1,2\n", b"\x00" * 100, b"\xff" * 100])
def test_other_files_are_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert_refused(tmp_path / "x", "not a saved model")


def test_missing_file_is_reported(tmp_path) -> None:
    assert_refused(tmp_path / "nothing", "cannot be read")


def test_no_file_is_left_when_saving_fails(tmp_path) -> None:
    table = ct.Ratings.from_arrays([1, 2], [1, 1], [1, 2])
    rec = ct.Recommender(ct.MMSBM(n_groups=1, max_iter=1)).fit(table)
    rec.users_.ids = np.empty(2, object)
    rec.users_.ids[:] = [(1, 2), (3, 4)]
    with pytest.raises(InputError, match="neither an integer nor text"):
        rec.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_file_without_interaction_model_is_completed_from_its_ratings(fitted, tmp_path) -> None:
    """Files of format 3 and earlier hold the ratings only."""
    file = tmp_path / "old"
    fitted["mmsbm"].save(file)
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["coterie"])
    tensors = {k: v for k, v in read_tensors(content).items() if not k.startswith("interactions.")}
    del header["sha256"], header["liked_level"]
    header["format"] = 3
    header["sha256"] = checksum(header, tensors)
    file.write_bytes(write_tensors(tensors, {"coterie": json.dumps(header)}))
    old = ct.load_recommender(file)
    assert old.recommend("u4") == fitted["mmsbm"].recommend("u4")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("interactions.seen.factors.items", "factors: "),
        ("interactions.seen.regression.items", "items: "),
        ("interactions.popularity", "popularity: "),
    ],
)
def test_invalid_interaction_model_is_refused(file, name: str, message: str) -> None:
    """Also if somebody recomputed the checksum."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["coterie"])
    tensors = read_tensors(content)
    for damaged in (tensors[name][:-1], None):
        changed = {k: v for k, v in tensors.items() if k != name}
        if damaged is not None:
            changed[name] = np.ascontiguousarray(damaged)
        header.pop("sha256", None)
        header["sha256"] = checksum(header, changed)
        file.write_bytes(write_tensors(changed, {"coterie": json.dumps(header)}))
        assert_refused(file, message if damaged is not None else "missing")
