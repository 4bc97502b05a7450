"""`DemoServer`: one conversation of the demo server with its client, as a pure stage.

Legacy (2024-11-05 to 2025-11-25): a handshake, state for the session, questions to the client as
requests of the server. Modern (2026-07-28): no handshake, every request carries version and
capabilities, a question is an unfinished result that the client answers by calling again. The first
request decides the era, for the life of the process.

`server` connects it to stdin and stdout, `bugs` has broken variants of it. Its offers are in
`tools` and `catalog`. Nothing depends on chance or on the wall clock: equal requests get equal
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.protocol import edit
from mcpmock.protocol.error_codes import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcpmock.protocol.messages import (
    S2C,
    Batch,
    Fragment,
    Frame,
    Message,
    Notification,
    ProcessExit,
    Request,
    Response,
    StreamEnd,
    decode,
    encode,
    member,
    parse_items,
)
from mcpmock.protocol.methods import CACHEABLE, LAST_LEGACY, LATEST, REVISIONS
from mcpmock.protocol.reassembly import Reassembly

from . import catalog, tools
from .call import (
    LOG_LEVELS,
    META,
    DemoCall,
    DemoError,
    DemoSession,
    InputRequired,
    JsonObject,
    Question,
    ServerCrash,
    ToolFailure,
    as_object,
    subscription_meta,
)

SERVER_INFO = {"name": "mcpmock-demo", "title": "mcpmock's demo server", "version": "1.0.0"}
CAPABILITIES = {
    "tools": {},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
}
INSTRUCTIONS = "A small server that does a little of everything, always the same way."


class DemoServer(Stage):
    """One conversation with one client."""

    def __init__(self) -> None:
        self.session = DemoSession()
        self._reassembly = Reassembly()
        self._running: dict[bytes, DemoCall] = {}
        self._questions: dict[bytes, DemoCall] = {}
        self._due: list[tuple[float, int, DemoCall]] = []
        self._order = count()
        self._exit_status: int | None = None
        self._now = 0.0

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        self._now = now
        for message in (one for frame in seen for one in self._messages_in(frame)):
            match message:
                case _ if self._exit_status is not None:
                    break
                case Request():
                    self._begin(message)
                case Response():
                    self._resume_with(message)
                case Notification("notifications/cancelled", params):
                    self._cancel(member(params, "requestId") or b"")
        yield from self._send_all()
        if isinstance(seen[-1].fact, StreamEnd):
            yield Hangup("the client ended its input")

    def wake(self, now: float) -> Iterable[Action]:
        self._now = now
        while self._due and self._due[0][0] <= now:
            call = heappop(self._due)[2]
            if self._running.get(call.id) is call and call.steps is not None:
                self._run(call, partial(next, call.steps))
        return self._send_all()

    def _messages_in(self, frame: Frame) -> Iterator[Message]:
        if isinstance(frame.fact, Fragment):
            whole = self._reassembly.add(frame)
            if whole is None:
                return
            frame = whole.frame
        content = frame.content
        if isinstance(content, Batch):
            yield from parse_items(frame.raw)
        elif isinstance(content, Request | Response | Notification):
            yield content

    def _send_all(self) -> Iterator[Action]:
        yield Send([Frame(S2C, raw) for raw in self.session.outgoing])
        self.session.outgoing = []
        if self._exit_status is not None:
            yield Send([Frame(S2C, b"", b"", ProcessExit(self._exit_status))])
            yield Hangup("a tool crashed the server")
        elif self._due:
            yield Wake(self._due[0][0])

    def _begin(self, request: Request) -> None:
        modern = self.session.modern
        if modern is None:
            version = member(request.params, "_meta", META + "protocolVersion")
            modern = version is not None or request.method == "server/discover"
        call = DemoCall(self.session, request, modern=modern)
        self._run(call, partial(self._handle, call))

    def _handle(self, call: DemoCall) -> Any:
        if call.modern:
            _check_meta(call)
        self.session.modern = call.modern
        own = MODERN_METHODS if call.modern else LEGACY_METHODS
        handler = METHODS.get(call.method) or own.get(call.method)
        if handler is None:
            raise DemoError(METHOD_NOT_FOUND, "Method not found", {"method": call.method})
        return handler(call)

    def _run(self, call: DemoCall, work: Callable[[], Any]) -> None:
        """Run a call until it ends or has to wait: for a time, or for an answer of the client."""
        self._running.pop(call.id, None)
        try:
            outcome = work()
            if isinstance(outcome, Generator):
                call.steps = outcome
                outcome = next(outcome)
        except StopIteration as done:
            outcome = done.value
        except ToolFailure as error:
            outcome = tools.failed(str(error))
        except InputRequired as question:
            outcome = {"resultType": "input_required", "inputRequests": question.requests}
        except DemoError as error:
            self.session.outgoing.append(edit.error(call.id, error.code, error.message, error.data))
            return
        except ServerCrash as crash:
            self._exit_status = crash.status
            return
        if isinstance(outcome, dict):
            self.session.outgoing.append(edit.response(call.id, _complete(call, outcome)))
        elif outcome is not None:
            self._running[call.id] = call
            self._wait_for(call, outcome)

    def _wait_for(self, call: DemoCall, step: float | Question) -> None:
        order = next(self._order)
        if not isinstance(step, Question):
            heappush(self._due, (self._now + step, order, call))
            return
        id_ = order + 1
        self._questions[b"%d" % id_] = call
        self.session.outgoing.append(encode({"jsonrpc": "2.0", "id": id_, **step._asdict()}))

    def _resume_with(self, answer: Response) -> None:
        """The client's answer to a question; the call may have been cancelled meanwhile."""
        call = self._questions.pop(answer.id or b"", None)
        if call is None or self._running.get(call.id) is not call or call.steps is None:
            return
        if answer.error is None:
            result = as_object(decode(answer.result or b"null"))
            self._run(call, partial(call.steps.send, result))
        else:
            message = as_object(decode(answer.error)).get("message", "")
            error = ToolFailure(f"the client refused to answer: {message}")
            self._run(call, partial(call.steps.throw, error))

    def _cancel(self, id_: bytes) -> None:
        """From here on, nothing is sent for this call. A cancellation of an unknown or finished one
        is ignored, as the specification asks (Cancellation, Behavior Requirements).
        """
        self._running.pop(id_, None)
        self.session.listening.pop(id_, None)


