"""Rules of contents: arguments, results and answers against what the server has listed or asked
for, with the schemas that it declares.

What counts is what was listed last before the request (`listings`). `protocol.json_schema` holds
values against schemas; what it cannot judge is said, once for each tool.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import attrs

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.json_schema import (
    NoSchemaError,
    SchemaMisfit,
    UnjudgedSchemaError,
    compile_schema,
)
from mcpmock.protocol.messages import Request, Response, decode, encode, member
from mcpmock.protocol.methods import LAST_LEGACY, REVISIONS
from mcpmock.protocol.shapes import shapes_of

from .calls import MAX_CALLS
from .context import (
    CheckedMessage,
    Object,
    State,
    as_object,
    place,
    short,
    why_unreadable,
)
from .exchange import MAX_REMEMBERED
from .listings import LISTED, MAX_DEFINITION_BYTES, PROMPTS, RESOURCES, TEMPLATES, TOOLS, Listings
from .memory import drop_oldest
from .modern import COMPLETE, INPUT_REQUIRED
from .parameter_headers import check_annotations, check_headers
from .specification import Breach, Unjudged

Found = Breach | Unjudged
FoundFirst = Generator[Found, None, "Expected | None"]
_STRUCTURED = REVISIONS[2]
_CALL, _TASK, _PROMPT = "tools/call", "tasks/result", "prompts/get"
_COMPLETE, _ELICIT = "completion/complete", "elicitation/create"
_ROUNDS = {_CALL, _PROMPT, "resources/read"}
_LEFT_OUT = ("inputResponses", "requestState", "_meta")
"""What a retry has besides the params of the first request."""
METHODS = {*LISTED} | _ROUNDS | {_TASK, _COMPLETE, _ELICIT}
"""The methods of all messages that these rules look at."""
_VARIABLES = re.compile(r"\{[+#./;?&]?([^}]*)\}")


class DeclaredSchema(NamedTuple):
    """A schema as JSON; None if there is none, or it is `too_long` to be remembered."""

    raw: bytes | None = None
    too_long: bool = False


class DeclaredTool(NamedTuple):
    """What a list says of a tool."""

    name: str
    input: DeclaredSchema = DeclaredSchema()
    output: DeclaredSchema = DeclaredSchema()


@attrs.define
class Expected:
    """What is known of a request until its result comes."""

    tool: DeclaredTool | None = None
    """The tool that is called, as it was listed before."""
    refusable: str = ""
    """The rule that a result breaks, because the request was not one to accept."""
    text: str = ""
    schema: DeclaredSchema | None = None
    """The schema of what the client is asked for."""
    params: Object = attrs.field(factory=dict)
    """Of what may come in rounds, the params, which a retry has again."""


@attrs.define
class ContentChecker:
    """The contents of the messages of one session."""

    _expected: OrderedDict[int, Expected] = attrs.field(factory=OrderedDict)
    """By call index."""
    _tasks: OrderedDict[tuple[bool, str], Expected] = attrs.field(factory=OrderedDict)
    """By whether the client asked, and task id, the requests that run as tasks."""
    _rounds: OrderedDict[bytes, dict[str, DeclaredSchema]] = attrs.field(factory=OrderedDict)
    """By digest of a request, or of a requestState, the schemas of what was last asked for."""

    def check_message(
        self, checked: CheckedMessage, state: State, listings: Listings
    ) -> Iterable[Found]:
        """Return the breaches in what a message contains."""
        if checked.revision is None:
            return ()
        if isinstance(checked.message, Response):
            return () if checked.attribution.late else self._check_response(checked, state)
        if isinstance(checked.message, Request):
            return self._check_request(checked, state, listings)
        return ()

    # Requests.

    def _check_request(
        self, checked: CheckedMessage, state: State, listings: Listings
    ) -> Iterator[Found]:
        expected: Expected | None = None
        method = checked.method or ""
        if method == _TASK:
            id_ = checked.params.get("taskId")
            expected = self._tasks.get((checked.from_client, str(id_)))
        elif not checked.from_client:
            if method == _ELICIT:
                expected = Expected(schema=declared_schema(checked.params.get("requestedSchema")))
        elif method == _CALL:
            expected = yield from self._check_call(checked, state, listings)
        elif method == _PROMPT:
            expected = yield from _check_prompt(checked, listings)
        elif method == _COMPLETE:
            expected = yield from _check_completion(checked, listings)
        elif method in LISTED:
            yield from _check_cursor(checked, state, listings)
        if checked.modern and method in _ROUNDS and checked.from_client:
            yield from self._check_answers(checked, state)
            expected = expected or Expected()
            if len(checked.raw) <= MAX_DEFINITION_BYTES:
                expected.params = checked.params
        call = checked.attribution.call
        if expected is not None and call is not None:
            self._expected[call.index] = expected
            drop_oldest(self._expected, MAX_CALLS)

    def _check_call(self, checked: CheckedMessage, state: State, listings: Listings) -> FoundFirst:
        name = checked.params.get("name")
        tool = _declared_tool(listings.json_of(TOOLS, name), str(name))
        if tool is None and isinstance(name, str):
            yield from _unjudged(state, f"calls of {short(name)}", "no list names it", quiet=True)
        if tool is None:
            return None
        what = f"the inputSchema of {short(name)}"
        arguments, raw = checked.params.get("arguments"), getattr(checked.message, "params", None)
        if why := _unreadable(arguments, raw, "arguments"):
            yield from _unjudged(state, what, why)
            return Expected(tool)
        given = {} if arguments is None else arguments
        exchange = checked.exchange
        if checked.modern and exchange is not None and state.transport == "streamable-http":
            for breach in check_headers(tool.input.raw, as_object(given), exchange):
                exchange.wrong_headers = True
                yield breach
        misfits = yield from _misfits(tool.input, given, len(raw or b""), what, checked, state)
        if not misfits:
            return Expected(tool)
        where, problem = _first(misfits, "params", "arguments")
        yield Breach("input-schema", f"a call of {short(name)}, {where}: {problem}", where)
        return Expected(
            tool, "input-accepted", f"a result of {short(name)}, called with {where}: {problem}"
        )

    def _check_answers(self, checked: CheckedMessage, state: State) -> Iterator[Found]:
        """Check what the client answers in a retry."""
        answers = as_object(checked.params.get("inputResponses"))
        if not answers:
            return
        keys = _round_keys(checked.method, checked.params)
        asked = next((self._rounds[key] for key in keys if key in self._rounds), {})
        for name, answer in answers.items():
            schema = asked.get(name)
            if schema is not None:
                start = ("params", "inputResponses", name, "content")
                yield from _check_elicited(as_object(answer), schema, start, checked, state)

    # Responses.

    def _check_response(self, checked: CheckedMessage, state: State) -> Iterable[Found]:
        call, result = checked.attribution.call, checked.result
        expected = self._expected.pop(call.index, None) if call is not None else None
        method = checked.method or ""
        if result is None:
            return ()
        if method == TOOLS and not checked.from_client:
            return _check_listed_tools(checked, state, result)
        if expected is None or self._has_become_a_task(checked, expected, result):
            return ()
        if checked.from_client:
            if expected.schema is None:
                return ()
            start = ("result", "content")
            return _check_elicited(result, expected.schema, start, checked, state)
        if checked.modern and (kind := result.get("resultType")) not in (None, COMPLETE):
            if kind == INPUT_REQUIRED:
                self._remember_round(method, expected, result)
            return ()
        if method in (_CALL, _TASK):
            return self._check_call_result(checked, state, expected, result)
        if expected.refusable and _gives_something(method, result):
            return (Breach(expected.refusable, expected.text),)
        return ()

    def _has_become_a_task(
        self, checked: CheckedMessage, expected: Expected, result: Object
    ) -> bool:
        """Return whether a request runs as a task, and remember it."""
        task = as_object(result.get("task")).get("taskId")
        if not isinstance(task, str) or "task" not in checked.call_params:
            return False
        self._tasks[not checked.from_client, task] = expected
        drop_oldest(self._tasks, MAX_REMEMBERED)
        return True

    def _remember_round(self, method: str, expected: Expected, result: Object) -> None:
        schemas = {
            name: declared_schema(as_object(as_object(one).get("params")).get("requestedSchema"))
            for name, one in as_object(result.get("inputRequests")).items()
            if as_object(one).get("method") == _ELICIT
        }
        state = result.get("requestState")
        for key in _round_keys(method, {**expected.params, "requestState": state}):
            self._rounds[key] = schemas
            self._rounds.move_to_end(key)
            drop_oldest(self._rounds, MAX_REMEMBERED)

    def _check_call_result(
        self, checked: CheckedMessage, state: State, expected: Expected, result: Object
    ) -> Iterator[Found]:
        if result.get("isError") is True:
            return
        if expected.refusable:
            yield Breach(expected.refusable, expected.text)
        tool = expected.tool
        if tool is None or (checked.revision or "") < _STRUCTURED:
            return
        if tool.output == DeclaredSchema():
            return
        name = short(tool.name)
        if "structuredContent" not in result and tool.output.raw is not None:
            where = place("result", "structuredContent")
            yield Breach("output-schema", f"a result of {name}, {where}: missing", where)
            return
        what = f"the outputSchema of {name}"
        value, raw = result.get("structuredContent"), getattr(checked.message, "result", None)
        if why := _unreadable(value, raw, "structuredContent"):
            yield from _unjudged(state, what, why)
            return
        misfits = yield from _misfits(tool.output, value, len(raw or b""), what, checked, state)
        if misfits:
            where, problem = _first(misfits, "result", "structuredContent")
            yield Breach("output-schema", f"a result of {name}, {where}: {problem}", where)


def _unreadable(value: Any, raw: bytes | None, name: str) -> str:
    """Return why a member of these params or this result cannot be decoded; empty if it can."""
    found = (member(raw, name) if value is None else None) or b"null"
    return "" if found == b"null" else f"the value: {why_unreadable(found)}"


def _misfits(
    schema: DeclaredSchema,
    value: Any,
    size: int,
    what: str,
    checked: CheckedMessage,
    state: State,
) -> Generator[Found, None, list[SchemaMisfit]]:
    """Return what a schema refuses of a value, and yield that it could not be judged."""
    if isinstance(value, str) and SECRET_MARK in value:
        return []
    try:
        if schema.too_long:
            what = f"the definition{what[what.index(' of ') :]}"
            raise UnjudgedSchemaError("it is too long to be remembered")
        if schema.raw is None:
            return []
        lenient = (checked.revision or "") < LAST_LEGACY
        return compile_schema(schema.raw, lenient=lenient).misfits(value, size)
    except NoSchemaError as error:
        yield from _unjudged(state, what, f"it is no schema: {error}")
    except UnjudgedSchemaError as error:
        yield from _unjudged_schema(state, what, error)
    return []


def _unjudged_schema(state: State, what: str, error: UnjudgedSchemaError) -> Iterator[Unjudged]:
    yield from _unjudged(state, "what schemas refuse" if error.unavailable else what, str(error))


def _unjudged(state: State, what: str, why: str, *, quiet: bool = False) -> Iterable[Unjudged]:
    """Return it once for all sessions with a server."""
    said, text = state.server.unjudged, f"{what}: {why}"
    if text in said or len(said) >= MAX_REMEMBERED:
        return ()
    said.add(text)
    return (Unjudged(what, why, quiet),)


def _first(misfits: list[SchemaMisfit], *start: str) -> tuple[str, str]:
    """Return the place of the first misfit, and what is wrong there."""
    path, problem = misfits[0]
    more = f", and {len(misfits) - 1} more" if len(misfits) > 1 else ""
    return place(*start, *path), f"{problem}{more}"


def _check_listed_tools(checked: CheckedMessage, state: State, result: Object) -> Iterator[Found]:
    """Check that what a list declares are schemas."""
    shapes = shapes_of(checked.revision or LAST_LEGACY)
    tools = result.get("tools")
    for index, entry in enumerate(tools if isinstance(tools, list) else ()):
        name = as_object(entry).get("name")
        tool = _tool_of(as_object(entry), str(name))
        if checked.modern:
            yield from check_annotations(tool.input.raw, ("result", "tools", index, "inputSchema"))
        if (checked.revision or "") < LAST_LEGACY:
            continue
        for side, schema in (("inputSchema", tool.input), ("outputSchema", tool.output)):
            declared = as_object(entry).get(side)
            if schema.raw is None or not shapes.fits(f"Tool.{side}", declared):
                continue  # `shape` says it
            try:
                compile_schema(schema.raw)
            except NoSchemaError as error:
                where = place("result", "tools", index, side, *error.path)
                yield Breach("tool-schema", f"{short(name)}, {where}: {error}", where)
            except UnjudgedSchemaError as error:
                yield from _unjudged_schema(state, f"the {side} of {short(name)}", error)


def _check_elicited(
    answer: Object,
    schema: DeclaredSchema,
    start: tuple[str, ...],
    checked: CheckedMessage,
    state: State,
) -> Iterator[Found]:
    content = answer.get("content")
    if answer.get("action") != "accept" or not isinstance(content, dict):
        return
    size = len(encode(content))
    misfits = yield from _misfits(
        schema, content, size, "the requestedSchema of a question", checked, state
    )
    if misfits:
        where, problem = _first(misfits, *start)
        yield Breach("elicited-content", f"an answer, {where}: {problem}", where)


def _check_prompt(checked: CheckedMessage, listings: Listings) -> FoundFirst:
    name = checked.params.get("name")
    if not listings.knows(PROMPTS, name):
        return None
    declared = _arguments(listings.definition(PROMPTS, name))
    arguments, raw = checked.params.get("arguments"), getattr(checked.message, "params", None)
    if _unreadable(arguments, raw, "arguments"):
        return None  # `shape` says it
    given = as_object(arguments)
    missing = [one for one, needed in declared.items() if needed and given.get(one) is None]
    start = ("params", "arguments")
    for one in missing:
        where = place(*start, one)
        text = f"a request of the prompt {short(name)}, {where}: missing"
        yield Breach("prompt-arguments", text, where)
    for one in given:
        if one not in declared:
            where = place(*start, one)
            text = f"a request of the prompt {short(name)}, {where}: not declared"
            yield Breach("prompt-arguments", text, where)
    if not missing:
        return None
    text = f"messages of the prompt {short(name)} without its argument {', '.join(missing)}"
    return Expected(refusable="prompt-accepted", text=text)


def _check_completion(checked: CheckedMessage, listings: Listings) -> FoundFirst:
    unknown = _unknown_reference(checked.params, listings)
    if unknown is None:
        return None
    where, text = unknown
    yield Breach("completion-ref", f"completion/complete, {where}: {text}", where)
    return Expected(refusable="completion-accepted", text=f"values for {text}")


def _unknown_reference(params: Object, listings: Listings) -> tuple[str, str] | None:
    """Return the place of what the lists lack, and what it is; None also if they are not whole."""
    reference = as_object(params.get("ref"))
    argument = as_object(params.get("argument")).get("name")
    kind, name, uri = (reference.get(one) for one in ("type", "name", "uri"))
    known: Iterable[str] | None = None
    if kind == "ref/prompt" and isinstance(name, str):
        if listings.lacks(PROMPTS, name):
            return place("params", "ref", "name"), f"no prompt {short(name)}"
        if listings.knows(PROMPTS, name):
            known = _arguments(listings.definition(PROMPTS, name))
    elif kind == "ref/resource" and isinstance(uri, str):
        plain = "{" in uri or listings.lacks(RESOURCES, uri)
        if listings.lacks(TEMPLATES, uri) and plain:
            return place("params", "ref", "uri"), f"no template {short(uri)}"
        if listings.knows(TEMPLATES, uri):
            known = _variables(uri)
    if known is None or not isinstance(argument, str) or argument in known:
        return None
    return place("params", "argument", "name"), f"no argument {short(argument)}"


def _arguments(prompt: Object) -> dict[str, bool]:
    """Return the arguments that a prompt declares, and whether each must be given."""
    declared = prompt.get("arguments")
    found = map(as_object, declared if isinstance(declared, list) else ())
    return {str(one.get("name")): one.get("required") is True for one in found}


@lru_cache(MAX_REMEMBERED)
def _declared_tool(definition: bytes | None, name: str) -> DeclaredTool | None:
    if definition is None:
        return None
    if not definition:
        return DeclaredTool(name, DeclaredSchema(None, True), DeclaredSchema(None, True))
    return _tool_of(as_object(decode(definition)), name)


def _tool_of(entry: Object, name: str) -> DeclaredTool:
    inside = declared_schema(entry.get("inputSchema")), declared_schema(entry.get("outputSchema"))
    return DeclaredTool(name, *inside)


def declared_schema(value: Any) -> DeclaredSchema:
    """Return a schema as it is remembered."""
    if value is None:
        return DeclaredSchema()
    raw = encode(value)
    long = len(raw) > MAX_DEFINITION_BYTES
    return DeclaredSchema(None if long else raw, long)


def _variables(template: str) -> set[str]:
    """Return the names of the variables of a URI template (RFC 6570)."""
    names = ",".join(_VARIABLES.findall(template)).split(",")
    return {name.split(":")[0].rstrip("*").strip() for name in names}


def _check_cursor(checked: CheckedMessage, state: State, listings: Listings) -> Iterator[Breach]:
    cursor = checked.params.get("cursor")
    if not isinstance(cursor, str) or SECRET_MARK in cursor:
        return
    if state.may_have_begun_before and not checked.modern:
        return
    if listings.invented(checked.method or "", cursor):
        where = place("params", "cursor")
        text = f"{checked.method}, {where}: no page gave {short(cursor) or 'an empty one'}"
        yield Breach("cursor-unknown", text, where)


def _gives_something(method: str, result: Object) -> bool:
    """Return whether a result has the messages or the values that were asked for."""
    inside = as_object(result.get("completion")).get("values")
    return bool(result.get("messages") if method == _PROMPT else inside)


def _round_keys(method: str | None, params: Object) -> tuple[bytes, ...]:
    """Return the keys that identify a request among the rounds: its state, and its params."""
    state = params.get("requestState")
    plain = {name: value for name, value in params.items() if name not in _LEFT_OUT}
    key = _digest(encode([method, plain]))
    return (_digest(encode(["requestState", state])), key) if isinstance(state, str) else (key,)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
