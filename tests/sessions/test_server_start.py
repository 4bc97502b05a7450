"""A server that does not get as far as its first call."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import read
from mcpmock.protocol.messages import Frame
from mcpmock.sessions.server_start import FailedStart, failed_start
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    accepts,
    answers,
    bodiless,
    c,
    call,
    cassette,
    cassette_bytes,
    ends,
    error,
    in_session,
    over_http,
    post,
    replies,
    request,
    response,
    s,
    says,
)

CALL = ("c2s", call(1, "a"))
NEXT = ("c2s", call(2, "b"))
AGAIN = [("take", None), ("c2s", INITIALIZE)]
BEFORE = "before it answered initialize"


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ([("end", {"exit": 2})], f"the server ended with status 2 {BEFORE}"),
        ([("end", {"exit": 0})], f"the server ended with status 0 {BEFORE}"),
        ([("end", {"signal": 9})], f"the server was ended by signal 9 (SIGKILL) {BEFORE}"),
        ([("end", {"d": "s2c"}), ("end", {"d": "c2s"}), ("end", {"exit": 2})],
         f"the server ended with status 2 {BEFORE}"),
        ([("end", {"d": "c2s"}), ("end", {"d": "s2c"}), ("end", {"signal": 15})],
         "the server did not answer initialize"),
        ([("end", {"d": "c2s"}), ("end", {"d": "s2c"}), ("end", {"exit": 0})],
         "the server did not answer initialize"),
        ([("end", {"d": "c2s"}), ("end", {"d": "s2c"}), ("end", {"exit": 2})],
         f"the server ended with status 2 {BEFORE}"),
        ([("end", {"signal": 250})], f"the server was ended by signal 250 (unknown) {BEFORE}"),
        ([("s2c", WELCOME), ("c2s", call(1, "a")), ("end", {"exit": 3})],
         "the server ended with status 3 before it answered tools/call"),
        ([("s2c", WELCOME), CALL, ("s2c", response(1)), ("end", {"exit": 3})], None),
        ([("s2c", WELCOME), CALL, ("s2c", error(1)), ("end", {"exit": 3})], None),
        ([("s2c", WELCOME), CALL, ("s2c", response(1)), NEXT, ("end", {"exit": 3})], None),
        ([("s2c", WELCOME), c(INITIALIZED), s(request("q", "roots/list")), ("end", {"exit": 3})],
         None),
        ([s(request(0, "roots/list")), c(response(0)), ("end", {"exit": 2})],
         f"the server ended with status 2 {BEFORE}"),
        ([s(error(None)), ("end", {"exit": 2})], f"the server ended with status 2 {BEFORE}"),
        ([("end", {"exit": 2}), *AGAIN, ("end", {"exit": 3})],
         f"the server ended with status 2 {BEFORE}"),
        ([("s2c", WELCOME), CALL, ("s2c", response(1)), *AGAIN, ("end", {"exit": 3})], None),
        ([("s2c", WELCOME)], None),
        ([], None),
    ],
)  # fmt: skip
def test_processes(events: list[tuple[str, object]], sentence: str | None) -> None:
    """The end, and what was not answered before it."""
    found = failed_start(cassette(("c2s", INITIALIZE), *events))

    assert sentence == (found and found.sentence)


def test_a_server_that_did_not_answer_when_it_was_recorded() -> None:
    """It does the same again, which is compared."""
    silent = cassette(("c2s", INITIALIZE), ("end", {"exit": 0}))

    assert None is failed_start(silent, silent)
    assert None is not failed_start(silent, cassette(("c2s", INITIALIZE), ("s2c", WELCOME)))


def test_what_it_printed() -> None:
    """Usage on standard output is shown, without control characters."""
    printed = [
        ("stderr", "on standard error it was seen\n"),
        s(b"usage: \x1b[1mx"),
        s(b"  -h"),
        s(LOG),
        c(b"noise"),
    ]
    live = cassette(("c2s", INITIALIZE), *printed, ("end", {"exit": 0}))

    assert failed_start(live) == FailedStart(
        f"the server ended with status 0 {BEFORE}", ("usage: \x1b[1mx", "  -h")
    )
    found = failed_start(live)
    assert found is not None
    assert ["it printed: usage: \\u001b[1mx", "it printed:   -h"] == found.lines[1:]


def test_events_that_are_no_messages() -> None:
    """The note of a gap in the recording says nothing of the server."""
    gap = b'{"n":3,"t":9,"gap":{"events":1,"bytes":9,"reason":"full"}}\n'
    asked = cassette_bytes(("c2s", INITIALIZE), ("end", {"exit": 2}))

    found = failed_start(read("a", asked + gap))
    assert found == FailedStart(f"the server ended with status 2 {BEFORE}")


def http(*response_frames: Frame | list[Frame]) -> Cassette:
    return over_http(in_session(1, post(1, INITIALIZE), *response_frames))


@pytest.mark.parametrize(
    ("live", "sentence"),
    [
        (http(replies(1, 404), ends(1)), "HTTP 404"),
        (http(replies(1, 302, location="https://login.example/a?next=s"), ends(1)),
         "HTTP 302 to https://login.example/a"),
        (http(replies(1, 200, "text/html; charset=utf-8"), ends(1)),
         "text/html, not with a message"),
        (http(replies(1, 202), ends(1)), "no content, not with a message"),
        (http(answers(1, WELCOME)), None),
        (http(replies(1, 200, "application/json"), ends(1)), None),
        (over_http(
            in_session(2, bodiless(9, "GET"), accepts(9, 405)),
            in_session(1, post(1, INITIALIZE), replies(1, 404), ends(1)),
         ), "HTTP 404"),
        (http(replies(1, 200, "text/event-stream"), says(1, WELCOME), ends(1)), None),
    ],
)  # fmt: skip
def test_urls(live: Cassette, sentence: str | None) -> None:
    """A response without a message is named by its status or its content."""
    found = failed_start(live)

    assert (sentence and f"the server answered initialize with {sentence}") == (
        found and found.sentence
    )
