"""The recorder over HTTP: several conversations write one take, exchange beside exchange."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from msgspec import UNSET

from mcpmock.cassette.model import Event
from mcpmock.cassette.parser import read
from mcpmock.pipeline.stage import PASS
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Fact,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
)
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.redactor import Redactor
from tests.support import HEADER, INITIALIZE, WELCOME, c2s, request, response, s2c, seen


@attrs.define
class Take:
    """A take in memory; while `full`, appending fails."""

    lines: list[bytes] = attrs.field(factory=list)
    full: bool = False
    ledger: Ledger = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.ledger = Ledger(self.append)

    def append(self, lines: list[bytes]) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        self.lines += lines

    def events(self) -> Sequence[Event]:
        loaded = read("take", HEADER + b"".join(self.lines))
        assert [] == loaded.damage
        return loaded.takes[0].events

    def frames(self) -> list[Frame]:
        return [event.frame for event in self.events() if event.frame is not None]

    def gaps(self) -> list[tuple[int, int, int]]:
        """Session, events, bytes."""
        found = [(event.s, event.gap) for event in self.events()]
        return [(s, gap.events, gap.bytes) for s, gap in found if gap is not UNSET]


def up(raw: bytes = b"", fact: Fact | None = None, *, x: int = 7) -> Frame:
    return Frame(C2S, raw, fact=fact, exchange=x)


def down(raw: bytes = b"", fact: Fact | None = None, *, x: int = 7, eol: bytes = b"\n") -> Frame:
    return Frame(S2C, raw, eol, fact, x)


def fed(recorder: Recorder, *frames: Frame, now: float = 0.0) -> None:
    """All pass, as they are."""
    assert recorder.feed(frames, now) is PASS


POST = HttpRequest("POST", "/mcp", [("Host", "127.0.0.1:1"), ("Content-Type", "application/json")])
STREAM = HttpResponse(200, "OK", [("content-type", "text/event-stream")])
END = ExchangeEnd()

EXCHANGES: dict[str, list[Frame]] = {
    "json": [
        up(fact=POST),
        up(INITIALIZE),
        down(fact=HttpResponse(200, "OK", [("Content-Type", "application/json")])),
        down(WELCOME),
        down(fact=END),
    ],
    "event stream": [
        up(fact=POST),
        up(b""),
        down(fact=STREAM),
        down(fact=SseMeta(id="1", retry=500)),
        down(b""),
        down(fact=SseMeta(comment="still here")),
        down(fact=SseMeta()),
        down(WELCOME, eol=b"\r\n"),
        down(b'{\n"pretty": 1}'),
        down(fact=SseMeta(id="2", event="message")),
        down(response(2)),
        up(fact=ExchangeEnd("reset")),
    ],
    "no message": [
        up(fact=HttpRequest("DELETE", "/mcp", [])),
        down(fact=HttpResponse(405, "", [("A", "1"), ("a", "2"), ("A", "3")])),
        down(b"<html>", HttpBody()),
        down(b"\xff\xfe", HttpBody()),
        down(fact=ExchangeEnd("closed")),
    ],
}


@pytest.mark.parametrize("session", [1, 2])
@pytest.mark.parametrize("frames", EXCHANGES.values(), ids=EXCHANGES.keys())
def test_all_of_an_exchange_is_noted(frames: list[Frame], session: int) -> None:
    """Every frame of an exchange comes back from the cassette as it was, in its order."""
    take = Take()
    recorder = Recorder(take.ledger, session)
    for frame in frames:
        fed(recorder, frame)

    assert [(*seen(frame), 7) for frame in frames] == [
        (*seen(frame), frame.exchange) for frame in take.frames()
    ]
    assert {session} == {event.s for event in take.events()}


def test_conversations_share_the_numbers_and_the_clock_of_their_take() -> None:
    """Events are numbered as they come, whoever notes them; times count from the first begin."""
    take = Take()
    one, two = Recorder(take.ledger, 2), Recorder(take.ledger, 3)
    list(one.begin(10.0))
    fed(one, up(INITIALIZE, x=1), now=11.0)
    list(two.begin(12.0))
    fed(two, up(INITIALIZE, x=2), now=13.0)
    fed(one, down(WELCOME, x=1), now=14.0)

    expected = [(1, 1_000_000, 2, 1), (2, 3_000_000, 3, 2), (3, 4_000_000, 2, 1)]
    assert expected == [(event.n, event.t, event.s, event.x) for event in take.events()]
    assert 3 == take.ledger.events


def test_a_line_of_another_session_says_so() -> None:
    """Messages without an exchange, several at once, are noted in their session too."""
    take = Take()
    fed(Recorder(take.ledger, 4), c2s(request(1, "a")), c2s(request(2, "b")))

    assert [4, 4] == [event.s for event in take.events()]


def test_what_is_not_to_be_kept_passes_unnoted() -> None:
    """Bodies of exchanges that are none of MCP's get no number, and losing them is no gap."""
    take = Take()
    take.ledger.strict = True
    recorder = Recorder(take.ledger)
    fed(recorder, down(b"x" * 10, HttpBody(unkept=True)))
    take.full = True
    fed(recorder, down(b"x" * 10, HttpBody(unkept=True)))
    fed(recorder, down(b"", HttpBody()))

    assert ([], 0, 0) == (take.lines, take.ledger.events, take.ledger.lost)


