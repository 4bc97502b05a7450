"""Unused requests: of one test, and added up over all tests of a cassette."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.api.log import Log
from mcpmock.api.server import ReplayServer
from mcpmock.cassette.model import Cassette
from mcpmock.faults.control import run_of
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import PlayerOptions, SessionSelection
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.testing.servers import ServerUse
from mcpmock.testing.settings import Settings
from mcpmock.testing.unused import CassetteUse, UnusedTally, siblings_of, unused_requests, why_idle
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    WELCOME,
    c,
    c2s,
    call,
    cassette,
    request,
    response,
    s,
)

FILE = Path("a.jsonl")
UNUSED = {"4": "tools/call b (event 5)"}
SESSION = "2026-11-20T10:00:00.000Z/1/1/stdio"
RECORDED = cassette(
    c(INITIALIZE), s(WELCOME), c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2))
)


def log_of(*calls: bytes, recorded: Cassette = RECORDED, begin: bytes = INITIALIZE) -> Log:
    """The log of a test that makes these calls."""
    log = Log()
    player = SessionPlayer(SessionSelection(recorded, PlayerOptions()))
    watcher = log.watch(1, player)
    list(player.begin(0.0))
    for raw in filter(None, (begin, *calls)):
        watcher.feed([c2s(raw)], 0.0)
        list(player.feed([c2s(raw)], 0.0))
    list(player.wake(1.0))
    return log


def test_requests_that_a_test_did_not_send() -> None:
    """They are listed by the session that the test played, as plain values."""
    assert [(SESSION, UNUSED)] == [*unused_requests(log_of(call(1, "a")))]
    assert [(SESSION, {})] == [*unused_requests(log_of(call(1, "a"), call(2, "b")))]


def test_exchanges_without_a_session() -> None:
    """They are listed take by take: another test may play one take alone."""
    log = Log()
    takes = cassette(c(call(1, "a")), s(response(1)), ("take", None), c(call(1, "b")))
    player = StatelessPlayer(SessionSelection(takes, PlayerOptions()))
    log.watch(1, player)
    list(player.begin(0.0))
    list(player.feed([c2s(call(1, "a"))], 0.0))
    list(player.wake(1.0))
    left = [*unused_requests(log)]

    assert [{}, {"0": "tools/call b (event 1)"}] == [methods for _, methods in left]
    assert all(session.endswith("/1/stdio") for session, _ in left)


def test_a_server_that_was_not_used() -> None:
    """A test without a session reports no unused requests."""
    assert [] == [*unused_requests(Log())]


def test_the_report_of_a_test() -> None:
    """It names the cassette and `unused` of the marker. A real server has no recorded requests."""
    server = ReplayServer(RECORDED, PlayerOptions(), run_of(()))
    server.log = log_of(call(1, "a"))
    replayed = ServerUse(Settings(path=FILE, unused="fail"), server).cassette_use()
    recorded = ServerUse(Settings(path=FILE, mode="all", unused="fail"), server).cassette_use()

    assert ("a.jsonl", "a.jsonl", "fail") == (
        replayed["cassette"],
        replayed["shown"],
        replayed["unused"],
    )
    assert [(SESSION, UNUSED)] == replayed["left"]
    assert ("ignore", [], "") == (recorded["unused"], recorded["left"], recorded["idle"])


@pytest.mark.parametrize(
    ("log", "recorded", "why"),
    [
        (Log(), RECORDED, "no client connected"),
        (log_of(), RECORDED, ""),
        (log_of(begin=b""), RECORDED, "the client sent nothing"),
        (Log(), cassette(), ""),
        (Log(), cassette(c(INITIALIZED)), ""),
        (Log(), cassette(c(b"[%s]" % call(1, "a"))), "no client connected"),
        (Log(), cassette(c(b"[%s]" % INITIALIZED)), ""),
    ],
)
def test_a_recording_that_was_not_replayed(log: Log, recorded: Cassette, why: str) -> None:
    """No client came, or it sent nothing. A recording without requests needs none."""
    assert why == why_idle(log, recorded)


def test_all_tests_are_idle() -> None:
    """That is judged like unused requests; one test that plays a session is enough."""
    line = "mcpmock: a.jsonl was not replayed: no client connected"
    assert [f"t fail {line}"] == judged(t=idle_use())
    assert [f"two warn {line}"] == judged(one=idle_use("warn"), two=idle_use("warn"))
    assert [] == judged(t=idle_use("ignore"))
    assert [] == judged(one=idle_use(), two=use_of())
    assert [] == judged(one=use_of(), two=idle_use())
    assert [f"two fail {LEFT}"] == judged(one=use_of("b"), two=idle_use())
    # What answered was no recorded session: a stub, a fault, or nothing at all.
    stubbed = CassetteUse({**use_of(), "left": []})
    assert [] == judged(one=stubbed, two=idle_use()) == judged(one=idle_use(), two=stubbed)
    why = "not judged, because tests did not run or did not pass"
    assert [f"{line}; {why}: failed"] == unjudged("failed", t=idle_use())


def idle_use(unused: str = "fail") -> CassetteUse:
    """The report of a test without a client."""
    return {**use_of(unused=unused), "left": [], "idle": "no client connected"}


def use_of(*left: str, session: str = "1", unused: str = "fail") -> CassetteUse:
    """The report of a test that did not send these."""
    numbers = {"a": "4", "b": "6"}
    return CassetteUse(
        cassette="/a.jsonl",
        shown="a.jsonl",
        unused=unused,
        left=[(session, {numbers[one]: f"tools/{one} (event {numbers[one]})" for one in left})],
        idle="",
    )


def judged(**tests: CassetteUse | None) -> list[str]:
    """The verdicts on tests of one cassette: the report of each, or None if it did not pass."""
    tally = UnusedTally()
    for name in tests:
        tally.expect("/a.jsonl", name)
    for name, use in tests.items():
        if use is not None:
            tally.passed(name, use)
    return [f"{v.test} {v.unused} {v.text}" for v in tally.verdicts()]


def unjudged(*waiting: str, **tests: CassetteUse) -> list[str]:
    """The lines on tests of one cassette, some of which did not pass."""
    tally = UnusedTally()
    for name in (*waiting, *tests):
        tally.expect("/a.jsonl", name)
    for name, use in tests.items():
        tally.passed(name, use)
    return list(tally.unjudged())


LEFT = "mcpmock: 1 recorded request of a.jsonl not sent: tools/b (event 6)"


def test_a_single_test() -> None:
    """The requests that it did not send are unused."""
    assert [f"t fail {LEFT}"] == judged(t=use_of("b"))
    assert [f"t warn {LEFT}"] == judged(t=use_of("b", unused="warn"))
    assert [] == judged(t=use_of("b", unused="ignore"))
    assert [] == judged(t=use_of())


def test_two_tests_add_up() -> None:
    """The order does not matter. The verdict names the last test with the strictest `unused`."""
    assert [] == judged(one=use_of("a"), two=use_of("b"))
    assert [] == judged(two=use_of("b"), one=use_of("a"))
    assert [f"two fail {LEFT}"] == judged(one=use_of("a", "b"), two=use_of("b"))
    assert [f"one fail {LEFT}"] == judged(one=use_of("b"), two=use_of("b", unused="warn"))


def test_another_session() -> None:
    """Sessions are judged apart."""
    assert [f"two fail {LEFT}"] == judged(one=use_of("b"), two=use_of(session="2"))


def test_a_test_that_did_not_pass() -> None:
    """No verdict, because that test may send the request, and one line says so."""
    assert [] == judged(failed=None, t=use_of("b"))

    why = "not judged, because tests did not run or did not pass"
    assert [f"{LEFT}; {why}: failed"] == unjudged("failed", t=use_of("b"))
    assert [f"{LEFT}; {why}: a and 1 more"] == unjudged("b", "a", t=use_of("b"))
    assert [] == unjudged("failed", t=use_of())
    assert [] == unjudged("failed", t=use_of("b", unused="ignore"))
    assert [] == unjudged(t=use_of("b"))


def test_hostile_names() -> None:
    """Nothing recorded acts on a terminal."""
    use = use_of()
    use["left"] = [("1", {"1": "x\x1b]52;\n::error::"})]

    assert all("\x1b" not in line and "\n" not in line for line in judged(t=use))


@pytest.mark.parametrize(
    ("raw", "described"),
    [
        (call(2, "b", city="Oslo"), 'tools/call b {"city":"Oslo"}'),
        (call(2, "b", text="x" * 99), f'tools/call b {{"text":"{"x" * 68}...'),
        (request(2, "prompts/get", {"name": "p", "arguments": {"a": 1}}), 'prompts/get p {"a":1}'),
        (request(2, "resources/read", {"uri": "a://b"}), "resources/read a://b"),
        (request(2, "tools/list"), "tools/list"),
    ],
)
def test_what_names_a_request(raw: bytes, described: str) -> None:
    """The method, the tool, the arguments and the event."""
    recorded = cassette(c(INITIALIZE), s(WELCOME), c(raw), s(response(2)))
    [(_, left)] = unused_requests(log_of(recorded=recorded))

    assert {"2": f"{described} (event 3)"} == left


def test_the_report_of_a_worker() -> None:
    """It lists all tests of each cassette."""
    tally = UnusedTally()
    tally.expect("/a.jsonl", "two")
    tally.expect("/a.jsonl", "one")

    assert {"/a.jsonl": ["one", "two"]} == tally.expected


PLUGIN = ("-p", "mcpmock.pytest_plugin")
SOURCE = """
import pytest

