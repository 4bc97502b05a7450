"""A server and its authorization server in memory, each answer of which can be another one, and a
person who agrees at once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import attrs
import httpx2
import pytest
import trio

from mcpmock.logins import provider
from mcpmock.logins.callback import Callback
from tests.logins.test_token_store import URL

ORIGIN = "https://mcp.example"
MCP, RESOURCE = "/mcp", "/.well-known/oauth-protected-resource/mcp"
ISSUER = "/.well-known/oauth-authorization-server"
REGISTER, TOKEN, DEVICE, AUTHORIZE = "/register", "/token", "/device", "/authorize"
PIECE_BYTES = 1 << 16
FORM = "application/x-www-form-urlencoded"
METADATA: dict[str, Any] = {
    "issuer": ORIGIN,
    "authorization_endpoint": ORIGIN + AUTHORIZE,
    "token_endpoint": ORIGIN + TOKEN,
    "registration_endpoint": ORIGIN + REGISTER,
    "device_authorization_endpoint": ORIGIN + DEVICE,
    "code_challenge_methods_supported": ["S256"],
}
PROTECTED: dict[str, Any] = {"resource": URL, "authorization_servers": [ORIGIN]}
TOKENS: dict[str, Any] = {
    "access_token": "SECRET-access",
    "refresh_token": "SECRET-refresh",
    "token_type": "Bearer",
    "expires_in": 60,
}
CODES: dict[str, Any] = {
    "device_code": "SECRET-device",
    "user_code": "ABCD",
    "verification_uri": ORIGIN + DEVICE,
    "expires_in": 60,
    "interval": 5,
}


class Stream(httpx2.AsyncByteStream):
    """A body in pieces, which are counted; after each the server rests."""

    def __init__(self, pieces: Iterator[bytes], rest_s: float = 0) -> None:
        self._pieces = pieces
        self._rest_s = rest_s
        self.sent_bytes = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.sent_bytes += len(piece)
            yield piece
            await trio.sleep(self._rest_s)


@attrs.frozen
class Answer:
    """What a path answers. A body of bytes is sent in pieces."""

    body: object = ""
    status: int = 200
    fields: Mapping[str, str] = attrs.field(factory=dict)
    rest_s: float = 0

    def stream(self) -> Stream:
        """The body once more."""
        body = self.body
        if callable(body):
            return Stream(body(), self.rest_s)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Stream(split(data), self.rest_s)


def split(data: bytes) -> Iterator[bytes]:
    return (data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES))


def flood(total: int) -> Callable[[], Iterator[bytes]]:
    """So many bytes of a JSON text without an end."""

    def pieces() -> Iterator[bytes]:
        yield b'["'
        for _ in range(total // PIECE_BYTES):
            yield b"x" * PIECE_BYTES

    return pieces


def drip() -> Iterator[bytes]:
    """A byte, for ever."""
    while True:
        yield b" "


def bomb(total: int) -> Answer:
    """A small body that is a big one; packed when it is first sent."""

    @cache
    def packed() -> bytes:
        deflater = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        pieces = [deflater.compress(b" " * PIECE_BYTES) for _ in range(total // PIECE_BYTES)]
        return b"".join([*pieces, deflater.flush()])

    return Answer(lambda: split(packed()), fields={"Content-Encoding": "gzip"})


Answers = Answer | list[Answer]


@attrs.define
class MemoryIssuer:
    """`answers` by path; of a list each once, and the last again."""

    answers: dict[str, Answers]
    asked: list[httpx2.Request] = attrs.field(factory=list)
    streams: list[Stream] = attrs.field(factory=list)
    pages: list[str] = attrs.field(factory=list)
    """Those that the browser was to show."""
    came: dict[str, str] = attrs.field(factory=lambda: {"code": "SECRET-code"})

    @classmethod
    def changed(cls, changes: Mapping[str, Answers]) -> MemoryIssuer:
        """A sound one, but for these answers."""
        refused = Answer(status=401, fields={"WWW-Authenticate": 'Bearer scope="a"'})
        told: dict[str, Answers] = {
            MCP: refused,
            RESOURCE: Answer(PROTECTED),
            ISSUER: Answer(METADATA),
            REGISTER: Answer({"client_id": "c"}, 201),
            TOKEN: Answer(TOKENS),
            DEVICE: Answer(CODES),
        }
        return cls({**told, **changes})

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        """As a transport of httpx2 does."""
        self.asked.append(request)
        answers = self.answers.get(request.url.path, Answer(status=404))
        if isinstance(answers, list):
            answers = answers.pop(0) if len(answers) > 1 else answers[0]
        stream = answers.stream()
        self.streams.append(stream)
        fields = [(name.encode(), text.encode()) for name, text in answers.fields.items()]
        return httpx2.Response(answers.status, headers=fields, stream=stream)

    @property
    def sent_bytes(self) -> int:
        """The most of one answer that was read."""
        return max(stream.sent_bytes for stream in self.streams)

    @property
    def verifiers(self) -> list[str]:
        """Secrets that the client made."""
        forms = [dict(parse_qsl(request.content.decode("latin-1"))) for request in self.asked]
        return [form["code_verifier"] for form in forms if "code_verifier" in form]

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the place of the network and of the browser."""

        @attrs.define
        class Agreed(Callback):
            async def parameters(_self) -> dict[str, str]:
                return {"state": _self.state or "", **self.came}

        @asynccontextmanager
        async def waiting(port: int) -> AsyncIterator[Callback]:
            yield Agreed(port)

        transport = httpx2.MockTransport(self.answer)
        monkeypatch.setattr(provider, "new_client", lambda: httpx2.AsyncClient(transport=transport))
        monkeypatch.setattr(provider, "waiting_for_browser", waiting)
        monkeypatch.setattr(provider, "open_page", self.pages.append)
