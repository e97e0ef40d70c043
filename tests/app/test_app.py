"""The application over HTTP, without a browser: sign-in, uploads, limits, and clean ends."""

from __future__ import annotations

import csv
import errno
import io
import itertools
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from starlette.testclient import TestClient

import coterie as ct
from coterie.app.guard import AllowedHosts
from coterie.app.web import application, state
from coterie.app.web.application import make_app
from coterie.app.web.publish_page import frontier_chart, ledger_lines
from coterie.app.web.state import StepResult
from coterie.app.web.tasks import reading
from coterie.app.web.tasks.context import TaskContext
from coterie.app.web.tasks.spreadsheet import harmless, write_csv
from coterie.data.demo_data import movie_ratings, social_network

ADDRESS = "http://127.0.0.1:8000"
PAGE = {"accept": "text/html"}


@pytest.fixture
def app(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))  # before the first process starts
    made, sign_in, workspace = make_app(hosts=AllowedHosts.of("127.0.0.1"), renewed=[].append)
    with TestClient(made, base_url=ADDRESS, raise_server_exceptions=False) as client:
        yield client, sign_in, workspace


@pytest.fixture
def signed_in(app):
    client, sign_in, workspace = app
    assert client.post("/sign-in", data={"token": sign_in.one_time}).status_code == 200
    return client, workspace


def _upload(client, content: bytes, name: str):
    return client.post("/data/upload", content=content, headers={"x-file-name": name})


def _read(client, workspace):
    """Wait until the data are read."""
    end = time.monotonic() + 900
    while workspace.jobs.running:
        client.get("/state")
        assert time.monotonic() < end
        time.sleep(0.05)
    return workspace.current


def _until(client, condition):
    """Wait until something is true; requests keep the application going."""
    end = time.monotonic() + 900
    while not condition():
        client.get("/state")
        assert time.monotonic() < end
        time.sleep(0.05)


def test_nothing_is_answered_without_signing_in(app):
    client, _, _ = app
    for route in ("/", "/data", "/events", "/state", "/app.js", "/download/input", "/nothing"):
        assert client.get(route).status_code == 401
    assert client.post("/data/upload", content=b"a,b").status_code == 401
    assert client.get("/sign-in?token=wrong").status_code == 401
    assert client.get("/sign-in").status_code == 401
    assert "not signed in" in client.get("/data").text


def test_the_address_works_once_and_the_cookie_stays_on_this_site(app):
    client, sign_in, _ = app
    first = sign_in.one_time
    for _ in range(2):  # looking at the address does not use it up
        assert f'value="{first}"' in client.get(f"/sign-in?token={first}").text
    assert client.get("/data").status_code == 401
    answer = client.post("/sign-in", data={"token": first}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert "samesite=strict" in cookie.lower() and "httponly" in cookie.lower()
    assert client.get("/data").status_code == 200
    client.cookies.clear()
    assert client.get(f"/sign-in?token={first}").status_code == 401
    assert client.post("/sign-in", data={"token": first}).status_code == 401
    assert client.get("/data").status_code == 401
    assert client.post("/sign-in", data={"token": sign_in.one_time}).status_code == 200


def test_the_browser_gets_no_secret_and_nobody_waits_for_it(start, tmp_path):
    """Every account can read the arguments of a process; a browser may not return at once."""
    seen, script = tmp_path / "seen", tmp_path / "browser"
    script.write_text(
        f'#!/bin/sh\ntr "\\0" " " </proc/$$/cmdline >{seen}.new\n'
        f"mv {seen}.new {seen}\nexec sleep 30 >/dev/null 2>&1\n"
    )
    script.chmod(0o700)
    running = start("app", BROWSER=f"{script} %s", TMPDIR=str(tmp_path))
    token = running.address.partition("token=")[2]
    base = running.address.partition("/sign-in")[0]
    assert len(token) > 20 and httpx.get(base, timeout=10).status_code == 401  # answers meanwhile
    end = time.monotonic() + 30
    while not seen.exists() and time.monotonic() < end:
        time.sleep(0.05)
    arguments = seen.read_text()
    assert "file://" in arguments and token not in arguments
    page = Path(urlsplit(arguments.split()[-1]).path)
    assert token in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600 and page.parent.stat().st_mode & 0o777 == 0o700


def test_other_sites_and_names_are_refused_even_with_the_cookie(signed_in):
    client, _ = signed_in
    assert client.get("/data", headers={"host": "evil.example"}).status_code == 421
    form = {"kind": "network"}
    evil = {"origin": "http://evil.example"}
    assert client.post("/data/demo", data=form, headers=evil).status_code == 403
    assert client.post("/data/demo", data=form, headers={"origin": "null"}).status_code == 403


def test_pages_have_no_inline_script_and_a_strict_policy(signed_in):
    client, _ = signed_in
    answer = client.get("/data")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)
    assert not re.search(r"\son\w+=|\sstyle=|javascript:", answer.text)
    assert "https://" not in answer.text and "http://" not in answer.text


