"""What of a client's requests gets past the fake authorization server."""

from __future__ import annotations

import pytest

from mcpmock.authorization.stage import MAX_FORM_BYTES, AuthorizationStage
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.protocol.messages import C2S, S2C, ExchangeEnd, Frame, HttpBody, HttpResponse

from .login import Login, request, server

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}'


class Door:
    """The stage with a client in front, and a login that its server knows of."""

    def __init__(self, auth: str = "oauth", *faults: str) -> None:
        self.at = server(auth, *faults)
        self.token = Login(self.at).log_in()[1]["access_token"]
        self.pipeline = Pipeline([AuthorizationStage(self.at, lambda head: head.path == "/mcp")])

    def send(self, *frames: Frame) -> list[Frame]:
        return [frame for batch in self.pipeline.enter(frames, 0) for frame in batch]

    def status(self, *frames: Frame) -> int | None:
        """The status of our own answer; None if the frames went on instead."""
        out = self.send(*frames)
        if out and out[0].direction is C2S:
            assert list(frames) == out
            return None
        head = out[0].fact
        assert isinstance(head, HttpResponse)
        assert isinstance(out[-1].fact, ExchangeEnd)
        return head.status

    def post(self, token: str | None, target: str = "/mcp") -> Frame:
        fields = {} if token is None else {"Authorization": f"Bearer {token}"}
        return Frame(C2S, fact=request("POST", target, **fields), exchange=1)


BODY = Frame(C2S, CALL, exchange=1)


def test_with_a_token() -> None:
    """All goes on as it came."""
    door = Door()

    assert door.status(door.post(door.token), BODY) is None


def test_without_a_token() -> None:
    """Nothing goes on, also what comes later of it."""
    door = Door()

    assert 401 == door.status(door.post(None), BODY)
    assert [] == door.send(Frame(C2S, fact=ExchangeEnd("closed"), exchange=1))


def test_a_get_without_a_token() -> None:
    """A stream is not opened either."""
    assert 401 == Door().status(Frame(C2S, fact=request("GET", "/mcp"), exchange=1))


def test_the_tool_is_in_the_body() -> None:
    """The head waits for it, however they come."""
    door = Door("oauth:tool.pay=money")

    assert [] == door.send(door.post(door.token))
    assert 403 == door.status(BODY)


def test_the_body_in_pieces() -> None:
    """A form of an endpoint is put together; one without end is refused."""
    door = Door()
    piece, last = HttpBody(unkept=True, more=True), HttpBody(unkept=True)
    half = MAX_FORM_BYTES // 2

    assert [] == door.send(door.post(None, "/register"), Frame(C2S, b"{", b"", piece, 1))
    assert 400 == door.status(Frame(C2S, b"}", b"", last, 1))
    assert [] == door.send(door.post(None, "/token"), Frame(C2S, b"x" * half, b"", piece, 1))
    assert 413 == door.status(Frame(C2S, b"x" * (half + 1), b"", piece, 1))
    assert [] == door.send(Frame(C2S, b"x", b"", last, 1))


@pytest.mark.parametrize("target", ["/other", "/mcp/other"])
def test_other_paths(target: str) -> None:
    """They are none of ours."""
    assert Door().status(Frame(C2S, fact=request("GET", target), exchange=1)) is None


def test_answers_pass() -> None:
    """What the recording says goes to the client."""
    answer = Frame(S2C, b"{}", exchange=1)

    assert [answer] == Door().send(answer)


def test_a_slow_answer() -> None:
    """It comes at its time."""
    door = Door("oauth", "auth_slow:delay=2s,nth=4")  # a login is three requests
    metadata = Frame(
        C2S, fact=request("GET", "/.well-known/oauth-authorization-server"), exchange=7
    )

    assert [] == door.send(metadata)
    assert 2.0 == door.pipeline.next_due
    [batch] = door.pipeline.advance(2.0)
    assert 7 == batch[0].exchange
