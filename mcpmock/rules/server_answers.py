"""Rules of answers: results that lack something, results where there should be an error, and
errors with another code than the specification's. Also what log messages hold.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator

import attrs

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.error_codes import (
    DEFINED_MODERN,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    SERVER_ERROR,
    URL_ELICITATION_REQUIRED,
)
from mcpmock.protocol.messages import S2C, Frame, Request, Response
from mcpmock.protocol.methods import FIRST
from mcpmock.protocol.shapes import hides
from mcpmock.protocol.transport_facts import RESENT_STATUSES
from mcpmock.redaction.placeholders import PLACEHOLDER, placeholders_in
from mcpmock.redaction.secret_formats import suspicious
from mcpmock.redaction.secret_names import SESSION_ID

from .context import PREFIX, CheckedMessage, Object, State, as_object, declared, place, short
from .exchange import MAX_REMEMBERED
from .lifecycle import DISCOVER
from .listings import LISTED, PROMPTS, RESOURCES, TEMPLATES, Listings
from .memory import drop_oldest
from .modern import CAPABILITIES, VERSION
from .specification import Breach

_CALL, _TASK_RESULT, _PING, _LOG = "tools/call", "tasks/result", "ping", "notifications/message"
_PROMPT, _READ, _COMPLETE, _SET_LEVEL = (
    "prompts/get",
    "resources/read",
    "completion/complete",
    "logging/setLevel",
)
EXPECTING = {_PROMPT, _READ, _COMPLETE, _SET_LEVEL, *LISTED}
"""The methods of requests that may be recognisably wrong; of 2026-07-28 every request may."""
_LEVELS = (
    *("debug", "info", "notice", "warning"),
    *("error", "critical", "alert", "emergency"),
)
_LOG_LEVEL = f"{PREFIX}logLevel"
_OTHER_REASONS = {*DEFINED_MODERN, URL_ELICITATION_REQUIRED}
"""The codes with which a server refuses a request whatever its params are."""
_COMMON = "Servers SHOULD return standard JSON-RPC errors for common failure cases: "
_HTTP_STATUS = re.compile(r"HTTP [45]\d\d\b")


@attrs.frozen
class ExpectedError:
    """An error that a request should be answered with, because it is recognisably wrong."""

    rule: str
    code: int
    what: str
    """What is wrong with the request."""
    sentence: str
    section: str
    unless: int | None = None
    """Another code, of which another rule speaks."""


@attrs.define
class AnswerChecker:
    """The answers in one session."""

    _expected: OrderedDict[PendingCall, ExpectedError] = attrs.field(factory=OrderedDict)
    _no_templates: bool = False
    """The server has no method to list templates."""
    _linked: OrderedDict[str, None] = attrs.field(factory=OrderedDict)
    """The URIs that results have named."""

    def expect(self, call: PendingCall, error: ExpectedError) -> None:
        """Note that an error to this call should have a certain code."""
        self._expected[call] = error
        drop_oldest(self._expected, MAX_REMEMBERED)

    def check_message(
        self, checked: CheckedMessage, state: State, listings: Listings
    ) -> Iterable[Breach]:
        """Return the breaches in a response or a log message."""
        message, call = checked.message, checked.attribution.call
        if isinstance(message, Response):
            if call is not None and not checked.attribution.late:
                return self._check_response(checked, state, call)
        elif isinstance(message, Request):
            if checked.from_client and call is not None:
                error = self._expected_of(checked, state, listings)
                if error is not None:
                    self.expect(call, error)
        elif checked.method == _LOG and not checked.from_client:
            return _check_log(checked)
        return ()

    def _check_response(
        self, checked: CheckedMessage, state: State, call: PendingCall
    ) -> Iterator[Breach]:
        expected = self._expected.pop(call, None)
        if checked.method == _PING:
            yield from _check_ping(checked)
        if checked.from_client:
            return
        if checked.result is not None:
            if b'"uri"' in checked.raw:
                self._linked |= dict.fromkeys(_named_uris(checked.result))
                drop_oldest(self._linked, MAX_REMEMBERED)
            yield from _check_result(checked, state, checked.result)
        elif checked.method == TEMPLATES and checked.code == METHOD_NOT_FOUND:
            self._no_templates = True
        elif checked.method == DISCOVER and checked.code == METHOD_NOT_FOUND:
            state.server.discover_refused = True
        elif (
            expected is not None
            and checked.code not in (expected.code, expected.unless, *_OTHER_REASONS)
            and not hides(checked.code)
            and not is_refused_by_http(checked)
        ):
            text = f"{expected.what}: the error {short(checked.code)}, not {expected.code}"
            yield Breach(expected.rule, text, "$.error.code", expected.sentence, expected.section)
        refused = state.server.modern and state.server.discover_refused
        if refused and state.once("discover-missing"):
            yield Breach("discover-missing", f"{DISCOVER} was answered with {METHOD_NOT_FOUND}")

    def _expected_of(
        self, checked: CheckedMessage, state: State, listings: Listings
    ) -> ExpectedError | None:
        """Return the error that a request should get, if it is recognisably wrong."""
        if checked.modern and checked.meta.get(_LOG_LEVEL, _LEVELS[0]) not in _LEVELS:
            level = checked.meta[_LOG_LEVEL]
            said = (
                "If the io.modelcontextprotocol/logLevel value carried in a request's _meta is not"
                " a recognized log level, the server SHOULD reject that request with a standard"
                " JSON-RPC"
            )
            return _wrong(f"the log level {short(level)}", said, "server/utilities/logging")
        if checked.method not in EXPECTING:
            return None
        match checked.method:
            case "prompts/get":
                return _wrong_prompt(checked.params, listings)
            case "resources/read":
                return self._wrong_resource(checked, listings)
            case "completion/complete":
                return _wrong_completion(checked, state, listings)
            case "logging/setLevel":
                level = checked.params.get("level")
                if not isinstance(level, str) or level in _LEVELS or SECRET_MARK in level:
                    return None
                said = f"{_COMMON}Invalid log level: {INVALID_PARAMS} (Invalid params)"
                return _wrong(f"the log level {short(level)}", said, "server/utilities/logging")
            case _:
                cursor = checked.params.get("cursor")
                if not listings.invented(checked.method or "", cursor):
                    return None
                said = (
                    "Invalid cursors SHOULD result in an error with code -32602 (Invalid params)."
                )
                what = f"the cursor {short(cursor)}, which no page gave"
                return _wrong(what, said, "server/utilities/pagination")

    def _wrong_resource(self, checked: CheckedMessage, listings: Listings) -> ExpectedError | None:
        uri, templates = checked.params.get("uri"), listings.whole(TEMPLATES)
        none = self._no_templates or (templates is not None and not templates.entries)
        # 2025-06-18 server/tools: "Resource links returned by tools are not guaranteed to appear in
        # the results of a resources/list request."
        if not none or not listings.lacks(RESOURCES, uri) or uri in self._linked:
            return None
        what = f"the resource {short(uri)}, which is not listed"
        if checked.modern:
            said = (
                "If the requested resource does not exist, servers MUST return a JSON-RPC error"
                " with code -32602 (Invalid Params)."
            )
            return ExpectedError("not-found-code", INVALID_PARAMS, what, said, "server/resources")
        said = f"{_COMMON}Resource not found: {RESOURCE_NOT_FOUND}"
        return _wrong(what, said, "server/resources", RESOURCE_NOT_FOUND)


def _named_uris(result: Object) -> Iterator[str]:
    """Yield the URIs of resources in contents, linked or embedded."""
    lists = (result.get(name) for name in ("content", "contents", "messages"))
    for one in (one for found in lists if isinstance(found, list) for one in found):
        block = as_object(as_object(one).get("content", one))
        uri = as_object(block.get("resource", block)).get("uri")
        if isinstance(uri, str):
            yield uri


def _wrong(what: str, said: str, section: str, code: int = INVALID_PARAMS) -> ExpectedError:
    return ExpectedError("error-code-differs", code, what, said, section)


def _wrong_prompt(params: Object, listings: Listings) -> ExpectedError | None:
    name = params.get("name")
    if listings.lacks(PROMPTS, name):
        said = f"{_COMMON}Invalid prompt name: {INVALID_PARAMS} (Invalid params)"
        return _wrong(f"the prompt {short(name)}, which is not listed", said, "server/prompts")
    given = as_object(params.get("arguments"))
    declared_ = listings.definition(PROMPTS, name).get("arguments")
    for one in declared_ if isinstance(declared_, list) else ():
        argument = as_object(one)
        if argument.get("required") is True and given.get(str(argument.get("name"))) is None:
            said = f"{_COMMON}Missing required arguments: {INVALID_PARAMS} (Invalid params)"
            what = f"the prompt {short(name)} without {short(argument.get('name'))}"
            return _wrong(what, said, "server/prompts")
    return None


def _wrong_completion(
    checked: CheckedMessage, state: State, listings: Listings
) -> ExpectedError | None:
    section = "server/utilities/completion"
    found = state.server.capabilities if checked.modern else state.server_capabilities
    if (checked.revision or "") > FIRST and not declared(found, "completions"):
        said = f"{_COMMON}Method not found: {METHOD_NOT_FOUND} (Capability not supported)"
        return _wrong("a completion, which is not declared", said, section, METHOD_NOT_FOUND)
    ref = as_object(checked.params.get("ref"))
    if ref.get("type") == "ref/prompt" and listings.lacks(PROMPTS, ref.get("name")):
        said = f"{_COMMON}Invalid prompt name: {INVALID_PARAMS} (Invalid params)"
        what = f"a completion for {short(ref.get('name'))}, which is not listed"
        return _wrong(what, said, section)
    return None


def is_refused_by_http(checked: CheckedMessage) -> bool:
    """Return whether the error refuses the HTTP request, not the message in it."""
    # Between transports mcpmock makes an error of a status.
    said = as_object(checked.error).get("message")
    if checked.code == SERVER_ERROR and isinstance(said, str) and _HTTP_STATUS.match(said):
        return True
    status = 0 if checked.exchange is None else checked.exchange.status
    return (status >= 400 and not checked.modern) or status in RESENT_STATUSES


def _check_ping(checked: CheckedMessage) -> Iterator[Breach]:
    if checked.error is not None:
        if not is_refused_by_http(checked):
            text = f"ping answered with the error {short(checked.code)}"
            yield Breach("ping-answer", text, "$.error")
    elif more := [name for name in checked.result or {} if name != "_meta"]:
        text = f"ping answered with {', '.join(map(short, more[:5]))}"
        yield Breach("ping-answer", text, place("result", more[0]))


def _check_result(checked: CheckedMessage, state: State, result: Object) -> Iterator[Breach]:
    if checked.modern and state.server.modern:
        meta = as_object(checked.call_params.get("_meta"))
        missing = [name for name in (VERSION, CAPABILITIES) if name not in meta]
        if missing:
            text = f"a result of {checked.method}, which had no {' and no '.join(missing)}"
            yield Breach("meta-accepted", text)
    if checked.method in (_CALL, _TASK_RESULT):
        yield from _check_tool_result(checked, state, result)
    elif checked.method == _READ and result.get("contents") == []:
        text = f"no contents for {short(checked.call_params.get('uri'))}"
        yield Breach("contents-empty", text, "$.result.contents")


def _check_tool_result(checked: CheckedMessage, state: State, result: Object) -> Iterator[Breach]:
    content = result.get("content")
    blocks = content if isinstance(content, list) else ()
    kinds = [one.get("type") if isinstance(one, dict) else None for one in blocks]
    if result.get("structuredContent") is not None and "text" not in kinds:
        text = "structuredContent without a text block"
        yield Breach("structured-text", text, "$.result.content")
    if "resource" in kinds:
        found = state.server.capabilities if checked.modern else state.server_capabilities
        if not declared(found, "resources"):
            path = place("result", "content", kinds.index("resource"))
            text = "an embedded resource without the capability resources"
            yield Breach("embedded-undeclared", text, path)


def _check_log(checked: CheckedMessage) -> Iterator[Breach]:
    raw = checked.raw
    if PLACEHOLDER not in raw and suspicious(raw):
        from mcpmock.redaction.redactor import Redactor  # a take that was not redacted

        raw = Redactor().frame(Frame(S2C, raw)).raw
    kinds = (found.split(b":")[2].decode() for found in placeholders_in(raw))
    secrets = dict.fromkeys(kind for kind in kinds if kind != SESSION_ID)
    if secrets:
        text = f"a log message with a secret ({', '.join(secrets)})"
        yield Breach("log-secret", text, "$.params.data")
