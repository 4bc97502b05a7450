"""What the official SDKs are known to do against the specification: where it is seen it is named,
and lowered to a notice.

Nothing on the wire says which SDK wrote a message, so a deviation is told by what it is, as
narrowly as that can be said.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpmock.protocol.error_codes import REQUEST_CANCELLED

from .context import CheckedMessage, State, as_object
from .exchange import CheckedExchange

When = Callable[[CheckedMessage | None, CheckedExchange | None, State], bool]

_BAD_REQUEST = 400
_PYTHON = "the Python SDK's servers"
_PYTHON_1, _PYTHON_2 = "the Python SDK 1", "the Python SDK 2"


def _always(heard: CheckedMessage | None, exchange: CheckedExchange | None, state: State) -> bool:  # noqa: ARG001
    return True


@attrs.frozen
class Deviation:
    """`of` breaks `rule`: `what` it does. `when` tells it from what else breaks the rule."""

    rule: str
    of: str
    what: str
    when: When = _always

    @property
    def words(self) -> str:
        return f"known of {self.of}: {self.what}"


def _said(raw: bytes) -> When:
    """A message of just these bytes, or of white space where there are none."""
    return lambda heard, _exchange, _state: heard is not None and heard.raw.strip() == raw


def _code(code: int) -> When:
    return lambda heard, _exchange, _state: heard is not None and heard.code == code


def _method(name: str) -> When:
    return lambda heard, _exchange, _state: heard is not None and heard.method == name


def _status(status: int) -> When:
    return lambda _heard, exchange, _state: exchange is not None and exchange.status == status


def _answers(id_: bytes) -> When:
    return lambda heard, _exchange, _state: getattr(heard and heard.message, "id", None) == id_


def _python_server(method: str) -> When:
    """The Python SDK's servers declare these three, each with its `listChanged`, and nothing
    else.
    """

    def when(heard: CheckedMessage | None, exchange: CheckedExchange | None, state: State) -> bool:  # noqa: ARG001
        told = state.server_capabilities or state.server.capabilities or {}
        features = [as_object(told.get(name)) for name in ("tools", "resources", "prompts")]
        spelled = all(isinstance(feature.get("listChanged"), bool) for feature in features)
        return spelled and heard is not None and heard.method == method

    return when


DEVIATIONS = (
    Deviation(
        "progress-after-cancel",
        "the TypeScript SDK's servers",
        "they go on with a cancelled call, and with its progress",
    ),
    Deviation(
        "answer-after-cancel",
        f"{_PYTHON_1}'s servers",
        "they answer a cancelled request with the error 0",
        _code(0),
    ),
    Deviation(
        "answer-after-cancel",
        f"{_PYTHON_2}'s servers",
        "over HTTP they answer a cancelled request with the error -32800",
        _code(REQUEST_CANCELLED),
    ),
    Deviation(
        "answers-nothing",
        f"{_PYTHON_1}'s servers",
        'what they refuse for its HTTP head gets an error with the id "server-error"',
        _answers(b'"server-error"'),
    ),
    Deviation(
        "logging-undeclared",
        _PYTHON,
        "they send log messages and declare no logging",
        _python_server("notifications/message"),
    ),
    Deviation(
        "capability",
        _PYTHON,
        "they tell of updated resources and declare no resources.subscribe",
        _python_server("notifications/resources/updated"),
    ),
    Deviation(
        "capability",
        "the SDKs' clients and the inspector",
        "they set a log level on any server",
        _method("logging/setLevel"),
    ),
    Deviation(
        "method-revision",
        f"{_PYTHON_2}'s clients",
        "they send ping in the modern era too",
        lambda heard, _exchange, _state: (
            heard is not None and heard.modern and heard.method == "ping"
        ),
    ),
    Deviation(
        "replays-other-stream",
        "the TypeScript SDK 1's servers",
        "a client that resumes one stream gets the events of others",
    ),
    Deviation(
        "json-rpc",
        "the TypeScript SDK 1's servers",
        "a client that resumes a stream gets events with empty objects",
        _said(b"{}"),
    ),
    Deviation(
        "session-ended",
        "the npm server-everything",
        "it answers a session that is over with 400",
        _status(_BAD_REQUEST),
    ),
    Deviation(
        "get-modern",
        "the TypeScript SDK 2's servers",
        "they answer GET and DELETE with 400",
        _status(_BAD_REQUEST),
    ),
    Deviation(
        "not-a-message",
        "FastMCP's servers",
        "they leave a blank line at the end",
        _said(b""),
    ),
)


def known(
    rule: str, heard: CheckedMessage | None, exchange: CheckedExchange | None, state: State
) -> Deviation | None:
    """The deviation that explains this breach, if there is one."""
    candidates = (one for one in DEVIATIONS if one.rule == rule)
    return next((one for one in candidates if one.when(heard, exchange, state)), None)
