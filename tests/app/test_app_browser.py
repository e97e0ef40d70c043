"""The application in a real browser: each journey from file to download, at two widths."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.app.conftest import Running

pytest.importorskip("selenium", reason="no selenium: pip install '.[dev]'")
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WIDTHS = (400, 1400)
LONG = 900  # seconds for a job on a busy machine that compiles everything
DEMO = Path(__file__).parents[2] / "src/coterie/app/web/demo"


class Found:
    """A part of a page, looked up again if the page was drawn again in the meantime."""

    def __init__(self, driver: Any, selector: str) -> None:
        self._look_up = lambda: driver.find_element(By.CSS_SELECTOR, selector)
        self._look_up()

    def _again(self, action: Callable[[Any], Any]) -> Any:
        for _ in range(20):
            try:
                return action(self._look_up())
            except StaleElementReferenceException:
                time.sleep(0.1)
        return action(self._look_up())

    @property
    def element(self) -> Any:
        return self._look_up()

    @property
    def text(self) -> str:
        return self._again(lambda element: element.text)

    def get_attribute(self, name: str) -> Any:
        return self._again(lambda element: element.get_attribute(name))

    def is_displayed(self) -> bool:
        return self._again(lambda element: element.is_displayed())

    def click(self) -> None:
        self._again(lambda element: element.click())

    def clear(self) -> None:
        self._again(lambda element: element.clear())

    def send_keys(self, *keys: str) -> None:
        self._again(lambda element: element.send_keys(*keys))


class Tab:
    """A browser that is signed in to a running application."""

    def __init__(self, driver: Any, address: str, private: Path, pid: int) -> None:
        self.driver = driver
        self.pid = pid  # of the application
        self.base = address.partition("/sign-in")[0]
        self.private = private
        self.automatic = ""  # number of blocks that the program chose
        self.seen = 0  # number of the last job that was waited for
        driver.get(address)

    def open(self, path: str) -> None:
        self.driver.get(self.base + path)

    def width(self, pixels: int) -> None:
        size = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def find(self, selector: str) -> Found:
        return Found(self.driver, selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    @property
    def text(self) -> str:
        return self.driver.execute_script("return document.body.innerText")

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            try:
                if found := condition():
                    return found
            except Exception as error:  # the page is being replaced
                passing = (
                    "stale",
                    "no such element",
                    "not interactable",
                    "intercepted",
                    "script timeout",  # the page was left while the script ran
                )
                if not any(word in str(error) for word in passing):
                    raise
            time.sleep(0.1)
        raise AssertionError(f"not within {LONG} s: {what}\n{self.text[:3000]}")

    def sees(self, words: str) -> None:
        self.until(lambda: words in self.text, words)

    def click(self, selector: str) -> None:
        def clicked() -> bool:
            found = self.find(selector).element
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
            found.click()
            return True

        self.until(clicked, f"a click on {selector}")

    def choose(self, name: str, value: str) -> None:
        """Choose an option of a list; again if the page was drawn again at that moment."""

        def chosen() -> bool:
            self.find(f'select[name="{name}"] option[value="{value}"]').click()
            return self.find(f'select[name="{name}"]').get_attribute("value") == value

        self.until(chosen, f"{value} in {name}")

    def unfold(self, selector: str) -> None:
        """Open a part of the page that can be folded."""

        def is_open() -> bool:
            if self.find(selector).get_attribute("open") is None:
                self.find(f"{selector} > summary").click()
            return self.find(selector).get_attribute("open") is not None

        self.until(is_open, f"{selector} is open")

    def hold_worker(self, other_than: int) -> int:
        """Pause the process that waits for the next job, and return its number."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")

        def waiting() -> list[int]:
            return [
                int(child)
                for child in children.read_text().split()
                if int(child) != other_than
                and b"web.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
            ]

        found = self.until(lambda: len(waiting()) == 1 and waiting(), "a process that waits")[0]
        os.kill(found, signal.SIGSTOP)
        return found

    def ended(self) -> None:
        """Wait until no job runs."""
        running = ("running", "stopping")
        self.until(lambda: (self.job() or {}).get("state") not in running, "the end")
        self.seen = (self.job() or {}).get("number", 0)

    def job(self) -> dict[str, Any] | None:
        script = """
            const f = arguments[0];
            fetch('/state').then(r => r.json()).then(s => f(s.job)).catch(() => f(null));
        """
        return self.driver.execute_async_script(script)

    def finished(self, step: str) -> None:
        """Wait until a new job of a step has ended with a result."""

        def ended() -> dict[str, Any] | None:
            job = self.job()
            if job is None or job["number"] <= self.seen or job["step"] != step:
                return None
            return None if job["state"] in ("running", "stopping") else job

        job = self.until(ended, f"the end of {step}")
        self.seen = job["number"]
        assert job["state"] == "finished", job["message"]

    def get(self, path: str) -> tuple[int, bytes]:
        """Fetch with the cookie of the browser."""
        script = """
            const f = arguments[1];
            fetch(arguments[0]).then(r => r.arrayBuffer().then(b => f([r.status,
                Array.from(new Uint8Array(b))]))).catch(e => f([0, []]))
        """
        status, content = self.driver.execute_async_script(script, path)
        return status, bytes(content)

    def upload(self, path: Path) -> None:
        self.open("/data")
        self.find("#file").send_keys(str(path))

    def errors(self) -> list[str]:
        """Return what the browser complained about since the last call."""
        found = self.driver.get_log("browser")
        return [entry["message"] for entry in found if entry["level"] == "SEVERE"]

    def fits(self) -> None:
        """Nothing is wider than the screen, at either width."""
        for width in WIDTHS:
            self.width(width)
            wide = self.driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{self.driver.current_url} is {wide} px wide at {width} px"


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory):
    """One application and one browser for all tests of this file."""
    private = tmp_path_factory.mktemp("private")
    state = tmp_path_factory.mktemp("state")
    running = Running("app", "--no-browser", "--private", str(private), COTERIE_STATE=str(state))
    assert running.address, running.printed
    browser.set_script_timeout(60)
    found = Tab(browser, running.address, private, running.process.pid)
    yield found
    assert running.stop() == 0, running.printed


