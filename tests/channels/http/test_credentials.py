"""Credentials of our own on the requests to a server, and what happens when it refuses them."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from mcpmock.channels.http.client import MAX_SAID_BYTES
from mcpmock.protocol.messages import C2S, ExchangeEnd, Frame, HttpResponse
from mcpmock.protocol.transport_facts import Headers
from tests.channels.http.http_talking import answer, back, everything, request, said, shown

POST = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nContent-Type: application/json\r\n"
    b"Accept-Encoding: identity\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
)
REFUSED = (
    b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
    b'WWW-Authenticate: Bearer resource_metadata="http://server/"\r\n\r\n'
)
STEP_UP = REFUSED.replace(b"401 Unauthorized", b"403 Forbidden").replace(
    b"Bearer ", b'Bearer error="insufficient_scope", '
)


class Tokens:
    """They count up: `after` a refusal and a while comes the next, unless there are no `more`."""

    def __init__(self, *, more: bool = True, after: float = 0.0) -> None:
        self.number = 1
        self.more, self.after = more, after
        self.refused: list[int] = []

    def fields(self) -> Headers:
        return [("Authorization", f"Bearer {self.number}")]

    async def renew(self, refused: HttpResponse, sent: Headers) -> str | None:
        assert sent == self.fields()
        self.refused.append(refused.status)
        await trio.sleep(self.after)
        if not self.more:
            return "log in first"
        self.number += 1
        return None

    def refused_anew(self) -> str:
        return "log in anew"


async def test_a_token_on_every_request(autojump_clock: MockClock) -> None:
    """Also where the client has one of its own, which is none of this server."""
    async with back(credentials=Tokens()) as there:
        head = request()
        head.headers.append(("authorization", "Bearer own"))
        receive = await there.send(*said(1, head, b"{}"))
        there.nursery.start_soon(_answers, there, 1, b"{}", answer(b"[]"))

        assert [200, b"[]", "eof"] == shown(await everything(receive))


async def _answers(there: object, token: int, body: bytes, data: bytes) -> None:
    server = await there.server()  # type: ignore[attr-defined]
    await server.reads(POST % (b"%d" % token, len(body), body))
    await server.send(data)


@pytest.mark.parametrize("refusal", [REFUSED, STEP_UP])
async def test_a_refused_request_is_sent_again(autojump_clock: MockClock, refusal: bytes) -> None:
    """Once, with the new token; the client hears of nothing."""
    tokens = Tokens(after=5.0)
    async with back(credentials=tokens) as there:
        receive = await there.send(*said(1, request(), b"{}"))
        there.nursery.start_soon(_answers, there, 1, b"{}", refusal)
        there.nursery.start_soon(_answers_later, there, answer(b"[]"))

        assert [200, b"[]", "eof"] == shown(await everything(receive))
        assert 5.0 == trio.current_time()


async def _answers_later(there: object, data: bytes) -> None:
    await trio.sleep(1)
    await _answers(there, 2, b"{}", data)


async def test_a_second_refusal(autojump_clock: MockClock) -> None:
    """The client reads what is to be done; a 403 goes on without the challenge, for the client is
    not to log in here.
    """
    for refusal, status, told in (
        (REFUSED, 401, b"mcpmock: log in anew\n"),
        (STEP_UP, 403, b""),
    ):
        tokens = Tokens()
        async with back(credentials=tokens) as there:
            receive = await there.send(*said(1, request(), b"{}"))
            there.nursery.start_soon(_answers, there, 1, b"{}", refusal)
            there.nursery.start_soon(_answers_later, there, refusal)
            frames = await everything(receive)

        head = frames[0].fact
        assert isinstance(head, HttpResponse)
        assert (status, None) == (head.status, head.header("www-authenticate"))
        assert told == b"".join(frame.raw for frame in frames)
        assert [status] == tokens.refused


async def test_nobody_can_log_in(autojump_clock: MockClock) -> None:
    """The client reads what is to be done."""
    async with back(credentials=Tokens(more=False)) as there:
        receive = await there.send(*said(1, request(), b"{}"))
        there.nursery.start_soon(_answers, there, 1, b"{}", REFUSED)

        assert [401, ("HttpBody", b"mcpmock: log in first\n"), "eof"] == shown(
            await everything(receive)
        )


async def test_another_403(autojump_clock: MockClock) -> None:
    """It has nothing to do with a login."""
    other = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
    tokens = Tokens()
    async with back(credentials=tokens) as there:
        receive = await there.send(*said(1, request(), b"{}"))
        there.nursery.start_soon(_answers, there, 1, b"{}", other)

        assert [403, "eof"] == shown(await everything(receive))
        assert [] == tokens.refused


async def test_a_client_that_leaves_meanwhile(autojump_clock: MockClock) -> None:
    """Nothing is sent again for nobody."""
    async with back(credentials=Tokens(after=60.0)) as there:
        receive = await there.send(*said(1, request(), b"{}"))
        there.nursery.start_soon(_answers, there, 1, b"{}", REFUSED)

        async def leave() -> None:
            await trio.sleep(1)
            there.channel.send_nowait([Frame(C2S, fact=ExchangeEnd("closed"), exchange=1)])

        there.nursery.start_soon(leave)
        with pytest.raises(trio.EndOfChannel):
            await receive()
        assert 1.0 == trio.current_time()


async def test_a_request_too_long_to_be_kept(autojump_clock: MockClock) -> None:
    """The token is renewed for the next one, and the client is told."""
    body = b"x" * (MAX_SAID_BYTES + 1)
    tokens = Tokens()
    async with back(credentials=tokens) as there:
        receive = await there.send(*said(1, request(), body))
        there.nursery.start_soon(_answers, there, 1, body, REFUSED)
        frames = shown(await everything(receive))

    why = b"mcpmock: the request is too long to be sent again\n"
    assert [401, ("HttpBody", why), "eof"] == frames
    assert 2 == tokens.number
