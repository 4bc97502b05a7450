"""Which revision a message is held against: the one that it names itself, else the one that the
handshake settled, else the one that its HTTP head names, else what is likely.

Both eras can meet on one connection: a client asks a legacy server for `server/discover`, and goes
on with `initialize`. None stands for a revision that we do not know.
"""

from __future__ import annotations

from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import C2S, Direction, Message, Request, Response, member
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.protocol.revisions import VERSION_PATH, initialized_version

from .context import Phase, State
from .exchange import CheckedExchange
from .lifecycle import INITIALIZE

_ASSUMED = REVISIONS[1]
"""The revision of a request over HTTP that names none, as later ones say."""
_LEGACY = REVISIONS[:-1]


def revision_of(
    state: State, direction: Direction, message: Message, exchange: CheckedExchange | None
) -> str | None:
    """That of a request, or of what belongs to none."""
    request = message if isinstance(message, Request) else None
    if direction is C2S and request and member(request.params, *VERSION_PATH) is not None:
        return LATEST
    if state.phase is not Phase.NEW:
        return _settled(state)
    if request is not None and request.method == INITIALIZE:
        asked = initialized_version(request.params)
        return asked if asked in _LEGACY else LAST_LEGACY
    if exchange is not None and exchange.revision is not None:
        return exchange.revision
    return revision_named(state, exchange)


def revision_of_call(
    state: State, message: Message, call: PendingCall, asked: str | None
) -> str | None:
    """That of what belongs to a call, which was `asked` in this one; the answer to `initialize`
    settles its own.
    """
    if call.request.method == INITIALIZE and isinstance(message, Response):
        agreed = initialized_version(message.result)
        if agreed is not None:
            return agreed if agreed in REVISIONS else None
    return asked if asked is not None else _settled(state)


def revision_named(state: State, exchange: CheckedExchange | None) -> str | None:
    """Where no message says more."""
    if exchange is not None and exchange.version in REVISIONS:
        return exchange.version
    if state.phase is not Phase.NEW:
        return _settled(state)
    callers = state.alone and state.transport == "streamable-http"
    if state.server.only_modern if callers else state.modern:
        return LATEST
    return _ASSUMED if callers else LAST_LEGACY


def _settled(state: State) -> str | None:
    """What the handshake settled; as long as it is under way, what the client asked for."""
    if state.revision is None:
        return state.requested if state.requested in _LEGACY else LAST_LEGACY
    if state.revision == LATEST:
        return LAST_LEGACY  # no handshake settles that one; what follows is of the legacy era
    return state.revision if state.revision in REVISIONS else None
