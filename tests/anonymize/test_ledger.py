"""The ledger: counted before the draw, locked, and refused if damaged, missing or full."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command_line import coterie

from coterie.anonymize import ledger as ledger_module
from coterie.anonymize import ledger_store
from coterie.anonymize.ledger import Ledger, LedgerRefusal, check_dataset_name, exact_text
from coterie.base.errors import ImportantWarning, InputError


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "state")


def _release(ledger: Ledger, dataset: str = "staff", **options: Any) -> Any:
    return ledger.begin(dataset, kind="release", details={}, **options)


def _sketch(ledger: Ledger, epsilon: str, cap: str = "4", dataset: str = "staff") -> Any:
    return ledger.begin(
        dataset, kind="sketch", epsilon=Fraction(epsilon), cap=Fraction(cap), details={}
    )


def _contents(ledger: Ledger) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in ledger.folder.iterdir()}


# --- counting ------------------------------------------------------------------------------


def test_a_run_is_counted_from_the_moment_it_is_opened(ledger: Ledger) -> None:
    _release(ledger, graphs=2)
    again = Ledger(ledger.folder.parent)
    assert again.releases("staff") == 2
    assert [entry.state for entry in again.entries("staff")] == ["opened"]


def test_failed_runs_stay_counted(ledger: Ledger) -> None:
    ledger.finish(_sketch(ledger, "0.5"), "failed")
    ledger.finish(_release(ledger), "failed")
    assert ledger.spent("staff") == Fraction(1, 2)
    assert ledger.releases("staff") == 1


def test_a_release_that_the_policy_refused_is_recorded_but_not_counted(ledger: Ledger) -> None:
    ledger.finish(_release(ledger), "refused")
    assert ledger.releases("staff") == 0
    assert [entry.state for entry in ledger.entries("staff")] == ["refused"]
    with pytest.raises(ValueError, match="stays counted"):
        ledger.finish(_sketch(ledger, "1"), "refused")


def test_the_number_of_releases_is_limited(ledger: Ledger) -> None:
    _release(ledger, max_releases=1)
    with pytest.raises(LedgerRefusal, match="release number 2 of dataset 'staff'"):
        _release(ledger, max_releases=1)
    with pytest.raises(LedgerRefusal, match="release number 3"):
        ledger.check_releases("staff", 2, 2)
    assert ledger.releases("staff") == 1
    _release(ledger, max_releases=2)


def test_epsilon_is_limited_by_the_cap_exactly(ledger: Ledger) -> None:
    for _ in range(10):
        _sketch(ledger, "0.1", cap="1")
    with pytest.raises(LedgerRefusal, match=r"has spent epsilon 1; 0\.000001 more .* cap of 1"):
        _sketch(ledger, "0.000001", cap="1")
    assert ledger.spent("staff") == 1


def test_upper_and_lower_case_name_the_same_dataset(ledger: Ledger) -> None:
    _release(ledger, "Staff")
    assert ledger.releases("STAFF ") == 1
    assert ledger.datasets() == ["Staff"]


def test_datasets_do_not_share_their_counts(ledger: Ledger) -> None:
    _release(ledger, "staff", max_releases=1)
    _release(ledger, "pupils", max_releases=1)
    assert ledger.datasets() == ["pupils", "staff"]


@pytest.mark.parametrize("name", ["", " ", "../x", ".hidden", "a/b", "a\nb", "x" * 101])
def test_impossible_names_are_rejected(ledger: Ledger, name: str) -> None:
    with pytest.raises(InputError, match="not a possible name"):
        _release(ledger, name)
    assert not ledger.folder.exists()


def test_long_names_in_any_script_have_a_file(ledger: Ledger) -> None:
    name = "名" * 100
    _release(ledger, name)
    assert ledger.releases(name) == 1 and len(ledger.file(name).name) < 200
    assert check_dataset_name("Zürich") == check_dataset_name("Zu\u0308rich")


@given(st.fractions(min_value=-100, max_value=100))
def test_epsilon_is_written_exactly(value: Fraction) -> None:
    assert Fraction(exact_text(value)) == value
    assert "e" not in exact_text(value)


def test_epsilon_must_be_positive(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="not positive"):
        _sketch(ledger, "0")


# --- the same input under another name -----------------------------------------------------


def test_the_same_input_under_another_name_gives_a_warning(ledger: Ledger) -> None:
    _release(ledger, "staff", fingerprint="abc")
    with pytest.warns(ImportantWarning, match="before under the dataset name 'staff'"):
        _release(ledger, "people", fingerprint="abc")
    assert ledger.releases("people") == 1


def test_the_hash_of_the_input_is_not_in_the_ledger(ledger: Ledger) -> None:
    print_ = "0123456789abcdef" * 4
    _release(ledger, "staff", fingerprint=print_)
    _release(ledger, "staff", fingerprint=print_)
    assert all(print_.encode() not in content for content in _contents(ledger).values())
    first, second = (json.loads(row) for row in ledger.file("staff").read_text().splitlines())
    assert first["input"]["hash"] != second["input"]["hash"]


# --- earlier versions ----------------------------------------------------------------------


def test_counts_of_earlier_versions_are_taken_over_once(ledger: Ledger) -> None:
    ledger.folder.parent.mkdir()
    (ledger.folder.parent / "releases.json").write_text('{"abc": 3}')
    _release(ledger, fingerprint="abc")
    _release(ledger, fingerprint="abc")
    _release(ledger, "other", fingerprint="xyz")
    assert ledger.releases("staff") == 5 and ledger.releases("other") == 1
    assert ledger.entries("staff")[0].details == {"imported": "releases.json"}


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"abc": "x"}', '{"abc": {}}', '{"xyz": "x"}'])
def test_an_unreadable_count_of_an_earlier_version_is_refused(ledger: Ledger, text: str) -> None:
    ledger.folder.parent.mkdir()
    old = ledger.folder.parent / "releases.json"
    old.write_text(text)
    with pytest.raises(LedgerRefusal, match=r"releases\.json"):
        _release(ledger, fingerprint="abc")
    assert old.read_text() == text and ledger.releases("staff") == 0


# --- damaged, edited, cut, missing ---------------------------------------------------------


def _edit(path: Path) -> None:
    path.write_text(path.read_text().replace('"graphs": 1', '"graphs": 0'))


def _cut_tail(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def _cut_middle(path: Path) -> None:
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(rows[:1] + rows[2:]))


def _reorder(path: Path) -> None:
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([rows[1], rows[0], *rows[2:]]))


def _cut_within_the_last_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _double_the_last_line(path: Path) -> None:
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*rows, rows[-1]]))


def _empty(path: Path) -> None:
    path.write_text("")


def _garbage(path: Path) -> None:
    path.write_bytes(os.urandom(200))


@pytest.mark.parametrize(
    "damage",
    [
        _edit, _cut_tail, _cut_middle, _reorder, _cut_within_the_last_line, _double_the_last_line,
        _empty, _garbage,
    ],
)  # fmt: skip
def test_a_damaged_ledger_is_refused_and_left_as_it_is(
    ledger: Ledger, damage: Callable[[Path], None]
) -> None:
    for _ in range(3):
        entry = _release(ledger)
    damage(ledger.file("staff"))
    before = _contents(ledger)
    calls: list[Callable[[], object]] = [
        lambda: _release(ledger),
        lambda: _sketch(ledger, "1"),
        lambda: ledger.record("staff", epsilon=Fraction(1), reason="x"),
        lambda: ledger.finish(entry, "written"),
        lambda: ledger.verify("staff"),
        lambda: ledger.releases("staff"),
    ]
    for call in calls:
        with pytest.raises(LedgerRefusal, match=r"staff\.jsonl is damaged.*backup"):
            call()
    assert _contents(ledger) == before
    _release(ledger, "pupils")  # other datasets go on


def test_a_ledger_that_is_missing_after_it_existed_is_refused(ledger: Ledger) -> None:
    _release(ledger)
    ledger.file("staff").unlink()
    with pytest.raises(LedgerRefusal, match=r"staff\.jsonl is missing.*backup"):
        _release(ledger)
    assert not ledger.file("staff").exists()


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "null", '{"format": 1, "datasets": {}}'])
def test_a_damaged_or_missing_index_is_refused(ledger: Ledger, text: str | None) -> None:
    _release(ledger)
    index = ledger.folder / "index.json"
    if text is None:
        index.unlink()
    else:
        index.write_text(text)
    with pytest.raises(LedgerRefusal, match=r"index\.json is (missing|damaged)"):
        _release(ledger)
    assert index.exists() is (text is not None)


def test_an_edited_index_is_refused(ledger: Ledger) -> None:
    _release(ledger)
    index = ledger.folder / "index.json"
    index.write_text(index.read_text().replace('"lines": 1', '"lines": 0'))
    with pytest.raises(LedgerRefusal, match=r"index\.json is damaged"):
        _release(ledger)


def test_the_ledger_of_another_dataset_cannot_replace_a_ledger(ledger: Ledger) -> None:
    for dataset in ("staff", "staff", "pupils"):
        _release(ledger, dataset)
    ledger.file("staff").write_bytes(ledger.file("pupils").read_bytes())
    with pytest.raises(LedgerRefusal, match="line 1 was edited"):
        ledger.releases("staff")


# --- interrupted writes --------------------------------------------------------------------


def test_a_line_that_was_never_completed_does_not_lock_the_owner_out(ledger: Ledger) -> None:
    """`begin` had not returned, so nothing was drawn: the line does not count."""
    _release(ledger)
    with ledger.file("staff").open("ab") as file:
        file.write(b'{"event": "opened", "id": "12')
    assert ledger.releases("staff") == 1
    _release(ledger)
    assert ledger.releases("staff") == 2 and ledger.verify("staff") == 2


def test_a_line_that_the_index_does_not_have_yet_counts(ledger: Ledger) -> None:
    _release(ledger)
    index = (ledger.folder / "index.json").read_bytes()
    _release(ledger)
    (ledger.folder / "index.json").write_bytes(index)  # as if killed between the two writes
    assert ledger.releases("staff") == 2
    _release(ledger)
    assert ledger.verify("staff") == 3


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_counts_nothing_and_leaves_nothing_half_written(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    _sketch(ledger, "1")
    before = _contents(ledger)
    real = getattr(os, call)

    def full(*arguments: Any) -> Any:
        if call == "write":
            real(arguments[0], arguments[1][:10])  # a part fits
        raise OSError(errno.ENOSPC, "No space left on device", str(ledger.folder))

    monkeypatch.setattr(ledger_module.os, call, full)
    with pytest.raises(InputError, match="No space left on device"):
        _sketch(ledger, "1")
    monkeypatch.undo()
    assert _contents(ledger) == before
    assert ledger.spent("staff") == 1
    _sketch(ledger, "1")


def test_an_interrupt_at_any_write_leaves_a_ledger_that_can_be_used(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is interrupted: the ledger verifies, and has the entry or not."""
    _sketch(ledger, "1")
    for call in ("write", "fsync", "replace", "ftruncate", "close"):
        for after in range(4):
            before = ledger.spent("staff")
            real, left = getattr(os, call), [after]

            def interrupted(*given: Any, real: Any = real, left: list[int] = left) -> Any:
                result = real(*given)
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt
                return result

            monkeypatch.setattr(ledger_module.os, call, interrupted)
            with contextlib.suppress(KeyboardInterrupt):
                _sketch(ledger, "0.001")
            monkeypatch.undo()
            assert ledger.spent("staff") - before in (0, Fraction("0.001")), (call, after)
            ledger.verify("staff")


