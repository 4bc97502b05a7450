"""Rules of what a server asks of a client, in either era: sampling, elicitation and roots, and of
the client's answers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import attrs

from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.error_codes import URL_ELICITATION_REQUIRED
from mcpmock.protocol.messages import Notification, Request, Response, encode
from mcpmock.redaction.secret_names import kind_of_name

from .context import CheckedMessage, Object, State, as_object, declared, place, short
from .exchange import MAX_REMEMBERED
from .memory import drop_oldest
from .modern import CAPABILITIES, INPUT_REQUIRED
from .rounds import RESPONSES, Round
from .specification import Breach

SAMPLE, ELICIT, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
_COMPLETED, _ROOTS_CHANGED = (
    "notifications/elicitation/complete",
    "notifications/roots/list_changed",
)
INPUT_GATES = {ELICIT: "elicitation", SAMPLE: "sampling", ROOTS: "roots"}
"""The capability of a client that a request to it needs."""
METHODS = {SAMPLE, ELICIT, ROOTS, _COMPLETED, _ROOTS_CHANGED}
"""The methods of all messages of the legacy era that these rules look at."""
_CONTEXTS = ("thisServer", "allServers")
_DECLARES = (
    "Clients that support {0} MUST declare the {0} capability during initialization",
    "Clients that support {0} MUST declare the {0} capability in"
    " _meta.io.modelcontextprotocol/clientCapabilities on each request",
)


class _Asked(NamedTuple):
    """A request to a client, as a message of its own or in a request for input."""

    method: str
    params: Object
    capabilities: Object | None
    """Those of the client; None if they were not seen."""
    steps: tuple[str | int, ...]


@attrs.define
class ClientRequests:
    """What a server asks of a client in one session."""

    _samplings: OrderedDict[PendingCall, Object] = attrs.field(factory=OrderedDict)
    """The params of open samplings that their answers are held against."""
    _elicitations: OrderedDict[str, None] = attrs.field(factory=OrderedDict)
    _forgotten: bool = False
    _roots: bytes | None = None
    """The roots that the client gave last, None if they were said to have changed since they were
    asked for.
    """
    _asked_roots: OrderedDict[PendingCall, None] = attrs.field(factory=OrderedDict)
    """The open requests for roots since then."""

    def check_message(self, checked: CheckedMessage, state: State) -> Iterator[Breach]:
        """Yield the breaches in requests to a client, and in its answers."""
        message, call = checked.message, checked.attribution.call
        if isinstance(message, Request) and not checked.from_client:
            whole = _Asked(message.method, checked.params, state.client_capabilities, ("params",))
            yield from self._check_request(whole)
            if message.method == SAMPLE and call is not None:
                self._samplings[call] = _choice_in(checked.params)
                drop_oldest(self._samplings, MAX_REMEMBERED)
            elif message.method == ROOTS and call is not None:
                self._asked_roots[call] = None
                drop_oldest(self._asked_roots, MAX_REMEMBERED)
        elif isinstance(message, Response) and checked.from_client:
            if checked.result is not None and call is not None and not checked.attribution.late:
                yield from self._check_answer(checked, state, call)
        elif checked.method == _COMPLETED:
            yield from self._check_completion(checked)
        elif checked.method == _ROOTS_CHANGED and isinstance(message, Notification):
            self._roots = None
            self._asked_roots.clear()
        elif checked.code == URL_ELICITATION_REQUIRED:
            self._note_elicitations(as_object(as_object(checked.error).get("data")))

    def check_inputs(self, checked: CheckedMessage) -> Iterator[Breach]:
        """Yield the breaches in the input requests of a result."""
        result = checked.result or {}
        if result.get("resultType") != INPUT_REQUIRED:
            return
        client = capabilities_of_call(checked)
        for name, value in as_object(result.get("inputRequests")).items():
            one = as_object(value)
            steps = ("result", "inputRequests", name, "params")
            method, params = one.get("method"), as_object(one.get("params"))
            yield from self._check_request(_Asked(str(method), params, client, steps))

    def _check_request(self, asked: _Asked) -> Iterator[Breach]:
        if asked.method == SAMPLE:
            yield from _check_sampling(asked)
        elif asked.method == ELICIT:
            self._note_elicitations({"elicitations": [asked.params]})
            yield from _check_form(asked)

    def _note_elicitations(self, data: Object) -> None:
        for one in _list(data.get("elicitations")):
            id_ = as_object(one).get("elicitationId")
            if isinstance(id_, str):
                self._elicitations[id_] = None
                self._forgotten |= drop_oldest(self._elicitations, MAX_REMEMBERED)

    def _check_completion(self, checked: CheckedMessage) -> Iterator[Breach]:
        id_ = checked.params.get("elicitationId")
        if isinstance(id_, str) and id_ not in self._elicitations and not self._forgotten:
            text = f"the elicitation {short(id_)}, which no request asked for"
            yield Breach("elicitation-unknown", text, place("params", "elicitationId"))

    def _check_answer(
        self, checked: CheckedMessage, state: State, call: PendingCall
    ) -> Iterator[Breach]:
        method, result = checked.method or "", checked.result or {}
        asked = self._samplings.pop(call, {})
        gate, client = INPUT_GATES.get(method), state.client_capabilities
        if gate is not None and not declared(client, gate):
            text = f"a result of {method} without having declared {gate}"
            yield Breach("answer-undeclared", text, "", *_declares(gate, modern=False))
        elif asked.get("tools") and not declared(client, "sampling.tools"):
            text = f"a result of {method} with tools without having declared sampling.tools"
            yield Breach("answer-undeclared", text, "", *_TOOLS)
        if method == SAMPLE:
            yield from _check_sampled(asked, result, ("result",))
        elif method == ROOTS and call in self._asked_roots:
            del self._asked_roots[call]
            yield from self._check_roots(state, result)

    def _check_roots(self, state: State, result: Object) -> Iterator[Breach]:
        before = self._roots
        found = sorted(encode(as_object(one).get("uri")) for one in _list(result.get("roots")))
        self._roots = encode([raw.decode("utf-8", "replace") for raw in found])
        announces = state.client_capabilities is not None
        announces = announces and declared(state.client_capabilities, "roots.listChanged")
        if before is not None and before != self._roots and announces:
            yield Breach("roots-changed-silent", "other roots, and no notification said so")


def capabilities_of_call(checked: CheckedMessage) -> Object:
    """Return the capabilities that the client declared in the modern request that this answers."""
    return as_object(as_object(checked.call_params.get("_meta")).get(CAPABILITIES))


def check_responses(before: Round, params: Object) -> Iterator[Breach]:
    """Yield the breaches in what a client brings for an open round."""
    given = as_object(params.get(RESPONSES))
    for key in before.keys:
        asked = as_object(before.requests.get(key))
        method, answer = asked.get("method"), given.get(key)
        if not isinstance(method, str) or answer is None:
            continue
        steps = ("params", RESPONSES, key)
        gate = INPUT_GATES.get(method)
        if gate is not None and not declared(before.capabilities, gate):
            text = f"an answer to {method} without having declared {gate}"
            yield Breach("answer-undeclared", text, place(*steps), *_declares(gate, modern=True))
        if method == SAMPLE:
            wanted = _choice_in(as_object(asked.get("params")))
            if wanted.get("tools") and not declared(before.capabilities, "sampling.tools"):
                text = f"an answer to {method} with tools without having declared sampling.tools"
                yield Breach("answer-undeclared", text, place(*steps), *_TOOLS)
            yield from _check_sampled(wanted, as_object(answer), steps)


_TOOLS = (
    "The client MUST return an error if this field is provided but"
    " ClientCapabilities.sampling.tools is not declared.",
    "schema",
)


def _declares(gate: str, *, modern: bool) -> tuple[str, str]:
    return _DECLARES[modern].format(gate), f"client/{gate}"


def _choice_in(params: Object) -> Object:
    """Return what an answer to a sampling is held against."""
    mode = as_object(params.get("toolChoice")).get("mode")
    used = any(_uses(one) for one in _list(params.get("messages")))
    return {"tools": bool(params.get("tools")), "mode": mode, "used": used}


def _check_sampled(asked: Object, result: Object, steps: Sequence[str | int]) -> Iterator[Breach]:
    uses, mode = _uses(result), asked.get("mode")
    path = place(*steps, "content")
    if mode == "none" and uses:
        yield Breach("tool-choice", "tool_use, although toolChoice is none", path)
    used = uses or asked.get("used") or not asked.get("tools")
    if mode == "required" and not used and result.get("stopReason") == "endTurn":
        said = '{mode: "required"}: Model MUST use at least one tool before completing'
        yield Breach("tool-choice", "no tool_use, although toolChoice is required", path, said)


def _check_sampling(asked: _Asked) -> Iterator[Breach]:
    context = asked.params.get("includeContext")
    if context in _CONTEXTS and not declared(asked.capabilities, "sampling.context"):
        text = f"includeContext {context}, but the client has not declared sampling.context"
        yield Breach("sampling-context", text, place(*asked.steps, "includeContext"))
    waiting: list[object] = []
    messages = [as_object(one) for one in _list(asked.params.get("messages"))]
    for index, message in enumerate(messages):
        steps = (*asked.steps, "messages", index)
        blocks = _blocks(message)
        kinds = [one.get("type") for one in blocks]
        results = [one.get("toolUseId") for one in blocks if one.get("type") == "tool_result"]
        if message.get("role") == "user" and results and len(results) < len(kinds):
            text = "a tool_result beside other content"
            yield Breach("tool-results-mixed", text, place(*steps, "content"))
        if message.get("role") != "user" and results:
            text = "a tool_result that is not the user's"
            yield Breach("tool-results-missing", text, place(*steps))
        elif sorted(map(str, results)) != sorted(map(str, waiting)):
            yield _unanswered(waiting, results, place(*steps))
        waiting = []
        if message.get("role") == "assistant":
            waiting = [one.get("id") for one in blocks if one.get("type") == "tool_use"]
    if waiting:
        yield _unanswered(waiting, [], place(*asked.steps, "messages"))


def _unanswered(waiting: list[object], results: list[object], path: str) -> Breach:
    left = [id_ for id_ in waiting if id_ not in results]
    if left:
        text = f"tool_use {short(left[0])} without its tool_result in the next message"
    else:
        surplus = [id_ for id_ in results if id_ not in waiting] or results
        text = f"tool_result {short(surplus[0])} without a tool_use of its own before it"
    return Breach("tool-results-missing", text, path)


def _check_form(asked: _Asked) -> Iterator[Breach]:
    if asked.params.get("mode", "form") != "form":
        return
    properties = as_object(as_object(asked.params.get("requestedSchema")).get("properties"))
    for name in properties:
        if (kind := kind_of_name(name)) is not None:
            path = place(*asked.steps, "requestedSchema", "properties", name)
            yield Breach("elicits-secret", f"the field {short(name)} asks for a {kind}", path)


def _uses(message: Any) -> bool:
    return any(one.get("type") == "tool_use" for one in _blocks(as_object(message)))


def _blocks(message: Object) -> list[Object]:
    """Return the content of a message, which is one block or several."""
    content = message.get("content")
    return [as_object(one) for one in (content if isinstance(content, list) else [content])]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
