"""Which recorded question a live one is."""

from __future__ import annotations

from mcpmock.playback.client.script import ScriptServerRequest, ServerRequests
from mcpmock.protocol.messages import Request


def asked(method: str, params: bytes | None = None) -> Request:
    return Request(b"1", method, params)


def test_the_same_question_first() -> None:
    """Whatever is volatile in it; else the next of its method, and at the end the last again."""
    params = [b'{"n":1}', b'{"n":2,"_meta":{"progressToken":5}}', b'{"n":3}']
    found = ServerRequests([ScriptServerRequest("a", one) for one in params])

    assert 1 == found.find(asked("a", b'{"n":2.0,"_meta":{"progressToken":"x"}}'))
    assert 0 == found.find(asked("a"))
    assert [2, 2, 2] == [found.find(asked("a", b'{"n":2}')) for _ in range(3)]


def test_the_same_question_among_many() -> None:
    """Each is found, whatever stands before it."""
    params = [b'{"n":%d}' % n for n in range(200)]
    found = ServerRequests([ScriptServerRequest("a", one) for one in params])

    order = [150, 199, 0, 3]
    assert order == [found.find(asked("a", params[n])) for n in order]


def test_a_question_that_was_never_recorded() -> None:
    assert None is ServerRequests([ScriptServerRequest("a", None)]).find(asked("b"))


def test_questions_that_no_decoder_takes() -> None:
    """They are the same where their bytes are."""
    deep = b"[" * 99_999 + b"]" * 99_999
    found = ServerRequests([ScriptServerRequest("a", None), ScriptServerRequest("a", deep)])

    assert [1, 0] == [found.find(asked("a", deep)), found.find(asked("a", deep))]