def test_uploads_are_stored_under_our_name_in_a_folder_of_the_owner(signed_in):
    client, workspace = signed_in
    assert stat.S_IMODE(workspace.folder.stat().st_mode) == 0o700
    assert _upload(client, b"a,b\nb,c\n", "../../etc/cron.d/evil.csv").status_code == 200
    current = _read(client, workspace)
    assert current.path.parent == workspace.folder and current.path.name == "upload-1.csv"
    assert current.name == "evil.csv" and current.read["nodes"] == 3


def test_an_upload_that_is_too_large_leaves_nothing_behind(signed_in, monkeypatch):
    client, workspace = signed_in
    huge = {"x-file-name": "x.csv", "content-length": str(2 << 30)}
    answer = client.post("/data/upload", content=b"a,b\n", headers=huge)
    assert answer.status_code == 413 and "512 MB" in answer.json()["detail"]
    guard = client.app
    monkeypatch.setitem(guard.large_paths, "/data/upload", 1000)

    def pieces():
        for _ in range(100):
            yield b"a,b\n" * 10

    answer = client.post("/data/upload", content=pieces(), headers={"x-file-name": "x.csv"})
    assert answer.status_code == 413
    assert not list(workspace.folder.glob("upload-*"))
    assert client.get("/data").status_code == 200


def test_a_full_disk_is_reported_and_leaves_nothing_behind(signed_in, monkeypatch):
    client, workspace = signed_in
    usual = Path.open

    def full(self, *args, **options):
        if self.parent == workspace.folder:
            usual(self, *args, **options).close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return usual(self, *args, **options)

    monkeypatch.setattr(Path, "open", full)
    answer = _upload(client, b"a,b\n", "x.csv")
    assert answer.status_code == 507 and "disk is full" in answer.json()["detail"]
    assert not list(workspace.folder.glob("upload-*"))


def test_a_full_disk_does_not_block_later_work(signed_in, monkeypatch):
    client, workspace = signed_in
    usual = Path.mkdir, Path.write_bytes

    def full(self, *args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)  # the demo is copied
    answer = client.post("/data/demo", data={"kind": "network"}, headers=PAGE)
    assert answer.status_code == 507 and "The disk is full" in answer.text
    assert not list(workspace.folder.glob("upload-*"))
    monkeypatch.setattr(Path, "write_bytes", usual[1])
    monkeypatch.setattr(Path, "mkdir", full)  # the folder of the job is made
    assert client.post("/data/demo", data={"kind": "network"}).status_code == 507
    assert not workspace.jobs.running
    monkeypatch.setattr(Path, "mkdir", usual[0])
    assert client.post("/data/demo", data={"kind": "network"}).status_code == 200
    assert _read(client, workspace).read["nodes"] == 300


def test_numbers_in_addresses_and_forms_can_have_any_length(signed_in):
    client, workspace = signed_in
    client.post("/data/demo", data={"kind": "ratings"})
    _read(client, workspace)
    long = "9" * 5000
    for path in (f"/explore/block/{long}", "/explore/block/-1", "/explore/block/x"):
        assert client.get(path).status_code == 404
    assert client.get(f"/recommend?other={long}").status_code == 200
    assert client.post("/data/choose", data={"number": long}).status_code == 422


