"""Rules of the legacy handshake: its order, its content, and the state that it settles."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import Notification, Request
from mcpmock.protocol.methods import LATEST

from .context import CheckedMessage, Phase, State, as_object
from .exchange import MAX_REMEMBERED
from .specification import Breach

INITIALIZE, INITIALIZED, DISCOVER = "initialize", "notifications/initialized", "server/discover"
HANDSHAKE = {INITIALIZE, INITIALIZED}
"""The methods of the messages that change its state."""

_ALWAYS_ALLOWED = {INITIALIZE, DISCOVER, "ping", CANCELLED}
"""Methods that a client may send at any time: `server/discover` finds out the era of a server."""
_READABLE = ("application/json", EVENT_STREAM)
_REQUIRED_MEMBERS = ("protocolVersion", "capabilities")


def check_message(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Yield the breaches in the handshake, and in messages that precede its end."""
    if state.sessionless:
        return
    if (
        checked.method == INITIALIZE
        and checked.attribution.call is not None
        and not checked.attribution.late
    ):
        yield from _check_initialize(checked, state)
    if not isinstance(checked.message, (Request, Notification)):
        return
    if checked.from_client:
        yield from _check_client_order(checked, state)
    elif isinstance(checked.message, Request) and checked.method != "ping":
        early = state.phase is not Phase.READY and not state.may_have_begun_before
        if early:
            text = f"{checked.method} before notifications/initialized"
            yield Breach("request-before-initialized", text)


def update_handshake(checked: CheckedMessage, state: State) -> None:
    """Update the state of the handshake with a message."""
    if checked.method == INITIALIZE:
        if checked.from_client and state.phase is Phase.NEW:
            state.phase = Phase.ASKED
            state.requested = _string_or_none(checked.params.get("protocolVersion"))
            state.client_capabilities = as_object(checked.params.get("capabilities"))
        elif (
            not checked.from_client
            and state.phase is Phase.ASKED
            and checked.attribution.call is not None
        ):
            _store_initialize_result(checked, state)
    elif checked.method == INITIALIZED and state.phase is not Phase.NEW:
        state.phase = Phase.READY


def note_early_question(checked: CheckedMessage, state: State) -> None:
    """Note what the server asks before it has answered `initialize`."""
    if state.phase is not Phase.ASKED or checked.from_client:
        return
    if isinstance(checked.message, Request) and len(state.asked_early) < MAX_REMEMBERED:
        state.asked_early.add(checked.message.id)


def _store_initialize_result(checked: CheckedMessage, state: State) -> None:
    if checked.result is None:
        state.phase = Phase.NEW
        return
    state.phase = Phase.ANSWERED
    response = None if checked.exchange is None else checked.exchange.response
    state.unreadable_answer = response is not None and response.media_type not in _READABLE
    state.revision = _string_or_none(checked.result.get("protocolVersion"))
    state.server_capabilities = as_object(checked.result.get("capabilities"))


def _check_initialize(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    if isinstance(checked.message, Request):
        if state.phase is not Phase.NEW:
            yield Breach("handshake-twice", "initialize was sent before")
        missing = [
            name for name in (*_REQUIRED_MEMBERS, "clientInfo") if name not in checked.params
        ]
        if missing:
            yield Breach("initialize-params", f"initialize without {', '.join(missing)}")
    elif checked.result is not None:
        missing = [
            name for name in (*_REQUIRED_MEMBERS, "serverInfo") if name not in checked.result
        ]
        if missing:
            yield Breach("initialize-result", f"an answer without {', '.join(missing)}")
        if checked.modern:
            yield Breach("handshake-modern", f"initialize settled {LATEST}")


def _check_client_order(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    if checked.method in _ALWAYS_ALLOWED or checked.modern:
        return
    if (
        state.phase is Phase.NEW
        and not state.may_have_begun_before
        and state.once("handshake-first")
    ):
        yield Breach("handshake-first", f"{checked.method} before initialize")
    elif isinstance(checked.message, Notification):
        return
    elif state.phase is Phase.ASKED:
        text = f"{checked.method} before the answer to initialize"
        yield Breach("request-before-answer", text)
    elif state.phase is Phase.ANSWERED and _lacks_initialized(checked, state):
        yield Breach("initialized-missing", f"{checked.method} without notifications/initialized")


def _lacks_initialized(checked: CheckedMessage, state: State) -> bool:
    """Let the notification and one request cross over HTTP: they are separate POSTs."""
    crossed = checked.exchange is not None and state.once("initialized-crossed")
    return not crossed and state.once("initialized-missing")


def _string_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
