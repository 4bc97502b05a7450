"""The handshake of the legacy era: what comes before it, what is in it, and what it settles."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import Notification, Request
from mcpmock.protocol.methods import LAST_LEGACY, LATEST

from .context import CheckedMessage, Phase, State, as_object
from .rule import Breach, must, should

INITIALIZE, INITIALIZED, DISCOVER = "initialize", "notifications/initialized", "server/discover"
_PAGE = "basic/lifecycle"
_FIRST_INTERACTION = (
    "The initialization phase MUST be the first interaction between client and server."
)

RULES = (
    must("handshake-first", _PAGE, _FIRST_INTERACTION, until=LAST_LEGACY),
    must("handshake-twice", _PAGE, _FIRST_INTERACTION, until=LAST_LEGACY),
    should(
        "request-before-answer",
        _PAGE,
        "The client SHOULD NOT send requests other than pings before the server has responded to "
        "the initialize request.",
        until=LAST_LEGACY,
    ),
    should(
        "request-before-initialized",
        _PAGE,
        "The server SHOULD NOT send requests other than pings and logging before receiving the "
        "initialized notification.",
        until=LAST_LEGACY,
    ),
    must(
        "initialized-missing",
        _PAGE,
        "After successful initialization, the client MUST send an initialized notification to "
        "indicate it is ready to begin normal operations",
        until=LAST_LEGACY,
    ),
    must(
        "initialize-params",
        _PAGE,
        "The client MUST initiate this phase by sending an initialize request containing: Protocol "
        "version supported, Client capabilities, Client implementation information",
        until=LAST_LEGACY,
    ),
    must(
        "initialize-result",
        _PAGE,
        "The server MUST respond with its own capabilities and information",
        until=LAST_LEGACY,
    ),
    must(
        "handshake-modern", "basic/versioning", "There is no negotiation handshake.", since=LATEST
    ),
)
_EARLY = {INITIALIZE, DISCOVER, "ping", CANCELLED}
"""What a client may send whenever it likes: `server/discover` asks which era a server is of."""
_NEEDED = ("protocolVersion", "capabilities")


def watch(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    """What is wrong with a message as a part of the handshake, or ahead of it."""
    if state.alone:
        return
    if heard.method == INITIALIZE and heard.note.call is not None and not heard.note.late:
        yield from _handshake(heard, state)
    if not isinstance(heard.message, Request | Notification):
        return
    if heard.from_client:
        yield from _from_client(heard, state)
    elif isinstance(heard.message, Request) and heard.method != "ping":
        early = state.phase is not Phase.READY and not _began_unseen(state)
        if early:
            text = f"{heard.method} before notifications/initialized"
            yield Breach("request-before-initialized", text)


def settle(heard: CheckedMessage, state: State) -> None:
    """What a message changes about the state of the handshake."""
    if heard.method == INITIALIZE:
        if heard.from_client and state.phase is Phase.NEW:
            state.phase = Phase.ASKED
            state.requested = _text(heard.params.get("protocolVersion"))
            state.client_capabilities = as_object(heard.params.get("capabilities"))
        elif not heard.from_client and state.phase is Phase.ASKED and heard.note.call is not None:
            _settle_answer(heard, state)
    elif heard.method == INITIALIZED and state.phase is not Phase.NEW:
        state.phase = Phase.READY


def _settle_answer(heard: CheckedMessage, state: State) -> None:
    if heard.result is None:
        state.phase = Phase.NEW
        return
    state.phase = Phase.ANSWERED
    state.revision = _text(heard.result.get("protocolVersion"))
    state.server_capabilities = as_object(heard.result.get("capabilities"))


def _handshake(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    if isinstance(heard.message, Request):
        if state.phase is not Phase.NEW:
            yield Breach("handshake-twice", "initialize, and not for the first time")
        missing = [name for name in (*_NEEDED, "clientInfo") if name not in heard.params]
        if missing:
            yield Breach("initialize-params", f"initialize without {', '.join(missing)}")
    elif heard.result is not None:
        missing = [name for name in (*_NEEDED, "serverInfo") if name not in heard.result]
        if missing:
            yield Breach("initialize-result", f"an answer without {', '.join(missing)}")
        if heard.modern:
            yield Breach("handshake-modern", f"initialize settled {LATEST}")


def _from_client(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    if heard.method in _EARLY or heard.modern:
        return
    if state.phase is Phase.NEW and not _began_unseen(state) and state.once("handshake-first"):
        yield Breach("handshake-first", f"{heard.method} before initialize")
    elif isinstance(heard.message, Notification):
        return
    elif state.phase is Phase.ASKED:
        text = f"{heard.method} before the answer to initialize"
        yield Breach("request-before-answer", text)
    elif state.phase is Phase.ANSWERED and _is_late(heard, state):
        yield Breach("initialized-missing", f"{heard.method} without notifications/initialized")


def _is_late(heard: CheckedMessage, state: State) -> bool:
    """Over HTTP the notification and one request may come by different ways, and cross."""
    crossed = heard.exchange is not None and state.once("initialized-crossed")
    return not crossed and state.once("initialized-missing")


def _began_unseen(state: State) -> bool:
    """A session with an id may have begun before anybody recorded it."""
    return state.phase is Phase.NEW and state.transport == "streamable-http"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
