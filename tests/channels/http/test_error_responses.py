"""What we answer ourselves."""

from __future__ import annotations

from mcpmock.channels.http import error_responses
from mcpmock.channels.http.error_responses import frames_of, refusal
from mcpmock.channels.http.http1 import ResponseWriter


def test_an_answer_of_ours() -> None:
    """Is a whole response of one line, that says who says it."""
    written = ResponseWriter("GET").write(frames_of(refusal(404, "Not Found", "nothing here")))

    assert (
        b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 22\r\n\r\n"
        b"mcpmock: nothing here\n"
    ) == written


def test_those_that_are_always_the_same() -> None:
    """Each has a status of its own."""
    known = (
        error_responses.NOT_HTTP,
        error_responses.LONG_HEAD,
        error_responses.LATE,
        error_responses.GIVEN_UP,
    )

    assert [400, 431, 408, 503] == [answer.status for answer in known]
    assert {1} == {answer.text.count("\n") for answer in known}
