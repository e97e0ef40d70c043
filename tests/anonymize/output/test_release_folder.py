"""Where releases are written: nothing private is published, and no file of the owner is lost."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
from tests.support.command_line import coterie

from coterie.anonymize.output import release_folder
from coterie.anonymize.output.release_folder import (
    PRIVATE_MARK,
    ReleaseFolders,
    default_private_folder,
    make_private_folder,
    plan_folders,
    staged_folder,
)
from coterie.base.errors import ImportantWarning, InputError
from coterie.data import Graph

TRIANGLE = Graph.from_edges([0, 0, 1], [1, 2, 2])


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with the private state elsewhere."""
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def _plan(folder: str, private: str | None = None, **options: object) -> ReleaseFolders:
    return plan_folders(folder, private, dataset="staff", **options)  # type: ignore[arg-type]


def _publish(folders: ReleaseFolders, page: str = "<html></html>") -> None:
    with staged_folder(folders, [TRIANGLE], page) as publish:
        make_private_folder(folders.private)
        publish()


def _content(folder: str | Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in Path(folder).iterdir()}


# --- what is private is not published --------------------------------------------------------


def test_the_private_folder_is_outside_the_published_tree_by_default(tmp_path: Path) -> None:
    folders = _plan("site/release")
    assert folders.private == (tmp_path / "state" / "private" / "staff" / "release").resolve()
    _publish(folders)
    assert sorted(p.name for p in Path("site").rglob("*")) == [
        "graph.csv",
        "release",
        "report.html",
    ]


def test_a_private_folder_is_never_published() -> None:
    _publish(_plan("a", private="keep", inputs=["in.csv"]))
    for place in ("keep", "keep/inside", "keep/deep/inside"):
        for overwrite in (False, True):
            with pytest.raises(InputError, match="a private folder"):
                _plan(place, overwrite=overwrite)


def test_the_private_folder_of_an_earlier_version_is_never_published() -> None:
    Path("a.private").mkdir()
    Path("a.private/audit.json").write_text("{}")
    with pytest.raises(InputError, match="the folder to publish is a private folder"):
        _plan("a.private", overwrite=True)