def _excel(rows) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def _parquet(rows) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    content = io.BytesIO()
    columns = [list(column) for column in zip(*rows[1:], strict=True)]
    parquet.write_table(pa.table(columns, names=rows[0]), content)
    return content.getvalue()


RATINGS = [["user", "item", "rating"], ["a", "x", 3], ["a", "y", 5], ["b", "x", 1]]
ODD = [["when", "who", "whom"], [1, "a", "b"], [2, "b", "c"], [3, "c", "a"]]


def test_tables_that_are_not_text_are_looked_into(tmp_path):
    for made, name in ((_excel, "t.xlsx"), (_parquet, "t.parquet")):
        path = tmp_path / name
        path.write_bytes(made(RATINGS))
        sample = reading.sample_of(path)
        assert sample.columns == RATINGS[0] and sample.rows[0] == ["a", "x", "3"]
        assert reading.guess_kind(path, sample) == "ratings"
        path.write_bytes(made(ODD))
        sent: list = []
        settings = {"path": str(path), "kind": "network", "columns": [1, 2]}
        found = reading.read(TaskContext(settings, tmp_path, sent.append))
        assert found["nodes"] == 3 and found["edges"] == 3 and not found["unsure"]


def test_formats_that_are_no_tables_have_no_columns_to_choose(tmp_path):
    for name, content in (
        ("g.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"),
        ("g.json", '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}'),
        ("g.net", '*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2\n'),
    ):
        (tmp_path / name).write_text(content)
        found = reading.read(TaskContext({"path": str(tmp_path / name)}, tmp_path, [].append))
        assert found["kind"] == "network" and found["edges"] in (1, 2)
        assert found["columns"] == [] and not found["unsure"]


def test_the_number_of_uploads_is_limited(signed_in, monkeypatch):
    """Files that were refused do not count."""
    client, _ = signed_in
    monkeypatch.setattr(state, "MAX_UPLOADS", 1)
    for _ in range(3):
        assert _upload(client, b"", "x.csv").status_code == 422
    assert _upload(client, b"a,b\n", "x.csv").status_code == 200
    answer = _upload(client, b"a,b\n", "x.csv")
    assert answer.status_code == 409 and "1 files were given already" in answer.json()["detail"]


def test_the_demo_is_read_once(signed_in):
    client, workspace = signed_in
    for kind in ("network", "ratings", "network"):
        assert client.post("/data/demo", data={"kind": kind}).status_code == 200
        _read(client, workspace)
    assert [one.name for one in workspace.inputs] == ["demo-network.csv", "demo-ratings.csv"]
    assert workspace.current.number == 1


WRONG_FORMS = [
    ("/explore/start", {"blocks": "many"}, "whole number"),
    ("/explore/start", {"blocks": "0"}, "whole number"),
    ("/explore/start", {"objective": "/etc/passwd"}, "one of"),
    ("/publish/frontier", {"min_class_size": "-5"}, "whole number"),
    ("/publish/point", {"point": "0"}, "no result"),
    ("/publish/release", {"point": "0"}, "no result"),
    ("/publish/private", {"epsilon": "much"}, "not a positive decimal number"),
    ("/publish/private", {"epsilon": "11"}, "protects nobody"),
    ("/publish/private", {"epsilon": "1", "cap": "-1"}, "the maximum in total is"),
    ("/publish/private", {"epsilon": "1", "people": "number", "nodes": "1"}, "whole number"),
    ("/publish/private", {"epsilon": "1", "people": "file"}, "give the node list"),
    ("/publish/private", {"epsilon": "1", "people": "/etc/passwd"}, "one of"),
    ("/publish/private", {"epsilon": "1", "people": "number", "nodes": "3"}, "dataset is empty"),
    ("/publish/demo-people", {}, "belongs to the demo network"),
    ("/recommend/fit", {"model": "pickle"}, "one of"),
    ("/recommend/rate", {"item-0": "5"}, "no result"),
    ("/result/choose", {"step": "explore", "key": "x"}, "no longer kept"),
    ("/data/choose", {"number": "9"}, "no such data"),
    ("/data/demo", {"kind": "../x"}, "one of"),
]


