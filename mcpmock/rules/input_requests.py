"""Multi round-trip requests of the modern era: what a server may ask for in a result, and what the
client brings along when it asks again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from mcpmock.protocol.messages import Request, encode
from mcpmock.protocol.methods import LATEST

from .context import CheckedMessage, Object, State, as_object, declared, short
from .exchange import MOST
from .modern import CAPABILITIES, INPUT_REQUIRED
from .rule import Breach, Rule, must

_ASKING = {"tools/call", "prompts/get", "resources/read"}
_GATES = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


def _must(name: str, sentence: str) -> Rule:
    return must(name, "basic/patterns/mrtr", sentence, since=LATEST)


RULES = (
    _must(
        "input-where",
        "Servers MUST NOT send InputRequiredResult responses on any other client requests.",
    ),
    _must(
        "input-empty",
        "Servers MUST include at least one of inputRequests or requestState in every "
        "InputRequiredResult response.",
    ),
    _must(
        "input-kind",
        "inputRequests values are request objects that MUST be one of ElicitRequest, "
        "CreateMessageRequest, or ListRootsRequest",
    ),
    _must(
        "input-undeclared",
        "Servers MUST NOT send an inputRequests that the client has not declared support for in "
        "its capabilities.",
    ),
    _must(
        "request-state",
        "If an InputRequiredResult contains the requestState field, the client MUST echo back the "
        "exact value of that field when retrying the original request.",
    ),
    _must(
        "retry-id",
        "The JSON-RPC id MUST be different between the initial request and the retry, as they are "
        "independent requests.",
    ),
)


def watch(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    """What is wrong with a round of input."""
    if not heard.modern:
        return
    if heard.result is not None and heard.result.get("resultType") == INPUT_REQUIRED:
        yield from _asks(heard, state, heard.result)
    elif isinstance(heard.message, Request) and heard.from_client:
        yield from _asks_again(heard.params, heard.message, state)


def _asks(heard: CheckedMessage, state: State, result: Object) -> Iterator[Breach]:
    if heard.method not in _ASKING:
        yield Breach("input-where", f"{INPUT_REQUIRED} in answer to {heard.method}")
    token = result.get("requestState")
    inputs = as_object(result.get("inputRequests"))
    if isinstance(token, str):
        _remember(heard, state, token)
    elif not inputs:
        yield Breach("input-empty", "neither inputRequests nor a requestState")
    capabilities = as_object(as_object(heard.asked.get("_meta")).get(CAPABILITIES))
    for name, value in inputs.items():
        method = as_object(value).get("method")
        gate = _GATES.get(method) if isinstance(method, str) else None
        if gate is None:
            yield Breach("input-kind", f"{short(name)}: {short(method)}")
        elif not declared(capabilities, gate):
            text = f"{short(method)}, but the client has not declared {gate}"
            yield Breach("input-undeclared", text)


def _remember(heard: CheckedMessage, state: State, token: str) -> None:
    states = state.server.request_states
    states[_key(token)] = b"" if heard.note.call is None else heard.note.call.request.id
    states.move_to_end(_key(token))
    if len(states) > MOST:
        states.popitem(last=False)


def _asks_again(params: Object, request: Request, state: State) -> Iterator[Breach]:
    token, given = params.get("requestState"), state.server.request_states
    if token is None:
        return
    before = given.get(_key(token)) if isinstance(token, str) else None
    # What was given out before the recording began cannot be known.
    if before is None and given and len(given) < MOST:
        quoted = short(encode(token))
        yield Breach("request-state", f"a requestState that nobody gave: {quoted}")
    elif before == request.id:
        yield Breach("retry-id", f"the retry has the id {short(request.id)} again")


def _key(token: str) -> bytes:
    """They may be long, and are many."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
