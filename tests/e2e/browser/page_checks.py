"""The page of `mcpmock report` in a real browser. Run by tests/e2e/test_report_page.py in a virtual
environment of its own: this folder's tests know nothing of mcpmock but the pages in $PAGES.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, sync_playwright

PAGES = Path(os.environ["PAGES"])
AXE = os.environ.get("AXE")
WATCHED = os.environ["WATCHED"]
MAX_DELAY_MS = 200
"""From the write of an event to its row on the page."""
EVENTS_WATCHED = 5
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a page from the disk; it asks for nothing else, and nothing goes wrong in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    wrong: list[str] = []
    requests: list[str] = []

    def asked(request: Request) -> None:
        requests.append(request.url)

    def opened_dialog(dialog: Dialog) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def show(name: str, link: str = "", **more: object) -> Page:
        page = context.new_page()
        page.on("request", asked)
        page.on("dialog", opened_dialog)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("console", lambda said: wrong.append(f"console: {said.text}"))
        page.goto((PAGES / name).as_uri() + link)
        page.locator("html[data-ready=yes]").wait_for(timeout=30_000)
        return page

    yield show
    context.close()
    assert wrong == []
    assert all(url.startswith("file://") for url in requests)
    assert len({url.partition("#")[0] for url in requests}) == len(requests) == 1


def rows(page: Page) -> list[str]:
    """The numbers of the events in the list."""
    return page.locator("#rows .row .num:first-child").all_inner_texts()


def count(page: Page) -> str:
    return page.locator("#count").inner_text()


def ask(page: Page, query: str) -> None:
    page.locator("#query").fill(query)
    page.wait_for_timeout(60)


def test_filters_are_those_of_show(open_page: Open) -> None:
    """Each filter keeps as many events as in `mcpmock show --filter`."""
    page = open_page("everything-http.html")
    for lens in page.locator("#lenses input").all():
        lens.check()
    for query, expected in json.loads((PAGES / "filters.json").read_text()).items():
        ask(page, query)
        assert (query, count(page).split(" ")[0]) == (query, str(expected))


def test_search(open_page: Open) -> None:
    """Other words are searched in the payloads, case ignored; a mistake in a term is shown."""
    page = open_page("everything.html")
    whole = count(page)
    ask(page, "ECHO: HELLO")
    assert count(page).startswith("2 of ")
    for query, said in (
        ("kind=nothing", "no such kind: nothing"),
        ("dir=up", "no such dir: up"),
        ("methd=tools/*", "there is no term methd"),
        ("kind=error !tols=a", "there is no term tols"),
    ):
        ask(page, query)
        assert page.locator("#query").get_attribute("aria-invalid") == "true"
        assert count(page).startswith(f"{said}: ")
    ask(page, "nothing-has-this")
    assert page.locator("#nothing").inner_text().startswith("Nothing matches.")
    page.locator("#query").press("Escape")
    assert count(page) == whole


def test_keys(open_page: Open) -> None:
    """j and k move, Enter opens, Esc closes what was opened last, n finds problems, / searches."""
    page = open_page("everything.html")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("location.hash") == "#n=1"
    page.keyboard.press("Enter")
    assert page.locator("#detail h2").inner_text().startswith("request initialize")
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden()
    page.keyboard.press("n")
    assert page.locator("#rows .row[aria-selected=true] .kind").inner_text() == "→ ⚠ request"
    assert count(page).startswith("problem 1 of ")
    page.keyboard.press("n")
    assert page.locator("#rows .row[aria-selected=true] .kind").inner_text() == "← error"
    page.keyboard.press("/")
    page.keyboard.type("kind=error")
    assert page.locator("#query").input_value() == "kind=error"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()


def test_chips(open_page: Open) -> None:
    """One filters and opens its first hit; pressed again it gives all back, with that in view."""
    page = open_page("everything-http.html")
    whole = count(page)
    chip = page.locator("#chips button").first
    chip.click()
    assert (chip.get_attribute("aria-pressed"), count(page)) != ("true", whole)
    first = page.locator("#rows .row[aria-selected=true]")
    assert (1, True) == (first.count(), page.locator("#detail").is_visible())
    page.keyboard.press("j")
    chip.click()
    assert (chip.get_attribute("aria-pressed"), count(page)) == ("false", whole)
    assert page.locator("#rows .row[aria-selected=true]").count() == 1


def test_what_was_found_stays_in_view(open_page: Open) -> None:
    """Of 100,000 events: find one, clear the search, and look around it; so with a lens."""
    page = open_page("many.html")
    ask(page, "result 43210")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    selected = page.locator("#rows .row[aria-selected=true]")
    assert (1, "86,422") == (selected.count(), f"{int(selected.inner_text().split()[0]):,}")
    page.locator("#lenses input").first.uncheck()
    page.locator("#lenses input").first.check()
    assert selected.count() == 1


def test_what_happened(open_page: Open) -> None:
    """The three worst problems are in the head, the others behind a click; each opens its event."""
    page = open_page("everything.html")
    assert page.locator("#happened li").count() == 4
    page.locator("#happened").get_by_role("button", name="and").last.click()
    assert page.locator("#happened li").count() > 4
    page.locator("#happened button").nth(1).click()
    assert page.locator("#detail h2").inner_text().startswith("error")


def test_a_hidden_problem(open_page: Open) -> None:
    """What a lens hides is a stop of n, which begins anew behind the last."""
    page = open_page("not-found.html")
    assert "got HTTP 404" in page.locator("#happened").inner_text()
    for _ in range(2):
        page.keyboard.press("n")
        assert page.locator("#rows .row[aria-selected=true] .kind").inner_text() == "← http"
        assert count(page) == "problem 1 of 1"


def test_a_failed_test(open_page: Open) -> None:
    """Its page says without a click what failed, with the worst event chosen; nothing acts."""
    page = open_page("failed.html")
    assert page.locator("#error").inner_text().startswith("AssertionError: <img")
    assert "never answered: the server ended" in page.locator("#happened").inner_text()
    assert page.locator("#told").inner_text().startswith("without an answer: <img")
    assert page.locator("#rows .row[aria-selected=true]").count() == 1
    assert come_to_life(page) == [2, None, None]


def test_a_failed_test_without_a_problem(open_page: Open) -> None:
    """What was said last is chosen."""
    chosen = open_page("asserted.html").locator("#rows .row[aria-selected=true]")

    assert chosen.inner_text().split()[0] == "5"


def test_a_call_is_seen_as_one(open_page: Open) -> None:
    """Its answer names its tool too, and its rows are marked; the answer stands before the request;
    the whole text of a cell is its tooltip, and the numbers of events are never cut.
    """
    page = open_page("many.html", "#n=100000")
    row = page.locator("#rows .row[aria-selected=true]")
    assert row.locator(".name").inner_text().split() == ["tool19", "#49999"]
    assert row.locator(".name").get_attribute("title") == "tools/call tool19"
    assert page.locator("#rows .row.same").count() == 2
    assert page.locator("#detail h3").all_inner_texts()[:2] == ["ANSWER", "REQUEST"]
    assert row.locator("span").last.get_attribute("title") == "result 49999"
    number = row.locator(".num").first
    assert number.evaluate("one => one.scrollWidth <= one.clientWidth")


def chosen(page: Page) -> list[str]:
    """The words of the chosen row."""
    return page.locator("#rows .row[aria-selected=true]").inner_text().split()


def test_rows_that_belong_together(open_page: Open) -> None:
    """Lines of the log that were written at once are one row, blanks kept, whole in the detail;
    takes are told apart in the list; a filter still counts events.
    """
    page = open_page("contents.html", "#n=3")
    assert rows(page) == ["1", "2", "6", "7", "1", "2"]
    assert chosen(page)[-4:] == ["4", "lines:", "KeyError:", "'TOKEN'"]
    log = page.locator("#detail .json").inner_text()
    assert log == "Traceback:\n  File \"a.py\"\n    run()\nKeyError: 'TOKEN'"
    assert page.locator("#rows .row .text").nth(2).inner_text() == "    later"
    assert page.locator("#rows .row.first b").all_inner_texts() == ["take 1 ", "take 2 "]
    assert page.evaluate("rec.starts.map(timeAt)") == [0, 0]
    ask(page, "kind=stderr")
    assert (rows(page), count(page)) == (["2", "6"], "5 of 9 events")


def test_an_sse_head_is_one_row_with_its_message(open_page: Open) -> None:
    """Its fields stand dim behind the message, while HTTP is shown."""
    page = open_page("everything-http.html", "#n=6")
    assert chosen(page)[:3] == ["7", "29", "ms"]
    assert "carried by" in page.locator("#detail dl").inner_text()
    page.locator("#lenses input").nth(1).check()
    assert rows(page)[:6] == ["1", "2", "3", "5", "7", "8"]
    assert "event message id=" in page.locator("#rows .row.response .cut").nth(1).inner_text()


def test_texts_and_images(open_page: Open) -> None:
    """A text of some lines is shown as such, and as it was written; an image is drawn; an SVG,
    which could hold a script, is not.
    """
    page = open_page("contents.html", "#n=7")
    text = page.locator("#detail pre").first
    assert text.inner_text() == "first line\n  second line"
    page.get_by_role("button", name="as written").click()
    assert text.is_hidden()
    assert r'"first line\n  second line"' in page.locator("#detail .json").first.inner_text()
    page.keyboard.press("j")
    page.keyboard.press("j")
    drawn = page.locator("#detail img")
    assert drawn.evaluate_all("all => all.map((one) => one.naturalWidth)") == [2]
    assert "PHN2Zy" in page.locator("#detail .json").first.inner_text()
    assert "/9j/no-image.txt" in page.locator("#detail .json").first.inner_text()


def test_the_splitter(open_page: Open) -> None:
    """The border of list and detail is dragged, and moved by keys, within bounds; the address
    keeps it.
    """
    page = open_page("everything.html", "#n=1")
    border = page.locator("#split")
    for x, percent in ((400, "31"), (5, "20"), (1275, "80")):
        box = border.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 3, box["y"] + 50)
        page.mouse.down()
        page.mouse.move(x, box["y"] + 50)
        page.mouse.up()
        assert border.get_attribute("aria-valuenow") == percent
    page.mouse.move(0.8 * 1280, box["y"] + 50)
    page.mouse.down()
    border.dispatch_event("lostpointercapture")  # as after a gesture that the browser takes over
    page.mouse.move(600, box["y"] + 50)
    assert border.get_attribute("aria-valuenow") == "80"
    page.mouse.up()
    border.press("ArrowRight")
    border.press("ArrowLeft")
    assert border.get_attribute("aria-valuenow") == "75"
    assert page.evaluate("location.hash") == "#n=1&split=75"
    box = page.locator("#list").bounding_box()
    assert box is not None
    assert abs(box["width"] - 0.75 * 1280) < 10
    page.keyboard.press("Escape")
    assert border.is_hidden()


def test_links_to_an_event(open_page: Open) -> None:
    """#n= opens an event, hidden or not; q= filters."""
    page = open_page("everything-http.html", "#n=1")
    assert page.locator("#detail h2").inner_text().startswith("http")
    page = page.context.new_page()
    page.goto((PAGES / "everything-http.html").as_uri() + "#n=2&q=kind%3Drequest")
    page.locator("html[data-ready=yes]").wait_for()
    assert page.locator("#query").input_value() == "kind=request"
    assert page.locator("#detail h2").inner_text().startswith("request initialize")
    page.close()