def test_wrong_forms_are_explained_on_a_page(signed_in):
    client, workspace = signed_in
    _upload(client, b"a,b\nb,c\nc,a\n", "x.csv")
    _read(client, workspace)
    for route, form, words in WRONG_FORMS:
        answer = client.post(route, data=form, headers=PAGE)
        assert 400 <= answer.status_code < 500, route
        assert (
            words.casefold() in answer.text.casefold()
            and "<h1>This did not work</h1>" in answer.text
        ), route
        assert client.get("/data").status_code == 200


def test_a_wrong_line_leaves_the_guess_and_the_columns_to_choose(signed_in):
    client, workspace = signed_in
    _upload(client, b"user,item,rating\na,x,3\nb,y,lots\n", "films.csv")
    _until(client, lambda: workspace.current.problem)
    page = client.get("/data").text
    assert "films.csv, line 3: the rating &#39;lots&#39; is not a number" in page
    assert 'value="ratings" checked' in page and '<select name="rating">' in page
    assert "<td" in page and "lots</td>" in page  # the first lines
    _upload(client, bytes(range(256)) * 4, "x.bin")
    _until(client, lambda: workspace.current.name == "x.bin" and workspace.current.problem)
    assert "give a text file" in client.get("/data").text


def _give_people(client, content: bytes, name: str = "people.txt"):
    return client.post("/publish/people", content=content, headers={"x-file-name": name})


def test_a_node_list_is_checked_when_it_is_given(signed_in):
    client, workspace = signed_in
    assert _give_people(client, b"a\nb\n").status_code == 409  # there is no network yet
    _upload(client, b"a,b\nb,c\nc,a\n", "x.csv")
    _read(client, workspace)
    for content, words in (
        (b"a\nb\na\n", "people.txt, line 3: the node 'a' is listed twice"),
        (b"a\n", "at least 2"),
        (b"\xff\xfe\x00", "the text is UTF-16"),
        (b"", "is empty"),
    ):
        answer = _give_people(client, content)
        assert answer.status_code == 422 and words in answer.json()["detail"], content
        assert str(workspace.folder) not in answer.text
    assert workspace.current.people is None
    assert len(list(workspace.folder.glob("upload-*"))) == 1
    assert _give_people(client, b"# staff\na\nb\nc\nd\n").status_code == 200
    assert workspace.current.people_count == 4
    page = client.get("/publish").text
    assert "people.txt</b>, 4 people" in page
    huge = {"x-file-name": "x", "content-length": str(33 << 20)}
    assert client.post("/publish/people", content=b"a", headers=huge).status_code == 413


def test_a_private_release_from_node_list_to_downloads(signed_in, monkeypatch, tmp_path):
    client, workspace = signed_in
    client.post("/data/demo", data={"kind": "network"})
    _read(client, workspace)
    assert client.post("/publish/demo-people").status_code == 200
    assert workspace.current.people_count == 300
    form = {"epsilon": "2", "cap": "3", "people": "file", "dataset": "club"}
    assert client.post("/publish/private", data=form).status_code == 200
    _read(client, workspace)
    found = workspace.chosen_result("release").result
    assert found["nodes"] == 300 and found["spent"] == "2" and found["factor"] == "7.39"
    page = client.get("/publish").text
    assert "has spent 2 of 3" in page and "more than 7.39 times as likely" in page
    assert "epsilon 2 in total" in client.get("/publish/ledger?q=Club").text
    assert "Nothing was published" in client.get("/publish/ledger?q=other").text
    # the script draws the same network from the sketch
    for name in ("release/network.sketch", "release/graph.csv", "reproduce.py", "people"):
        (tmp_path / name.rpartition("/")[2]).write_bytes(client.get(f"/download/{name}").content)
    assert (tmp_path / "people").read_text().count("\n") == 301
    script = (tmp_path / "reproduce.py").read_text()
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "reproduce.py", "exec"), {})
    assert (tmp_path / "drawn.csv").read_bytes() == (tmp_path / "graph.csv").read_bytes()
    assert "--nodes nodes.txt" in client.get("/download/reproduce.sh").text
    # the ledger refuses what would exceed the maximum, and the page says so
    client.post("/publish/private", data=form)
    _read(client, workspace)
    _until(client, lambda: workspace.problem_of("release"))
    page = client.get("/publish").text
    assert "This did not work" in page and "exceed" in page
    assert ledger_lines("club").spent == "2"


