"""Conversations with planted violations, which the tests of the rules share.

A row is a conversation that breaks one rule, and the name of that rule. Openings make up its
beginning: both eras, on stdio, over Streamable HTTP and over HTTP+SSE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.protocol.messages import Frame
from mcpmock.protocol.methods import LAST_LEGACY, LATEST
from mcpmock.rules.context import ServerState
from mcpmock.rules.conversation import ConversationChecker
from mcpmock.rules.specification import Violation
from tests.support import (
    HEADER,
    INITIALIZED,
    accepts,
    answers,
    c2s,
    cassette,
    get,
    in_session,
    over_http,
    post,
    replies,
    request,
    response,
    s2c,
    says,
)

PREFIX = "io.modelcontextprotocol/"
HTTP, SSE = "streamable-http", "sse"
Step = Frame | list[Frame]

CLIENT = {
    "roots": {"listChanged": True},
    "sampling": {},
    "elicitation": {},
}
SERVER = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
    "completions": {},
}
INFO = {"name": "tests", "version": "1"}


@attrs.frozen
class Planted:
    """`steps` break `rule` and those in `also`; `of` is the session, 1 for callers without one."""

    rule: str
    steps: Sequence[Step]
    transport: str = "stdio"
    of: int = 1
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.rule}-{self.transport}"

    @property
    def frames(self) -> list[Frame]:
        return list(flat(self.steps))

    @property
    def cassette(self) -> Cassette:
        """The steps as a recorder writes them."""
        if self.transport == "stdio":
            return cassette(*((frame.direction.value, frame) for frame in self.frames))
        header = HEADER.replace(b"stdio", self.transport.encode())
        return over_http(in_session(self.of, *self.steps), header=header)


def flat(steps: Iterable[Step]) -> Iterable[Frame]:
    for step in steps:
        yield from [step] if isinstance(step, Frame) else step


def violations(
    *steps: Step,
    transport: str = "stdio",
    sessionless: bool = False,
    server: ServerState | None = None,
) -> list[Violation]:
    """The violations in these frames, which are numbered from 1; not those of `shape`, because
    most messages here have only the members that a test is about.
    """
    conversation = ConversationChecker.over(transport, sessionless=sessionless, server=server)
    numbered = enumerate(flat(steps), 1)
    found = [one for number, frame in numbered for one in conversation.check(frame, number)]
    return [one for one in found if isinstance(one, Violation) and one.rule.name != "shape"]


def names(*steps: Step, transport: str = "stdio", sessionless: bool = False) -> list[str]:
    """The names of the rules they break."""
    return [
        one.rule.name for one in violations(*steps, transport=transport, sessionless=sessionless)
    ]


# The legacy era.


def initialize(
    revision: str = LAST_LEGACY, capabilities: Any = CLIENT, id_: Any = "opening"
) -> bytes:
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": INFO}
    return request(id_, "initialize", params)


def welcome(revision: str = LAST_LEGACY, capabilities: Any = SERVER) -> bytes:
    result = {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": INFO}
    return response("opening", result)


def opening(
    revision: str = LAST_LEGACY, *, client: Any = CLIENT, server: Any = SERVER
) -> list[Frame]:
    """The handshake on stdio."""
    asks, answers_ = initialize(revision, client), welcome(revision, server)
    return [c2s(asks), s2c(answers_), c2s(INITIALIZED)]


def posted(x: int, raw: bytes, version: str | None = LAST_LEGACY, **fields: Any) -> list[Frame]:
    """A POST in the session `s-1`."""
    return post(x, raw, **{"session": "s-1", "mcp_protocol_version": version, **fields})


def got(x: int, version: str | None = LAST_LEGACY, **fields: Any) -> list[Frame]:
    """A GET in the session `s-1`."""
    return get(x, **{"session": "s-1", "mcp_protocol_version": version, **fields})


def opening_http(revision: str = LAST_LEGACY) -> list[Step]:
    """The handshake over Streamable HTTP, in exchanges 1 and 2."""
    version = revision if revision >= "2025-06-18" else None
    return [
        post(1, initialize(revision)),
        answers(1, welcome(revision), mcp_session_id="s-1"),
        posted(2, INITIALIZED, version),
        accepts(2),
    ]


def opening_sse() -> list[Step]:
    """The stream is exchange 1; the handshake is in exchanges 2 and 3."""
    return [
        get(1, to="/sse"),
        replies(1, 200, "text/event-stream"),
        says(1, b"/messages?id=1", event="endpoint"),
        post(2, initialize("2024-11-05"), to="/messages?id=1"),
        accepts(2),
        says(1, welcome("2024-11-05"), event="message"),
        post(3, INITIALIZED, to="/messages?id=1"),
        accepts(3),
    ]


# The modern era.

META = {
    f"{PREFIX}protocolVersion": LATEST,
    f"{PREFIX}clientInfo": INFO,
    f"{PREFIX}clientCapabilities": {"sampling": {}},
}


def ask(id_: Any, method: str, params: Any = None, **meta: Any) -> bytes:
    """A request; of `meta` None leaves a field out."""
    fields = {**META, **{f"{PREFIX}{name}": value for name, value in meta.items()}}
    kept = {name: value for name, value in fields.items() if value is not None}
    return request(id_, method, {**(params or {}), "_meta": kept})


def done(id_: Any, result: Any = None) -> bytes:
    """A result; of its members None leaves one out."""
    whole = {"resultType": "complete", "_meta": {f"{PREFIX}serverInfo": INFO}, **(result or {})}
    return response(id_, {name: value for name, value in whole.items() if value is not None})


HINTS = {"ttlMs": 0, "cacheScope": "private"}


def discovered(capabilities: Any = SERVER, id_: Any = "opening") -> bytes:
    told = {"supportedVersions": [LATEST], "capabilities": capabilities, **HINTS}
    return done(id_, told)


def modern(capabilities: Any = SERVER) -> list[Frame]:
    """The server shows on stdio which era it is of."""
    return [c2s(ask("opening", "server/discover")), s2c(discovered(capabilities))]


def asked(x: int, raw: bytes, method: str, name: str | None = None, **fields: Any) -> list[Frame]:
    """A POST of the modern era."""
    heads = {"mcp_protocol_version": LATEST, "mcp_method": method, "mcp_name": name}
    return post(x, raw, **{**heads, **fields})


def modern_http() -> list[Step]:
    """The same over Streamable HTTP, in exchange 1."""
    discover = asked(1, ask("opening", "server/discover"), "server/discover")
    return [discover, answers(1, discovered())]