def test_why_bodies_are_missing() -> None:
    """Each reason is named once, the first three of many."""
    take, told = Take(), list[str]()
    take.ledger.on_gap = told.append
    recorder = Recorder(take.ledger)
    codings = ("br", "gzip", "br", "zstd", "x")
    fed(recorder, *(down(b"x", HttpBody(undecoded=coding)) for coding in codings))
    why = [f"a body cannot be decoded from {one}" for one in ("br", "gzip", "zstd")]

    assert [] == take.lines
    assert [*why[:2], why[0], why[2]] == told[:4]
    assert "; ".join(why) == take.ledger.gaps[recorder.session].reason


def piece(raw: bytes, way: Direction = S2C, *, x: int = 7, last: bool = False) -> Frame:
    return Frame(way, raw, fact=Fragment(last=last), exchange=x)


def test_long_messages_of_several_exchanges_do_not_mix() -> None:
    """Pieces belong to their direction, their exchange and their session; each message is noted
    whole, behind its head and ahead of its end.
    """
    take = Take()
    one, two = Recorder(take.ledger, 2), Recorder(take.ledger, 3)
    fed(one, piece(b'{"a":', x=1), down(fact=STREAM, x=2), piece(b'{"b":', x=2))
    fed(one, piece(b'{"c":', C2S, x=1))
    fed(two, piece(b'{"d":', x=3), piece(b"4}", x=3, last=True))
    fed(one, piece(b"2}", x=2, last=True), down(fact=END, x=2))
    fed(one, piece(b"3}", C2S, x=1, last=True))
    fed(one, piece(b"1}", x=1, last=True), down(fact=END, x=1))

    messages = [(event.s, event.x, event.payload) for event in take.events() if event.payload]
    expected = [(3, 3, b'{"d":4}'), (2, 2, b'{"b":2}'), (2, 1, b'{"c":3}'), (2, 1, b'{"a":1}')]
    assert expected == messages
    assert [STREAM, None, END] == [frame.fact for frame in take.frames() if frame.exchange == 2]


@pytest.mark.parametrize(
    "cut",
    [
        down(fact=ExchangeEnd("reset")),
        up(fact=ExchangeEnd("closed")),
        down(b"c", HttpBody()),
        down(b"{}"),
    ],
)
def test_what_came_of_a_message_that_was_cut_off_is_noted(cut: Frame) -> None:
    """What passed of a message whose exchange ended, whose rest came as no message, or behind which
    another one came, is in the take: as a body, ahead of what cut it off.
    """
    take = Take()
    recorder = Recorder(take.ledger)
    fed(recorder, piece(b'{"a":'), piece(b'"b'))
    fed(recorder, cut)

    [torn, then] = take.frames()
    assert (S2C, b'{"a":"b', b"\n", HttpBody()) == seen(torn)
    assert seen(cut) == seen(then)
    take.ledger.finish(1.0)
    assert 0 == take.ledger.lost


def test_what_comes_the_other_way_cuts_nothing_off() -> None:
    """A server may answer before it has read all of a long message."""
    take = Take()
    fed(Recorder(take.ledger), piece(b'{"a":', C2S), down(fact=STREAM, x=7))
    fed(Recorder(take.ledger), piece(b"1}", C2S, last=True))

    assert [b"", b'{"a":1}'] == [frame.raw for frame in take.frames()]


def test_an_exchange_behind_a_line() -> None:
    """What came with it is looked at one by one: a body that is empty is no event."""
    take = Take()
    fed(Recorder(take.ledger), s2c(b"{}"), down(b"", HttpBody()))
    fed(Recorder(take.ledger), down(b"", HttpBody()), s2c(b"[]"))

    assert [b"{}", b"[]"] == [frame.raw for frame in take.frames()]


