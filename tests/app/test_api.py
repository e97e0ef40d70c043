"""The API: the same numbers as the library, flags, limits, and clear problems."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import shutil

import pytest
from starlette.testclient import TestClient
from tests.support.small_models import two_tastes

import coterie as ct
from coterie.app.api.application import MAX_BODY, make_api
from coterie.app.api.endpoint import AnswerCache
from coterie.app.api.messages import MAX_IDS
from coterie.app.api.rating_log import NewRating, RatingLog, with_new_ratings
from coterie.app.guard import AllowedHosts

HOSTS = AllowedHosts.of("127.0.0.1")
NEWCOMER = [(100, 5.0), (102, 5.0), (101, 1.0), (104, 4.0), (105, 2.0)]


def _client(path, **options) -> TestClient:
    app = make_api(path, hosts=HOSTS, **options)
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


@pytest.fixture(scope="module", params=["best", "mmsbm", "hard"])
def served(request, model_files):
    """The API of each family, and the same model in the library."""
    path = model_files[request.param]
    return _client(path), ct.load_recommender(path)


@pytest.fixture(scope="module")
def client(model_files):
    return _client(model_files["mmsbm"])


def _rows(answer) -> list[tuple]:
    assert answer.status_code == 200, answer.text
    return [(row["item"], row["rating"]) for row in answer.json()["items"]]


def _listed(recommendations) -> list[tuple]:
    return [(row.item, row.rating) for row in recommendations]


def test_predictions_are_those_of_the_library(served):
    client, rec = served
    users = ["u1", "u2", "nobody", "u3", "nobody"]
    items = [100, 101, 102, 999, 999]
    pairs = [{"user": u, "item": v} for u, v in zip(users, items, strict=True)]
    answer = client.post("/predict", json={"pairs": pairs, "distribution": True}).json()
    got = answer["predictions"]
    assert [row["rating"] for row in got] == rec.predict(users, items).tolist()
    assert [row["unseen"] for row in got] == rec.unseen(users, items).tolist()
    assert [row["probabilities"] for row in got] == rec.predict_proba(users, items).tolist()
    assert [(row["user"], row["item"]) for row in got] == list(zip(users, items, strict=True))
    assert answer["values"] == rec.values_.tolist()


def test_predictions_without_distribution_are_the_same(served):
    client, rec = served
    answer = client.post("/predict", json={"pairs": [{"user": "u1", "item": 100}]}).json()
    assert answer["predictions"][0]["rating"] == rec.predict(["u1"], [100])[0]
    assert "probabilities" not in answer["predictions"][0]


def test_recommendations_are_those_of_the_library(served):
    client, rec = served
    for user in ("u1", "u7", "nobody"):
        answer = client.post("/recommend", json={"user": user, "n": 7})
        assert _rows(answer) == _listed(rec.recommend(user, 7))
        assert answer.json()["unseen"] is (user == "nobody")
    everything = client.post("/recommend", json={"user": "u1", "n": 100, "exclude_seen": False})
    assert _rows(everything) == _listed(rec.recommend("u1", 100, exclude_seen=False))


def test_an_unknown_user_with_ratings_is_folded_in(served, model_files):
    client, rec = served
    ratings = [{"item": item, "rating": value} for item, value in NEWCOMER]
    answer = client.post("/recommend", json={"ratings": ratings, "n": 6})
    pairs = [["somebody", item] for item, _ in NEWCOMER]
    expected = rec.__class__._from_state(rec._fitted)
    expected.fold_in(pairs, [value for _, value in NEWCOMER])
    assert _rows(answer) == _listed(expected.recommend("somebody", 6))
    assert answer.json()["unseen"] is False
    # The server itself has not learned the newcomer.
    again = client.post("/recommend", json={"user": "somebody", "n": 3}).json()
    assert again["unseen"] is True
    assert client.get("/health").json()["users"] == len(rec.users_)


def test_candidates_and_excluded_items(served):
    client, rec = served
    everything = _listed(rec.recommend("u1", 1000))
    chosen = [item for item, _ in everything[1:8]]
    body = {"user": "u1", "candidates": [*chosen, "unknown"], "exclude": chosen[2:4], "n": 4}
    answer = client.post("/recommend", json=body)
    kept = [row for row in everything if row[0] in chosen and row[0] not in chosen[2:4]]
    assert _rows(answer) == kept[:4]
    assert answer.json()["unknown_items"] == ["unknown"]


def test_ten_thousand_candidates_are_answered_and_more_are_refused(client):
    many = list(range(MAX_IDS))
    answer = client.post("/recommend", json={"user": "u1", "candidates": many})
    assert len(_rows(answer)) == 10
    refused = client.post("/recommend", json={"user": "u1", "candidates": [*many, 1]})
    assert refused.status_code == 422
    assert str(MAX_IDS) in refused.json()["detail"]


def test_explanations_are_those_of_the_library(served):
    client, rec = served
    answer = client.post("/explain", json={"user": "u1", "item": 100}).json()
    expected = rec.explain("u1", 100)
    assert answer["rating"] == expected.rating
    assert answer["words"] == expected.words()
    assert [r["share"] for r in answer["reasons"]] == [
        reason.contribution.share for reason in expected.reasons
    ]
    ratings = [{"item": item, "rating": value} for item, value in NEWCOMER]
    own = client.post("/explain", json={"ratings": ratings, "item": 106}).json()
    expected = rec.__class__._from_state(rec._fitted)
    expected.fold_in([["x", i] for i, _ in NEWCOMER], [value for _, value in NEWCOMER])
    assert own["rating"] == expected.explain("x", 106).rating


def test_similar_items_are_those_of_the_library(served):
    client, rec = served
    answer = client.post("/similar", json={"item": 100, "n": 5}).json()
    assert [(r["item"], r["similarity"]) for r in answer["items"]] == rec.similar_items(100, 5)


def test_what_needs_a_known_id_says_which_is_unknown(client):
    for path, body in (
        ("/explain", {"user": "nobody", "item": 100}),
        ("/explain", {"user": "u1", "item": 999}),
        ("/similar", {"item": "<script>"}),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 404
        problem = answer.json()
        assert problem["status"] == 404 and "has no rating" in problem["detail"]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/recommend", b"{", 400, "not a JSON document"),
        ("/recommend", b"", 400, "not a JSON document"),
        ("/recommend", b"\xff\xfe", 400, "not a JSON document"),
        ("/recommend", b"[" * 5000, 400, "not a JSON document"),
        ("/recommend", b"{}", 422, "user"),
        ("/recommend", b'{"user": 1, "ratings": []}', 422, "ratings"),
        ("/recommend", b'{"user": 1, "n": 0}', 422, "n: "),
        ("/recommend", b'{"user": 1, "n": "5"}', 422, "n: "),
        ("/recommend", b'{"user": true}', 422, "user"),
        ("/recommend", b'{"user": 1e400}', 422, "user"),
        ("/recommend", b'{"user": 99999999999999999999}', 422, "user"),
        ("/recommend", b'{"user": "\\ud800"}', 400, ""),
        ("/recommend", b'{"user": 1, "order": "shoe size"}', 422, "order"),
        ("/recommend", b'{"user": 1, "path": "/etc/passwd"}', 422, "path"),
        ("/recommend", b'{"ratings": [{"item": 1, "rating": NaN}]}', 422, "rating"),
        ("/recommend", b'{"ratings": [{"item": 1, "rating": "5"}]}', 422, "rating"),
        ("/predict", b'{"pairs": []}', 422, "pairs"),
        ("/predict", b'{"pairs": [{"user": 1}]}', 422, "pairs.0.item"),
        ("/explain", b'{"item": 1}', 422, "user"),
        ("/similar", b'{"item": null}', 422, "item"),
    ],
)
def test_bad_requests_get_a_problem_document(client, path, body, status, words):
    answer = client.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert answer.json()["status"] == status


def test_strange_ids_are_only_unknown(client):
    for user in ("--5", "-", "", "\x00", "<script>alert(1)</script>", "=cmd()", "é" * 900, -1):
        answer = client.post("/recommend", json={"user": user, "n": 2})
        assert answer.status_code == 200 and answer.json()["unseen"] is True


def test_unknown_routes_wrong_methods_and_other_content(client):
    assert client.get("/nothing").status_code == 404
    assert "/recommend" in client.get("/nothing").json()["detail"]
    assert client.get("/recommend").status_code == 405
    assert client.post("/recommend", data={"user": "1"}).status_code == 415
    too_long = json.dumps({"user": "x" * (MAX_BODY + 1)}).encode()
    headers = {"content-type": "application/json"}
    assert client.post("/recommend", content=too_long, headers=headers).status_code == 413
    assert client.get("/../../etc/passwd").status_code == 404


def test_ids_that_are_numbers_are_found_as_numbers_and_as_text(tmp_path):
    ratings = ct.Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 9, 8], [5, 1, 5, 4, 2])
    ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings).save(tmp_path / "m")
    client = _client(tmp_path / "m")
    by_number = client.post("/recommend", json={"user": 1}).json()
    assert by_number["unseen"] is False
    assert client.post("/recommend", json={"user": "1"}).json() == by_number
    folded = [{"item": 7, "rating": 5}], [{"item": "7", "rating": 5}]
    first, second = (client.post("/recommend", json={"ratings": r}).json() for r in folded)
    assert first == second and first["unknown_items"] == []


def test_the_model_is_replaced_without_dropping_requests(tmp_path, model_files):
    path = tmp_path / "current.model"
    shutil.copy(model_files["mmsbm"], path)
    client = _client(path)
    app = client.app.app
    assert client.get("/health").json()["model"] == "MMSBM"
    assert not app.state.model_file.reload_if_replaced()
    before = app.state.model_file.current
    shutil.copy(model_files["hard"], tmp_path / "next")
    (tmp_path / "next").replace(path)
    assert app.state.model_file.reload_if_replaced()
    health = client.get("/health").json()
    assert health["model"] == "GeneralizedKMeans" and health["reloads"] == 1
    rec = ct.load_recommender(model_files["hard"])
    answer = client.post("/recommend", json={"user": "u1", "n": 5})
    assert _rows(answer) == _listed(rec.recommend("u1", 5))
    assert before.recommender.recommend("u1", 1)  # a request in progress can finish


def test_repeated_requests_are_answered_from_memory_until_the_model_changes(tmp_path, model_files):
    path = tmp_path / "current.model"
    shutil.copy(model_files["mmsbm"], path)
    client = _client(path)
    first, second = (client.post("/recommend", json={"user": "u1"}).json() for _ in range(2))
    assert first == second
    assert "coterie_cache_hits_total 1" in client.get("/metrics").text
    other = client.post("/similar", json={"item": 100}).json()
    assert other != first  # another route, although the model is the same
    (tmp_path / "next").write_bytes(model_files["best"].read_bytes())
    (tmp_path / "next").replace(path)
    assert client.app.app.state.model_file.reload_if_replaced()
    rec = ct.load_recommender(model_files["best"])
    answer = client.post("/recommend", json={"user": "u1"})
    assert _rows(answer) == _listed(rec.recommend("u1", 10))


def test_the_memory_of_answers_is_bounded():
    cache = AnswerCache(max_bytes=100)
    for number in range(50):
        cache.put(1, b"%02d" % number, b"x" * 18)
    assert cache.get(1, b"49") and cache.get(1, b"45") and cache.get(1, b"44") is None
    cache.put(2, b"new", b"y")
    assert cache.get(1, b"49") is None and cache.get(2, b"new") == b"y"
    cache.put(1, b"late", b"z")  # a request that began before the model was replaced
    assert cache.get(2, b"late") is None and cache.get(1, b"late") is None


def test_a_replacement_that_cannot_be_read_changes_nothing(tmp_path, model_files):
    path = tmp_path / "current.model"
    shutil.copy(model_files["mmsbm"], path)
    client = _client(path)
    watched = client.app.app.state.model_file
    good = client.post("/recommend", json={"user": "u1"}).json()
    path.write_bytes(path.read_bytes()[:-10])
    assert not watched.reload_if_replaced()
    health = client.get("/health").json()
    assert health["status"] == "degraded" and "truncated" in health["problem"]
    assert client.post("/recommend", json={"user": "u1"}).json() == good
    path.unlink()
    assert not watched.reload_if_replaced()
    shutil.copy(model_files["hard"], path)
    assert watched.reload_if_replaced()
    assert client.get("/health").json()["status"] == "ok"
    assert "coterie_model_reload_failures_total 1" in client.get("/metrics").text


def test_metrics_count_every_request(model_files):
    client = _client(model_files["mmsbm"])
    for _ in range(3):
        client.post("/recommend", json={"user": "u1"})
    client.post("/recommend", json={})
    text = client.get("/metrics").text
    assert 'coterie_requests_total{route="/recommend",status="200"} 3' in text
    assert 'coterie_requests_total{route="/recommend",status="422"} 1' in text
    assert 'coterie_request_seconds_bucket{route="/recommend",le="+Inf"} 4' in text
    assert 'coterie_request_seconds_count{route="/recommend"} 4' in text
    assert f"coterie_model_users {two_tastes().n_users}" in text


def test_a_token_protects_everything_but_health(model_files):
    client = _client(
        model_files["mmsbm"], tokens=lambda: ["another-valid-token", "0123456789abcdef"]
    )
    assert client.get("/health").status_code == 200
    for path in ("/metrics", "/openapi.json", "/"):
        assert client.get(path).status_code == 401
    assert client.post("/recommend", json={"user": "u1"}).status_code == 401
    right = {"authorization": "Bearer 0123456789abcdef"}
    assert client.post("/recommend", json={"user": "u1"}, headers=right).status_code == 200
    assert client.get("/openapi.json", headers=right).json()["security"] == [{"token": []}]


def test_the_documentation_page_names_every_route_and_loads_nothing_from_elsewhere(client):
    page = client.get("/").text
    described = client.get("/openapi.json").json()["paths"]
    assert set(described) == {
        "/predict", "/recommend", "/explain", "/similar", "/ratings", "/health", "/livez",
        "/readyz", "/metrics",
    }  # fmt: skip
    assert all(path in page for path in described)
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert "https://" not in page and all(one.startswith(("/", "data:,")) for one in loaded)
    for path in ("/style.css", "/explorer.js"):
        assert client.get(path).status_code == 200


def test_a_wrong_id_is_explained_once_and_without_internals(client):
    answer = client.post("/recommend", json={"user": [1]})
    assert answer.status_code == 422
    problem = "an id must be a whole number of 64 bits or a text"
    assert answer.json()["errors"] == [{"field": "user", "problem": problem}]


def test_compressed_bodies_are_refused(client):
    answer = client.post("/recommend", json={"user": "u1"}, headers={"content-encoding": "gzip"})
    assert answer.status_code == 415


def test_the_documentation_names_the_address_of_the_server(client):
    page = client.get("/").text
    address = str(client.base_url).rstrip("/")
    assert f"{address}/recommend" in page and "https://" not in page


def test_the_examples_of_the_page_and_of_the_description_are_answered(model_files, tmp_path):
    """With ids that the model has: each can be sent as it is."""
    for name in model_files:
        log = RatingLog(tmp_path / name)
        client = _client(model_files[name], log=log)
        page = html.unescape(client.get("/").text)
        for path, methods in client.get("/openapi.json").json()["paths"].items():
            if "post" in methods:
                content = methods["post"]["requestBody"]["content"]["application/json"]
                answer = client.post(path, json=content["example"])
                assert answer.status_code == 200, (path, answer.text)
                assert json.dumps(content["example"]) in page


def test_every_answer_names_the_model_and_the_request(model_files):
    client = _client(model_files["mmsbm"])
    digest = hashlib.sha256(model_files["mmsbm"].read_bytes()).hexdigest()
    for _ in range(2):  # computed, then remembered
        answer = client.post("/recommend", json={"user": "u1"}, headers={"x-request-id": "a-7"})
        assert answer.headers["x-model"] == digest[:16] and answer.headers["x-request-id"] == "a-7"
    assert client.get("/health").json()["model_hash"] == digest
    assert f'hash="{digest}"' in client.get("/metrics").text
    made = [
        client.get("/livez", headers={"x-request-id": "\x7f"}).headers["x-request-id"]
        for _ in range(2)
    ]
    assert len(set(made)) == 2 and all(len(one) == 32 for one in made)


def test_refused_requests_are_counted_and_logged(model_files):
    entries = []
    client = _client(
        model_files["mmsbm"], tokens=lambda: ["0123456789abcdef"], logged=entries.append
    )
    client.post("/recommend", json={"user": "u1"})
    client.get("/livez", headers={"host": "evil.example"})
    client.post("/predict", content=b"x" * (MAX_BODY + 1))
    right = {"authorization": "Bearer 0123456789abcdef"}
    client.get("/nothing", headers=right)
    text = client.get("/metrics", headers=right).text
    for route, status in (
        ("/recommend", 401), ("/livez", 421), ("/predict", 413), ("other", 404)
    ):  # fmt: skip
        assert f'coterie_requests_total{{route="{route}",status="{status}"}} 1' in text
    assert "coterie_in_flight 1" in text and "process_resident_memory_bytes" in text
    assert [one["status"] for one in entries] == [401, 421, 413, 404, 200]
    assert entries[3]["path"] == "/nothing" and entries[0]["request_id"]


def test_pages_of_an_allowed_site_may_ask_and_others_may_not(model_files):
    client = _client(
        model_files["mmsbm"], tokens=lambda: ["0123456789abcdef"], origins=["https://films.example"]
    )
    site = {"origin": "https://films.example", "sec-fetch-site": "cross-site"}
    asked = {**site, "access-control-request-method": "POST"}
    first = client.options("/recommend", headers=asked)
    assert first.status_code == 200
    assert first.headers["access-control-allow-origin"] == "https://films.example"
    assert "authorization" in first.headers["access-control-allow-headers"]
    assert client.post("/recommend", json={"user": "u1"}, headers=site).status_code == 401
    right = {**site, "authorization": "Bearer 0123456789abcdef"}
    answer = client.post("/recommend", json={"user": "u1"}, headers=right)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://films.example"
    for origin in ("https://evil.example", "https://films.example.evil.example", "null"):
        answer = client.post("/recommend", json={"user": "u1"}, headers={**right, "origin": origin})
        assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers
        assert client.options("/recommend", headers={"origin": origin}).status_code == 403


def test_a_batch_is_the_same_as_one_request_per_user(client):
    users = ["u1", "u2", "nobody"]
    asked = {"n": 3, "exclude": ["x", "i1"], "order": "rating"}
    batch = client.post("/recommend", json={"users": users, **asked}).json()
    for user, found in zip(users, batch["lists"], strict=True):
        alone = client.post("/recommend", json={"user": user, **asked}).json()
        assert found["user"] == user and found["unseen"] == alone["unseen"]
        assert [(one["item"], pytest.approx(one["rating"])) for one in found["items"]] == [
            (one["item"], one["rating"]) for one in alone["items"]
        ]
        assert batch["unknown_items"] == alone["unknown_items"]
    for wrong in ({"users": []}, {"users": ["u1"], "user": "u1"}, {}):
        assert client.post("/recommend", json=wrong).status_code == 422


def test_new_ratings_change_answers_and_survive_a_restart_and_a_new_model(model_files, tmp_path):
    path = tmp_path / "current.model"
    shutil.copy(model_files["mmsbm"], path)
    log = RatingLog(tmp_path / "current.ratings")
    client = _client(path, log=log)
    watched = client.app.app.state.model_file
    base = ct.load_recommender(path)
    known = base.items_.ids.tolist()
    rows = [("somebody", known[0], 5.0), ("somebody", known[1], 1.0), ("u1", known[2], 1.0)]
    sent = [dict(zip(("user", "item", "rating"), row, strict=True)) for row in rows]
    assert client.post("/ratings", json={"ratings": sent}).json() == {"accepted": 3}
    assert watched.add_new_ratings() and not watched.add_new_ratings()
    expected = base.fold_in([row[:2] for row in rows], [row[2] for row in rows])
    question = {"user": "somebody", "n": 4}
    answer = client.post("/recommend", json=question)
    assert answer.headers["x-model"].endswith("+3") and not answer.json()["unseen"]
    shown = [(one["item"], pytest.approx(one["rating"])) for one in answer.json()["items"]]
    assert shown == [(one.item, one.rating) for one in expected.recommend("somebody", 4)]
    again = _client(path, log=RatingLog(log.path))  # as after a restart
    assert again.post("/recommend", json=question).json() == answer.json()
    shutil.copy(model_files["hard"], path)
    assert watched.reload_if_replaced()
    answer = client.post("/recommend", json=question)
    assert answer.headers["x-model"].endswith("+3") and not answer.json()["unseen"]
    refused = client.post("/ratings", json={"ratings": [sent[0] | {"rating": 99}]})
    assert refused.status_code == 422 and len(log.read()) == 3


def test_a_log_that_was_cut_off_at_any_place_keeps_what_was_confirmed(tmp_path):
    log = RatingLog(tmp_path / "log")
    first, second = NewRating("ann", 7, 5.0), NewRating("bob", "x", 1.0)
    log.append([first])
    whole = log.path.read_bytes()
    log.append([second])
    for size in range(len(whole), log.path.stat().st_size):
        cut = RatingLog(tmp_path / f"cut-{size}")
        cut.path.write_bytes(log.path.read_bytes()[:size])
        complete = size == log.path.stat().st_size - 1  # all but the end of the line
        assert cut.read() == [first, second][: 1 + complete]
        cut.append([NewRating("cyd", 7, 2.0)])
        assert cut.read()[-1] == NewRating("cyd", 7, 2.0) and cut.read()[0] == first
    write = os.write
    for name in ("pread", "write", "fsync"):  # killed there, in another process
        child = os.fork()
        if child == 0:
            try:
                half = {"write": lambda file, data: (write(file, data[:30]), os._exit(9))}
                setattr(os, name, half.get(name, lambda *_: os._exit(9)))
                log.append([NewRating("dan", 7, 4.0)])
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert log.read()[:2] == [first, second]
        log.append([NewRating(name, 7, 3.0)])
        assert log.read()[-1] == NewRating(name, 7, 3.0)
    log.compact()
    log.append([NewRating("ann", 7, 1.0)])
    assert log.read()[0] == second and log.read()[-1] == NewRating("ann", 7, 1.0)
    log.path.unlink()
    log.append([first, second])
    log.append([NewRating("ann", 7, 1.0)])
    assert log.read() == [second, NewRating("ann", 7, 1.0)]  # the last one counts
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_reported_and_keeps_the_log_whole(tmp_path, monkeypatch, model_files):
    log = RatingLog(tmp_path / "log")
    client = _client(model_files["mmsbm"], log=log)
    row = {"user": "u1", "item": "i1", "rating": 3}
    assert client.post("/ratings", json={"ratings": [row]}).status_code == 200
    before, write = log.path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2]))
    assert client.post("/ratings", json={"ratings": [row]}).status_code == 507
    assert log.path.read_bytes() == before


def test_a_compacted_log_keeps_the_last_ratings_also_if_it_is_killed_at_any_write(tmp_path):
    """Also while others append: none of their ratings is lost."""
    log = RatingLog(tmp_path / "log")
    for rating in range(1, 6):
        log.append([NewRating("ann", 7, float(rating)), NewRating("bob", str(rating % 2), 1.0)])
    expected, size = log.read(), log.path.stat().st_size
    for name in ("write", "fsync", "replace"):
        child = os.fork()
        if child == 0:
            try:
                setattr(os, name, lambda *_: os._exit(9))
                log.compact()
            finally:
                os._exit(1)
        os.waitpid(child, 0)
        assert RatingLog(log.path).read() == expected, name
    children = []
    for worker in range(3):
        children.append(os.fork())
        if children[-1] == 0:
            code = 1
            try:
                for i in range(30):
                    RatingLog(log.path).append([NewRating(f"w{worker}", i, 3.0)])
                    if i % 10 == 5:
                        RatingLog(log.path).append([NewRating("ann", 7, 5.0)] * 100)
                        RatingLog(log.path).compact()
                code = 0
            finally:
                os._exit(code)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    log.compact()
    found = {row[:2] for row in log.read()}
    assert {(f"w{worker}", i) for worker in range(3) for i in range(30)} <= found
    assert {row[:2] for row in expected} <= found and size
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_ratings_that_a_model_cannot_use_do_no_harm(model_files):
    base = ct.load_recommender(model_files["mmsbm"])
    item = base.items_.ids.tolist()[0]
    rows = [NewRating("x", item, 5.0), NewRating("y", item, 99.0), NewRating("z", item, 1.0)]
    assert with_new_ratings(base, rows[1:2]) is base
    made = with_new_ratings(base, rows)
    assert made.unseen(["x", "y", "z"], [item] * 3).tolist() == [False, True, False]
    assert base.unseen(["x"], [item]).all()


def test_rules_of_the_server_and_of_a_request(model_files, tmp_path):
    rec = ct.load_recommender(model_files["mmsbm"])
    ids = rec.items_.ids.tolist()
    table = {"item": ids, "kind": [("rare", "usual")[n > 1] for n in range(len(ids))]}
    rules = ct.Rules(table, max_per={"kind": 2})
    client = _client(model_files["mmsbm"], rules=rules)
    asked = {"user": "u1", "n": 6, "exclude_seen": False}
    answer = client.post("/recommend", json=asked)
    assert _rows(answer) == _listed(rec.recommend("u1", 6, rules=rules, exclude_seen=False))
    assert len(_rows(answer)) == 4 and answer.json()["unmet"] == []
    plain = client.post("/recommend", json={**asked, "rules": False})
    assert _rows(plain) == _listed(rec.recommend("u1", 6, exclude_seen=False))
    assert "unmet" not in plain.json()
    own = {"quota": [{"where": "kind=rare", "at_least": 2}], "diversity": 0.5, "seen": "include"}
    batch = client.post("/recommend", json={"users": ["u1", "u2"], "n": 4, "rules": own}).json()
    for one in batch["lists"]:
        expected = rec.recommend(one["user"], 4, rules=ct.Rules(table, **own))
        assert [row["item"] for row in one["items"]] == [row.item for row in expected]
        assert len({*ids[:2]} & {row["item"] for row in one["items"]}) == 2 and not one["unmet"]
    few = client.post(
        "/recommend", json={**asked, "rules": own, "candidates": ids[1:], "exclude_seen": False}
    )
    assert few.json()["unmet"] == ["kind=rare: 1 of at least 2 items"]
    for wrong, words in (
        ({"max_per": {"colour": 1}}, "no column 'colour'"),
        ({"quota": [{"where": "kind=rare", "at_least": 3}]}, "contradicts the 2 items"),
        ({"diversity": 1.5}, "diversity"),
        ({"diversty": 1}, "diversty"),
    ):
        refused = client.post("/recommend", json={**asked, "rules": wrong})
        assert refused.status_code == 422 and words in refused.json()["detail"], refused.text
    without = _client(model_files["mmsbm"])
    refused = without.post("/recommend", json={**asked, "rules": {"max_per": {"kind": 1}}})
    assert refused.status_code == 422 and "table about the items" in refused.json()["detail"]
