"""Messages as the bytes that carry them, whole or not."""

from __future__ import annotations

import pytest

from mcpmock.faults.chunking import break_off_stream, cut_message, wire_bytes, with_events
from mcpmock.faults.fault import MatchedMessage
from mcpmock.faults.match import Subject
from mcpmock.faults.segments import On
from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol.messages import S2C, Fragment, Frame, HttpRequest, SseMeta, StreamEnd
from tests.support import answers, c2s, post, replies, response, s2c, says, shown
from tests.support.faulty import ANSWER


def matched(*unit: Frame) -> MatchedMessage:
    return MatchedMessage(unit=unit, subject=Subject(unit[-1], None, None), now=0, on=On.OTHER)


def test_the_bytes_of_a_message() -> None:
    """A line, a body, an event with its fields; one that is known as it was."""
    head, message, _ = answers(1, ANSWER)
    known = Frame(message.direction, ANSWER, b"\n", None, 1, b"data:x\n\n")

    assert b"abc\r\n" == wire_bytes(matched(s2c(b"abc", b"\r\n")))
    assert ANSWER == wire_bytes(matched(head, message))
    assert b"event: e\nretry: 5\ndata: a\ndata: b\n\n" == wire_bytes(
        matched(*says(1, b"a\nb", event="e", retry=5))
    )
    assert b"data:x\n\n" == wire_bytes(matched(known))


def test_events_without_data() -> None:
    """They come behind the head and ahead of the event of the message."""
    head, said = replies(1, 200, "text/event-stream"), says(1, b"a", event="e")
    frames = with_events(matched(head, *said), [SseMeta(id="x")])

    assert [head.fact, SseMeta(id="x"), SseMeta(), SseMeta(event="e"), None] == [
        frame.fact for frame in frames
    ]


@pytest.mark.parametrize("frame", [c2s(b"abcdef"), s2c(b"abcdef")])
def test_a_line_that_breaks_off(frame: Frame) -> None:
    """It is the end of the line, and of the session."""
    acts = [*break_off_stream(matched(frame), b"abc", how="reset")]

    piece, end = (act.frames for act in acts if isinstance(act, Send))
    assert [Frame(frame.direction, b"abc", b"", Fragment(last=True))] == piece
    assert [Frame(S2C, b"", b"", StreamEnd("reset"))] == end
    assert isinstance(acts[-1], Hangup)


def test_between_cr_and_lf() -> None:
    """A cut there leaves the CR in the first piece."""
    first, second = cut_message(matched(s2c(b"abc", b"\r\n")), [4])

    assert [Frame(first[0].direction, b"abc\r", b"", Fragment())] == first
    assert (b"\n", True) == (second[0].raw + second[0].eol, second[0].fact == Fragment(last=True))


def test_every_cut_gives_the_same_bytes() -> None:
    """Wherever it is."""
    whole = matched(s2c(response(1), b"\r\n"))
    data = wire_bytes(whole)
    for cut in range(1, len(data)):
        parts = [f.raw + f.eol for frames in cut_message(whole, [cut]) for f in frames]
        assert [data[:cut], data[cut:]] == parts


@pytest.mark.parametrize(
    "fields",
    [{}, {"content_length": "9"}, {"Content_Length": "9"}, {"transfer_encoding": "chunked"}],
)
def test_a_request_says_how_long_it_would_be(fields: dict[str, str]) -> None:
    """In place of what its head said: its own length, or more where more is sent."""
    asked = matched(*post(1, ANSWER, accept="x", **fields))
    long = ANSWER + b"more"

    for data, size in ((ANSWER[:3], len(ANSWER)), (long, len(long))):
        [broken, *_] = break_off_stream(asked, data)
        assert isinstance(broken, Send)
        for head, length in (
            (broken.frames[0], size),
            (cut_message(asked, [3])[0][0], len(ANSWER)),
        ):
            assert isinstance(head.fact, HttpRequest)
            assert [("accept", "x"), ("Content-Length", str(length))] == [
                field for field in head.fact.headers if field[0] in ("accept", "Content-Length")
            ]
            assert head.fact.header("transfer-encoding") is None


def test_the_first_piece_has_the_head() -> None:
    """Without a length."""
    head, message = replies(1, 200, "application/json", content_length="3"), s2c(b"abc")
    message.exchange = 1

    assert ["1 200 application/json", "1 body a", "1 body bc"] == shown(
        frame for frames in cut_message(matched(head, message), [1]) for frame in frames
    )