def test_a_gap_is_told_in_its_own_session() -> None:
    """What each session lost is noted as its own, ahead of whatever comes next."""
    take = Take(full=True)
    one, two = Recorder(take.ledger, 2), Recorder(take.ledger, 3)
    fed(one, up(b"123", x=1))
    fed(two, up(b"12345", x=2), up(b"1", x=2))
    fed(one, up(b"1", x=1))
    take.full = False
    fed(two, up(b"{}", x=2))
    fed(one, up(b"{}", x=1))

    assert [(2, 2, 6), (3, 2, 8)] == take.gaps()
    numbers = [event.n for event in take.events()]
    assert [numbers[0], numbers[0] + 1, numbers[0] + 2, numbers[0] + 3] == numbers
    assert 4 == take.ledger.lost


def test_a_long_message_under_way_at_the_end_is_a_gap_of_its_session() -> None:
    """What passed of it is counted when the take is finished."""
    take = Take()
    fed(Recorder(take.ledger, 2), piece(b"12345", x=1))
    fed(Recorder(take.ledger, 3), piece(b"123", x=2))
    take.ledger.finish(1.0)

    assert [(2, 1, 5), (3, 1, 3)] == take.gaps()


def test_secrets_of_heads_and_bodies_are_noted_as_placeholders() -> None:
    """A session id is the same placeholder in a header, in a query and in the event that told it;
    the frames that pass keep it.
    """
    take = Take()
    recorder = Recorder(take.ledger, 2)
    frames = [
        down(b"/message?sessionId=abc-123"),
        up(fact=HttpRequest("POST", "/message?sessionId=abc-123", [("mcp-session-id", "abc-123")])),
        up(b'{"jsonrpc":"2.0","method":"x","params":{"password":"hunter2"}}'),
        down(b"denied: password=hunter2", HttpBody()),
    ]
    for frame in frames:
        fed(recorder, frame)

    told = b"".join(take.lines)
    assert (3, 2) == (told.count(b"mcpmock:secret:session-id:1"), told.count(b"password:2"))
    assert [b"abc-123" in told, b"hunter2" in told] == [False, False]
    assert [True] * 4 == [event.redacted for event in take.events()]
    assert b"abc-123" in frames[0].raw


def test_without_redaction_all_is_noted() -> None:
    """Where it was switched off, heads are noted as they were."""
    take = Take()
    take.ledger.redactor = None
    head = HttpRequest("GET", "/?token=abc", [("Authorization", "Bearer abc")])
    fed(Recorder(take.ledger), up(fact=head))

    assert [head] == [frame.fact for frame in take.frames()]


def test_the_redactor_is_shared() -> None:
    """Two conversations that use one secret have one placeholder for it."""
    take = Take()
    take.ledger.redactor = Redactor()
    for session, x in ((2, 1), (3, 2)):
        head = HttpRequest("GET", "/mcp", [("Authorization", "Bearer abc")])
        fed(Recorder(take.ledger, session), up(fact=head, x=x))

    assert 2 == b"".join(take.lines).count(b"Bearer mcpmock:secret:authorization:1")


def test_a_receipt_is_an_event() -> None:
    """With its time, its session and the exchange of the message that it is about."""
    take = Take()
    recorder = Recorder(take.ledger, 2)
    recorder.begin(1.0)
    recorder.receipt({"kind": "drop"}, down(b"x", x=3), 1.5)

    [event] = take.events()
    assert (1, 500_000, 2, 3, "s2c") == (event.n, event.t, event.s, event.x, event.d)
    assert {"kind": "drop"} == event.fault


def test_how_requests_are_authorized_is_an_event() -> None:
    """Ahead of the requests."""
    take = Take()
    recorder = Recorder(take.ledger, 2)
    recorder.begin(1.0)
    recorder.authorized({"scheme": "bearer"}, 1.5)

    assert [(1, 500_000, 2, {"scheme": "bearer"})] == [
        (event.n, event.t, event.s, event.auth) for event in take.events()
    ]


@pytest.mark.parametrize("redactor", [None, Redactor()])
def test_a_secret_in_a_receipt(redactor: Redactor | None) -> None:
    """It is replaced as in messages."""
    take = Take()
    take.ledger.redactor = redactor
    Recorder(take.ledger).receipt({"password": "hunter2"}, down(b"x"), 0)

    [event] = take.events()
    assert (redactor is None) is (event.fault == {"password": "hunter2"})


def test_a_receipt_that_cannot_be_noted() -> None:
    """It is an event that was lost; what was lost is told ahead of the next receipt."""
    take = Take(full=True)
    recorder = Recorder(take.ledger)
    recorder.receipt({"kind": "drop"}, down(b"x"), 0)
    take.full = False
    recorder.receipt({"kind": "delay"}, down(b"x"), 0)

    assert [(1, 1, 0)] == take.gaps()
    assert [{"kind": "delay"}] == [one.fault for one in take.events()[1:]]