_KILLED = """
import os, signal
from fractions import Fraction
from pathlib import Path
from coterie.anonymize.ledger import Ledger
Ledger(Path({folder!r})).begin(
    "staff", kind="sketch", epsilon=Fraction("0.5"), cap=Fraction(1), details={{}}
)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_that_is_killed_stays_spent(ledger: Ledger) -> None:
    """kill -9 between the entry and the file: the budget is spent."""
    script = _KILLED.format(folder=str(ledger.folder.parent))
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert ledger.spent("staff") == Fraction(1, 2)
    assert [entry.state for entry in ledger.entries("staff")] == ["opened"]
    with pytest.raises(LedgerRefusal):
        _sketch(ledger, "0.6", cap="1")


def test_the_entry_is_synced_before_begin_returns(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def watched(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not show which files a process has open")
    monkeypatch.setattr(ledger_module.os, "fsync", watched)
    _release(ledger)
    assert str(ledger.file("staff")) in synced and str(ledger.folder) in synced


_WRITES = ("write", "fsync", "replace", "ftruncate", "open", "close")


def _killed_at(ledger: Ledger, place: int, epsilon: str) -> bool:
    """Open a run in a child process that is killed at one system call; say whether it was."""
    child = os.fork()
    if child == 0:  # only system calls from here on, and the end of the process
        left = [place]
        for name in _WRITES:

            def killing(*given: Any, real: Any = getattr(os, name), **more: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*given, **more)

            setattr(os, name, killing)
        _sketch(ledger, epsilon, cap="4")
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that share their memory")
def test_kills_at_every_write_and_sync_never_lock_a_dataset(ledger: Ledger) -> None:
    """One kill after the other, without a run in between that would tidy up."""
    _sketch(ledger, "1")
    for _ in range(2):
        for place in range(1, 60):
            before = ledger.spent("staff")
            killed = _killed_at(ledger, place, "0.001")
            after = ledger.spent("staff")
            assert after - before in (0, Fraction("0.001")), place
            if not killed:
                assert after - before == Fraction("0.001")
                break
        else:
            pytest.fail("the run never ended")
        assert place > 15  # every write of the line, of the index, and of the folder
    assert ledger.verify("staff") == len(ledger.entries("staff"))
    assert not list(ledger.folder.glob(".*.part"))


def _kill_before_the_index(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a line and not the index, as a process that ends between the two."""
    index = (ledger.folder / "index.json").read_bytes()
    _sketch(ledger, "0.5")
    (ledger.folder / "index.json").write_bytes(index)