def test_the_script_and_the_command_repeat_the_release(signed_in, tmp_path):
    """Both run as downloaded; figures that do not depend on the draw are the same."""
    client, workspace = signed_in
    client.post("/data/demo", data={"kind": "network"})
    current = _read(client, workspace)
    settings = {
        "path": current.read["path"],
        "name": current.name,
        "dataset": "club (members, 2026)",
        "blocks": 5,
        "min_class_size": 10,
        "policy": {"min_class_size": 5, "releases": 9},
        "folder_name": "app-1",
        "private": None,
    }
    assert client.portal is not None
    client.portal.call(workspace.start, "release", "release", settings)
    _read(client, workspace)
    assert workspace.problem_of("release") == ""
    released = workspace.chosen_result("release").result
    assert not released["refused"]
    for path, name in (
        ("reproduce.py", "reproduce.py"),
        ("reproduce.sh", "reproduce.sh"),
        ("policy.toml", "policy.toml"),
        ("input", "demo-network.csv"),
    ):
        answer = client.get(f"/download/{path}")
        assert f'filename="{name}"' in answer.headers["content-disposition"]
        (tmp_path / name).write_bytes(answer.content)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "coterie").write_text(f'#!/bin/sh\nexec {sys.executable} -m coterie "$@"\n')
    (tmp_path / "bin" / "coterie").chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    audits = []
    for command in ([sys.executable, "reproduce.py"], ["sh", "reproduce.sh"]):
        state_folder = tmp_path / f"state-{len(audits)}"
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**variables, "COTERIE_STATE": str(state_folder)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        audits.append(json.loads(next(state_folder.rglob("audit.json")).read_text()))
        (tmp_path / "release").rename(tmp_path / f"release-{len(audits)}")
        with zipfile.ZipFile(
            io.BytesIO(client.get("/download/release/release.zip").content)
        ) as ours:
            files = [Path(name).name for name in ours.namelist()]
        made = sorted(file.name for file in (tmp_path / f"release-{len(audits)}").iterdir())
        assert made == sorted(files)
    # The first limits follow from the blocks; the attacks depend on the draw.
    shown = [(limit["value"], limit["holds"]) for limit in released["limits"]]
    for audit in audits:
        limits = [(limit["value"], limit["holds"]) for limit in audit["limits"]]
        assert limits[:3] == shown[:3]
        assert audit["dataset"] == settings["dataset"]
        assert audit["parameters"]["min_class_size"] == 10
    measures = {name: (before, after) for name, _, before, after in released["measures"]}
    assert measures["nodes"] == (300, 300) and measures["edges"][0] == 1257
    shown_limit = re.compile(r'value">[\d.]+ %</td><td data-of="limit">at most [\d.]+ %')
    assert shown_limit.search(client.get("/publish").text)


def test_a_measured_and_a_private_release_are_shown_together(signed_in, tmp_path):
    client, workspace = signed_in
    client.post("/data/demo", data={"kind": "network"})
    number = _read(client, workspace).number
    measured = {"refused": True, "kind": "measured", "reasons": ["why"], "suggestions": []}
    private = {"refused": False, "kind": "private", "nodes": 3, "edges": 2, "epsilon": "1"}
    private |= {"spent": "1", "cap": "4", "factor": "2.72", "private": "/p"}
    common = {"limits": [], "attacks": [], "measures": []}
    kept = workspace.results.setdefault("release", {})
    for found, settings in (
        (measured, {"blocks": 5, "min_class_size": 10, "policy": {}}),
        (private, {"epsilon": "1", "cap": "4", "nodes": 3}),
    ):
        key = f"{number}:{found['kind']}"
        kept[key] = StepResult(key, {"dataset": "club", **settings}, found | common, [], tmp_path)
    for key in kept:
        client.post("/result/choose", data={"step": "release", "key": key})
        page = client.get("/publish")
        assert page.status_code == 200
        assert "club, 5 blocks, classes of 10" in page.text and "club, epsilon 1<" in page.text