@pytest.mark.parametrize(
    ("name", "link", "opened"),
    [
        ("everything.html", "#n=1&i=99999", "#n=1"),
        ("everything.html", "#n=1&i=-5", "#n=1"),
        ("everything.html", "#n=1&i=x&split=x", "#n=1"),
        ("two.html", "#difference=99", "#difference=1"),
        ("two.html", "#difference=-1", "#difference=0"),
        ("two.html", "#difference=x", "#difference=0"),
        ("two.html", "#n=2&file=x", "#n=2&file=1"),
        ("two.html", "#n=2&file=99", "#n=2&file=2"),
    ],
)
def test_links_to_what_is_not_there(open_page: Open, name: str, link: str, opened: str) -> None:
    """The page opens, on what is nearest."""
    page = open_page(name, link)
    assert page.locator("#detail").is_visible()
    assert page.evaluate("location.hash") == opened


def test_zoom(open_page: Open) -> None:
    """The wheel, a drag on the overview and keys choose a stretch of time; 0 gives all back."""
    page = open_page("everything.html")
    whole = count(page)
    page.locator("#lanes").hover(position={"x": 600, "y": 30})
    page.mouse.wheel(0, -600)
    page.locator("#range").wait_for()
    page.wait_for_timeout(100)
    assert re.fullmatch(
        r"[\d.]+ m?s to [\d.]+ m?s, [\d.]+ m?s ✕", page.locator("#range").inner_text()
    )
    assert count(page) != whole
    page.keyboard.press("0")
    page.wait_for_timeout(100)
    assert count(page) == whole
    box = page.locator("#map").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 10)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert page.locator("#range").is_visible()
    page.locator("#range").click()
    page.wait_for_timeout(100)
    assert count(page) == whole


