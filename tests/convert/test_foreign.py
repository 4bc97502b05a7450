"""Recordings of other tools, read.

The files in `data` are real: a session of an SDK with a server that reports progress, logs and asks
the client's model, recorded by mcp-rec 0.1.1 over stdio and by mcp-cassette 0.4.0 (PyPI) over
Streamable HTTP. The lines of mcpsnoop and of the mcp-cassette of npm are written after their own
documentation.
"""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from mcpmock.cassette.model import Gap
from mcpmock.convert.foreign import ForeignRun, read_foreign
from mcpmock.errors import CassetteError
from mcpmock.protocol.messages import C2S, S2C, Frame, Stderr
from tests.support import call, dump, error, request, response
from tests.support.foreign import DATA, NPM, REAL, lines, rec, snoop

MCP_CASSETTE = (DATA / "mcp-cassette.json").read_bytes()
ASK, ANSWER = request(1, "initialize", {}), response(1, {})


def runs(data: bytes) -> list[ForeignRun]:
    found = read_foreign("f", data)
    assert found is not None
    return found


def heard(run: ForeignRun) -> list[tuple[int, Any, Any]]:
    """When, which way and what; of what was lost how much."""
    return [
        (event.at_us, None, event.content.events)
        if isinstance(event.content, Gap)
        else (event.at_us, event.content.direction, event.content.raw)
        for event in run.events
    ]


def methods(run: ForeignRun) -> list[str]:
    frames = [event.content for event in run.events if isinstance(event.content, Frame)]
    return [json.loads(frame.raw).get("method", "-").split("/")[-1] for frame in frames]


@pytest.mark.parametrize("name", REAL)
def test_real_recordings_are_read_whole(name: str) -> None:
    """Who said what is the same, whoever recorded it and over whichever transport."""
    (run,) = runs((DATA / name).read_bytes())

    assert [
        "initialize", "-", "initialized", "call", "-", "list", "-",
        "call", "progress", "message", "progress", "message", "-",
        "call", "createMessage", "-", "-",
    ] == methods(run)  # fmt: skip
    assert name.split(".")[0] == run.tool
    assert "how the session ended" in run.lacks
    times = [event.at_us for event in run.events]
    assert sorted(times) == times
    assert 2026 == run.began.year


def test_an_unknown_format_is_not_recognised() -> None:
    """Other JSON, other text and nothing at all are of no tool."""
    har = b'{"log":{"version":"1.2"}}'
    for data in (b"", b"\n\n", b"hello\n", b"[1]\n", har, b'{"format_version":3}', b'{"ts":1}\n'):
        assert read_foreign("f", data) is None


def test_a_line_that_is_none_is_told_by_its_number() -> None:
    """Damage in the middle stops everything."""
    good = lines(rec(1.0, "c2s", ASK))
    with pytest.raises(CassetteError, match=r"^f:2: is not a JSON object$"):
        read_foreign("f", good + b"oops\n" + good)


@pytest.mark.parametrize(("tail", "left_out"), [(b"", 0), (b" \r\n\n", 0), (b'{"ts":1.0,"di', 1)])
def test_a_torn_last_line_is_counted(tail: bytes, left_out: int) -> None:
    """It was never written to its end; blank lines hold nothing."""
    (run,) = runs(lines(rec(1.0, "c2s", ASK)) + tail)

    assert (1, left_out) == (len(run.events), run.left_out)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (rec(1, "c2s", ASK) | {"ts": "1"}, "`ts` is not a time"),
        (rec(1, "c2s", ASK) | {"ts": float("nan")}, "`ts` is not a time"),
        (rec(1, "c2s", ASK) | {"ts": 1e300}, "`ts` is not a time"),
        (rec(1, "c2s", ASK) | {"dir": "up"}, "`dir` is not valid: 'up'"),
        (rec(1, "c2s", ASK) | {"dir": 1}, "`dir` is not a text"),
        ({"ts": 1.0, "dir": "client->server"}, "`msg` is missing"),
    ],
)
def test_a_line_that_says_nonsense_is_told_by_its_number(line: Any, reason: str) -> None:
    """What is wrong with it is said."""
    with pytest.raises(CassetteError) as caught:
        read_foreign("f", lines(rec(1.0, "c2s", ASK), line))

    assert f"f:2: {reason}" == str(caught.value)