def _complete(call: DemoCall, result: JsonObject) -> JsonObject:
    """The result with the members that every modern result has."""
    if not call.modern:
        return result
    fresh = {"ttlMs": 0, "cacheScope": "public"} if call.method in CACHEABLE else {}
    meta = {META + "serverInfo": SERVER_INFO}
    return {"resultType": "complete", **result, **fresh, "_meta": meta}


def _check_meta(call: DemoCall) -> None:
    """Raises DemoError for a request without what every modern request must carry."""
    version = call.meta.get(META + "protocolVersion")
    if version is None or not isinstance(call.meta.get(META + "clientCapabilities"), dict):
        wanted = f"{META}protocolVersion and {META}clientCapabilities"
        raise DemoError(INVALID_PARAMS, f"params._meta must carry {wanted}")
    if version != LATEST:
        known = {"supported": [LATEST], "requested": version}
        raise DemoError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", known)


def _initialize(call: DemoCall) -> JsonObject:
    call.session.capabilities = as_object(call.params.get("capabilities"))
    asked = call.params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in REVISIONS and asked != LATEST else LAST_LEGACY,
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }


def _set_level(call: DemoCall) -> JsonObject:
    level = call.text("level")
    if level not in LOG_LEVELS:
        raise DemoError(INVALID_PARAMS, f"Unknown level: {level}")
    call.session.log_level = level
    return {}


def _subscribe(call: DemoCall) -> JsonObject:
    call.session.subscribed.add(call.text("uri"))
    return {}


def _unsubscribe(call: DemoCall) -> JsonObject:
    call.session.subscribed.discard(call.text("uri"))
    return {}


def _discover(_: DemoCall) -> JsonObject:
    return {
        "supportedVersions": [LATEST],
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
    }


def _listen(call: DemoCall) -> None:
    """Never answered: it stays open until the client cancels it."""
    wanted = as_object(call.params.get("notifications")).get("resourceSubscriptions")
    uris = [uri for uri in wanted if isinstance(uri, str)] if isinstance(wanted, list) else []
    call.session.listening[call.id] = uris
    honoured = {"resourceSubscriptions": uris} if uris else {}
    accepted = {"_meta": subscription_meta(call.id), "notifications": honoured}
    call.session.notify("notifications/subscriptions/acknowledged", accepted)


METHODS: dict[str, Callable[[DemoCall], Any]] = {
    "tools/list": tools.list_tools,
    "tools/call": tools.call_tool,
    "resources/list": catalog.list_resources,
    "resources/templates/list": catalog.list_templates,
    "resources/read": catalog.read_resource,
    "prompts/list": catalog.list_prompts,
    "prompts/get": catalog.get_prompt,
    "completion/complete": catalog.complete,
}
LEGACY_METHODS: dict[str, Callable[[DemoCall], Any]] = {
    "initialize": _initialize,
    "ping": lambda _: {},
    "logging/setLevel": _set_level,
    "resources/subscribe": _subscribe,
    "resources/unsubscribe": _unsubscribe,
}
MODERN_METHODS: dict[str, Callable[[DemoCall], Any]] = {
    "server/discover": _discover,
    "subscriptions/listen": _listen,
}