def test_an_error_comes_first(open_page: Open) -> None:
    """Of a call that failed: what it failed with, then its answer, then the request."""
    page = open_page("everything.html", "#n=27")
    for _ in range(2):
        assert page.locator("#detail .violation").first.inner_text().startswith("MCP error -32602")
        assert page.locator("#detail h3").all_inner_texts()[:2] == ["ANSWER", "REQUEST"]
        page.keyboard.press("j")


def test_the_ruler(open_page: Open) -> None:
    """It begins and ends with the take, and tells the time in a folded pause."""
    page = open_page("everything.html")
    times = page.evaluate("[0, rec.width].map(timeAt)")
    assert times == page.evaluate("[rec.c.t[0], rec.c.t.at(-1)]")
    before, inside, after = page.evaluate("""() => {
        const [at] = rec.folds[0], i = rec.u.findIndex((u) => u > at);
        return [rec.c.t[i - 1], timeAt(at), rec.c.t[i]];
    }""")
    assert abs(inside - (before + after) / 2) < 1000


def test_a_race_is_drawn(open_page: Open) -> None:
    """A cancel opens the drawing and the cells that fit; a cell copies its fault."""
    page = open_page("race.html", "#q=method%3Dnotifications%2Fcancelled")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert "As seen at the recorder" in page.locator("#detail").inner_text()
    assert page.locator("svg.race polyline").count() == 1
    assert page.locator(".cells .fits").count() > 0
    page.locator(".cells button").first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "--fault cancel_race:method=tools/call,tool=slow,i=0,j=0"


