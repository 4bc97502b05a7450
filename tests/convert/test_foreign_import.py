"""Recordings of other tools made into cassettes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import read
from mcpmock.cassette.validate import inspect
from mcpmock.convert.foreign import read_foreign
from mcpmock.convert.foreign_import import ForeignImport, imported
from mcpmock.errors import CassetteError, Level
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.view.timeline import timeline
from tests.support import Script, call, request, response
from tests.support.foreign import DATA, NPM, REAL, lines, rec, snoop


def made(data: bytes, *, redact: bool = True) -> ForeignImport:
    return imported(read_foreign("f", data) or [], redact=redact)


def loaded(data: bytes, *, redact: bool = True) -> Cassette:
    """What it is as a cassette, which is whole."""
    done = made(data, redact=redact)
    assert 0 == inspect(done.data).count(Level.ERROR)
    return read("f", done.data)


def npm_frame(t: int, message: bytes, way: str = "c2s") -> dict[str, Any]:
    return {"type": "frame", "t": t, "dir": way, "frame": message}


def said(cassette: Cassette, place: int = 0) -> bytes:
    return cassette.takes[0].events[place].payload or b""


@pytest.mark.parametrize("name", REAL)
def test_real_recordings_become_whole_cassettes(name: str) -> None:
    """Every request has its answer, the server's question lies within the call it belongs to, and
    nothing is odd about any of it.
    """
    cassette = loaded((DATA / name).read_bytes())
    rows = timeline(cassette)
    asked = next(row for row in rows if row.method == "sampling/createMessage")
    odd = {note for row in rows for note in row.notes}

    assert [] == cassette.notices
    assert 17 == len(rows)
    assert odd <= {"redacted"}
    assert asked.within is not None
    assert "ask_model" == rows[asked.within].tool


@pytest.mark.parametrize("name", REAL)
def test_real_recordings_replay(name: str) -> None:
    """Whoever asks the same gets the same, with progress ahead of the answer and under its own
    token.
    """
    cassette = loaded((DATA / name).read_bytes())
    opening = [e.payload or b"" for e in cassette.takes[0].events[:3] if e.d == "c2s"]
    counting = request(7, "tools/call", {"name": "countdown", "arguments": {"start": 2}}, token="q")
    script = Script([SessionPlayer(SessionSelection(cassette, PlayerOptions()))])
    out = [json.loads(one) for raw in (*opening, counting) for one in script.heard(raw)]

    assert ["progress", "message", "progress", "message"] == [
        value["method"].split("/")[-1] for value in out if "method" in value
    ]
    assert {"q"} == {v["params"]["progressToken"] for v in out if "progress" in v.get("method", "")}
    assert [1, 7] == [value["id"] for value in out if "id" in value]


def test_the_header_says_where_it_came_from() -> None:
    """And what is missing; no tool keeps HTTP, so it is messages as over stdio."""
    header = loaded((DATA / "mcp-cassette.json").read_bytes()).takes[0].header

    assert "mcp-cassette" == header.converted["from"]
    assert "heads, exchanges and sessions of HTTP" in header.converted["lacks"]
    assert "stdio" == header.transport
    assert isinstance(header.target, str)
    assert (header.recorded_at or "").endswith("Z")


def test_messages_are_spelled_as_peers_do() -> None:
    """White space goes; numbers, escapes, order and names used twice stay."""
    raw = rb'{"id": 1.0, "b": [1e5, 123456789012345678901], "b": "\u00e9 x", "method": "a"}'
    cassette = loaded(b'{"ts": 1.5, "dir": "client->server", "msg": %b}\n' % raw)

    assert rb'{"id":1.0,"b":[1e5,123456789012345678901],"b":"\u00e9 x","method":"a"}' == said(
        cassette
    )


def test_what_no_decoder_takes_is_kept_as_text() -> None:
    """NaN, as Python writes it."""
    cassette = loaded(b'{"ts":1.5,"dir":"client->server","msg":{"id":NaN}}\n')

    assert b'{"id":NaN}' == said(cassette)


def test_a_clock_that_was_set_back_stops_no_time() -> None:
    """Times never go down."""
    cassette = loaded(lines(rec(5.0, "c2s", 1), rec(4.0, "s2c", 2), rec(6.0, "s2c", 3)))

    assert [0, 0, 1_000_000] == [event.t for event in cassette.takes[0].events]


def test_losses_are_gaps() -> None:
    """And the footer counts them."""
    cassette = loaded(lines(snoop(1, "c2s", raw=1), snoop(4, "s2c", raw=2)))
    (take,) = cassette.takes

    assert [None, 2, None] == [getattr(event.gap, "events", None) for event in take.events]
    assert take.footer is not None
    assert 2 == take.footer.gaps


def test_each_run_is_a_take() -> None:
    """And each is sealed."""
    one = rec(1.0, "c2s", request(0, "initialize"))
    done = made(lines(one, one))

    assert (2, 2) == (done.takes, done.events)
    assert [True, True] == [take.sealed for take in read("f", done.data).takes]


def test_secrets_are_taken_out() -> None:
    """As in a recording of our own, in messages and in the command line; or not, if so asked."""
    meta = snoop(1, "meta", raw={"command": ["srv", "--api-key", "hunter2", "\ud800"]})
    data = lines(meta, snoop(2, "c2s", raw=call(1, "t", password="hunter2")))

    assert b"hunter2" not in made(data).data
    assert 2 == made(data, redact=False).data.count(b"hunter2")
    assert "off" == loaded(data, redact=False).takes[0].header.redaction


ONE, OTHER, PLAIN = "[REDACTED:jwt:0123abcd]", "[REDACTED:keyctx:00000000]", "[REDACTED]"


@pytest.mark.parametrize(
    ("data", "placeholders"),
    [
        (
            lines(
                snoop(1, "c2s", redacted=True, raw=call(1, "t", a=PLAIN, b=f"x {PLAIN}")),
                snoop(2, "c2s", raw=call(2, "t", a=PLAIN)),
            ),
            [{"a": 1, "b": "x 2"}, {"a": PLAIN}],
        ),
        (
            lines(
                NPM,
                npm_frame(1, call(1, "t", a=ONE, b=f"Bearer {OTHER}")),
                npm_frame(2, call(2, "t", a=ONE)),
            ),
            [{"a": 1, "b": "Bearer 2"}, {"a": 1}],
        ),
    ],
)
def test_other_recorders_marks_become_placeholders(data: bytes, placeholders: list[Any]) -> None:
    """Or no live value would match them. Where a mark tells secrets apart, equal ones are equal."""
    arguments = [json.loads(said(loaded(data), n))["params"]["arguments"] for n in range(2)]
    spelled = json.dumps(arguments).replace("mcpmock:secret:converted:", "")

    assert json.dumps(placeholders).replace("1", '"1"') == spelled


def test_a_token_of_progress_stays_what_ties_it() -> None:
    """mcp-cassette redacts these too; the reports would not find their call any more."""
    cassette = loaded((DATA / "mcp-cassette.json").read_bytes())
    score = build_plan(cassette.episodes()[0], strict=False)
    reports = [cue for cue in score.messages if b"notifications/progress" in cue.frame.raw]

    assert 2 == len(reports)
    assert all(cue.calls for cue in reports)


def test_a_session_that_holds_nothing_is_a_take_of_nothing() -> None:
    """It is told by its count."""
    assert 0 == made(lines(NPM)).events


def test_hostile_values_stay_data() -> None:
    """A target or a text of anything still makes a cassette that loads."""
    target = {**NPM, "command": ["\ud800", 7, "\x1b[2J"], "url": 5}
    junk = {"type": "raw", "t": 1, "dir": "s2c", "data": "\ud800\n\x1b"}
    take = loaded(lines(target, junk)).takes[0]

    assert ["?", "\x1b[2J"] == take.header.target
    assert b"\xed\xa0\x80 \x1b" == take.events[0].payload


def test_answers_are_kept_as_they_are() -> None:
    """Marks in what the server says reach the client: the secrets are unknown."""
    frame = npm_frame(1, response(1, {"a": ONE}), "s2c")

    assert {"a": ONE} == json.loads(said(loaded(lines(NPM, frame))))["result"]


SMALL = (
    lines(
        rec(1.0, "c2s", request(1, "initialize")), rec(1.5, "s2c", {"_raw": "x", "_unparsed": 1})
    ),
    lines(
        snoop(1, "meta", raw={"command": ["srv"]}),
        snoop(2, "c2s", raw=call(1, "t", a=PLAIN), redacted=True),
        snoop(4, "stderr", text="up", truncated=False),
    ),
    lines(NPM, npm_frame(1, call(1, "t")), {"type": "chunks", "t": 2, "dir": "s2c", "chunks": []}),
    json.dumps(
        {
            "format_version": 3,
            "recorded_at": "2026-01-01T00:00:10Z",
            "messages": [{"t_offset_ms": 1, "sender": "client", "payload": {"id": 1}}],
        }
    ).encode(),
)


@pytest.mark.parametrize("data", SMALL, ids=["mcp-rec", "mcpsnoop", "npm", "pypi"])
def test_damage_is_told_or_does_no_harm(data: bytes) -> None:
    """Whatever bytes are changed or cut: a line is named, or a whole cassette comes out."""
    dice = random.Random(4)
    pieces = (b"", b"\n", b'"', b"{", b"}", b"null", b"-1", b"1e999", b"\xff", b"\\ud800", b"[[[")
    for _ in range(1000):
        start = dice.randrange(len(data))
        end = min(start + dice.choice((0, 1, 1, 5, 40)), len(data))
        torn = data[:start] + dice.choice(pieces) + data[end:]
        try:
            runs = read_foreign("f", torn)
        except CassetteError:
            continue
        if runs:
            assert 0 == inspect(imported(runs).data).count(Level.ERROR)
