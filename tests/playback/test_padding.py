"""Bytes that clients read past: a message among them is recorded, redacted and replayed."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import event_line
from mcpmock.protocol.messages import C2S, S2C, Frame
from mcpmock.redaction.redactor import Redactor
from tests.support import (
    INITIALIZE,
    WELCOME,
    answers,
    batch,
    c,
    call,
    ends,
    in_session,
    opens,
    over_http,
    play,
    post,
    progress,
    replay_http,
    request,
    response,
    s,
    says,
)
from tests.support.http_episodes import OPENING

MARK = b"\xef\xbb\xbf"
AROUND = {
    "mark": (MARK, b""),
    "two marks": (MARK * 2, b""),
    "mark and space": (MARK + b" \t", b" "),
    "mark behind": (b"", MARK),
    "zero": (b"", b"\0"),
    "carriage return": (b"\r", b"\r"),
    "form feed": (b"\x0c", b"\x0b"),
    "record separator": (b"\x1e", b""),
    "no-break space": (b"\xc2\xa0", b"\xe3\x80\x80"),
    "line separator": (b"\xe2\x80\xa8", b"\xe2\x80\xa9"),
}
"""What stands before and behind a message."""
KEY = "sk-Zq8RtY4nLw2VbX7mKc3P"


@pytest.mark.parametrize("around", AROUND)
def test_answers_get_live_ids(around: str) -> None:
    """What an answer is surrounded by stays, and its ids and tokens are those of the client."""
    before, behind = AROUND[around]

    def pad(raw: bytes) -> bytes:
        return before + raw + behind

    asked = request(2, "tools/call", {"name": "a"}, token="t")
    played = play(
        c(INITIALIZE),
        s(pad(WELCOME)),
        c(pad(asked)),
        s(pad(progress("t", 1))),
        s(pad(response(2, {"a": 1}))),
        c(call(3, "b")),
        s(pad(batch(response(3)))),
    )
    assert [pad(WELCOME)] == played.heard(INITIALIZE)
    live = request("x", "tools/call", {"name": "a"}, token="live")
    assert [pad(progress("live", 1)), pad(response("x", {"a": 1}))] == played.heard(live)
    assert [pad(batch(response("y")))] == played.heard(pad(call("y", "b")))


@pytest.mark.parametrize("stream", [False, True])
def test_answers_over_http_get_live_ids(stream: bool) -> None:
    """So do a body of JSON and the data of an event."""
    told = MARK + response(3, {"a": 1})
    answer = [*opens(3), *says(3, told, id="a"), ends(3)] if stream else answers(3, told)
    played = replay_http(over_http(in_session(2, *OPENING, post(3, call(3, "a")), answer)))
    played.hears(0, post(901, INITIALIZE))
    heard = played.hears(1, post(13, call("x", "a"), session="live-1"))

    assert f"13 {(MARK + response('x', {'a': 1})).decode()}" in heard


@pytest.mark.parametrize("exchange", [None, 1])
@pytest.mark.parametrize("around", AROUND)
def test_redaction_reads_a_padded_message_as_a_message(around: str, exchange: int | None) -> None:
    """A secret in it is replaced, and what would be replaced in no message stays."""
    before, behind = AROUND[around]
    description = 'Sends "Authorization": "Bearer token".'
    told = response(
        1, {"api_key": "hunter22", "text": KEY, "tools": [{"description": description}]}
    )
    raw = before + told + behind
    clean = Redactor().frame(Frame(S2C, raw, exchange=exchange)).raw

    plain = Redactor().frame(Frame(S2C, told)).raw
    assert clean == before + plain + behind
    assert b"hunter22" not in clean
    assert KEY.encode() not in clean
    assert description.replace('"', '\\"').encode() in clean


LATIN = "caf\u00e9".encode("latin-1")


def test_bytes_that_are_not_utf8_hide_no_id() -> None:
    """Node reads them as U+FFFD and takes the answer, so it gets a live id too; a request that
    holds them finds its answer.
    """
    asked = call(2, "a", text="CAFE").replace(b"CAFE", LATIN)
    told = response(2, {"text": "CAFE"}).replace(b"CAFE", LATIN)
    played = play(c(asked), s(told))

    played.at(
        0, client=asked.replace(b'"id":2', b'"id":9'), to_client=told.replace(b'"id":2', b'"id":9')
    ).nothing_more()


def test_padded_messages_are_kept_to_the_byte() -> None:
    """A cassette has the bytes as they came."""
    for before, behind in AROUND.values():
        frame = Frame(C2S, before + call(1, "a", text="caf\u00e9") + behind)
        assert b'"text":' in event_line(1, 0, frame)