def test_two_kills_between_the_line_and_the_index_do_not_lock_a_dataset(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    _sketch(ledger, "1")
    for _ in range(3):
        _kill_before_the_index(ledger, monkeypatch)
    assert ledger.spent("staff") == Fraction("2.5")
    _sketch(ledger, "0.5")
    assert ledger.verify("staff") == 5
    index = json.loads((ledger.folder / "index.json").read_text())
    assert index["datasets"]["staff"]["lines"] == 5


# --- the budget as an institution ------------------------------------------------------------


def test_a_stored_cap_can_be_lowered_by_a_run_and_raised_by_an_entry_only(ledger: Ledger) -> None:
    ledger.init("staff", cap=Fraction(2), owner="HR")
    assert ledger.cap("staff") == 2 and ledger.cap("other") == 4
    with pytest.raises(LedgerRefusal, match="is 2; a run can only lower it, not raise it to 999"):
        _sketch(ledger, "1", cap="999")
    with pytest.raises(LedgerRefusal, match=r"exceed the cap of 0\.5"):
        _sketch(ledger, "1", cap="0.5")
    _sketch(ledger, "2", cap="2")
    with pytest.raises(InputError, match="has a cap already"):
        ledger.init("staff", cap=Fraction(9), owner="HR")
    with pytest.raises(InputError, match="1 is not above it"):
        ledger.raise_cap("staff", cap=Fraction(1), reason="x")
    with pytest.raises(InputError, match="reason is empty"):
        ledger.raise_cap("staff", cap=Fraction(3), reason=" ")
    ledger.raise_cap("staff", cap=Fraction(3), reason="board")
    _sketch(ledger, "1", cap="3")
    kinds = [entry.kind for entry in ledger.entries("staff")]
    assert kinds == ["cap", "sketch", "cap", "sketch"] and ledger.spent("staff") == 3


def test_the_cap_of_a_dataset_without_a_stored_one_is_four(ledger: Ledger) -> None:
    """4 spent of 4, then epsilon 9 with a cap of 999: this was written."""
    _sketch(ledger, "4")
    with pytest.raises(LedgerRefusal, match="ledger init staff"):
        _sketch(ledger, "9", cap="999")
    with pytest.raises(InputError, match=r"no stored cap.*ledger init"):
        ledger.raise_cap("staff", cap=Fraction(9), reason="x")


def test_what_was_spent_elsewhere_counts(ledger: Ledger) -> None:
    ledger.record("staff", epsilon=Fraction(3), reason="sketch of 2025")
    with pytest.raises(LedgerRefusal, match="has spent epsilon 3"):
        _sketch(ledger, "1.5")
    ledger.record("staff", epsilon=None, graphs=2, reason="release of 2024")
    assert ledger.releases("staff") == 2
    with pytest.raises(InputError, match="nothing to record"):
        ledger.record("staff", epsilon=None, reason="x")
    with pytest.raises(InputError, match="spent epsilon 3, more than the cap of 2"):
        ledger.init("staff", cap=Fraction(2), owner="HR")


def test_a_new_name_carries_the_budget_over(ledger: Ledger) -> None:
    _sketch(ledger, "1.5")
    _release(ledger, graphs=3)
    ledger.init("people", cap=Fraction(2), owner="HR", continues="Staff")
    assert ledger.spent("people") == Fraction("1.5") and ledger.releases("people") == 3
    with pytest.raises(InputError, match="no other dataset 'nobody'"):
        ledger.init("third", cap=Fraction(2), owner="HR", continues="nobody")


def test_a_sketch_after_a_measured_release_needs_a_decision(ledger: Ledger) -> None:
    ledger.finish(_release(ledger), "refused")
    _sketch(ledger, "0.5")  # a release that was refused was not published
    _release(ledger, graphs=2)
    with pytest.raises(LedgerRefusal, match=r"2 graphs were published .* no epsilon"):
        _sketch(ledger, "0.5")
    options = {"kind": "sketch", "epsilon": Fraction("0.5"), "details": {}}
    ledger.begin("staff", **options, after_release=True)
    assert ledger.spent("staff") == 1


# --- repair ----------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [_edit, _cut_tail, _cut_middle, _reorder, _empty, _garbage])
def test_a_repair_keeps_what_is_left_and_counts_what_was_lost(
    ledger: Ledger, damage: Callable[[Path], None]
) -> None:
    _release(ledger)
    for _ in range(2):
        ledger.begin(
            "staff", kind="sketch", epsilon=Fraction("0.5"), details={}, after_release=True
        )
    damage(ledger.file("staff"))
    old = ledger.file("staff").read_bytes()
    with pytest.raises(InputError, match="must be recorded"):
        ledger.repair("staff", reason="disk failure")
    assert ledger.file("staff").read_bytes() == old
    done = ledger.repair("staff", reason="disk failure", epsilon=Fraction(1), graphs=1)
    assert done.found and done.copy is not None and done.copy.read_bytes() == old
    assert ledger.spent("staff") >= 1 and ledger.releases("staff") >= 1
    assert ledger.verify("staff") == done.lines
    assert ledger.entries("staff")[-1].details["reason"] == "disk failure"
    assert ledger.repair("staff", reason="again").found == ""


def test_a_repair_does_not_accept_less_than_damaged_lines_say(ledger: Ledger) -> None:
    for _ in range(3):
        _sketch(ledger, "0.75")
    rows = ledger.file("staff").read_text().splitlines(keepends=True)
    ledger.file("staff").write_text(rows[0] + rows[2])
    with pytest.raises(InputError, match=r"name epsilon 0\.75"):
        ledger.repair("staff", reason="x", epsilon=Fraction("0.5"))
    ledger.repair("staff", reason="x", epsilon=Fraction("1.5"))
    assert ledger.spent("staff") == Fraction("2.25")


@pytest.mark.parametrize("text", [None, "", '{"format": 1, "datasets": {}}'])
def test_a_lost_index_is_made_again(ledger: Ledger, text: str | None) -> None:
    _sketch(ledger, "1")
    _release(ledger, "Pupils")
    index = ledger.folder / "index.json"
    index.unlink() if text is None else index.write_text(text)
    done = ledger.repair("staff", reason="lost")
    assert "index was missing or damaged" in done.found
    assert ledger.spent("staff") == 1 and ledger.releases("pupils") == 1
    assert ledger.datasets() == ["Pupils", "staff"]


# --- a ledger that a group shares --------------------------------------------------------------


@pytest.fixture
def shared(tmp_path: Path) -> Ledger:
    state = tmp_path / "shared"
    state.mkdir()
    state.chmod(0o2770)
    return Ledger(state)


@pytest.mark.skipif(os.name != "posix", reason="needs groups")
def test_a_shared_ledger_can_be_written_by_the_group(shared: Ledger) -> None:
    ledger = shared
    ledger.finish(_sketch(ledger, "1"), "written")
    assert ledger.folder.stat().st_mode & 0o7777 == 0o2770
    for path in ledger.folder.iterdir():
        assert path.stat().st_mode & 0o7777 == 0o660, path
    (ledger.folder / "index.json").chmod(0o600)
    with pytest.raises(LedgerRefusal, match=r"index\.json has the mode 600 .* needs 660"):
        _sketch(ledger, "1")
    (ledger.folder / "index.json").chmod(0o660)
    ledger.folder.chmod(0o2777)
    with pytest.raises(LedgerRefusal, match=r"mode 2777 .* needs 2770"):
        _sketch(ledger, "1")


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="needs two accounts")
def test_two_accounts_of_a_group_share_a_ledger(shared: Ledger, tmp_path: Path) -> None:
    """Two processes with other users and the same group, one after the other and at once."""
    group = 4321
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    os.chown(shared.folder.parent, -1, group)
    children = []
    for user in (4001, 4002, 4001):
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                os.setgroups([group])
                os.setgid(100 + user)
                os.setuid(user)
                _sketch(shared, "0.5")
                code = 0
            os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert shared.spent("staff") == Fraction("1.5")