@pytest.fixture(autouse=True)
def _no_errors(tab):
    tab.errors()
    yield
    assert tab.errors() == []


def _demo(tab: Tab, kind: str) -> None:
    """Take a demo data set; one that was taken earlier is there without a new job."""
    tab.open("/data")
    tab.click(f'input[value="{kind}"] + button')
    tab.until(lambda: f"demo-{kind}.csv" in tab.find("#top").text, f"the demo {kind}")
    tab.ended()


@pytest.fixture(scope="module")
def published(tab):
    """The journey of a network: data, blocks, frontier, release. Later tests look at the result."""
    tab.width(1400)
    tab.upload(DEMO / "demo-network.csv")
    tab.finished("data")
    tab.sees("This looks like a network of 300 nodes")
    tab.fits()
    tab.width(1400)
    tab.open("/explore")
    tab.click('form[action="/explore/start"] button[type=submit]')
    tab.finished("explore")
    tab.sees("connections form")
    tab.automatic = re.search(r"form (\d+) blocks", tab.text)[1]
    tab.open("/publish")
    tab.click('form[action="/publish/frontier"] button[type=submit]')
    tab.finished("publish")
    tab.sees("Make the release")
    field = tab.find('form[action="/publish/release"] [name=dataset]')
    field.clear()
    field.send_keys("club members")
    tab.click('form[action="/publish/release"] button[type=submit]')
    tab.finished("release")
    tab.sees("Every limit of the policy holds.")
    return tab


def test_explore_shows_the_network_its_blocks_and_a_search(published):
    tab = published
    tab.open("/explore")
    tab.fits()
    assert tab.all(".chart.nodes .hit"), "the network itself is drawn"
    tab.click("#blocks .chip")
    tab.until(lambda: len(tab.all("#members li")) > 10, "the members of a block")
    name = tab.find("#members li").text.partition("\n")[0].rpartition(" ")[0].split("  ")[0]
    tab.find("#search").send_keys("Ada ")
    tab.until(  # not what "A" and "Ad" found, which may come first
        lambda: (found := tab.all("#found .chip")) and all("Ada " in chip.text for chip in found),
        "found nodes",
    )
    assert name
    tab.until(lambda: len(tab.all(".network-key button")) > 2, "the interactive drawing")
    for entry in tab.all(".network-key button")[:2]:  # a block in the legend: its nodes are listed
        number = entry.text.split()[1]
        tab.driver.execute_script("arguments[0].click()", entry)
        tab.sees(f"Block {number}: ")
    status, labels = tab.get("/download/explore/labels.csv")
    assert status == 200 and len(labels.splitlines()) == 301
    for file in ("report.html", "picture.svg"):
        assert tab.get(f"/download/explore/{file}")[0] == 200


