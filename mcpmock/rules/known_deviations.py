"""Known deviations of the official SDKs from the specification. A violation that matches one names
it and becomes a notice.

Nothing on the wire says which SDK wrote a message, so each deviation is recognised by its content,
as narrowly as possible.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpmock.protocol.error_codes import INTERNAL_ERROR, REQUEST_CANCELLED

from .context import CheckedMessage, State, as_object
from .exchange import CheckedExchange

DeviationTest = Callable[[CheckedMessage | None, CheckedExchange | None, State], bool]

_BAD_REQUEST = 400
_PYTHON = "the Python SDK's servers"
_PYTHON_1, _PYTHON_2 = "the Python SDK 1", "the Python SDK 2"


def _always(checked: CheckedMessage | None, exchange: CheckedExchange | None, state: State) -> bool:  # noqa: ARG001
    return True


@attrs.frozen
class Deviation:
    """`of` names the software, `what` its behaviour; `when` recognises it among the violations of
    `rule`.
    """

    rule: str
    of: str
    what: str
    when: DeviationTest = _always

    @property
    def words(self) -> str:
        return f"known of {self.of}: {self.what}"

    def __reduce__(self) -> tuple[Callable[[str, str], Deviation], tuple[str, str]]:
        # By name: the other process has the same table, and a lambda cannot be sent to it.
        return _deviation_of, (self.rule, self.of)


def _has_raw(raw: bytes) -> DeviationTest:
    """Return whether the message consists of these bytes, ignoring surrounding white space."""
    return lambda checked, _exchange, _state: checked is not None and checked.raw.strip() == raw


def _has_code(code: int) -> DeviationTest:
    return lambda checked, _exchange, _state: checked is not None and checked.code == code


def _has_method(name: str) -> DeviationTest:
    return lambda checked, _exchange, _state: checked is not None and checked.method == name


def _has_status(status: int) -> DeviationTest:
    return lambda _checked, exchange, _state: exchange is not None and exchange.status == status


def _has_id(id_: bytes) -> DeviationTest:
    return lambda checked, _exchange, _state: (
        getattr(checked and checked.message, "id", None) == id_
    )


def _python_server(method: str) -> DeviationTest:
    """Recognize the Python SDK's servers: tools, resources and prompts, each with `listChanged`."""

    def when(
        checked: CheckedMessage | None,
        exchange: CheckedExchange | None,  # noqa: ARG001
        state: State,
    ) -> bool:
        capabilities = state.server_capabilities or state.server.capabilities or {}
        features = [as_object(capabilities.get(name)) for name in ("tools", "resources", "prompts")]
        declares_list_changed = all(
            isinstance(feature.get("listChanged"), bool) for feature in features
        )
        return declares_list_changed and checked is not None and checked.method == method

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
        _has_code(0),
    ),
    Deviation(
        "answer-after-cancel",
        f"{_PYTHON_2}'s servers",
        "over HTTP they answer a cancelled request with the error -32800",
        _has_code(REQUEST_CANCELLED),
    ),
    Deviation(
        "answers-nothing",
        f"{_PYTHON_1}'s servers",
        'what they refuse for its HTTP head gets an error with the id "server-error"',
        _has_id(b'"server-error"'),
    ),
    Deviation(
        "error-code-differs",
        f"{_PYTHON_1}'s servers",
        "they answer what goes wrong in a handler with the error 0",
        _has_code(0),
    ),
    Deviation(
        "error-code-differs",
        f"{_PYTHON_2}'s servers",
        "they answer what goes wrong in a handler with the error -32603",
        _has_code(INTERNAL_ERROR),
    ),
    Deviation(
        "task-required-answer",
        "the TypeScript SDK 1's servers",
        "they refuse it by a result with isError",
        lambda checked, _exchange, _state: (
            checked is not None and (checked.result or {}).get("isError") is True
        ),
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
        _has_method("logging/setLevel"),
    ),
    Deviation(
        "method-revision",
        f"{_PYTHON_2}'s clients",
        "they send ping in the modern era too",
        lambda checked, _exchange, _state: (
            checked is not None and checked.modern and checked.method == "ping"
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
        _has_raw(b"{}"),
    ),
    Deviation(
        "session-ended",
        "the npm server-everything",
        "it answers a session that is over with 400",
        _has_status(_BAD_REQUEST),
    ),
    Deviation(
        "get-modern",
        "the TypeScript SDK 2's servers",
        "they answer GET and DELETE with 400",
        _has_status(_BAD_REQUEST),
    ),
    Deviation(
        "not-a-message",
        "FastMCP's servers",
        "they leave a blank line at the end",
        _has_raw(b""),
    ),
)


def _deviation_of(rule: str, software: str) -> Deviation:
    return next(one for one in DEVIATIONS if (one.rule, one.of) == (rule, software))


_BY_RULE: dict[str, list[Deviation]] = {}
for _one in DEVIATIONS:
    _BY_RULE.setdefault(_one.rule, []).append(_one)


def find_deviation(
    rule: str, checked: CheckedMessage | None, exchange: CheckedExchange | None, state: State
) -> Deviation | None:
    """Return the known deviation that explains a breach of `rule`, if there is one."""
    candidates = _BY_RULE.get(rule, ())
    return next((one for one in candidates if one.when(checked, exchange, state)), None)