# --- several processes ---------------------------------------------------------------------


def _try_release(folder: str, limit: int) -> str:
    try:
        _release(Ledger(folder), max_releases=limit)
    except LedgerRefusal as refusal:
        return str(refusal)
    return "released"


def test_of_four_parallel_runs_only_the_allowed_number_pass(ledger: Ledger) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        answers = pool.starmap(_try_release, [(str(ledger.folder.parent), 2)] * 4)
    assert answers.count("released") == 2, answers
    assert ledger.releases("staff") == 2


def test_parallel_threads_lose_no_entry(ledger: Ledger) -> None:
    threads = [
        threading.Thread(target=lambda: ledger.finish(_release(ledger), "written"))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.releases("staff") == 8 and ledger.verify("staff") == 16


def test_a_lock_that_is_not_released_is_refused(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_store, "_LOCK_SECONDS", 0.1)
    with ledger._store.locked(), pytest.raises(LedgerRefusal, match="locked by another process"):
        _release(ledger)


# --- files ---------------------------------------------------------------------------------


def test_only_the_owner_can_read_the_ledger(ledger: Ledger) -> None:
    previous = os.umask(0)
    try:
        _release(ledger)
    finally:
        os.umask(previous)
    assert ledger.folder.stat().st_mode & 0o777 == 0o700
    for path in ledger.folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerRefusal, match="cannot be used"):
        _release(Ledger(tmp_path / "file"))


