"""Rules of who may send which method: by revision, by side, and by the capabilities declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from mcpmock.protocol.messages import Notification, Request, Response
from mcpmock.protocol.methods import (
    LATEST,
    REVISIONS,
    ROWS,
    MessageKind,
    Method,
    Sender,
    methods,
)

from .context import CheckedMessage, Object, State, as_object, declared, short
from .exchange import MAX_REMEMBERED
from .specification import Breach

_LOGGING = "notifications/message"

_KNOWN = {row.name for row in ROWS}
_BY_SENDER = {
    (revision, sender): methods(revision, sender)
    for revision in REVISIONS
    for sender in (Sender.CLIENT, Sender.SERVER)
}
_ELICIT, _COMPLETED = "elicitation/create", "notifications/elicitation/complete"
_GATED_PARAMS = {"sampling/createMessage": "tools", "tools/call": "task"}
"""By method, what in its params needs a capability of its own."""
_FEATURES = ("tools", "resources", "prompts", "completions")


@attrs.define
class MethodChecker:
    """Remembers what it found for each method: that depends on nothing but the capabilities."""

    _found: dict[tuple[object, ...], tuple[Breach, ...]] = attrs.field(factory=dict)
    _client: Object | None = None
    _server: Object | None = None
    """The capabilities of which this was found."""

    def check_message(self, checked: CheckedMessage, state: State) -> Iterable[Breach]:
        """Return the breaches in the sender, the revision and the capabilities of a method."""
        message = checked.message
        if checked.revision is None or not isinstance(message, (Request, Notification, Response)):
            return ()
        found: Iterable[Breach]
        if checked.modern:  # its capabilities are those of a server, and may change at any time
            found = _check_method(checked, state)
        else:
            found = self._breaches_of_method(checked, state)
        method = checked.method or ""
        asks = method == _ELICIT and not isinstance(message, Response)
        if asks or _GATED_PARAMS.get(method) in checked.params:
            return (*found, *_check_params_gate(checked, state))
        return found

    def _breaches_of_method(self, checked: CheckedMessage, state: State) -> tuple[Breach, ...]:
        client, server = state.client_capabilities, state.server_capabilities
        if client is not self._client or server is not self._server:
            self._client, self._server = client, server
            self._found.clear()
        message = checked.message
        answers = isinstance(message, Response) and message.result is not None
        key = (type(message), answers, checked.from_client, checked.revision, checked.method)
        found = self._found.get(key)
        if found is None:
            found = tuple(_check_method(checked, state))
            if len(self._found) < MAX_REMEMBERED:
                self._found[key] = found
        return found


def _check_method(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Yield the breaches that any message of its kind and method has, whatever is in it."""
    if isinstance(checked.message, Response):
        if checked.message.result is not None:
            yield from _check_result_gate(checked, state)
        return
    method = checked.method or ""
    own_side, other_side = _sides(checked)
    row = _methods(checked.revision, own_side).get(method)
    if row is None:
        if method in _methods(checked.revision, other_side):
            side = "client" if checked.from_client else "server"
            yield Breach("method-sender", f"{method} from the {side}")
        elif method in _KNOWN:
            yield Breach("method-revision", f"{checked.revision} has no method {method}")
    elif method == _LOGGING:
        if not declared(_capabilities_of(checked, state, server=True), "logging"):
            yield Breach("logging-undeclared", f"{_LOGGING} without the capability logging")
    elif row.extension is None:
        yield from _check_gate(checked, state, row)


def _methods(revision: str | None, sender: Sender) -> Mapping[str, Method]:
    return _BY_SENDER[revision or LATEST, sender]


def sent_by(revision: str, *, from_client: bool) -> Mapping[str, Method]:
    """Return the methods that a side may send in a revision, by name."""
    return _methods(revision, Sender.CLIENT if from_client else Sender.SERVER)


def _sides(checked: CheckedMessage) -> tuple[Sender, Sender]:
    sides = Sender.CLIENT, Sender.SERVER
    return sides if checked.from_client else (sides[1], sides[0])


def _capabilities_of(checked: CheckedMessage, state: State, *, server: bool) -> Object | None:
    """Return the capabilities that a side has declared; None if the declaration was not seen."""
    if checked.modern:
        return state.server.capabilities if server else None
    return state.server_capabilities if server else state.client_capabilities


def _check_gate(checked: CheckedMessage, state: State, row: Method) -> Iterator[Breach]:
    """Require the capability of a request's receiver, and of a notification's sender."""
    if row.gate is None:
        return
    servers = checked.from_client is (row.kind is MessageKind.REQUEST)
    if row.name == _COMPLETED:  # 2025-11-25: a client that has no URL mode is not told
        servers = False
    if not declared(_capabilities_of(checked, state, server=servers), row.gate):
        side = "server" if servers else "client"
        text = f"{row.name}, but the {side} has not declared {row.gate}"
        yield Breach("capability", text)


def _check_result_gate(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Take only the server's result for a breach: a client may send any request."""
    row = _methods(checked.revision, Sender.CLIENT).get(checked.method or "")
    if checked.from_client or row is None or row.gate is None:
        return
    feature = row.gate.partition(".")[0]
    if feature in _FEATURES and not declared(
        _capabilities_of(checked, state, server=True), feature
    ):
        text = f"a result of {row.name} without the capability {feature}"
        yield Breach(f"{feature}-undeclared", text)


def _check_params_gate(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Check params that need a capability of their own."""
    method = checked.method
    if method not in _methods(checked.revision, _sides(checked)[0]):
        return
    if method == "tools/call":
        if not declared(state.server_capabilities, "tasks.requests.tools.call"):
            name = short(checked.params.get("name"))
            yield Breach("task-undeclared", f"{name} as a task, which the server has not declared")
    else:
        asked = {"method": method, "params": checked.params}
        yield from check_params_gate(asked, state.client_capabilities)


def check_params_gate(asked: Object, client: Object | None) -> Iterator[Breach]:
    """Yield the breaches in what a server asks of a client with these capabilities, in a request or
    in an input request.
    """
    params = as_object(asked.get("params"))
    if asked.get("method") == _ELICIT:
        mode = params.get("mode", "form")
        modes = as_object(as_object(client).get("elicitation"))
        # An empty object declares forms.
        has = declared(client, f"elicitation.{mode}") or (mode == "form" and "url" not in modes)
        if mode in ("form", "url") and not has:
            yield Breach("elicitation-mode", f"mode {mode}, but the client has not declared it")
    elif "tools" in params and not declared(client, "sampling.tools"):
        yield Breach("sampling-tools", "tools, but the client has not declared sampling.tools")
