"""Rules of multi round-trip requests (modern era): what a server may request in a result, and what
the client sends in its retry.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator

import attrs

from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import Request, encode

from .capabilities import check_params_gate
from .client_requests import INPUT_GATES, capabilities_of_call, check_responses
from .context import CheckedMessage, Object, State, as_object, declared, place, short
from .exchange import MAX_REMEMBERED
from .memory import drop_oldest
from .modern import INPUT_REQUIRED
from .rounds import METHODS_WITH_INPUT, RESPONSES, STATE, digest_of
from .specification import Breach


@attrs.define
class InputChecker:
    """The input rounds of one session."""

    _requests: OrderedDict[PendingCall, bytes] = attrs.field(factory=OrderedDict)
    """By call, what tells its request from others."""

    def check_message(self, checked: CheckedMessage, state: State) -> Iterator[Breach]:
        """Yield the breaches in an `InputRequiredResult` of a modern server, or in a retry."""
        if checked.result is not None and checked.result.get("resultType") == INPUT_REQUIRED:
            yield from _check_input_required(checked, state, checked.result)
            self._open_round(checked, state, checked.result)
        elif isinstance(checked.message, Request) and checked.from_client:
            yield from _check_retry(checked.params, checked.message, state)
            if checked.method in METHODS_WITH_INPUT and checked.attribution.call is not None:
                yield from self._check_round(checked, state, checked.attribution.call)

    def _open_round(self, checked: CheckedMessage, state: State, result: Object) -> None:
        call = checked.attribution.call
        request = None if call is None else self._requests.pop(call, None)
        if request is not None:
            inputs, client = as_object(result.get("inputRequests")), capabilities_of_call(checked)
            state.server.rounds.begin(request, inputs, result.get(STATE), client)

    def _check_round(
        self, checked: CheckedMessage, state: State, call: PendingCall
    ) -> Iterator[Breach]:
        """Check what the request brings for the round that it goes on with, if it does."""
        request = digest_of(checked.method or "", checked.params)
        self._requests[call] = request
        drop_oldest(self._requests, MAX_REMEMBERED)
        before = state.server.rounds.take(request, checked.params)
        if before is None:
            return
        given = as_object(checked.params.get(RESPONSES))
        missing = [key for key in before.keys if key not in given]
        if missing:
            text = f"a retry without an answer to {', '.join(map(short, missing[:5]))}"
            yield Breach("input-missing", text, place("params", RESPONSES))
        if before.state is not None and STATE not in checked.params:
            yield Breach(
                "state-dropped", "a retry without its requestState", place("params", STATE)
            )
        yield from check_responses(before, checked.params)


def _check_input_required(
    checked: CheckedMessage, state: State, result: Object
) -> Iterator[Breach]:
    if checked.method not in METHODS_WITH_INPUT:
        yield Breach("input-where", f"{INPUT_REQUIRED} in answer to {checked.method}")
    token = result.get("requestState")
    inputs = as_object(result.get("inputRequests"))
    if isinstance(token, str):
        _remember_state(checked, state, token)
    elif not inputs:
        yield Breach("input-empty", "neither inputRequests nor a requestState")
    capabilities = capabilities_of_call(checked)
    for name, value in inputs.items():
        method = as_object(value).get("method")
        gate = INPUT_GATES.get(method) if isinstance(method, str) else None
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
