"""`--mcp-report DIR`: a page for each failed test."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from msgspec import UNSET

from mcpmock.cassette.file import load
from tests.support import call, cassette_bytes, notification, request, response
from tests.support.pages import data_of
from tests.test_pytest_plugin import PLUGIN

HTML = ("-p", "html", "-p", "html_fixtures", "-p", "metadata", "--html", "all.html")
SUITE = """
import subprocess

import pytest

from tests.support import call, request

ASKED = [
    request(0, "initialize", {"protocolVersion": "2025-11-25"}),
    call(1, "add", a=7, password="hunter2-hunter2"),
]

def ask(server):
    lines = b"".join(raw + b"\\n" for raw in ASKED)
    subprocess.run(server.command, input=lines, capture_output=True, timeout=20)

@pytest.mark.mcpmock("good.jsonl")
@pytest.mark.parametrize("n", [1, 2])
def test_misses(mcpmock_server, n):
    ask(mcpmock_server)

@pytest.mark.mcpmock("good.jsonl")
def test_passes(mcpmock_server):
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    from tests.support.hostile import plain

    pytester.makepyfile(SUITE)
    (pytester.path / "cassettes").mkdir()
    (pytester.path / "cassettes" / "good.jsonl").write_bytes(plain())
    return pytester


def test_a_page_for_each_failed_test(suite: pytest.Pytester) -> None:
    """The page has the recording, what the client asked and got, the miss with its near misses, and
    no secret; the failure names it.
    """
    result = suite.runpytest_inprocess(*PLUGIN, "--mcp-report", "pages")
    pages = sorted((suite.path / "pages").glob("*.html"))

    assert ["misses-1", "misses-2"] == [re.findall(r"misses-\d", page.name)[0] for page in pages]
    result.stdout.fnmatch_lines([f"report: {pages[0]}"])
    recorded, live = data_of(pages[0].read_bytes())["recordings"]
    assert "good.jsonl" == recorded["file"]
    assert live["rows"]["n"] == [1, 2, 3, 4]
    answer = live["rows"]["raw"][3]
    assert "nothing recorded answers" in answer
    assert '"near"' in answer
    assert "hunter2" not in str(live)


def test_the_page_opens_on_the_test(suite: pytest.Pytester) -> None:
    """It is named by the test, says what it failed with, shows what its clients got, and is not
    called incomplete.
    """
    suite.makepyfile(SUITE + "    assert 1 == 2, 'password=hunter2-hunter2'\n")
    suite.runpytest_inprocess(*PLUGIN, "--mcp-report", "pages")
    (page,) = (suite.path / "pages").glob("*passes*.html")
    data = data_of(page.read_bytes())

    assert data["title"].endswith("::test_passes")
    assert data["title"].encode() in page.read_bytes()
    assert data["error"].startswith("AssertionError: password=mcpmock:secret:")
    assert len(data["recordings"]) - 1 == data["opens"]
    assert "incomplete" not in str(data["recordings"][1]["chips"])


