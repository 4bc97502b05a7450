"""Rules of multi round-trip requests (modern era): what a server may request in a result, and what
the client sends in its retry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from mcpmock.protocol.messages import Request, encode

from .capabilities import check_params_gate
from .context import CheckedMessage, Object, State, as_object, declared, short
from .exchange import MAX_REMEMBERED
from .memory import drop_oldest
from .modern import CAPABILITIES, INPUT_REQUIRED
from .specification import Breach

_METHODS_WITH_INPUT = {"tools/call", "prompts/get", "resources/read"}
_GATES = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


def check_message(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Yield the breaches in an `InputRequiredResult` of a modern server, or in a retry."""
    if checked.result is not None and checked.result.get("resultType") == INPUT_REQUIRED:
        yield from _check_input_required(checked, state, checked.result)
    elif isinstance(checked.message, Request) and checked.from_client:
        yield from _check_retry(checked.params, checked.message, state)


def _check_input_required(
    checked: CheckedMessage, state: State, result: Object
) -> Iterator[Breach]:
    if checked.method not in _METHODS_WITH_INPUT:
        yield Breach("input-where", f"{INPUT_REQUIRED} in answer to {checked.method}")
    token = result.get("requestState")
    inputs = as_object(result.get("inputRequests"))
    if isinstance(token, str):
        _remember_state(checked, state, token)
    elif not inputs:
        yield Breach("input-empty", "neither inputRequests nor a requestState")
    capabilities = as_object(as_object(checked.call_params.get("_meta")).get(CAPABILITIES))
    for name, value in inputs.items():
        method = as_object(value).get("method")
        gate = _GATES.get(method) if isinstance(method, str) else None
        if gate is None:
            yield Breach("input-kind", f"{short(name)}: {short(method)}")
        elif not declared(capabilities, gate):
            text = f"{short(method)}, but the client has not declared {gate}"
            yield Breach("input-undeclared", text)
        else:
            yield from check_params_gate(as_object(value), capabilities)


def _remember_state(checked: CheckedMessage, state: State, token: str) -> None:
    states = state.server.request_states
    states[_digest(token)] = (
        b"" if checked.attribution.call is None else checked.attribution.call.request.id
    )
    states.move_to_end(_digest(token))
    drop_oldest(states, MAX_REMEMBERED)


def _check_retry(params: Object, request: Request, state: State) -> Iterator[Breach]:
    token, given = params.get("requestState"), state.server.request_states
    if token is None:
        return
    before = given.get(_digest(token)) if isinstance(token, str) else None
    # A state issued before the recording began, or dropped from memory, is unknown, too.
    if before is None and given and len(given) < MAX_REMEMBERED:
        quoted = short(encode(token))
        yield Breach("request-state", f"an unknown requestState: {quoted}")
    elif before == request.id:
        yield Breach("retry-id", f"the retry has the id {short(request.id)} again")


def _digest(token: str) -> bytes:
    """Return a digest: states may be long, and there are many."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