def test_payloads_fold_and_keep_their_spelling(open_page: Open) -> None:
    """Numbers are shown as they crossed; an opening line folds what it opens."""
    page = open_page("odd.html", "#n=1")
    text = page.locator("#detail .json").inner_text()
    for number in ("1.0", "12345678901234567890123", "1e-400"):
        assert number in text
    page.locator("#detail .json .fold").first.click()
    assert "1e-400" not in page.locator("#detail .json").inner_text()


def test_copies(open_page: Open) -> None:
    """An event is copied as JSON-RPC, as a command and, over HTTP, as curl."""
    page = open_page("everything-http.html", "#n=2")
    for name, start in (("JSON-RPC", "{"), ("mcpmock command", "mcpmock show "), ("curl", "curl ")):
        page.get_by_role("button", name=f"Copy {name}").click()
        assert page.evaluate("navigator.clipboard.readText()").startswith(start)


def test_two_recordings(open_page: Open) -> None:
    """The first difference is open: what was asked, and both messages side by side, titled."""
    page = open_page("two.html")
    assert count(page) == "2 differences"
    assert page.locator("#detail .sides").count() == 3
    assert page.locator("#detail mark").count() >= 2
    assert "tools/call" in page.locator("#detail .sides").nth(1).inner_text()
    assert page.locator("#rows .row").first.inner_text().split("\n")[1:2] == ["tools/call a"]
    titles = page.locator("#detail .sides").last.locator("div > b").all_inner_texts()
    assert [title.strip() for title in titles] == ["before", "after"]
    assert page.locator("#detail .diff-gone .str", has_text="snow").count() == 1
    page.get_by_role("tab").nth(1).click()
    assert " of " in count(page)
    page.get_by_role("tab").first.click()
    assert count(page) == "2 differences"