def test_reading_an_empty_ledger_creates_nothing(ledger: Ledger) -> None:
    assert ledger.datasets() == [] and ledger.entries("staff") == []
    assert ledger.verify("staff") == 0 and ledger.spent("staff") == 0
    assert not ledger.folder.parent.exists()


# --- the command ---------------------------------------------------------------------------


def test_ledger_show_and_verify(ledger: Ledger, tmp_path: Path) -> None:
    ledger.finish(_sketch(ledger, "0.5"), "written")
    _release(ledger, "pupils", graphs=2)
    state = {"COTERIE_STATE": str(ledger.folder.parent)}
    shown = coterie("ledger", "show", "--json", folder=tmp_path, environment=state)
    result = json.loads(shown.stdout)
    assert [entry["epsilon"] for entry in result["entries"]] == [None, "0.5"]
    assert [entry["state"] for entry in result["entries"]] == ["opened", "written"]
    one = coterie("ledger", "show", "--dataset", "STAFF", folder=tmp_path, environment=state)
    assert "0 graphs released, epsilon 0.5 spent of 4" in one.stdout and "pupils" not in one.stdout
    good = coterie("ledger", "verify", folder=tmp_path, environment=state)
    assert good.returncode == 0 and "staff: 2 lines" in good.stdout
    unknown = coterie("ledger", "show", "--dataset", "x", folder=tmp_path, environment=state)
    assert unknown.returncode == 2 and "pupils, staff" in unknown.stderr
    _edit(ledger.file("pupils"))
    ledger.file("pupils").write_text(ledger.file("pupils").read_text().replace("2,", "1,"))
    for arguments in (("verify", "--quiet"), ("show",), ("verify", "--json")):
        bad = coterie("ledger", *arguments, folder=tmp_path, environment=state)
        assert bad.returncode == 3 and "pupils.jsonl is damaged" in bad.stderr


