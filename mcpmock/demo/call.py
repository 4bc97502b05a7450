"""What the demo server's tools and handlers see: the session, and the request they answer.

A handler gives its result at once, or is a generator that yields what it waits for: a number of
seconds, or a `Question` to the client. `server` runs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any, NamedTuple

import attrs

from mcpmock.protocol import edit
from mcpmock.protocol.error_codes import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
from mcpmock.protocol.messages import Request, decode

META = "io.modelcontextprotocol/"
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_UPDATED = "notifications/resources/updated"
JsonObject = dict[str, Any]


class Question(NamedTuple):
    """A request of the server to a legacy client."""

    method: str
    params: JsonObject


Steps = Generator[float | Question, JsonObject, JsonObject]


class DemoError(Exception):
    """A JSON-RPC error as the answer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class ToolFailure(Exception):
    """A tool failed: the answer is a result with `isError`, so that the model sees it."""


class InputRequired(Exception):
    """A modern call cannot go on before the client has answered `requests` and calls again."""

    def __init__(self, requests: JsonObject) -> None:
        super().__init__()
        self.requests = requests


class ServerCrash(Exception):
    """The server process ends now, with this exit status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


@attrs.define
class DemoSession:
    """What the server remembers of its one client, and what it has to send."""

    modern: bool | None = None
    """The era; None until the first request."""
    capabilities: JsonObject = attrs.field(factory=dict)
    """Of a legacy client, from its handshake."""
    log_level: str = "info"
    subscribed: set[str] = attrs.field(factory=set)
    """The URIs that a legacy client subscribed to."""
    listening: dict[bytes, list[str]] = attrs.field(factory=dict)
    """The URIs of each open `subscriptions/listen` of a modern client, by its id."""
    touched: Counter[str] = attrs.field(factory=Counter)
    outgoing: list[bytes] = attrs.field(factory=list)

    def notify(self, method: str, params: JsonObject) -> None:
        self.outgoing.append(edit.notification(method, params))

    def touch(self, uri: str) -> None:
        """Change a resource, and notify its subscribers."""
        self.touched[uri] += 1
        if uri in self.subscribed:
            self.notify(_UPDATED, {"uri": uri})
        for id_, uris in self.listening.items():
            if uri in uris:
                self.notify(_UPDATED, {"_meta": subscription_meta(id_), "uri": uri})


class DemoCall:
    """One request that is being answered."""

    def __init__(self, session: DemoSession, request: Request, *, modern: bool) -> None:
        self.session, self.modern = session, modern
        self.id, self.method = request.id, request.method
        self.params = as_object(decode(request.params or b"{}"))
        self.meta = as_object(self.params.get("_meta"))
        self.steps: Steps | None = None
        """The rest of the work, of a handler that waits."""

    def text(self, name: str) -> str:
        """A parameter that must be a string."""
        value = self.params.get(name)
        if not isinstance(value, str):
            raise DemoError(INVALID_PARAMS, f"params.{name} must be a string")
        return value

    def progress(self, done: int, total: int, message: str) -> None:
        """Report progress, if the client asked for it."""
        token = self.meta.get("progressToken")
        if token is not None:
            report = {"progressToken": token, "progress": done, "total": total, "message": message}
            self.session.notify("notifications/progress", report)

    def log(self, level: str, data: Any) -> None:
        """Send a log message, if the client wants messages of this level."""
        wanted = self.meta.get(META + "logLevel") if self.modern else self.session.log_level
        if wanted in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted):
            params = {"level": level, "logger": "demo", "data": data}
            self.session.notify("notifications/message", params)

    def ask(self, method: str, params: JsonObject) -> Steps:
        """Ask the client; a generator that returns its answer."""
        feature = method.partition("/")[0]
        if not self.modern:
            if feature not in self.session.capabilities:
                raise ToolFailure(f"this client offers no {feature}")
            return (yield Question(method, params))
        if feature not in self.meta[META + "clientCapabilities"]:
            required: JsonObject = {"requiredCapabilities": {feature: {}}}
            raise DemoError(
                MISSING_CLIENT_CAPABILITY, f"This needs a client with {feature}", required
            )
        answers = as_object(self.params.get("inputResponses"))
        if feature not in answers:
            raise InputRequired({feature: {"method": method, "params": params}})
        return as_object(answers[feature])


def as_object(value: Any) -> JsonObject:
    """`value` if it is a JSON object, else an empty one: a client may send any JSON value."""
    return value if isinstance(value, dict) else {}


def subscription_meta(id_: bytes) -> JsonObject:
    """The `_meta` of what is sent to the `subscriptions/listen` with this id."""
    return {META + "subscriptionId": decode(id_)}