def test_two_recordings_that_are_alike(open_page: Open) -> None:
    """It is said in the middle; two files of one name are told apart by their folders."""
    page = open_page("same.html")
    assert page.locator("#nothing").inner_text() == "No differences in 2 calls."
    tabs = page.get_by_role("tab").all_inner_texts()
    assert tabs == ["Differences", "old/s.jsonl", "new/s.jsonl"]


def test_nothing_is_recorded(open_page: Open) -> None:
    """It is said, and no time is drawn."""
    page = open_page("empty.html")
    assert page.locator("#nothing").inner_text() == "Nothing is recorded."
    assert page.locator("#overview").is_hidden()
    assert page.locator("#chips").inner_text() == "stdio\nincomplete: its recorder was stopped"


def test_hostile_text_acts_nowhere(open_page: Open) -> None:
    """Markup, script, escapes, bidi, line separators, `</script>` in every place of a cassette, and
    names that say they are markup: each event's detail is opened, and nothing comes to life.
    """
    page = open_page("hostile.html")
    for lens in page.locator("#lenses input").all():
        lens.check()
    page.keyboard.press("Home")
    for _ in range(40):
        page.keyboard.press("Enter")
        assert page.locator("#detail").is_visible()
        page.keyboard.press("j")
    # Our own script, and the form of the help.
    assert come_to_life(page) == [2, None, None]


def come_to_life(page: Page) -> object:
    """How many elements there are that act, characters that do not show, and what a script set."""
    return page.evaluate("""() => [
        document.querySelectorAll('script, iframe, img, object, embed, link, base, form').length,
        document.body.innerText.match(/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u2028\\x1b\\x07]/g),
        window.hacked ?? null]""")


def test_the_grid_of_an_exploration(open_page: Open) -> None:
    """Keys find what is broken and list its runs; a failure is copied, and leads to its runs."""
    page = open_page("explore.html")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    assert "before start" in page.locator("thead").first.inner_text()
    assert page.locator("#detail li").count() == 1
    assert "false" not in page.locator("#detail").inner_text()
    page.locator("#detail").get_by_role("button", name="Failure 1").click()
    assert page.evaluate("document.activeElement.id") == "failure-1"
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#detail li").count() == 2
    page.get_by_role("button", name="Copy the command").click()
    assert page.evaluate("navigator.clipboard.readText()") == "it ended"


def test_hostile_text_in_a_grid(open_page: Open) -> None:
    """No word of an exploration comes to life, in the grid or in the runs."""
    page = open_page("explore-hostile.html")
    for cell in page.locator("td button").all():
        cell.click()
        assert page.locator("#detail").is_visible()
    assert come_to_life(page) == [1, None, None]


def test_deep_and_long_payloads(open_page: Open) -> None:
    """JSON that is 100,000 deep and a string of 900 KB open, cut with a word; a button gives all of
    the string. So does a string that the page has without its end, and one that has none.
    """
    page = open_page("deep.html", "#n=1")
    assert page.locator("#detail .json div").count() <= 310
    page.keyboard.press("j")
    lines = page.locator("#detail pre")
    assert lines.inner_text().endswith('"line"\na "l626,000 more characters')
    lines.get_by_role("button").click()
    assert lines.inner_text().count("\n") == 70_000
    page.keyboard.press("j")
    assert page.locator("#detail .json").inner_text().endswith(" characters are in the cassette.")
    page.keyboard.press("j")
    assert page.locator("#detail .json").inner_text().startswith('["aaa')


def test_many_events(open_page: Open) -> None:
    """100,000 events: ready within 2 s, few rows in the document, search within 50 ms."""
    start = perf_counter()
    page = open_page("many.html")
    ready = perf_counter() - start
    page.wait_for_timeout(500)  # the text to search in is made when the page is idle
    assert page.locator("#rows .row").count() < 100
    took = page.evaluate("""() => {
        const start = performance.now();
        document.getElementById('query').value = 'result 99';
        applyQuery();
        return performance.now() - start;
    }""")
    print(f"100,000 events: ready in {ready:.2f} s, searched in {took:.0f} ms")
    assert count(page).startswith("111 of 100,000")
    if os.environ.get("MCPMOCK_E2E_ALL"):  # the machine of a CI run may do anything
        assert ready < 2
        assert took < 50