def test_a_damaged_ledger_is_explained(signed_in, tmp_path):
    client, _ = signed_in
    (tmp_path / "state" / "ledger").mkdir(parents=True)
    (tmp_path / "state" / "ledger" / "index.json").write_text("{broken")
    answer = client.get("/publish/ledger?q=staff")
    assert answer.status_code == 200 and 'class="wrong"' in answer.text
    assert client.get("/publish/ledger?q=%2E%2E%2Fetc").status_code == 200  # no name of a dataset


def test_titles_and_ids_are_only_text_and_own_ratings_can_be_changed(signed_in):
    client, workspace = signed_in
    users, items = [f"<u>{i}" for i in range(8)], [f"=i{i}()" for i in range(6)]
    rows = [
        f"{user},{item},{1 + (i * j) % 5}"
        for i, user in enumerate(users)
        for j, item in enumerate(items)
        if i == 0 or (i + j) % 6  # the first user has rated everything
    ]
    _upload(client, "\n".join(["user,item,rating", *rows]).encode(), "<i>films.csv")
    _read(client, workspace)
    evil = "<script>alert(1)</script>"
    titles = "\n".join(["item,title", *(f"{item},{evil}{item}" for item in items)])
    sent = client.post("/recommend/titles", content=titles.encode(), headers={"x-file-name": evil})
    assert sent.status_code == 200
    assert client.post("/recommend/fit", data={"model": "hard"}).status_code == 200
    _read(client, workspace)
    assert workspace.problem_of("recommend") == ""
    rate = {"item-0": "5", "item-1": "1", "user": users[0]}
    page = client.post("/recommend/rate", data=rate).text
    assert "Every item was rated already." in page
    assert "From your 2 ratings" in page and "&lt;script&gt;alert(1)&lt;/script&gt;=i0()" in page
    assert '<select name="item-0">' in page and '<option value="5" selected>' in page
    for text in (page, client.get("/download/recommend/report.html").text):
        assert "<script>alert" not in text and "<u>" not in text
    table = client.get("/download/recommend/recommendations.csv").text
    assert "'=i" in table and ",=i" not in table
    assert "From your 1 rating," in client.post("/recommend/rate", data={"item-0": ""}).text
    page = client.post("/recommend/rate", data={"item-1": ""}).text
    assert "Your list" not in page and workspace.own_ratings == {}
    for wrong in ({"item-9": "5"}, {f"item-{'9' * 5000}": "5"}, {"item-0": "6"}, {"item-0": ""}):
        assert client.post("/recommend/rate", data=wrong).status_code == 422


def test_a_search_shows_names_as_they_were_given(signed_in, tmp_path):
    client, workspace = signed_in
    _upload(client, b"a,b\nb,c\n", "x.csv")
    number = _read(client, workspace).number
    write_csv(tmp_path / "labels.csv", ["node", "block"], [("=cmd()", 0), ("-7", 1), ("'b", 1)])
    key = f"{number}:explore"
    settings, found = {"blocks": "2", "objective": "simple"}, {"blocks": [[0, 1], [1, 2]]}
    workspace.results["explore"] = {key: StepResult(key, settings, found, [], tmp_path)}
    workspace.chosen[number, "explore"] = key
    for wanted, name in (("cmd", ">=cmd() <"), ("7", ">-7 <"), ("b", ">&#39;b <")):
        assert name in client.get(f"/explore/search?q={wanted}").text


def test_pages_before_there_are_data_lead_to_the_data(signed_in):
    client, _ = signed_in
    for route in ("/explore", "/publish", "/recommend"):
        assert client.get(route, follow_redirects=False).headers["location"] == "/data"
    for route in ("/download/input", "/download/explore/labels.csv", "/download/policy.toml"):
        assert client.get(route).status_code == 404


def test_unexpected_errors_show_no_details(signed_in, monkeypatch):
    client, _ = signed_in
    monkeypatch.setattr(application.Pages, "render", lambda *_: 1 / 0)
    answer = client.get("/data", headers=PAGE)
    assert answer.status_code == 500 and "ZeroDivision" not in answer.text