pytestmark = pytest.mark.mcpmock("shared.jsonl")

def test_a(): pass
def test_b(): pass
@pytest.mark.mcpmock(unused="fail")
def test_c(): pass
@pytest.mark.mcpmock("other.jsonl")
def test_other(): pass
@pytest.mark.parametrize("n", range(2))
def test_many(n): pass
def helper(): pass

@pytest.mark.mcpmock(cassette="other.jsonl")
class TestOthers:
    def test_d(self): pass
    @pytest.mark.mcpmock("shared.jsonl")
    def test_e(self): pass
"""


@pytest.mark.parametrize(
    ("test", "siblings"),
    [
        ("test_a", ["test_b", "test_c", "test_many", "TestOthers::test_e"]),
        ("test_other", ["TestOthers::test_d"]),
        ("test_e", ["test_a", "test_b", "test_c", "test_many"]),
        ("test_many[1]", ["test_a", "test_b", "test_c", "TestOthers::test_e", "test_many[...]"]),
    ],
)
def test_siblings(pytester: pytest.Pytester, test: str, siblings: list[str]) -> None:
    """Those with the same cassette by their nearest marker."""
    module = pytester.getmodulecol(SOURCE, configargs=PLUGIN)
    [item] = [item for item in pytester.genitems([module]) if item.name == test]

    assert siblings == [*siblings_of(item, [item], [f"test_a.py::{test}"])]


def test_without_a_name(pytester: pytest.Pytester) -> None:
    """A cassette that is named after its test has no other users."""
    source = "import pytest\n@pytest.mark.mcpmock\ndef test_a(): pass\ndef test_b(): pass"
    items = pytester.genitems([pytester.getmodulecol(source, configargs=PLUGIN)])

    assert [] == [*siblings_of(items[0], items[:1], ["test_a.py::test_a"])]
