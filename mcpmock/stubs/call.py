"""`StubCall`: one call that a hand-written function answers, and `StubSession`, what the server
remembers of its client.

A function gives its answer at once, or is a generator that yields what it waits for: a number of
seconds, or a `Question` to the client. `server` runs it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

import attrs
from msgspec import Raw

from mcpmock.protocol import edit
from mcpmock.protocol.correlation import PROGRESS, TOKEN_PATH
from mcpmock.protocol.error_codes import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
from mcpmock.protocol.messages import Request, decode, encode, member
from mcpmock.protocol.methods import LAST_LEGACY
from mcpmock.protocol.revisions import is_modern

from .script import LOGGED, UPDATED, Arguments, StubEntry

META = "io.modelcontextprotocol/"
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Question(NamedTuple):
    """A request of the server to a client of up to 2025-11-25."""

    method: str
    params: Arguments


Steps = Generator[float | Question, Arguments, Any]
"""What a function that waits returns; the value at its end is the answer."""


class StubError(Exception):
    """Raised by a function of a stub (`StubRoute.run`): the answer is this JSON-RPC error.

    >>> def read(call):
    ...     raise mcpmock.StubError(-32002, "no such city", {"uri": call.params["uri"]})
    >>> stub = mcpmock.Stub().resource("weather://{city}").run(read)
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class StubFailure(Exception):
    """Raised by a function of a stub: the tool failed, and the result has `isError` and this text.
    `StubCall.ask` raises it for a client that cannot or will not answer.

    >>> def book(call):
    ...     if "city" not in call.arguments:
    ...         raise mcpmock.StubFailure("name a city")
    >>> stub = mcpmock.Stub().tool("book").run(book)
    """


class StubExit(Exception):
    """Raised by a function of the demo server, which ends as a process with this exit status."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


class InputRequired(Exception):
    """A call of 2026-07-28 cannot go on before the client has answered and calls again."""

    def __init__(self, result: Arguments) -> None:
        super().__init__()
        self.result = result


@attrs.define
class StubSession:
    """What the server remembers of its one client, and what it has to send."""

    modern: bool | None = None
    """The era, of a server that settles on one; None until the first request."""
    revision: str = LAST_LEGACY
    """The revision of the last handshake."""
    capabilities: Arguments = attrs.field(factory=dict)
    """What the client declared in its handshake, up to 2025-11-25."""
    log_level: Any = "info"
    subscribed: set[str] = attrs.field(factory=set)
    """The URIs that the client subscribed to, up to 2025-11-25."""
    listening: dict[bytes, list[str]] = attrs.field(factory=dict)
    """The URIs of each open `subscriptions/listen`, by its id."""
    state: Arguments = attrs.field(factory=dict)
    outgoing: list[bytes] = attrs.field(factory=list)
    now: float = 0.0
    exit_status: int | None = None


class StubCall:
    """A call that a function answers (`StubRoute.run`).

    `arguments` are those of the tool or prompt, the variables of a template, or the params of a
    method; `params` are the whole params, and `method` is the method of the request. `state` is a
    dict for the function's own use: it lasts as long as the session.

    >>> def count(call: mcpmock.StubCall):
    ...     call.state["calls"] = call.state.get("calls", 0) + 1
    ...     call.log("info", f"call {call.state['calls']}")
    ...     return call.state["calls"]
    >>> stub = mcpmock.Stub(capabilities={"logging": {}}).tool("count").run(count)
    """

    def __init__(self, session: StubSession, request: Request) -> None:
        self.session, self.id, self.method = session, request.id, request.method
        self.params = as_object(decode(request.params or b"{}"))
        self.meta = as_object(self.params.get("_meta"))
        self.arguments: Arguments = {}
        has_token = "progressToken" in self.meta
        self.token = member(request.params, *TOKEN_PATH) if has_token else None
        """The progress token as the client wrote it."""
        self.progressed_at = float("-inf")
        version = self.meta.get(META + "protocolVersion")
        self.revision = version if isinstance(version, str) else session.revision
        self.modern = is_modern(self.revision)
        self.entry: StubEntry | None = None
        """The entry that answers; None for what the server answers by itself."""
        self.steps: Steps
        self._answers: Arguments = {}

    @property
    def state(self) -> Arguments:
        return self.session.state

    def text(self, name: str) -> str:
        """Return a member of the params. Raises StubError if it is not a string."""
        value = self.params.get(name)
        if not isinstance(value, str):
            raise StubError(INVALID_PARAMS, f"params.{name} must be a string")
        return value

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self.session.outgoing.append(edit.notification(method, params))

    def progress(
        self, amount: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress, if the client asked for it."""
        if self.token is None:
            return
        self.progressed_at = self.session.now
        more = {"progress": amount, "total": total, "message": message}
        given = {name: value for name, value in more.items() if value is not None}
        self.notify(PROGRESS, {"progressToken": Raw(self.token), **given})

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message, if the client wants messages of this level."""
        wanted = self.meta.get(META + "logLevel") if self.modern else self.session.log_level
        if wanted in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted):
            whose = {} if logger is None else {"logger": logger}
            self.notify(LOGGED, {"level": level, **whose, "data": data})

    def update(self, uri: str) -> None:
        """Tell the client that a resource changed, if it subscribed to that."""
        if uri in self.session.subscribed:
            self.notify(UPDATED, {"uri": uri})
        for id_, uris in self.session.listening.items():
            if uri in uris:
                self.notify(UPDATED, {"_meta": subscription_meta(id_), "uri": uri})

    def ask(self, method: str, params: Arguments | None = None) -> Steps:
        """Ask the client, and return its result: `reply = yield from call.ask("roots/list")`.

        Up to 2025-11-25 this is a request of the server. From 2026-07-28 on, the call ends with the
        question, and the client calls again with the answer: the function runs anew, up to here and
        further. Raises StubFailure for a client that cannot or will not answer.
        """
        feature = method.partition("/")[0]
        question = Question(method, params or {})
        if not self.modern:
            if feature not in self.session.capabilities:
                raise StubFailure(f"this client offers no {feature}")
            return (yield question)
        if feature not in as_object(self.meta.get(META + "clientCapabilities")):
            required: Arguments = {"requiredCapabilities": {feature: {}}}
            raise StubError(
                MISSING_CLIENT_CAPABILITY, f"This needs a client with {feature}", required
            )
        # The client answers the last question only. It brings the earlier answers in the
        # `requestState` (2026-07-28, basic/patterns/mrtr), so that the server need not keep them.
        state = self.params.get("requestState")
        known = as_object(decode(state.encode())) if isinstance(state, str) else {}
        known |= as_object(self.params.get("inputResponses"))
        asked = len([name for name in self._answers if name.partition(" ")[0] == feature])
        name = f"{feature} {asked + 1}" if asked else feature
        if name not in known:
            carried = {"requestState": encode(self._answers).decode()} if self._answers else {}
            requests = {name: question._asdict()}
            unfinished = {"resultType": "input_required", "inputRequests": requests}
            raise InputRequired({**unfinished, **carried})
        self._answers[name] = known[name]
        return as_object(known[name])


def as_object(value: Any) -> Arguments:
    """Return `value` if it is a JSON object, else an empty one: a client may send any value."""
    return value if isinstance(value, dict) else {}


def subscription_meta(id_: bytes) -> Arguments:
    """Make the `_meta` of what is sent to the `subscriptions/listen` with this id."""
    return {META + "subscriptionId": Raw(id_)}
