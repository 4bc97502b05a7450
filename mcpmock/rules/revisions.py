"""The revision that a message is checked against: the one that it names itself, else the one that
the handshake settled, else the one in its HTTP head, else the likeliest.

Both eras can occur on one connection: a client sends `server/discover` to a legacy server and goes
on with `initialize`. None stands for an unknown revision.
"""

from __future__ import annotations

from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.protocol.revisions import VERSION_PATH, initialized_version

from .context import Phase, State
from .exchange import CheckedExchange
from .lifecycle import INITIALIZE

# 2025-11-25 basic/transports: without the header "the server SHOULD assume protocol version
# 2025-03-26".
_ASSUMED = REVISIONS[1]
_LEGACY = REVISIONS[:-1]


def revision_of(
    state: State, direction: m.Direction, message: m.Message, exchange: CheckedExchange | None
) -> str | None:
    """Return the revision of a request, or of a message that belongs to no request."""
    request = message if isinstance(message, m.Request) else None
    if direction is m.C2S and request and m.member(request.params, *VERSION_PATH) is not None:
        return LATEST
    if state.phase is not Phase.NEW:
        return _settled(state)
    if request is not None and request.method == INITIALIZE:
        requested = initialized_version(request.params)
        return requested if requested in _LEGACY else LAST_LEGACY
    if exchange is not None and exchange.revision is not None:
        return exchange.revision
    return revision_named(state, exchange)


def revision_of_call(
    state: State, message: m.Message, call: PendingCall, requested: str | None
) -> str | None:
    """Return the revision of a message that belongs to a call: that of the request (`requested`),
    but the result of `initialize` names its own.
    """
    if call.request.method == INITIALIZE and isinstance(message, m.Response):
        agreed = initialized_version(message.result)
        if agreed is not None:
            return agreed if agreed in REVISIONS else None
    return requested if requested is not None else _settled(state)


def revision_named(state: State, exchange: CheckedExchange | None) -> str | None:
    """Return the revision where no message names one."""
    if exchange is not None and exchange.version in REVISIONS:
        return exchange.version
    if state.phase is not Phase.NEW:
        return _settled(state)
    sessionless_http = state.sessionless and state.transport == "streamable-http"
    if state.server.only_modern if sessionless_http else state.modern:
        return LATEST
    return _ASSUMED if sessionless_http else LAST_LEGACY


def _settled(state: State) -> str | None:
    """Return what the handshake settled; during it, what the client requested."""
    if state.revision is None:
        return state.requested if state.requested in _LEGACY else LAST_LEGACY
    if state.revision == LATEST:
        return LAST_LEGACY  # no handshake settles that one; what follows is of the legacy era
    return state.revision if state.revision in REVISIONS else None