def test_the_frontier_is_drawn_and_moving_along_it_changes_both_sides(published):
    tab = published
    tab.open("/publish")
    tab.fits()
    marks = len(tab.all(".frontier .hit"))
    assert 6 <= marks <= 12
    assert tab.all(".frontier .recommended"), "the recommended setting is marked"
    before = tab.find(".point:not([hidden])").text
    script = """
        const range = document.getElementById("point-range");
        range.value = range.value === range.max ? range.min : range.max;
        range.dispatchEvent(new Event("input", {bubbles: true}));
        range.dispatchEvent(new Event("change", {bubbles: true}));
    """
    tab.driver.execute_script(script)
    tab.until(lambda: tab.find(".point:not([hidden])").text != before, "another setting")
    shown = tab.find(".point:not([hidden])").get_attribute("data-index")
    tab.until(lambda: tab.find(".point-value").get_attribute("value") == shown, "its number")
    tab.until(
        lambda: tab.driver.execute_script(
            "return fetch('/publish').then(r => r.text()).then(t => t.includes("
            f'\'name="point" value="{shown}"\'))'
        ),
        "the server knows the setting",
    )
    # a mark that is pressed is chosen
    other = int(shown) - 1 if int(shown) else 1
    tab.driver.execute_script(
        "document.querySelectorAll('.frontier .hit')[arguments[0]]"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))",
        other,
    )
    tab.until(
        lambda: tab.find(".point:not([hidden])").get_attribute("data-index") == str(other),
        "the mark that was pressed",
    )


def test_earlier_answers_do_not_replace_later_ones(published):
    """Answers to a search can arrive in another order than they were asked."""
    tab = published
    tab.open("/explore")
    script = """
        const usual = window.fetch, place = document.getElementById("search");
        const late = [];
        window.fetch = (address, ...rest) => String(address).includes("q=Ada")
            ? new Promise((done) => late.push(() => done(usual(address, ...rest))))
            : usual(address, ...rest);
        window.answerTheFirst = () => late.forEach((one) => one());
        const type = (text) => {
            place.value = text;
            place.dispatchEvent(new Event("input", {bubbles: true}));
        };
        type("Ada");
        setTimeout(() => type("Noor"), 400);
    """
    tab.driver.execute_script(script)
    tab.until(lambda: "Noor" in tab.find("#found").text, "the last search")
    tab.driver.execute_script("answerTheFirst()")
    assert tab.get("/state")[0] == 200  # asked after the late answer
    assert "Noor" in tab.find("#found").text and "Ada" not in tab.find("#found").text


def test_the_release_can_be_downloaded_and_nothing_private_can(published):
    tab = published
    tab.open("/publish")
    tab.sees("Every limit of the policy holds.")
    assert "copy without names" in tab.text
    status, content = tab.get("/download/release/release.zip")
    assert status == 200
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert sorted(archive.namelist()) == ["release/graph.csv", "release/report.html"]
        graph = archive.read("release/graph.csv").decode()
    assert "Ada" not in graph and len(graph.splitlines()) > 500
    audits = list(tab.private.rglob("audit.json"))
    assert len(audits) == 1 and audits[0].parent.stat().st_mode & 0o777 == 0o700
    audit = json.loads(audits[0].read_text())
    secret = [str(audit["entropy"]), audit["input_sha256"], audit["ledger_entry"]]
    paths = ["/publish", "/data", "/explore", "/state", "/download/release/report.html"]
    paths += ["/download/policy.toml", "/download/reproduce.sh", "/download/reproduce.py"]
    for path in paths:
        status, content = tab.get(path)
        assert status == 200, path
        assert not any(word in content.decode() for word in secret), path
    for path in (
        "/download/release/audit.json",
        "/download/release/DO-NOT-PUBLISH.txt",
        "/download/release/..%2f..%2fprivate",
        "/download/private/audit.json",
        "/download/release/identity.csv",
        f"/download/release{audits[0]}",
        str(audits[0]),
    ):
        assert tab.get(path)[0] == 404, path
    tab.errors()  # the browser reports the refused requests