def test_the_demo_files_are_the_demo_data():
    folder = Path(application.__file__).parent / "demo"
    graph = ct.read_graph(folder / "demo-network.csv")
    expected, _ = social_network()
    assert sorted(graph.ids) == sorted(expected.ids) and graph.n_edges == expected.n_edges
    ratings, (table, _) = ct.read_ratings(folder / "demo-ratings.csv"), movie_ratings()
    assert len(ratings) == len(table)
    assert np.array_equal(np.sort(ratings.user_ids), np.sort(table.user_ids))


def test_formulas_are_harmless_in_spreadsheets():
    for text in ("=cmd()", "+1+cmd", "-2+3", "@x", "\tx", "=1+1"):
        written = io.StringIO()
        csv.writer(written).writerow([harmless(text)])
        cell = next(csv.reader([written.getvalue()]))[0]
        assert cell[0] == "'" and cell[1:] == text
    assert harmless("Ann") == "Ann" and harmless("-3.5") == "-3.5" and harmless(7) == 7


def test_ctrl_c_ends_everything_and_deletes_the_files(start, tmp_path):
    running = start("app", "--demo", "--no-browser", TMPDIR=str(tmp_path))
    assert "127.0.0.1" in running.address
    base = running.address.partition("/sign-in")[0]
    assert httpx.get(f"{base}/data", timeout=60).status_code == 401
    assert len(list(tmp_path.glob("coterie-app-*"))) == 1
    with httpx.Client(base_url=base, timeout=60) as client:
        client.post("/sign-in", data={"token": running.address.partition("token=")[2]})
        with client.stream("GET", "/events") as events:  # an open page does not delay the end
            next(events.iter_lines())
            assert running.stop() == 0
    assert not list(tmp_path.glob("coterie-app-*"))
    assert "Traceback" not in running.printed


def test_what_a_killed_application_left_is_removed_by_the_next_one(start, tmp_path):
    variables = {"TMPDIR": str(tmp_path)}
    killed = start("app", "--demo", "--no-browser", **variables)
    folder = next(tmp_path.glob("coterie-app-*"))
    assert killed.stop(signal.SIGKILL) == -signal.SIGKILL and folder.exists()
    foreign = tmp_path / "coterie-app-of-another-version"
    foreign.mkdir()
    first = start("app", "--no-browser", **variables)
    assert not folder.exists() and foreign.exists()
    own = next(one for one in tmp_path.glob("coterie-app-*") if one != foreign)
    start("app", "--no-browser", **variables)
    assert own.exists()  # `first` still runs
    assert first.stop() == 0 and not own.exists()


def test_marks_of_the_chart_do_not_overlap():
    point = {"smallest": 10, "communities": 0.8, "blocks": 5, "min_class_size": 10}
    other = {**point, "communities": 0.805}
    marks = frontier_chart([point, point, other, point], None, 0)["marks"]
    places = [(x, y) for _, x, y, *_ in marks]
    assert min(math.dist(a, b) for a, b in itertools.combinations(places, 2)) >= 18
    assert places[0][0] == min(x for x, _ in places)


def test_a_task_that_needs_too_much_memory_ends_with_a_message():
    """Such as a compressed file of 3 MB that becomes a terabyte when it is read."""
    script = """
import sys, types
from pathlib import Path
from urllib.parse import urlsplit
from threading import Event
from coterie.app.web import worker
worker.TASKS["grow"] = "bomb:grow"
bomb = sys.modules["coterie.app.web.tasks.bomb"] = types.ModuleType("bomb")
bomb.grow = lambda context: bytearray(8 << 30)
worker.limit_memory(4 << 30)
order = {"task": "grow", "settings": {}, "folder": "."}
print(worker._result(order, print, Event(), print)["message"])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "not enough memory" in done.stdout, done.stderr


def test_the_number_of_open_pages_is_limited(signed_in, monkeypatch):
    client, workspace = signed_in
    monkeypatch.setattr(state, "MAX_PAGES", 2)
    for _ in range(2):
        workspace.listen()
    answer = client.get("/events")
    assert answer.status_code == 503 and "2 pages are open" in answer.json()["detail"]