def test_mcp_rec_keeps_lines_that_were_no_json() -> None:
    """Their text is what was said."""
    junk = {"_raw": "listening on ☃", "_unparsed": True}
    (run,) = runs(lines(rec(10.0, "c2s", ASK), rec(10.25, "s2c", junk)))

    assert (250_000, S2C, "listening on ☃".encode()) == heard(run)[1]


def test_mcp_rec_appends_run_to_run() -> None:
    """A second handshake begins a run; so does the question ahead of one, asked with an id that was
    used already.
    """
    discover = request(1, "server/discover")
    one = [rec(1.0, "c2s", discover), rec(1.1, "c2s", request(2, "initialize")), rec(1.2, "s2c", 1)]
    later = rec(1.3, "c2s", request(3, "server/discover"))
    found = runs(lines(*one, later, *one, *one[1:]))

    assert [4, 3, 2] == [len(run.events) for run in found]


def test_mcpsnoop_says_what_it_lost_and_cut() -> None:
    """Numbers that are missing, and messages it kept only the head of, are gaps."""
    (run,) = runs(
        lines(
            snoop(1, "meta", raw={"command": ["npx", "srv"], "cwd": "x"}),
            snoop(2, "c2s", raw=ASK),
            snoop(5, "s2c", text='{"jsonrpc', truncated=True),
            snoop(6, "stderr", text="ready"),
            snoop(7, "s2c", text="a banner"),
            snoop(8, "c2s", raw=call(2, "t", key="[REDACTED]"), redacted=True),
        )
    )

    assert ["npx", "srv"] == run.target
    assert [
        (1_000_000, C2S, dump(json.loads(ASK))),
        (4_000_000, None, 2),
        (4_000_000, None, 1),
        (5_000_000, S2C, b"ready\n"),
        (6_000_000, S2C, b"a banner"),
    ] == [(at, way, _plain(raw)) for at, way, raw in heard(run)[:5]]
    stderr = run.events[3].content
    assert isinstance(stderr, Frame)
    assert stderr.fact == Stderr()
    assert [False, True] == [event.redacted for event in run.events[4:]]


def _plain(raw: Any) -> Any:
    return dump(json.loads(raw)) if isinstance(raw, bytes) and raw[:1] == b"{" else raw


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_mcpsnoop_numbers_that_changed_places_are_no_loss(order: tuple[int, ...]) -> None:
    """Over HTTP two envelopes may be written in the other order than they were counted: that is the
    order of the messages.
    """
    said = snoop(1, "c2s", raw=ASK), snoop(2, "s2c", raw=1), snoop(3, "s2c", raw=2)
    (run,) = runs(lines(*(said[place] for place in order)))

    asked = C2S, _plain(ASK)
    assert [asked, (S2C, b"1"), (S2C, b"2")] == [(way, _plain(raw)) for _, way, raw in heard(run)]


@pytest.mark.parametrize(
    "about", [None, [1], "x", 1, True, {}, {"command": "x"}, {"command": [1]}, {"command": None}]
)
def test_mcpsnoop_may_say_no_command(about: Any) -> None:
    """Then the cassette names none."""
    (run,) = runs(lines(snoop(1, "meta", raw=about), snoop(2, "c2s", raw=ASK)))

    assert (None, 1) == (run.target, len(run.events))


def test_each_session_of_mcpsnoop_is_a_run() -> None:
    """Their lines may be mixed."""
    other = {"session_id": "b"}
    found = runs(
        lines(snoop(1, "c2s", raw=1), snoop(1, "c2s", raw=2, **other), snoop(2, "s2c", raw=3))
    )

    assert [2, 1] == [len(run.events) for run in found]