ASKING = """
import json
import subprocess

import pytest

from tests.support import call, notification, request

def ask(server, *calls):
    asked = [request(0, "initialize", {"protocolVersion": "2025-11-25"}),
             notification("notifications/initialized"), *calls]
    lines = b"".join(raw + b"\\n" for raw in asked)
    done = subprocess.run(server.command, input=lines, capture_output=True, timeout=20)
    return [json.loads(line).get("id") for line in done.stdout.splitlines()]

def weather(n, city):
    return request(n, "tools/call", {"name": "weather", "arguments": {"city": city}})

OSLO = weather(1, "Oslo")
"""
FAILING = {
    "a miss": (
        'ask(mcpmock_server, weather(1, "Rome"))',
        'event 4: different; $.arguments.city: recorded "Oslo", asked "Rome"',
    ),
    "a wrong argument": (
        'ask(mcpmock_server, call(1, "add", a="19", b=23))',
        'event 6: different; $.arguments.a: recorded 19, asked "19"',
    ),
    "a timeout": (
        'assert 1 in ask(mcpmock_server, OSLO), "no answer in time"',
        "tools/call weather #1 was never answered: "
        "an injected fault fired: drop response of tools/call 1",
    ),
    "called too often": (
        'ask(mcpmock_server, OSLO, weather(2, "Oslo"))',
        'event 4: already used --repeats last (repeats="last") answers it again',
    ),
    "a plain assert": (
        "assert 2 in ask(mcpmock_server, OSLO)",
        "assert 2 in [0, 1]",
    ),
    "a call that was not made": (
        'mcpmock_server.assert_called("tools/call", tool="weather")',
        "AssertionError: tools/call weather",
    ),
    "a fault that had to fire": (
        'ask(mcpmock_server, call(1, "add", a=19, b=23))',
        "faults that must fire never did: drop",
    ),
}
OTHERS = """
@pytest.fixture
def rome(mcpmock_server):
    ask(mcpmock_server, weather(1, "Rome"))
    raise LookupError("no Rome")

@pytest.mark.mcpmock("seen.jsonl")
def test_a_fixture(rome):
    pass

def test_two_servers(mcpmock_serve):
    one, two = mcpmock_serve("seen.jsonl"), mcpmock_serve("seen.jsonl")
    ask(one, OSLO)
    ask(two, weather(1, "Rome"))
    raise LookupError("no Rome")
"""
SUMMED_UP = (
    "{} - LookupError: no Rome; mcpmock: nothing recorded answers tools/call weather "
    '{{"city":"Rome"}}; nearest: event 4, $.arguments.city "Oslo"; '
    "allow with ignore=['tools/call weather $.arguments.city']"
)
FAULTS = {
    "a timeout": "drop:toward=client,tool=weather",
    "a fault that had to fire": "drop:tool=weather,must_fire=true",
}


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite whose tests all fail, and their pages."""
    folder = tmp_path_factory.mktemp("failing")
    recorded = cassette_bytes(
        ("c2s", request(0, "initialize", {"protocolVersion": "2025-11-25"})),
        ("s2c", response(0, {"protocolVersion": "2025-11-25", "capabilities": {}})),
        ("c2s", notification("notifications/initialized")),
        ("c2s", call(1, "weather", city="Oslo")),
        ("s2c", response(1, {"content": [{"type": "text", "text": "snow"}]})),
        ("c2s", call(2, "add", a=19, b=23)),
        ("s2c", response(2, {"content": [{"type": "text", "text": "42"}]})),
    )
    (folder / "cassettes").mkdir()
    (folder / "cassettes" / "seen.jsonl").write_bytes(recorded)
    tests = (
        f'@pytest.mark.mcpmock("seen.jsonl", faults={FAULTS.get(name)!r})\n'
        f"def test_{name.replace(' ', '_')}(mcpmock_server):\n    {body}\n"
        for name, (body, _) in FAILING.items()
    )
    (folder / "test_it.py").write_text(ASKING + "\n".join(tests) + OTHERS)
    command = [sys.executable, "-m", "pytest", *PLUGIN, "--mcp-report", "pages"]
    whole = {**os.environ, "CI": "1"}  # pytest cuts no line of its summary
    done = subprocess.run(command, cwd=folder, env=whole, capture_output=True, text=True)
    (folder / "said.txt").write_text(done.stdout)
    return folder


def page_of(failing: Path, name: str) -> Path:
    return failing / "pages" / f"test_it.py-test_{name.replace(' ', '_')}.html"


@pytest.mark.parametrize("name", FAILING)
def test_the_head_says_what_failed(failing: Path, name: str) -> None:
    """Without a click: the error, the worst problems of the session, and what mcpmock says of the
    test in the terminal, but for the messages.
    """
    data = data_of(page_of(failing, name).read_bytes())
    happened = data["recordings"][data["opens"]]["happened"][:3]
    head = " ".join([data["error"], *(one[0] for one in happened), data["told"]])

    assert FAILING[name][1] in re.sub(r"\s+", " ", head)
    assert "last messages" not in head


@pytest.mark.parametrize("name", FAILING)
def test_only_what_the_test_asked_for_differs(failing: Path, name: str) -> None:
    """A cassette is a library: what the test never asked for is no difference."""
    differences = data_of(page_of(failing, name).read_bytes())["diff"]["differences"]

    assert all(one["new_event"] for one in differences)


@pytest.mark.parametrize(
    "test", ["ERROR test_it.py::test_a_fixture", "FAILED test_it.py::test_two_servers"]
)
def test_the_summary_names_the_miss(failing: Path, test: str) -> None:
    """All that CI shows has the tool and its arguments, also where another error failed the test,
    or a fixture.
    """
    assert SUMMED_UP.format(test) in (failing / "said.txt").read_text().splitlines()


def test_each_server_of_a_test_has_a_page(failing: Path) -> None:
    """Also those that the test started, and that of a test whose fixture failed."""
    for name, told in {"two_servers": 0, "two_servers-server-2": 1, "a_fixture": 1}.items():
        data = data_of((failing / "pages" / f"test_it.py-test_{name}.html").read_bytes())
        assert told == str(data["recordings"][1]["happened"]).count("failed: nothing recorded")


def test_a_short_command_repeats_it(failing: Path) -> None:
    """The session of the test lies beside its page, and is played to the same server."""
    command = "mcpmock drive pages/test_it.py-test_a_miss.jsonl -- mcpmock replay"
    found = re.search(rf"{re.escape(command)} .*", (failing / "said.txt").read_text())
    assert found is not None
    words = [
        word
        for one in shlex.split(found[0])
        for word in ([sys.executable, "-m", one] if one == "mcpmock" else [one])
    ]
    done = subprocess.run(words, cwd=failing, capture_output=True, text=True, check=False)

    assert 'answers tools/call weather {"city":"Rome"}' in done.stderr


def test_the_session_is_whole(failing: Path) -> None:
    """It is closed, and has the faults that fired."""
    session = load(page_of(failing, "a timeout").with_suffix(".jsonl"))

    assert session.complete
    assert 1 == sum(event.fault is not UNSET for event in session.takes[0].events)


def test_none_without_the_option(suite: pytest.Pytester) -> None:
    """Nothing is written, nothing is said."""
    result = suite.runpytest_inprocess(*PLUGIN)

    assert not (suite.path / "pages").exists()
    result.stdout.no_fnmatch_line("report: *")


def test_what_cannot_be_written(suite: pytest.Pytester) -> None:
    """The failure says why there is no page."""
    (suite.path / "pages").write_text("a file")
    result = suite.runpytest_inprocess(*PLUGIN, "--mcp-report", "pages")

    result.stdout.fnmatch_lines(["report: none, because *pages*"])
    result.assert_outcomes(failed=2, passed=1)


def test_a_page_that_fails(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong in the making of a page is told beside the failure, and the tests go on."""

    def report_page(*_cassettes: object, **_how: object) -> None:
        raise RuntimeError("of the page")

    monkeypatch.setattr(import_module("mcpmock.view.report"), "report_page", report_page)
    result = suite.runpytest_inprocess(*PLUGIN, "--mcp-report", "pages")

    result.stdout.fnmatch_lines(["report: none, because of an internal error *of the page*"])
    result.assert_outcomes(failed=2, passed=1)


def test_beside_pytest_html(suite: pytest.Pytester) -> None:
    """Its report links the page."""
    result = suite.runpytest_inprocess(*PLUGIN, "--mcp-report", "pages", *HTML)

    result.assert_outcomes(failed=2, passed=1)
    assert "misses-1" in (suite.path / "all.html").read_text()