def test_the_state_folder_is_never_published(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lies in a private folder"):
        _plan(str(tmp_path / "state" / "private" / "release"))


@pytest.mark.parametrize("private", ["a", "a/private", "a/b/c", "link/private"])
def test_the_private_folder_is_never_in_the_folder_to_publish(private: str) -> None:
    Path("link").symlink_to("a")
    with pytest.raises(InputError, match="in the folder to publish"):
        _plan("a", private=private)


def test_the_private_folder_is_never_in_a_folder_that_was_published() -> None:
    _publish(_plan("a"))
    with pytest.raises(InputError, match="in a published folder"):
        _plan("b", private="a/private")


def test_the_private_folder_never_contains_the_folder_to_publish() -> None:
    with pytest.raises(InputError, match="would contain the folder to publish"):
        _plan("keep/a", private="keep")


@pytest.mark.parametrize(
    ("folder", "private"),
    [
        ("site/release", "site/priv"),
        ("site/release", "./site/../site/priv"),
        ("site/release", "site/deep/priv"),
        ("site/2026/release", "site/priv"),
        ("site/release", "link/priv"),  # a link to the tree
        ("site/release", "site/away"),  # a link out of the tree, which copies may follow
        ("link/release", "site/priv"),
        ("link/release", "site/away"),
        ("outside", "site/priv"),  # a link into the tree
    ],
)
def test_private_files_are_not_in_a_tree_that_might_be_published(
    folder: str, private: str, tmp_path: Path
) -> None:
    Path("site/real").mkdir(parents=True)
    Path("link").symlink_to("site")
    Path("outside").symlink_to("site/real")
    (tmp_path / "elsewhere").mkdir()
    Path("site/away").symlink_to(tmp_path / "elsewhere")
    for inputs in ([], ["-"], [tmp_path / "in.csv"]):
        with pytest.raises(InputError, match=r"both be in .*site, which might be published"):
            _plan(folder, private=private, inputs=inputs)


def test_private_files_and_release_are_not_in_the_current_folder_without_the_original(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=r"would both be in .*work, which might be"):
        _plan("release", private="priv", inputs=[tmp_path / "in.csv"])
    _plan("release", private=str(tmp_path / "priv"), inputs=[tmp_path / "in.csv"])


def test_a_tree_with_the_original_may_contain_private_files_and_the_release() -> None:
    with pytest.warns(ImportantWarning, match="work contains the original, the private folder"):
        _plan("release", private="keep", inputs=["in.csv"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _plan("release", private="keep/staff", inputs=["in.csv"])
        _plan("out/release", private="keep/staff", inputs=["data/in.csv"])


def test_the_home_folder_may_contain_private_files_and_the_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    _plan("release", private="priv")


def test_identities_in_a_tree_that_might_be_published_give_a_warning(tmp_path: Path) -> None:
    with pytest.warns(ImportantWarning, match="never .*site"):
        _plan("site/release", research_truth="site/who.csv", inputs=["in.csv"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _plan("site/release", research_truth="who.csv", inputs=["in.csv"])


def test_private_files_do_not_join_other_files() -> None:
    Path("notes").mkdir()
    Path("notes/diary.txt").write_text("mine")
    with pytest.raises(InputError, match="contains other files"):
        _plan("a", private="notes")


def test_the_private_folder_is_marked_and_only_the_owner_can_read_it() -> None:
    Path("keep").mkdir(mode=0o755)
    make_private_folder(Path("keep"))
    assert Path("keep").stat().st_mode & 0o777 == 0o700
    assert "Never publish" in Path("keep", PRIVATE_MARK).read_text()
    make_private_folder(Path("state/private/staff"))
    assert all(p.stat().st_mode & 0o777 == 0o700 for p in Path("state").rglob("*") if p.is_dir())
    assert Path("state").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["a/who.csv", "link/who.csv", "a/b/who.csv", "old/who.csv"])
def test_the_table_of_identities_is_never_in_a_published_folder(place: str) -> None:
    _publish(_plan("old"))
    Path("link").symlink_to("a")
    with pytest.raises(InputError, match="in the folder to publish"):
        _plan("a", research_truth=place)


# --- no file of the owner is lost ------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("place", [".", "..", "../work", "/"])
def test_the_current_folder_is_never_replaced(place: str, overwrite: bool) -> None:
    with pytest.raises(InputError, match=r"the current folder|mount point"):
        _plan(place, overwrite=overwrite)


def test_the_home_folder_is_never_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(InputError, match="the home folder"):
        _plan(str(tmp_path / "home"))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", ["file", "symlink", "hard link", "link to the folder"])
def test_a_folder_with_the_input_is_refused_without_a_hint_to_overwrite(
    kind: str, overwrite: bool
) -> None:
    """The release of an earlier run lies in the folder, and the input is or is linked to it."""
    _publish(_plan("v"))
    source = Path("v/graph.csv")
    if kind == "symlink":
        source = Path("in.csv")
        source.symlink_to("v/graph.csv")
    elif kind == "hard link":
        source = Path("in.csv")
        os.link("v/graph.csv", source)
    elif kind == "link to the folder":
        Path("w").symlink_to("v")
        source = Path("w/graph.csv")
    before = _content("v")
    with pytest.raises(InputError, match="the input") as refusal:
        _plan("v", inputs=[source], overwrite=overwrite)
    assert "overwrite" not in str(refusal.value)
    assert _content("v") == before


def test_a_folder_inside_the_input_is_refused() -> None:
    Path("shards").mkdir()
    with pytest.raises(InputError, match="the folder to publish is in the input"):
        _plan("shards/release", inputs=["shards"])


@pytest.mark.parametrize("name", ["notes.txt", "graph_original_notes.csv", "graph.csv", ".git"])
def test_foreign_files_are_never_overwritten(name: str) -> None:
    Path("v").mkdir()
    Path("v", name).write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match="not from a release") as refusal:
            _plan("v", overwrite=overwrite)
        assert "`overwrite`" not in str(refusal.value)
    assert _content("v") == {name: "mine"}


def test_foreign_files_next_to_a_release_are_never_overwritten() -> None:
    _publish(_plan("v"))
    Path("v/thesis").mkdir()
    with pytest.raises(InputError, match="not from a release: thesis"):
        _plan("v", overwrite=True)


def test_a_released_file_that_was_changed_is_not_overwritten() -> None:
    _publish(_plan("v"))
    Path("v/report.html").write_text("my notes")
    with pytest.raises(InputError, match=r"report\.html was changed"):
        _plan("v", overwrite=True)


def test_a_release_is_replaced_only_with_overwrite() -> None:
    _publish(_plan("v"), "first")
    with pytest.raises(InputError, match=r"already contains a release; .*`overwrite`"):
        _plan("v")
    _publish(_plan("v", overwrite=True), "second")
    assert _content("v")["report.html"] == "second"
    assert sorted(p.name for p in Path().iterdir()) == ["v"]  # nothing is left beside it


def test_a_folder_that_was_moved_here_is_not_replaced() -> None:
    _publish(_plan("v"))
    os.rename("v", "moved")
    with pytest.raises(InputError, match="not from a release"):
        _plan("moved", overwrite=True)


def test_a_file_or_a_broken_link_is_not_a_folder() -> None:
    Path("file").write_text("")
    Path("broken").symlink_to("nowhere")
    with pytest.raises(InputError, match="a file, not a folder"):
        _plan("file")
    with pytest.raises(InputError, match="a file, not a folder"):
        _plan("file/inside")
    with pytest.raises(InputError, match="points nowhere"):
        _plan("broken")
    with pytest.raises(InputError, match="a file, not a folder"):
        _plan("a", private="file")


@pytest.mark.parametrize("kind", ["same", "symlink", "hard link"])
def test_the_table_of_identities_never_replaces_the_input(kind: str) -> None:
    Path("in.csv").write_text("a,b\n")
    target = "in.csv" if kind == "same" else "who.csv"
    if kind == "symlink":
        Path(target).symlink_to("in.csv")
    elif kind == "hard link":
        os.link("in.csv", target)
    with pytest.raises(InputError, match="this is the input"):
        _plan("a", inputs=["in.csv"], research_truth=target)


def test_the_table_of_identities_replaces_only_such_a_table() -> None:
    Path("who.csv").write_text("published,original\n0,a\n")
    _plan("a", research_truth="who.csv")
    Path("who.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="not a table of identities"):
        _plan("a", research_truth="who.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_is_not_writable_is_refused_before_the_work() -> None:
    Path("locked").mkdir(mode=0o500)
    with pytest.raises(InputError, match="not writable"):
        _plan("locked/a")


# --- writing ---------------------------------------------------------------------------------


def test_two_runs_into_one_new_folder_one_fails_and_nothing_is_lost() -> None:
    one, two = _plan("v"), _plan("v")
    _publish(one, "one")
    with pytest.raises(InputError, match="another process wrote to this folder"):
        _publish(two, "two")
    assert _content("v")["report.html"] == "one"
    assert sorted(p.name for p in Path().iterdir()) == ["v"]


def test_two_runs_that_replace_one_folder_one_fails_and_nothing_is_lost() -> None:
    _publish(_plan("v"), "first")
    one, two = (_plan("v", overwrite=True) for _ in range(2))
    _publish(one, "one")
    with pytest.raises(InputError, match="another process wrote to this folder"):
        _publish(two, "two")
    assert _content("v")["report.html"] == "one"
    assert sorted(p.name for p in Path().iterdir()) == ["v"]


def test_a_file_that_appears_during_the_work_is_not_lost() -> None:
    _publish(_plan("v"), "first")
    folders = _plan("v", overwrite=True)
    Path("v/mine.txt").write_text("mine")
    with pytest.raises(InputError, match="another process wrote"):
        _publish(folders)
    assert _content("v")["mine.txt"] == "mine" and _content("v")["report.html"] == "first"


def test_a_failed_rename_puts_the_old_release_back(monkeypatch: pytest.MonkeyPatch) -> None:
    _publish(_plan("v"), "first")
    folders = _plan("v", overwrite=True)
    real, calls = os.rename, []

    def fails_once(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        real(source, target)

    monkeypatch.setattr(release_folder.os, "rename", fails_once)
    with pytest.raises(OSError, match="Input/output"):
        _publish(folders, "second")
    assert _content("v")["report.html"] == "first"
    assert sorted(p.name for p in Path().iterdir()) == ["v"]


def test_an_existing_empty_folder_is_used() -> None:
    Path("v").mkdir()
    _publish(_plan("v"))
    assert sorted(_content("v")) == ["graph.csv", "report.html"]


def test_the_folder_to_publish_follows_the_umask() -> None:
    previous = os.umask(0o077)
    try:
        _publish(_plan("v"))
    finally:
        os.umask(previous)
    assert Path("v").stat().st_mode & 0o777 == 0o700


def test_datasets_do_not_share_a_private_folder() -> None:
    one, two = (default_private_folder(name, Path("v")) for name in ("a", "b"))
    assert one != two and default_private_folder("A", Path("v")) == one


# --- the command -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "."], "the current folder"),
        (["--out", "v", "--overwrite"], "not from a release"),
        (["--out", "a.private", "--overwrite"], "a private folder"),
        (["--out", "rel", "--private", "rel/secret"], "in the folder to publish"),
        (["--out", "site/rel", "--private", "site/priv"], "site, which might be published"),
        (["--out", "rel", "--research-truth", "g.txt"], "this is also an input"),
        (["--out", "rel", "--research-truth", "rel/who.csv"], "in the folder to publish"),
    ],
)
def test_the_command_checks_every_folder_before_it_reads_the_input(
    arguments: list[str], message: str
) -> None:
    Path("g.txt").write_text("this is not read\n")
    Path("v").mkdir()
    Path("v/graph.csv").write_text("mine")
    Path("a.private").mkdir()
    Path("a.private/audit.json").write_text("{}")
    done = coterie("anonymize", "g.txt", *arguments)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert _content("v") == {"graph.csv": "mine"} and not Path("rel").exists()