def test_printing_shows_the_rows(open_page: Open) -> None:
    """On paper the rows stand in the document, up to 2,000 of them."""
    page = open_page("many.html")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#print .row").count() == 2000
    assert "98,000 more rows" in str(page.locator("#print").text_content())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("#print .c-wave").first.is_hidden()
    cells = page.locator("#print .row").first.locator("span")
    assert cells.evaluate_all("all => all.every((one) => one.scrollWidth <= one.offsetWidth)")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_narrow(open_page: Open) -> None:
    """On 400 pixels nothing is wider than the screen."""
    page = open_page("everything-http.html", "#n=2")
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_rows_of_a_comparison(open_page: Open) -> None:
    """On any screen each says its call, and below it the place and both sides; so on paper."""
    page = open_page("two.html")
    page.set_viewport_size({"width": 400, "height": 800})
    page.keyboard.press("Escape")
    cells = page.locator("#rows .row").first.locator("> span")
    assert cells.all_inner_texts()[:2] == ["risky", "tools/call a"]
    assert cells.last.inner_text().startswith('$.result.content[0].text "4 degrees, snow"')
    assert page.locator("#rows .row").nth(1).evaluate("one => one.offsetTop") == 44
    assert cells.last.evaluate("one => one.offsetLeft") == cells.first.evaluate(
        "one => one.offsetLeft"
    )
    assert cells.nth(1).evaluate("one => one.scrollWidth <= one.clientWidth")


LOOKS = [(1280, "light"), (400, "dark"), (1280, "dark"), (400, "light")]
VIEWS = (
    ("everything.html", "", ""),
    ("everything.html", "#n=74", ""),
    ("everything.html", "#q=level%3Dnotice", "j Enter"),
    ("everything.html", "#q=nothing-has-this", ""),
    ("everything.html", "", "?"),
    ("everything-http.html", "#n=1", ""),
    ("race.html", "#n=3", ""),
    ("failed.html", "", ""),
    ("two.html", "", ""),
    ("same.html", "", ""),
    ("two.html", "#difference=0", ""),
    ("two.html", "#file=2", ""),
    ("explore.html", "", ""),
    ("explore.html", "", "n Enter"),
)


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed")
@pytest.mark.parametrize(("number", "view"), enumerate(VIEWS))
def test_accessible(open_page: Open, number: int, view: tuple[str, str, str]) -> None:
    """axe-core finds no serious or critical problem: wide and narrow, light and dark, in turns."""
    name, link, keys = view
    page = open_page(name, link)
    for key in keys.split():
        page.keyboard.press(key)
    every = bool(os.environ.get("MCPMOCK_E2E_ALL"))
    for width, theme in LOOKS if every else [LOOKS[number % len(LOOKS)]]:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)
        assert (width, theme, []) == (width, theme, problems_of(page))