def test_the_commands_of_the_budget(tmp_path: Path) -> None:
    state = {"COTERIE_STATE": str(tmp_path / "state")}

    def run(*arguments: str) -> Any:
        return coterie("ledger", *arguments, folder=tmp_path, environment=state)

    made = run("init", "staff", "--cap", "2", "--owner", "HR", "--json")
    assert json.loads(made.stdout) == {"dataset": "staff", "spent": "0", "cap": "2", "releases": 0}
    run("record", "staff", "--epsilon", "0.5", "--reason", "sketch of 2025")
    raised = run("raise", "staff", "--cap", "3", "--reason", "board")
    assert raised.stdout == "staff: epsilon 0.5 spent of 3\n"
    assert "nothing to repair" in run("repair", "staff", "--reason", "x").stdout
    next_ = run("init", "people", "--cap", "1", "--owner", "HR", "--continues", "staff")
    assert next_.stdout == "people: epsilon 0.5 spent of 1\n"
    shown = run("show", "--dataset", "staff").stdout
    assert "cap 2; owner: HR" in shown and "reason: sketch of 2025" in shown
    low = run("init", "third", "--cap", "0.1", "--owner", "HR", "--continues", "staff")
    assert low.returncode == 2 and "more than the cap of 0.1" in low.stderr
