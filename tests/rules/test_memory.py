"""Bounds on what the checker remembers."""

from __future__ import annotations

from typing import Any

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, Request, decode, parse
from mcpmock.rules.memory import IncompleteMessages, slim_request, too_long
from tests.support import request, response

LONG = "x" * 5000


def asked(**params: Any) -> Request:
    message = parse(request(1, "tools/call", params))
    assert isinstance(message, Request)
    return message


def test_a_request_is_kept_without_its_arguments() -> None:
    """Of a long request only the params that later rules read are kept."""
    short = asked(name="dig")
    long = slim_request(asked(name="dig", arguments=LONG, _meta={"progressToken": 7}, task={}))

    assert slim_request(short) is short
    assert isinstance(long, Request)
    kept = {"_meta": {"progressToken": 7}, "task": {}, "name": "dig"}
    assert kept == decode(long.params or b"")
    assert b"{}" == getattr(slim_request(asked(name=LONG)), "params", None)


def test_what_is_too_long_to_be_kept() -> None:
    """An id, and a `_meta`, for there may be a token in it."""
    assert not too_long(asked(arguments=LONG))
    assert not too_long(asked(name=LONG))
    assert too_long(asked(_meta={"x": LONG}))
    assert too_long(parse(response(LONG)))
    assert b"{}" == getattr(slim_request(asked(_meta={"x": LONG})), "params", None)


def test_very_many_in_pieces_are_not_kept() -> None:
    """Only so many messages may be incomplete at a time; a finished exchange makes room."""
    torn = IncompleteMessages()
    for x in range(16):
        assert torn.add_piece(Frame(S2C, b"a", fact=Fragment(), exchange=x)) is None
    torn.forget(3)
    torn.add_piece(Frame(C2S, b"a", fact=Fragment(), exchange=3))
    before = torn.lost

    assert torn.add_piece(Frame(S2C, b"a", fact=Fragment(last=True), exchange=99)) is None
    assert (False, True) == (before, torn.lost)
    whole = torn.add_piece(Frame(S2C, b"b", fact=Fragment(last=True), exchange=7))
    assert whole is not None
    assert (b"ab", None, 7) == (whole.raw, whole.fact, whole.exchange)