def test_what_repeats_the_release_can_be_downloaded(published):
    """`test_app.py` runs the script and the command."""
    tab = published
    tab.open("/publish")
    links = [link.get_attribute("href") for link in tab.all("#release .downloads a")]
    names = ("reproduce.py", "reproduce.sh", "policy.toml", "input")
    for name in names:
        assert f"{tab.base}/download/{name}" in links
        assert tab.get(f"/download/{name}")[0] == 200
    assert "--blocks" in tab.get("/download/reproduce.sh")[1].decode()


def test_a_reload_a_second_tab_and_another_step_show_the_same_state(published):
    tab = published
    tab.open("/explore")
    tab.unfold("details.settings")
    field = tab.find('[name="blocks"]')
    field.clear()
    field.send_keys("17")
    tab.click('form[action="/explore/start"] button[type=submit]')
    first = tab.driver.current_window_handle
    tab.driver.switch_to.new_window("tab")
    tab.open("/explore")
    tab.driver.refresh()
    tab.finished("explore")
    tab.sees("form 17 blocks")
    tab.driver.close()
    tab.driver.switch_to.window(first)
    tab.sees("form 17 blocks")  # drawn again without a reload
    # Back to the first result, without computing: no job starts.
    tab.click('.earlier button[aria-pressed="false"]')
    tab.sees(f"form {tab.automatic} blocks")
    assert tab.job()["state"] == "finished"
    tab.open("/data")
    assert f"{tab.automatic}, chosen automatically" in tab.find(".choices").text
    tab.driver.back()
    tab.sees(f"form {tab.automatic} blocks")


def test_a_page_that_missed_a_change_is_drawn_again(tab):
    """A change between drawing a page and listening for changes is not lost."""
    _demo(tab, "network")
    tab.open("/data")
    script = """
        document.body.dataset.version = "-1";  // as if the page had been drawn earlier
        dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}));
    """
    tab.driver.execute_script(script)
    version = "return document.body.dataset.version"
    tab.until(lambda: int(tab.driver.execute_script(version)) > 0, "the page is drawn again")


def test_a_job_can_be_stopped_and_cancelled(tab):
    _demo(tab, "network")
    # The process that waits for the job is held, so that the job is not over too early.
    held = tab.hold_worker(0)
    tab.open("/explore")
    tab.click('form[action="/explore/start"] button[type=submit]')
    tab.until(lambda: tab.all("#job"), "progress")
    tab.driver.refresh()  # in the middle
    tab.click('form[action="/job/cancel"] button')
    tab.until(lambda: tab.job()["state"] == "cancelled", "the end")
    tab.ended()
    tab.until(lambda: not tab.all("#job"), "the form again")
    held = tab.hold_worker(held)
    tab.click('form[action="/explore/start"] button[type=submit]')
    tab.until(lambda: tab.all("#job"), "progress")
    tab.click('form[action="/job/stop"] button')
    tab.until(lambda: tab.job()["state"] == "stopping", "the stop")
    tab.sees("Stopping …")
    os.kill(held, signal.SIGCONT)
    tab.finished("explore")
    tab.sees("The search was stopped before it was finished.")
    tab.fits()
    assert "unfinished" in tab.find(".choices").text and "better than none" not in tab.text
    tab.click('.verdict form[action="/result/choose"] button')
    tab.finished("explore")
    tab.sees("connections form")
    assert "chosen automatically" in tab.find(".choices").text