def test_mcpsnoop_over_http_has_statuses_and_pages() -> None:
    """What is not a message is counted, and that HTTP is missing is said."""
    http = {"transport": "http", "status": 202}
    (run,) = runs(
        lines(
            snoop(1, "c2s", raw=ASK, transport="http"),
            snoop(2, "s2c", **http),
            snoop(3, "s2c", text="<html>", **http),
        )
    )

    assert (1, 2) == (len(run.events), run.left_out)
    assert "heads, exchanges and sessions of HTTP" in run.lacks


def test_the_mcp_cassette_of_npm_has_frames_and_streams() -> None:
    """A stream is written when it ended: what was in it goes to where it came. Lines of kinds that
    nobody knows are skipped, as its format wants.
    """
    chunks = [{"t": 20, "frame": 1}, {"t": 40, "frame": 2}]
    (run,) = runs(
        lines(
            NPM,
            {"type": "frame", "t": 12, "dir": "c2s", "frame": ASK},
            {"type": "raw", "t": 30, "dir": "s2c", "data": "not JSON"},
            {"type": "wormhole", "t": 35},
            {"type": "chunks", "t": 20, "dir": "s2c", "id": 1, "chunks": chunks},
        )
    )

    assert [(20_000, S2C, b"1"), (30_000, S2C, b"not JSON"), (40_000, S2C, b"2")] == heard(run)[1:]
    assert (1, ["npx", "-y", "srv"]) == (run.left_out, run.target)
    assert "mcp-cassette (npm)" == run.tool


def test_the_mcp_cassette_of_pypi_is_timed_by_its_end() -> None:
    """Its clock is that of its writing; a message that was no JSON object is its text."""
    kept = {"seq": 0, "t_offset_ms": 1500, "sender": "server", "kind": "raw", "payload": "☃ up"}
    document = {"format_version": 3, "recorded_at": "2026-01-01T00:00:10Z", "messages": [kept]}
    (run,) = runs(json.dumps(document).encode())

    assert [(1_500_000, S2C, "☃ up".encode())] == heard(run)
    assert "2026-01-01T00:00:08.500000+00:00" == run.began.isoformat()


def test_damage_in_a_document_is_told_by_its_line() -> None:
    """The line of the message, not of the document."""
    bad = MCP_CASSETTE.replace(b'"sender": "server"', b'"sender": "nobody"', 1)
    line = MCP_CASSETTE[: MCP_CASSETTE.index(b'"sender": "server"')].count(b"\n") - 2
    with pytest.raises(CassetteError) as caught:
        read_foreign("f", bad)

    assert f"f:{line}: `sender` is not valid: 'nobody'" == str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        lines(NPM | {"cassetteVersion": 3}),
        MCP_CASSETTE.replace(b'"format_version": 3', b'"format_version": 4'),
    ],
)
def test_newer_formats_are_refused(data: bytes) -> None:
    """Half of something is worse than nothing."""
    with pytest.raises(CassetteError, match="is in a newer format of mcp-cassette"):
        read_foreign("f", data)


def test_what_json_can_be_is_read() -> None:
    """Nesting, NaN, large numbers and two members of one name stop nothing."""
    deep = b"[" * 100_000 + b"]" * 100_000
    odd = b'{"id":%b,"id":NaN,"result":%b}' % (b"9" * 5000, deep)
    (run,) = runs(b'{"ts":1.5,"dir":"server->client","msg":%b}\n' % odd)

    assert [(0, S2C, odd)] == heard(run)


def test_answers_are_no_openings() -> None:
    """Only what a client asks begins a run."""
    twice = [rec(1.0, "c2s", ASK), rec(1.1, "s2c", error(1))]

    assert [2, 2] == [len(run.events) for run in runs(lines(*twice, *twice))]
