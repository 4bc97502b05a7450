"""The rule `shape`: messages that fit, and all that can be wrong with them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from mcpmock.protocol.messages import C2S, S2C, Frame, parse
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.rules.context import Phase, ServerState, State
from mcpmock.rules.conversation import ConversationChecker
from mcpmock.rules.messages import Judge, MessageChecker
from mcpmock.rules.shapes import MAX_MISFITS
from mcpmock.rules.specification import Unjudged, Violation
from tests.rules.violations import META, PREFIX, Planted, ask, done, modern, names, opening
from tests.support import c2s, notification, request, response, s2c

_2025_03, _2025_06 = REVISIONS[1], REVISIONS[2]
Path = tuple[str | int, ...]


@attrs.frozen
class Example:
    """A message of `method`: its params, or what answers it. `needs` are the members that it must
    have, `open` those in which anything is allowed.
    """

    part: str
    method: str
    value: Any
    needs: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    since: str = "2024-11-05"
    until: str = LATEST
    from_client: bool = True
    asked: Any = attrs.field(factory=dict)

    def __str__(self) -> str:
        return f"{self.method}-{self.part}-{self.since}"


def asks(method: str, value: Any, *needs: str, **fields: Any) -> Example:
    return Example("params", method, value, needs, **fields)


def gives(method: str, value: Any, *needs: str, **fields: Any) -> Example:
    return Example("result", method, value, needs, **{"from_client": False, **fields})


TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO = {**IMAGE, "type": "audio"}
LINK = {"type": "resource_link", "uri": "x://a", "name": "a"}
EMBEDDED = {"type": "resource", "resource": {"uri": "x://a", "text": "hi"}}
TASK = {
    "taskId": "7",
    "status": "working",
    "createdAt": "2026-01-01T00:00:00Z",
    "ttl": 9,
    "lastUpdatedAt": "2026-01-01T00:00:00Z",
    "pollInterval": 5,
}
TASK_NEEDS = ("taskId", "status", "createdAt", "lastUpdatedAt", "ttl")
INFO = {"name": "a", "version": "1"}
FORM = {"type": "object", "properties": {"age": {"type": "number"}}}
MESSAGE = {"role": "user", "content": TEXT}
LEGACY = {"until": LAST_LEGACY}
TASKS = {"since": LAST_LEGACY, "until": LAST_LEGACY}
SERVER = {"from_client": False}
CLIENT = {"from_client": True}

EXAMPLES = (
    asks("tools/call", {"name": "a", "arguments": {"x": 1}}, "name", open=("arguments",)),
    asks("tools/list", {"cursor": "c"}),
    asks("prompts/get", {"name": "a", "arguments": {"x": "1"}}, "name"),
    asks("resources/read", {"uri": "x://a"}, "uri"),
    asks("resources/subscribe", {"uri": "x://a"}, "uri", **LEGACY),
    asks("logging/setLevel", {"level": "info"}, "level", **LEGACY),
    asks(
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "a"},
            "argument": {"name": "x", "value": "y"},
        },
        *("ref", "ref.name", "argument", "argument.name", "argument.value"),
    ),
    asks("notifications/message", {"level": "info", "data": 1}, "level", "data", open=("data",), **SERVER),
    asks("notifications/resources/updated", {"uri": "x://a"}, "uri", **SERVER),
    asks(
        "sampling/createMessage",
        {
            "messages": [MESSAGE], "maxTokens": 5, "includeContext": "none", "stopSequences": ["."],
            "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 0.5},
        },
        *("messages", "messages[].role", "messages[].content", "messages[].content.text"),
        "maxTokens",
        **{**SERVER, **LEGACY},
    ),
    asks(
        "elicitation/create",
        {"message": "m", "requestedSchema": FORM},
        *("message", "requestedSchema", "requestedSchema.type", "requestedSchema.properties"),
        **{**SERVER, **LEGACY, "since": _2025_06},
    ),
    asks(
        "elicitation/create",
        {"mode": "url", "message": "m", "url": "https://a", "elicitationId": "e"},
        *("message", "url", "elicitationId"),
        **{**SERVER, **TASKS},
    ),
    asks("tasks/get", {"taskId": "7"}, "taskId", **TASKS),
    asks("notifications/tasks/status", TASK, *TASK_NEEDS, **{**SERVER, **TASKS}),
    asks(
        "subscriptions/listen",
        {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["x://a"]}},
        "notifications",
        since=LATEST,
    ),
    asks(
        "tools/call",
        {"name": "a", "inputResponses": {"q": {"action": "accept", "content": {"n": 1.5}}}},
        "name",
        since=LATEST,
        open=("inputResponses.q",),
    ),
    gives(
        "initialize",
        {
            "protocolVersion": "?", "serverInfo": INFO, "instructions": "i",
            "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}},
        },
        *("serverInfo.name", "serverInfo.version"),
        open=("protocolVersion",),
        **LEGACY,
    ),
    gives(
        "tools/list",
        {"tools": [{"name": "a", "description": "d", "inputSchema": {"type": "object"}}], "nextCursor": "c"},
        *("tools", "tools[].name", "tools[].inputSchema", "tools[].inputSchema.type"),
    ),
    gives(
        "tools/list",
        {
            "tools": [
                {
                    "name": "a", "title": "t", "annotations": {"readOnlyHint": True},
                    "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
                }
            ],
        },
        *("tools", "tools[].name", "tools[].inputSchema", "tools[].inputSchema.type"),
        "tools[].outputSchema.type",
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    gives(
        "tools/call",
        {"content": [TEXT, IMAGE, EMBEDDED], "isError": False},
        *("content", "content[0].text", "content[1].data", "content[1].mimeType"),
        "content[2].resource",
    ),
    gives("tools/call", {"content": [AUDIO]}, "content", "content[].data", "content[].mimeType", since=_2025_03),
    gives(
        "tools/call",
        {"content": [LINK], "structuredContent": {"x": 1}},
        *("content", "content[].uri", "content[].name"),
        open=("structuredContent.x",),
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    gives(
        "prompts/get",
        {"messages": [MESSAGE, {"role": "assistant", "content": EMBEDDED}], "description": "d"},
        *("messages", "messages[].role", "messages[].content", "messages[0].content.text"),
        "messages[1].content.resource",
    ),
    gives(
        "prompts/list",
        {"prompts": [{"name": "a", "arguments": [{"name": "x", "required": True}]}]},
        *("prompts", "prompts[].name", "prompts[].arguments[].name"),
    ),
    gives(
        "resources/list",
        {"resources": [{"uri": "x://a", "name": "a", "size": 1.5, "annotations": {"priority": 1, "audience": ["user"]}}]},
        *("resources", "resources[].uri", "resources[].name"),
    ),
    gives(
        "resources/templates/list",
        {"resourceTemplates": [{"uriTemplate": "x://{a}", "name": "a", "mimeType": "text/plain"}]},
        *("resourceTemplates", "resourceTemplates[].uriTemplate", "resourceTemplates[].name"),
    ),
    gives("resources/read", {"contents": [{"uri": "x://a", "text": "hi"}]}, "contents"),
    gives(
        "completion/complete",
        {"completion": {"values": ["a"], "total": 1.5, "hasMore": False}},
        *("completion", "completion.values"),
    ),
    gives("roots/list", {"roots": [{"uri": "file:///a", "name": "a"}]}, "roots", "roots[].uri", **{**CLIENT, **LEGACY}),
    gives(
        "sampling/createMessage",
        {"role": "assistant", "content": IMAGE, "model": "m", "stopReason": "endTurn"},
        *("role", "content", "content.data", "content.mimeType", "model"),
        **{**CLIENT, **LEGACY},
    ),
    gives(
        "sampling/createMessage",
        {"role": "assistant", "model": "m", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {"x": 1}}]},
        *("role", "model", "content", "content[].id", "content[].name", "content[].input"),
        open=("content[].input.x",),
        **{**CLIENT, **TASKS},
    ),
    gives(
        "elicitation/create",
        {"action": "accept", "content": {"a": "b"}},
        "action",
        open=("content.a",),
        **{**CLIENT, **LEGACY, "since": _2025_06},
    ),
    gives("tools/call", {"task": TASK}, *(f"task.{name}" for name in TASK_NEEDS), asked={"task": {}}, **TASKS),
    gives("tasks/get", TASK, *TASK_NEEDS, **TASKS),
    gives("tasks/list", {"tasks": [TASK]}, "tasks", *(f"tasks[].{name}" for name in TASK_NEEDS), **TASKS),
    gives(
        "tools/call",
        {
            "resultType": "input_required",
            "inputRequests": {"q": {"method": "elicitation/create", "params": {"mode": "form", "message": "m", "requestedSchema": FORM}}},
            "requestState": "s",
        },
        *("inputRequests.q.params.message", "inputRequests.q.params", "inputRequests.q.params.requestedSchema"),
        *("inputRequests.q.params.requestedSchema.type", "inputRequests.q.params.requestedSchema.properties"),
        open=("resultType",),
        since=LATEST,
    ),
    gives(
        "server/discover",
        {"supportedVersions": [LATEST], "capabilities": {"tools": {}}, "instructions": "i"},
        since=LATEST,
        open=("supportedVersions", "capabilities"),
    ),
    Example("error", "ping", {"code": -32603, "message": "m", "data": 1}, (), ("data", "code", "message"), until=LAST_LEGACY, from_client=False),
    Example(
        "error",
        "tools/call",
        {"code": -32042, "message": "m", "data": {"elicitations": [{"mode": "url", "message": "m", "url": "u", "elicitationId": "e"}]}},
        ("data", "data.elicitations", "data.elicitations[].message", "data.elicitations[].url", "data.elicitations[].elicitationId", "data.elicitations[].mode"),
        ("code", "message"),
        from_client=False,
        **TASKS,
    ),
)  # fmt: skip
CONSTANTS = ("type", "mode", "method")
WHOLE = ("messages[1].content.resource", "content[2].resource", "contents[0]")
CASES = [
    pytest.param(one, revision, id=f"{one}-{revision}")
    for one in EXAMPLES
    for revision in REVISIONS
    if one.since <= revision <= one.until
]


def message_of(one: Example, revision: str, value: Any) -> dict[str, Any]:
    """The example as a message, with what a revision requires besides."""
    if revision == LATEST and isinstance(value, dict):
        if one.part == "params" and not one.method.startswith("notifications/"):
            value = {"_meta": META, **value}
        elif one.part == "result":
            value = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **value}
    whole: dict[str, Any] = {"jsonrpc": "2.0"}
    if not one.method.startswith("notifications/"):
        whole["id"] = 1
    if one.part == "params":
        whole["method"] = one.method
    return {**whole, one.part: value}


def shapes(one: Example, revision: str, value: Any) -> list[tuple[str, str]]:
    """The paths and texts of what the rule says of an example with this value."""
    found = violations_alone(
        revision,
        message_of(one, revision, value),
        from_client=one.from_client,
        answers=None if one.part == "params" else one.method,
        asked=one.asked,
    )
    return [(v.path, v.text) for v in found if v.rule.name == "shape"]


def violations_alone(
    revision: str,
    message: Any,
    *,
    from_client: bool,
    answers: str | None = None,
    asked: Any = None,
) -> list[Violation]:
    """What is wrong with one message of a session in its midst."""
    legacy = revision != LATEST
    state = State(
        server=ServerState(modern=not legacy),
        phase=Phase.READY if legacy else Phase.NEW,
        revision=revision if legacy else None,
    )
    checker = MessageChecker(state, Judge(state))
    way = C2S if from_client else S2C
    if answers is not None:
        params = {**(asked or {}), **({} if legacy else {"_meta": META})}
        if answers == "initialize":
            params["protocolVersion"] = revision
        raw = request(1, answers, params)
        checker.check(way.back, raw, parse(raw), None)
    if answers == "initialize" and isinstance(message.get("result"), dict):
        message["result"]["protocolVersion"] = revision
    raw = json.dumps(message).encode()
    return [
        one for one in checker.check(way, raw, parse(raw), None)[1] if isinstance(one, Violation)
    ]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """All places inside a value."""
    inside = (
        value
        if isinstance(value, dict)
        else dict(enumerate(value if isinstance(value, list) else ()))
    )
    for step, one in inside.items():
        yield (*path, step)
        yield from places(one, (*path, step))


def written(path: Path, *, numbered: bool = False) -> str:
    text = ""
    for step in path:
        text += f".{step}" if isinstance(step, str) else f"[{step}]" if numbered else "[]"
    return text.removeprefix(".")


def changed(value: Any, path: Path, *change: Any) -> Any:
    """A copy with the value at the path changed, or left out."""
    whole = copy.deepcopy(value)
    inside = whole
    for step in path[:-1]:
        inside = inside[step]
    if change:
        [inside[path[-1]]] = change
    else:
        del inside[path[-1]]
    return whole


@pytest.mark.parametrize(("one", "revision"), CASES)
def test_what_fits_breaks_nothing(one: Example, revision: str) -> None:
    """Also with members that nobody knows."""
    assert [] == shapes(one, revision, one.value)
    if isinstance(one.value, dict):
        assert [] == shapes(one, revision, {**one.value, "com.example/x": {"a": [None]}})


@pytest.mark.parametrize(("one", "revision"), CASES)
def test_each_mutant_is_found(one: Example, revision: str) -> None:
    """A required member that is missing, any member of another type, and null for any: one finding,
    at its place. Where no constant says what is meant, the place is that of the whole.
    """
    for path in places(one.value):
        names = {written(path), written(path, numbered=True)}
        if any(name.startswith(start) for name in names for start in one.open):
            continue
        if path[1:] in (("q",), ("q", "method")):
            continue  # `input-kind` says it
        where = f"$.{one.part}.{written(path, numbered=True)}"
        whole = next((f"$.{one.part}.{at}" for at in WHOLE if f".{at}." in f"{where}."), where)
        constant = path[-1] in CONSTANTS
        for other in ("x" if isinstance(at(one.value, path), int | float) else 5, None):
            told = [place for place, _ in shapes(one, revision, changed(one.value, path, other))]
            if other is None and path[-1] == "ttl":
                assert [] == told
            else:
                assert told in ([where], [where.rpartition(".")[0]] if constant else [whole]), where
        if isinstance(path[-1], int) or constant or path[-1] in ("resultType", "task"):
            continue
        found = shapes(one, revision, changed(one.value, path))
        if names & {*one.needs}:
            assert [where] == [place for place, _ in found], where
            assert found[0][1].endswith(": missing")
        elif whole != where and path[-1] in ("uri", "text"):
            assert [whole] == [place for place, _ in found], where
        else:
            assert [] == found, where


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def test_needs_are_needed() -> None:
    """Each member that an example says it needs is in it."""
    for one in EXAMPLES:
        known = {written(path, numbered=n) for path in places(one.value) for n in (True, False)}
        assert set() == {*one.needs} - known, str(one)


def told(*frames: Frame, revision: str = LAST_LEGACY) -> list[tuple[str, str]]:
    """The paths and sentences of what the rule says in a session."""
    return [(v.path, v.said) for v in shape_violations(*opening(revision), *frames)]


def shape_violations(*frames: Frame) -> list[Violation]:
    conversation = ConversationChecker.over("stdio")
    found = [one for n, frame in enumerate(frames) for one in conversation.check(frame, n)]
    return [one for one in found if isinstance(one, Violation) and one.rule.name == "shape"]


def listed(*tools: Any) -> list[Frame]:
    return [c2s(request(1, "tools/list")), s2c(response(1, {"tools": [*tools]}))]


def called(content: Any, **more: Any) -> list[Frame]:
    asked = request(1, "tools/call", {"name": "a"})
    return [c2s(asked), s2c(response(1, {"content": content, **more}))]


def test_what_a_finding_says() -> None:
    """The message, the place, and what the definition says; the side that sent it."""
    [found] = shape_violations(
        *opening(), *listed({"name": "a", "inputSchema": {"type": "object"}}, {"name": "b"})
    )

    assert "tools/list result, $.result.tools[1].inputSchema: missing" == found.text
    assert ("$.result.tools[1].inputSchema", "server") == (found.path, found.by)
    assert "2025-11-25 schema" == found.cited
    assert "Tool requires inputSchema." == found.sentence


@pytest.mark.parametrize(
    ("content", "path", "sentence"),
    [
        ([{"type": "text"}], "[0].text", "TextContent requires text."),
        ([{"type": "image", "data": 5, "mimeType": "a/b"}], "[0].data", "ImageContent.data is a string."),
        ([TEXT, {**TEXT, "annotations": {"priority": 2}}], "[1].annotations.priority", "Annotations.priority is a number from 0 to 1."),
        ([{**TEXT, "annotations": {"audience": ["me"]}}], "[0].annotations.audience[0]", 'Annotations.audience is a list of "assistant" or "user".'),
        ([{**TEXT, "annotations": None}], "[0].annotations", "TextContent.annotations is an object."),
    ],
)  # fmt: skip
def test_the_place_is_inside_what_was_meant(content: Any, path: str, sentence: str) -> None:
    """A constant such as `type` says which of several definitions was meant."""
    assert [(f"$.result.content{path}", sentence)] == told(*called(content))


@pytest.mark.parametrize("block", [{"type": "txt", "text": "a"}, {"text": "a"}, {"type": []}])
def test_without_a_constant_all_definitions_are_named(block: Any) -> None:
    """An unknown one, none, and one of another type."""
    [found] = shape_violations(*opening(), *called([block]))

    assert "$.result.content[0]" == found.path
    names = "TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource"
    assert found.text.endswith(f": none of {names}")


def test_names_that_are_no_identifiers_are_quoted() -> None:
    """In the path."""
    meta = {f"{PREFIX}related-task": 1}
    server = {"tools": {}, "experimental": {"a/b": 5, "it's": 5}}
    wrong = [v.path for v in shape_violations(c2s(request("o", "initialize", {"protocolVersion": LAST_LEGACY, "capabilities": {}, "clientInfo": INFO})), s2c(response("o", {"protocolVersion": LAST_LEGACY, "capabilities": server, "serverInfo": INFO, "_meta": meta})))]  # fmt: skip

    assert [
        "$.result.capabilities.experimental['a/b']",
        "$.result.capabilities.experimental['it\\'s']",
    ] == wrong


@pytest.mark.parametrize(
    "frames",
    [
        called([{"type": "text", "text": "mcpmock:secret:token:1"}], isError="mcpmock:secret:x:1"),
        called([{"type": "mcpmock:secret:token:1"}]),
        called("mcpmock:secret:token:1"),
        called([{"type": "image", "data": "mcpmock:secret:token:1", "mimeType": "mcpmock:secret:x:2"}]),
        listed({"name": "a", "inputSchema": "mcpmock:secret:token:1"}),
        [c2s(request(1, "logging/setLevel", {"level": "mcpmock:secret:token:1"}))],
    ],
)  # fmt: skip
def test_a_placeholder_fits_everything(frames: list[Frame]) -> None:
    """Nobody knows what was there."""
    assert [] == told(*frames)


@pytest.mark.parametrize(
    "frames",
    [
        [c2s(request(1, "tools/call", {"name": "unknown"})), s2c(b'{"jsonrpc":"2.0","id":1,"error":{"code":"mcpmock:secret:x-number:1","message":"m"}}')],
        [c2s(request(1, "prompts/list")), s2c(response(1, {"prompts": []})), c2s(request(2, "prompts/get", {"name": "x"})),
         s2c(b'{"jsonrpc":"2.0","id":2,"error":{"code":"mcpmock:secret:x-number:1","message":"m"}}')],
        [c2s(request(1, "tools/call", {"name": "a", "_meta": {"progressToken": 7}})),
         s2c(notification("notifications/progress", {"progressToken": 7, "progress": "mcpmock:secret:x-number:1"}))],
        [c2s(request(1, "tools/call", {"name": "a", "_meta": {"progressToken": 7}})),
         s2c(notification("notifications/progress", {"progressToken": 7, "progress": 1, "total": "mcpmock:secret:x-number:1"}))],
    ],
)  # fmt: skip
def test_a_placeholder_fits_a_number(frames: list[Frame]) -> None:
    """No rule takes it for a text: `check` reads what is redacted."""
    assert [] == names(*opening(), *frames)


@pytest.mark.parametrize(
    "frames",
    [
        [c2s(request(1, "x/y", {"name": 5})), s2c(response(1, {"content": 5, "_meta": {}}))],
        [c2s(request(1, "ping")), s2c(response(1, {"anything": None}))],
        [c2s(notification("notifications/x", {"level": 5}))],
        [c2s(request(1, "sampling/createMessage", {}))],
        [s2c(request(1, "tools/call", {}))],
        [c2s(request(1, "server/discover", {"a": 5}))],
        [s2c(response(99, {"content": 5}))],
        [s2c(b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}')],
        [s2c(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}')],
        [c2s(request(1, "tools/call", {"name": "a", "task": {}})), s2c(response(1, {"content": []}))],
        [c2s(request(1, "tasks/get", {"taskId": "7", "task": {}})), s2c(response(1, TASK))],
        called([{**TEXT, "annotations": {"priority": 1.0, "lastModified": "yesterday"}}]),
    ],
)  # fmt: skip
def test_what_is_not_judged(frames: list[Frame]) -> None:
    """Unknown methods, those of the other side or revision, results that nobody asked for, errors
    without an id, answers at once to what may be a task, formats.
    """
    assert [] == told(*frames)


def test_a_result_of_nobody_knows_what_is_a_result() -> None:
    """`_meta` is an object in any."""
    assert [("$.result._meta", "Result._meta is an object.")] == told(
        s2c(response(99, {"_meta": 5}))
    )


def test_each_message_of_a_batch_by_itself() -> None:
    """In 2025-03-26; the path is that in the message."""
    batch = b"[%b,%b]" % (
        request(1, "tools/call", {}),
        notification("notifications/roots/list_changed", {"_meta": 5}),
    )

    assert ["$.params.name", "$.params._meta"] == [
        path for path, _ in told(c2s(batch), revision="2025-03-26")
    ]


@pytest.mark.parametrize(
    ("frames", "rule"),
    [
        ([c2s(request("o", "initialize", {"capabilities": {}, "clientInfo": INFO}))], "initialize-params"),
        ([*opening(), c2s(notification("notifications/progress", {}))], "progress-members"),
        ([*opening(), c2s(request(1, "ping")), s2c(b'{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}')], "error-members"),
        ([*opening(), c2s(request(1, "ping")), s2c(b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}')], "error-code"),
        ([*opening(), c2s(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}')], "members-object"),
        ([*opening(), c2s(request(1, "ping", {"_meta": {"progressToken": None}}))], "token-type"),
        ([*opening(), c2s(notification("notifications/cancelled", {}))], "cancels-nothing"),
        ([*modern(), c2s(request(1, "tools/list", {"_meta": {f"{PREFIX}protocolVersion": LATEST}}))], "meta-required"),
        ([*modern(), c2s(ask(1, "tools/list")), s2c(done(1, {"tools": []}))], "cache-hints"),
        ([*modern(), c2s(ask(1, "tools/list")), s2c(done(1, {"tools": [], "ttlMs": 0, "cacheScope": "private", "resultType": None}))], "result-type"),
        ([*modern(), c2s(ask(1, "tools/list")), s2c(done(1, {"tools": [], "ttlMs": -1, "cacheScope": "private"}))], "cache-ttl"),
    ],
)  # fmt: skip
def test_what_a_named_rule_says_is_not_said_again(frames: list[Frame], rule: str) -> None:
    """Only that rule speaks."""
    conversation = ConversationChecker.over("stdio")
    found = [one for n, frame in enumerate(frames) for one in conversation.check(frame, n)]

    rules = [one.rule.name for one in found if isinstance(one, Violation)]
    assert rule in rules
    assert "shape" not in rules


def test_the_legacy_answer_of_a_legacy_server_is_none_of_the_modern_schema() -> None:
    """A client may try a modern request on it."""
    assert [] == shape_violations(c2s(ask(1, "tools/list")), s2c(response(1, {"tools": []})))


@pytest.mark.parametrize("kind", ["com.example/other", "task"])
def test_results_of_extensions_are_results(kind: str) -> None:
    """Another `resultType` may have any members."""
    answer = done(1, {"resultType": kind, "_meta": {f"{PREFIX}serverInfo": INFO}})

    assert [] == shape_violations(*modern(), c2s(ask(1, "tools/call", {"name": "a"})), s2c(answer))


def test_an_error_in_the_result_of_a_round_is_inside_its_request() -> None:
    """`inputRequests` are judged by their method, `inputResponses` are any of three."""
    wrong = {"q": {"method": "sampling/createMessage", "params": {"messages": []}}}
    asked = ask(1, "tools/call", {"name": "a", "inputResponses": {"q": {"action": "perhaps"}}})
    answer = done(1, {"resultType": "input_required", "inputRequests": wrong})

    assert [
        "$.params.inputResponses.q",
        "$.result.inputRequests.q.params.maxTokens",
    ] == [one.path for one in shape_violations(*modern(), c2s(asked), s2c(answer))]


def test_twenty_places_of_a_message_are_named() -> None:
    """And how many more there are."""
    found = shape_violations(*opening(), *called([{"type": "text"}] * 25))

    assert MAX_MISFITS + 1 == len(found)
    assert "tools/call result: and 5 more" == found[-1].text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(b"[" * 5000 + b"]" * 5000, "it is nested too deep"), (b"{'a':None}", "it is not JSON")],
    ids=["deep", "python"],
)
def test_what_cannot_be_decoded_is_not_judged(arguments: bytes, why: str) -> None:
    """It is said, and the rest goes on."""
    raw = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":%b}}'
        % arguments
    )
    conversation = ConversationChecker.over("stdio")
    found = [
        one
        for n, frame in enumerate([*opening(), c2s(raw)])
        for one in conversation.check(frame, n)
    ]

    told = [one for one in found if isinstance(one, Unjudged) and not one.quiet]
    assert [Unjudged("tools/call request", why)] == told


PLANTED = [
    Planted("shape", [*opening(), *listed({"name": "a"})]),
    Planted("shape", [*opening(), *called([{"type": "text"}])]),
]