def test_twenty_tabs_are_answered_and_get_the_changes(tab):
    """A browser opens six connections to a server, and a stream of events keeps one."""
    _demo(tab, "network")
    first = tab.driver.current_window_handle
    opened = []
    try:
        for _ in range(20):
            tab.driver.switch_to.new_window("tab")
            opened.append(tab.driver.current_window_handle)
            began = time.monotonic()
            tab.open("/data")
            assert "Which data?" in tab.text and time.monotonic() - began < 10
        _demo(tab, "ratings")
        tab.driver.switch_to.window(opened[0])
        tab.sees("ratings of 100 items")
    finally:
        for one in opened:
            tab.driver.switch_to.window(one)
            tab.driver.close()
        tab.driver.switch_to.window(first)
    _demo(tab, "network")
    tab.sees("a network of 300 nodes")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01", "picture.png"),
        ("one.csv", b"source,target\na,b\nc\n", "line 3"),
    ],
)
def test_bad_files_are_explained(tab, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    tab.upload(tmp_path / name)
    tab.sees(words)
    tab.ended()
    tab.sees("THIS DID NOT WORK" if content else words)
    assert "Traceback" not in tab.text and "/tmp/" not in tab.text
    tab.errors()  # the browser reports the refused upload


def test_a_file_of_2_gb_is_refused_at_once(tab, tmp_path):
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(2 << 30)  # takes no space
    tab.upload(tmp_path / "huge.csv")
    tab.sees("huge.csv has 2,048 MB; the maximum is 512 MB.")
    assert tab.get("/data")[0] == 200


def test_a_network_that_is_too_small_to_publish(tab, tmp_path):
    (tmp_path / "few.csv").write_text("source,target\na,b\nb,c\nc,a\n")
    tab.upload(tmp_path / "few.csv")
    tab.finished("data")
    tab.open("/publish")
    tab.click('form[action="/publish/frontier"] button[type=submit]')
    tab.sees("too small to publish")
    tab.ended()


def test_hostile_names_are_only_text(tab, tmp_path):
    evil = "<script>document.title='taken'</script>"
    rows = [f'"{evil}",=cmd()', "=cmd(),b", f'b,"{evil}"', "b,c", "c,=cmd()", "<b>x</b>,c"]
    (tmp_path / "evil.csv").write_text("source,target\n" + "\n".join(rows) + "\n")
    tab.upload(tmp_path / "evil.csv")
    tab.finished("data")
    tab.open("/data")
    assert evil in tab.text
    tab.open("/explore")
    tab.click('form[action="/explore/start"] button[type=submit]')
    tab.finished("explore")
    tab.sees("nodes with")
    tab.click("#blocks .chip")
    tab.until(lambda: tab.all("#members li"), "members")
    assert tab.driver.title.startswith("Explore")
    assert not tab.all("#main script") and not tab.all("#members b")
    labels = tab.get("/download/explore/labels.csv")[1].decode()
    assert "'=cmd()" in labels and "\n=cmd()" not in labels


def test_columns_can_be_chosen(tab, tmp_path):
    (tmp_path / "odd.csv").write_text("when,who,whom\n1,a,b\n2,b,c\n3,c,d\n4,d,a\n")
    tab.upload(tmp_path / "odd.csv")
    tab.finished("data")
    tab.sees("does not say what its columns mean")
    tab.open("/data")
    assert tab.find("details.settings").get_attribute("open") is not None
    tab.click('[type="radio"][name="kind"][value="network"]')
    for name, value in (("source", "1"), ("target", "2")):
        tab.choose(name, value)
    tab.click('form[action="/data/settings"] button')
    tab.finished("data")
    tab.sees("a network of 4 nodes with 4 connections")
    tab.open("/data")
    assert tab.find('select[name="target"]').get_attribute("value") == "2"
    assert "does not say what its columns mean" not in tab.text


def test_a_private_release_with_a_node_list(tab, tmp_path):
    """Epsilon, node list, name, ledger, release: all in the browser, at both widths."""
    _demo(tab, "network")
    tab.width(400)
    tab.open("/publish")
    assert "too small to publish" not in tab.text  # which was said of other data
    tab.unfold("section > details.settings:has(#dp)")
    tab.sees("Do not try several and keep the one whose figures you like")
    field = tab.find("#private-form [name=epsilon]")
    field.clear()
    field.send_keys("3")
    (tmp_path / "twice.txt").write_text("Noor Ueda\nNoor Ueda\n")
    tab.find("#people-file").send_keys(str(tmp_path / "twice.txt"))
    tab.sees("twice.txt, line 2: the node 'Noor Ueda' is listed twice")
    assert len(tab.errors()) == 1  # the status 422, which the browser reports
    tab.find("#people-file").send_keys(str(DEMO / "demo-people.txt"))
    tab.sees("demo-people.txt, 300 people")
    tab.fits()
    # what was typed is still there, although the page was drawn again
    assert tab.find("#private-form [name=epsilon]").get_attribute("value") == "3"
    field = tab.find("#private-form [name=dataset]")
    field.clear()
    field.send_keys("club of the demo")
    tab.sees("Nothing was published from “club of the demo” so far.")
    tab.click("#private-form > button[type=submit]")
    tab.finished("release")
    tab.sees("“club of the demo” has spent 3 of 4.")
    tab.sees("more than 20.1 times as likely")
    tab.fits()
    assert tab.get("/download/release/network.sketch")[0] == 200
    assert tab.get("/download/release/graph.csv")[1].startswith(b"# nodes: 300\nsource")
    assert tab.get("/download/people")[1] == (DEMO / "demo-people.txt").read_bytes()


def test_recommendations_from_file_to_download(tab):
    tab.width(1400)
    _demo(tab, "ratings")
    tab.sees("ratings of 100 items by 240 users")
    tab.fits()
    tab.width(1400)
    tab.open("/recommend")
    tab.click('[name="model"][value="mmsbm"]')
    tab.click('form[action="/recommend/fit"] button')
    tab.finished("recommend")
    tab.sees("a prediction is typically wrong by")
    tab.fits()
    tab.width(1400)
    tab.find('[name="user"]').send_keys("Ada A.")
    tab.click('form[action="/recommend"] button')
    tab.until(lambda: len(tab.all(".ranked li")) >= 10, "a list")
    tab.click(".ranked summary")
    assert tab.find(".ranked .why").is_displayed()
    names = [select.get_attribute("name") for select in tab.all('select[name^="item-"]')]
    assert len(names) == 10
    for name in names:
        tab.choose(name, "5")
    tab.click('form[action="/recommend/rate"].fields button')
    tab.sees("Your list")
    assert len(tab.all("#your-list .ranked > li")) == 10
    # what was rated stays visible, and can be taken back
    assert tab.find(f'select[name="{names[0]}"]').get_attribute("value") == "5"
    tab.choose(names[0], "")
    tab.click('form[action="/recommend/rate"].fields button')
    tab.sees("From your 9 ratings")
    status, table = tab.get("/download/recommend/recommendations.csv")
    assert status == 200 and len(table.decode().splitlines()) == 1 + 240 * 10
    assert tab.get("/download/recommend/model.coterie")[0] == 200
    tab.open("/recommend?user=Nobody")
    tab.sees("There is no user “Nobody”")


def test_keyboard_alone_reaches_every_control(tab):
    tab.ended()
    tab.open("/data")
    # One call per step, because the page may be drawn again between two.
    script = """
        const e = document.activeElement;
        return [e.tagName.toLowerCase(), e.innerText || e.id, getComputedStyle(e).outlineStyle]
    """
    reached = set()
    for _ in range(60):
        ActionChains(tab.driver).send_keys(Keys.TAB).perform()
        name, text, outline = tab.driver.execute_script(script)
        reached.add((name, text))
        if name in ("a", "button", "input", "summary", "select"):
            assert outline != "none", (name, text)
    assert ("input", "file") in reached
    assert ("button", "Demo network") in reached and ("button", "Demo ratings") in reached


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The source of axe-core, from the npm registry; nothing of it is stored here."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: apt-get install npm")
    folder = tmp_path_factory.mktemp("axe")
    made = subprocess.run(
        [npm, "install", "--silent", "--no-audit", "--no-fund", "axe-core@4"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
    )
    file = folder / "node_modules" / "axe-core" / "axe.min.js"
    if made.returncode or not file.exists():
        pytest.skip(f"axe-core could not be installed: {made.stderr[-200:]}")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_an_accessibility_violation(tab, published, axe, width, scheme):
    tab.width(width)
    feature = [{"name": "prefers-color-scheme", "value": scheme}]
    tab.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
    tab.open("/data")
    if "demo-ratings" not in tab.text:
        _demo(tab, "ratings")
    seen = 0
    for number, steps in (("1", ("data", "explore", "publish")), (None, ("data", "recommend"))):
        tab.open("/data")
        chosen = [
            button
            for button in tab.all('form[action="/data/choose"] button')
            if (number and button.text.startswith(f"{number}.")) or "demo-ratings" in button.text
        ]
        if not chosen:
            continue
        tab.driver.execute_script("arguments[0].click()", chosen[0] if number else chosen[-1])
        tab.until(lambda: tab.all(".choices"), "the data")
        for step in steps:
            tab.open(f"/{step}")
            tab.driver.execute_script(axe)
            found = tab.driver.execute_async_script(
                "axe.run().then(r => arguments[arguments.length - 1](r.violations.map("
                "v => [v.id, v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary)])))"
            )
            assert found == [], f"{step} at {width} px, {scheme}: {json.dumps(found, indent=1)}"
            seen += 1
    tab.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen >= 2