def problems_of(page: Page) -> list[tuple[str, str, list[str]]]:
    """What axe-core finds on the page."""
    page.evaluate(Path(AXE or "").read_text())
    result = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert result["passes"]
    return [
        (one["id"], node["html"][:200], [check["message"] for check in node["any"]])
        for one in result["violations"]
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


def watched(browser: Browser, url: str) -> Page:
    page = browser.new_context().new_page()
    page.goto(url)
    page.locator("html[data-ready=yes]").wait_for()
    return page


def test_watch(browser: Browser) -> None:
    """A folder gives a list of its cassettes, the newest first, and what is appended to one is on
    the page; so is a cassette that comes later. The end is said calmly.
    """
    page = watched(browser, WATCHED)
    assert page.locator("h1").inner_text() == "live"
    names = page.locator("#names option")
    listed = names.evaluate_all("all => all.map((one) => one.value)")
    assert listed == ["grows.jsonl", "other.jsonl"]
    page.locator("#count", has_text="1 of 1 event").wait_for()
    page.locator("#state", has_text="● recording, following").wait_for()
    ask(page, "TOOLS/call")
    with (PAGES / "live" / "grows.jsonl").open("ab") as file:
        file.write((PAGES / "appended.jsonl").read_bytes())
    page.locator("#count", has_text="1 of 2 events").wait_for()
    ask(page, "")
    page.locator("#rows .row.response").wait_for()
    assert count(page) == "2 of 2 events"
    delay = min(_delays_ms(page))
    if os.environ.get("MCPMOCK_E2E_ALL"):  # the machine of a CI run may do anything
        assert delay < MAX_DELAY_MS
    page.locator("#files").fill("other.jsonl")
    page.locator("#count", has_text="3 of 3 events").wait_for()
    later = (PAGES / "live" / "other.jsonl").read_bytes()
    (PAGES / "live" / "later.jsonl").write_bytes(later)
    page.locator("#names option[value='later.jsonl']").wait_for(state="attached")
    page.context.close()


def test_watch_scrolled_up(browser: Browser) -> None:
    """The list follows while it is at its end; else it holds still, and says how much is new."""
    page = watched(browser, WATCHED)
    page.locator("#files").fill("other.jsonl")
    cassette = PAGES / "live" / "other.jsonl"
    message = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    lines = [f'{{"n":{n},"t":9000,"d":"c2s","m":{message}}}\n' for n in range(4, 205)]
    with cassette.open("a") as file:
        file.writelines(lines[:-1])
    page.locator("#count", has_text="203 of 203 events").wait_for()
    assert rows(page)[-1] == "203"
    page.locator("#list").evaluate("list => { list.scrollTop = 0; }")
    with cassette.open("a") as file:
        file.writelines(lines[-1:])
    page.locator("#below", has_text="1 new below").click()
    page.locator("#rows .row", has_text="204").wait_for()
    page.locator("#below").wait_for(state="hidden")
    page.context.close()


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed")
def test_watch_is_accessible(browser: Browser) -> None:
    """axe-core finds no serious or critical problem on the page of `watch`."""
    page = watched(browser, WATCHED)
    page.locator("#rows .row").first.wait_for()
    assert problems_of(page) == []
    page.context.close()


def _delays_ms(page: Page) -> Iterator[float]:
    """For some events, the time from each one's write to its row on the page."""
    page.evaluate(
        """() => {
            window.painted = [];
            new MutationObserver(() => requestAnimationFrame(() => {
                const seen = document.querySelectorAll("#rows .row.notification").length;
                while (window.painted.length < seen) window.painted.push(Date.now());
            })).observe(document.getElementById("rows"), { childList: true, subtree: true });
        }"""
    )
    cassette = PAGES / "live" / "grows.jsonl"
    for number in range(EVENTS_WATCHED):
        message = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        line = f'{{"n":{number + 3},"t":9000,"d":"c2s","m":{message}}}\n'
        with cassette.open("a") as file:
            file.write(line)
        written = cassette.stat().st_mtime_ns / 1e6
        page.locator("#count", has_text=f"{number + 3} of {number + 3} events").wait_for()
        page.wait_for_function("number => window.painted.length > number", arg=number)
        yield page.evaluate("() => window.painted")[number] - written


def test_watch_with_a_foreign_token(browser: Browser) -> None:
    """It gets the page and nothing that was recorded."""
    page = watched(browser, WATCHED.partition("#")[0] + "#token=foreign")
    page.locator("#failure").wait_for()
    assert page.locator("#rows .row").count() == 0
    page.context.close()


def test_watch_ends(browser: Browser) -> None:
    """When nothing serves it any more, the page says so, and keeps what came."""
    page = watched(browser, WATCHED)
    page.locator("#rows .row").first.wait_for()
    os.kill(int(os.environ["WATCH_PID"]), signal.SIGTERM)
    page.locator("#state", has_text="mcpmock watch has ended.").wait_for()
    assert page.locator("#failure").is_hidden()
    assert page.locator("#rows .row").count() > 0
    page.context.close()
