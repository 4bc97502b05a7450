"""The rules of contents: what schemas and lists say of arguments, results and answers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from mcpmock.protocol.messages import Frame
from mcpmock.protocol.methods import LAST_LEGACY, REVISIONS
from mcpmock.rules.conversation import ConversationChecker
from mcpmock.rules.listings import MAX_DEFINITION_BYTES
from mcpmock.rules.specification import Unjudged
from tests.rules.violations import (
    HINTS,
    HTTP,
    SERVER,
    Planted,
    ask,
    asked,
    done,
    modern,
    modern_http,
    opening,
    violations,
)
from tests.support import answers, c2s, notification, request, response, s2c

TEXT = {"type": "text", "text": "hi"}
NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_DRAFT_04 = "http://json-schema.org/draft-04/schema#"
_DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def tool(name: str = "weather", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": CITY, **more}


def listed(
    *tools: Any, id_: int = 1, cursor: str | None = None, more: str | None = None
) -> list[Frame]:
    params = None if cursor is None else {"cursor": cursor}
    page = {"tools": [*tools], **({} if more is None else {"nextCursor": more})}
    return [c2s(request(id_, "tools/list", params)), s2c(response(id_, page))]


def called(
    arguments: Any = None, *, id_: int = 7, name: str = "weather", **result: Any
) -> list[Frame]:
    params = {"name": name, **({} if arguments is None else {"arguments": arguments})}
    return [
        c2s(request(id_, "tools/call", params)),
        s2c(response(id_, {"content": [TEXT], **result})),
    ]


def failed(arguments: Any = None) -> list[Frame]:
    return called(arguments, isError=True)


OSLO = {"city": "Oslo"}
MEASURES = tool(outputSchema=NUMBER)
CHANGED = notification("notifications/tools/list_changed")


OTHERS = {
    "list-changed-silent",
    "task-forbidden",
    "related-task",
    "error-code-differs",
    "capability",
}
"""Rules of lists and tasks, which have their own tests."""


def names(*frames: Frame | list[Frame], revision: str = LAST_LEGACY) -> list[str]:
    found = [one.rule.name for one in violations(opening(revision), *frames)]
    return [name for name in found if name not in OTHERS]


def unjudged(*frames: Frame | list[Frame], revision: str = LAST_LEGACY) -> list[tuple[str, str]]:
    conversation = ConversationChecker.over("stdio")
    steps = [
        one
        for part in (opening(revision), *frames)
        for one in (part if isinstance(part, list) else [part])
    ]
    found = [one for n, frame in enumerate(steps) for one in conversation.check(frame, n)]
    return [(one.what, one.why) for one in found if isinstance(one, Unjudged) and not one.quiet]


# Results.


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({"structuredContent": {"n": "1"}}, ".n"),
        ({"structuredContent": {}}, ""),
        ({"structuredContent": []}, ""),
        ({"structuredContent": None}, ""),
        ({"isError": False}, ""),
        ({"isError": "true", "structuredContent": {"m": 1}}, ""),
    ],
)
@pytest.mark.parametrize("revision", REVISIONS[2:4])
def test_a_result_has_to_fit_its_schema(content: Any, path: str, revision: str) -> None:
    """Or it is refused, with the place; so is one without structured content."""
    [found] = violations(opening(revision), listed(MEASURES), called(OSLO, **content))

    assert ("output-schema", "server") == (found.rule.name, found.by)
    assert f"$.result.structuredContent{path}" == found.path
    assert found.text.startswith(f"a result of weather, {found.path}: ")


@pytest.mark.parametrize(
    "steps",
    [
        [listed(MEASURES), called(OSLO, structuredContent={"n": 1})],
        [listed(MEASURES), called(OSLO, isError=True, structuredContent={})],
        [listed(MEASURES), [c2s(request(7, "tools/call", {"name": "weather", "arguments": OSLO}))], [s2c(b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}')]],
        [listed(tool()), called(OSLO, structuredContent={})],
        [listed(MEASURES), called(OSLO, structuredContent="mcpmock:secret:token:1")],
        [listed(MEASURES), called(OSLO, structuredContent={"n": "mcpmock:secret:token:1"})],
        [called(OSLO), listed(MEASURES, id_=9)],
        [listed(MEASURES), [s2c(CHANGED)], called(OSLO)],
        [listed(MEASURES), listed(tool(), id_=2), called(OSLO)],
        [listed(tool("other"), more="2"), listed(tool(), id_=2, cursor="2"), called(OSLO)],
    ],
)  # fmt: skip
def test_what_a_schema_does_not_refuse(steps: list[list[Frame]]) -> None:
    """What fits, errors, placeholders; what was listed later, has changed, or was listed anew."""
    assert [] == names(*steps)


def test_the_definition_before_the_request_counts() -> None:
    """A list that comes between request and result does not."""
    [asks, answer] = called(OSLO, structuredContent={"m": 1})

    assert ["output-schema"] == names(listed(MEASURES), asks, listed(tool(), id_=2), answer)
    assert [] == names(listed(tool()), asks, listed(MEASURES, id_=2), answer)


def test_it_is_the_last_one_over_all_pages() -> None:
    """Of a list in pages, and of one that was listed twice."""
    first, second = listed(tool("a"), more="2"), listed(MEASURES, id_=2, cursor="2")

    assert ["output-schema"] == names(first, second, called(OSLO))
    assert ["output-schema"] == names(
        listed(tool()), [s2c(CHANGED)], listed(MEASURES, id_=2), called(OSLO)
    )


def test_a_list_that_crosses_a_change_counts() -> None:
    """`server-everything` says at its start that its tools have changed, behind the first request
    for them.
    """
    [asks, answer] = listed(MEASURES)

    assert ["output-schema"] == names([asks, s2c(CHANGED), answer], called(OSLO))


def test_the_result_of_a_task_counts_as_that_of_its_call() -> None:
    """It comes with `tasks/result`."""
    task = {"taskId": "t", "status": "working", "createdAt": "x", "lastUpdatedAt": "x", "ttl": None}
    begun = [
        c2s(request(7, "tools/call", {"name": "weather", "arguments": OSLO, "task": {}})),
        s2c(response(7, {"task": task})),
        c2s(request(8, "tasks/result", {"taskId": "t"})),
    ]
    server: dict[str, Any] = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}

    def found(result: Any) -> list[str]:
        steps = [*opening(server=server), *listed(MEASURES), *begun, s2c(response(8, result))]
        return [one.rule.name for one in violations(*steps) if one.rule.name not in OTHERS]

    assert ["output-schema"] == found({"content": [TEXT], "structuredContent": {}})
    assert [] == found({"content": [TEXT], "structuredContent": {"n": 1}})


def test_unfinished_results_need_no_content() -> None:
    """In the modern era; what is finished does."""
    asks = c2s(ask(7, "tools/call", {"name": "weather", "arguments": OSLO}))
    lists = [c2s(ask(1, "tools/list")), s2c(done(1, {"tools": [MEASURES], **HINTS}))]
    for kind in ("input_required", "task"):
        open_ = done(7, {"resultType": kind, "requestState": "s"})
        rules = {one.rule.name for one in violations(modern(), lists, asks, s2c(open_))}
        assert {"result-type-unknown"} >= rules
    [found] = violations(modern(), lists, asks, s2c(done(7, {"content": []})))
    assert "output-schema" == found.rule.name


# Arguments.


@pytest.mark.parametrize("arguments", [None, {}, {"city": 5}, {"city": None}, [], "x"])
def test_arguments_that_a_schema_refuses(arguments: Any) -> None:
    """The client's fault; and the server's, if it takes them. None at all are none."""
    assert ["input-schema"] == names(listed(tool()), failed(arguments))
    assert ["input-schema", "input-accepted"] == names(listed(tool()), called(arguments))


def test_levels_and_sides_of_arguments() -> None:
    """A warning and an error, with the place."""
    first, second = violations(opening(), listed(tool()), called({"city": 5}))

    assert ("warning", "client", "$.params.arguments.city") == (
        first.level.value,
        first.by,
        first.path,
    )
    assert ("error", "server") == (second.level.value, second.by)
    assert 'a call of weather, $.params.arguments.city: 5 is not of type "string"' == first.text


# Schemas.


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"n": {"exclusiveMinimum": True, "minimum": 0}}},
        {"type": "object", "properties": {"n": {"type": "text"}}},
        {"type": "object", "minProperties": "n"},
        {"type": "object", "properties": {"n": {"items": [{}]}}},
        {"type": "object", "$schema": _DRAFT_07, "properties": {"n": {"exclusiveMinimum": True}}},
    ],
)
def test_what_is_no_schema_of_its_dialect(schema: Any) -> None:
    """Since 2025-11-25; before, it is only not judged."""
    for member in ("inputSchema", "outputSchema"):
        [found] = violations(opening(), listed({**tool(), member: schema}))
        assert ("tool-schema", "server") == (found.rule.name, found.by)
        assert found.path.startswith(f"$.result.tools[0].{member}")

    assert [] == names(listed({**tool(), "inputSchema": schema}), called({}), revision="2024-11-05")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"$schema": _DRAFT_04, "properties": {"n": {"minimum": 1, "exclusiveMinimum": True}}}, 2, 1),
        ({"$schema": _DRAFT_07, "properties": {"n": {"exclusiveMinimum": 1}}}, 2, 1),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"n": {"exclusiveMinimum": 1}}}, 2, 1),
        ({"properties": {"n": {"prefixItems": [{"type": "string"}]}}}, ["a"], [1]),
        ({"properties": {"n": {"$ref": "#/$defs/m"}}, "$defs": {"m": {"type": "string"}}}, "a", 1),
        ({"properties": {"n": {"type": "string", "format": "date"}}}, "never", 1),
        ({"properties": {"n": {"type": "integer"}}}, 1.0, 1.5),
    ],
)  # fmt: skip
def test_dialects(schema: Any, good: Any, bad: Any) -> None:
    """As `$schema` says, else 2020-12; formats are not asserted."""
    lists = listed(tool(inputSchema={"type": "object", **schema}))

    assert [] == names(lists, failed({"n": good}))
    assert ["input-schema"] == names(lists, failed({"n": bad}))


def test_before_2025_11_25_a_schema_may_be_of_draft_07() -> None:
    """If 2020-12 refuses it."""
    schema = {"type": "object", "properties": {"n": {"items": [{"type": "string"}]}}}

    assert ["input-schema"] == names(
        listed(tool(inputSchema=schema)), failed({"n": [5]}), revision="2025-06-18"
    )


ENDLESS: Any = {"type": "object", "allOf": [{"$ref": "#"}]}
DOUBLED: Any = {"type": "object", "$defs": {"d0": {}}, "allOf": [{"$ref": "#/$defs/d40"}]}
DOUBLED["$defs"] |= {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i - 1}"}] * 2} for i in range(1, 41)}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "https://example.com/a.json"}, "it refers to https://example.com/a.json"),
        ({"properties": {"n": {"$ref": "other.json"}}}, "it refers to other.json"),
        ({"$ref": "file:///etc/passwd"}, "it refers to file:///etc/passwd"),
        ({"properties": {"n": {"$id": "http://a/", "$ref": "#/x"}}}, "it refers to $id http://a/"),
        ({"$schema": "https://example.com/mine"}, "its dialect is not known: https://example.com/mine"),
        (DOUBLED, "it is too costly to check"),
        ({"description": "mcpmock:secret:token:1"}, "parts of it were redacted"),
        ({"description": "x" * MAX_DEFINITION_BYTES}, "it is too long to be remembered"),
        ({"properties": {"n": {"pattern": "^a\\Z"}}}, 'a pattern is not known: "^a\\\\Z" is not a "regex"'),
    ],
)  # fmt: skip
def test_what_is_not_judged_is_said_once(schema: Any, why: str) -> None:
    """Nothing is fetched, and nothing takes long."""
    lists = listed(tool(outputSchema={"type": "object", **schema}))
    what = "definition" if "long" in why else "outputSchema"

    assert [(f"the {what} of weather", why)] == unjudged(lists, called(OSLO, structuredContent={}), called(OSLO, id_=8, structuredContent={}))  # fmt: skip


@pytest.mark.parametrize("arguments", [{}, {"n": 1}])
def test_a_schema_that_leads_back_to_itself(arguments: Any) -> None:
    """Without a step into the value it never ends; with one it does."""
    tree = {
        "type": "object",
        "properties": {"c": {"items": {"$ref": "#"}}, "n": {"type": "string"}},
    }

    assert [("the inputSchema of weather", "the value is too costly to check")] == unjudged(listed(tool(inputSchema=ENDLESS)), called(arguments))  # fmt: skip
    assert ["input-schema"] == names(
        listed(tool(inputSchema=tree)), failed({"c": [{"c": [{"n": 5}]}]})
    )


def test_deep_values_are_not_judged() -> None:
    """201 levels are too many."""
    deep: Any = 1
    for _ in range(220):
        deep = [deep]

    assert [("the inputSchema of weather", "the value is deeper than 200 levels")] == unjudged(
        listed(tool()), called({"city": deep})
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"9" * 5000, "the value: it has a number of thousands of digits"),
        (b"-" + b"9" * 5000, "the value: it has a number of thousands of digits"),
        (b"[" * 3000 + b"]" * 3000, "the value: it is nested too deep"),
    ],
    ids=["long", "negative", "deep"],
)
def test_what_no_decoder_reads_is_not_judged(value: bytes, why: str) -> None:
    """And it is not taken for missing, beside members that fit or not."""
    holds = b'{"city":"Oslo","n":1,"x":%b}' % value
    [asks, answer] = called(OSLO, structuredContent={"n": 1})
    odd = c2s(asks.raw.replace(b'{"city":"Oslo"}', holds))
    lies = s2c(answer.raw.replace(b'{"n":1}', holds))

    def told(*frames: Frame) -> tuple[str, str]:
        assert [] == names(listed(MEASURES), *frames)
        return unjudged(listed(MEASURES), *frames)[0]

    [asks_prompt, messages] = prompted({"who": "a"}, HI)
    who = b'{"who":"a"}'
    long = c2s(asks_prompt.raw.replace(who, who.replace(b"}", b',"how":%b}' % value)))
    assert [] == names(prompts(), long, messages)
    assert ("the inputSchema of weather", why) == told(odd, answer)
    assert ("the outputSchema of weather", why) == told(asks, lies)


def test_calls_of_what_no_list_names_are_not_judged() -> None:
    """Which is usual, and said with -v only."""
    conversation = ConversationChecker.over("stdio")
    found = [
        o
        for n, f in enumerate([*opening(), *called(), *called(id_=8)])
        for o in conversation.check(f, n)
    ]

    assert [Unjudged("calls of weather", "no list names it", quiet=True)] == found


def test_without_the_validator_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And all other rules go on: also that a result has no structured content."""
    from mcpmock.protocol import json_schema

    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    json_schema._compiled.cache_clear()
    steps = [listed(MEASURES, tool("b")), called({}), called({"city": 5}, id_=8)]
    told = unjudged(*steps, [c2s(request(None, "ping"))])
    found = names(*steps, [c2s(request(None, "ping"))])
    json_schema._compiled.cache_clear()

    assert ["output-schema", "output-schema", "id-null"] == found
    [(what, why)] = told
    assert "what schemas refuse" == what
    assert "mcpmock[schema]" in why


# What clients answer.

FORM = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 18}},
    "required": ["age"],
}


def elicited(**answer: Any) -> list[Frame]:
    params = {"message": "m", "requestedSchema": FORM}
    return [s2c(request(3, "elicitation/create", params)), c2s(response(3, answer))]


def test_elicited_content() -> None:
    """Content that is accepted fits the schema that was asked with."""
    assert ["elicited-content"] == names(elicited(action="accept", content={"age": 3}))
    assert ["elicited-content"] == names(elicited(action="accept", content={}))
    assert [] == names(elicited(action="accept", content={"age": 20}))
    assert [] == names(elicited(action="accept", content={"age": "mcpmock:secret:x:1"}))
    assert [] == names(elicited(action="decline"))
    assert [] == names(elicited(action="cancel", content={"age": 3}))


@pytest.mark.parametrize(("age", "rules"), [(3, ["elicited-content"]), (20, [])])
def test_elicited_content_of_a_task(age: int, rules: list[str]) -> None:
    """It comes with `tasks/result`; a task of the server with the same id is another."""
    runs: Any = {"requests": {"elicitation": {"create": {}}, "tools": {"call": {}}}}
    task = {"taskId": "t", "status": "working"}
    call = {"name": "weather", "arguments": OSLO, "task": {}}
    steps = [
        *opening(client={"elicitation": {}, "tasks": runs}, server={"tools": {}, "tasks": runs}),
        s2c(
            request(3, "elicitation/create", {"message": "m", "requestedSchema": FORM, "task": {}})
        ),
        c2s(response(3, {"task": task})),
        *listed(MEASURES),
        c2s(request(7, "tools/call", call)),
        s2c(response(7, {"task": task})),
        s2c(request(4, "tasks/result", {"taskId": "t"})),
        c2s(response(4, {"action": "accept", "content": {"age": age}})),
    ]

    found = [one.rule.name for one in violations(*steps)]
    assert rules == [name for name in found if name not in OTHERS]


@pytest.mark.parametrize("by_state", [True, False])
@pytest.mark.parametrize(("age", "rules"), [(3, ["elicited-content"]), (20, [])])
def test_answers_in_a_retry(by_state: bool, age: int, rules: list[str]) -> None:
    """They are matched with what was last asked for in answer to the same request."""
    elicit: dict[str, Any] = {"elicitation": {}}
    asks = {
        "q": {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": FORM}}
    }
    call = {"name": "weather", "arguments": OSLO}
    state = {"requestState": "s"} if by_state else {}
    retry = {
        **call,
        **state,
        "inputResponses": {"q": {"action": "accept", "content": {"age": age}}},
    }
    meta = {"clientCapabilities": elicit}

    assert rules == [
        one.rule.name
        for one in violations(
            modern(),
            c2s(ask(1, "tools/call", call, **meta)),
            s2c(done(1, {"resultType": "input_required", "inputRequests": asks, **state})),
            c2s(ask(2, "tools/call", retry, **meta)),
        )
    ]


# Prompts, completions, cursors.

GREET = {"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "how"}]}


def prompts(**page: Any) -> list[Frame]:
    return [c2s(request(1, "prompts/list")), s2c(response(1, {"prompts": [GREET], **page}))]


def prompted(arguments: Any, messages: Any = ()) -> list[Frame]:
    params = {"name": "greet", **({} if arguments is None else {"arguments": arguments})}
    return [c2s(request(2, "prompts/get", params)), s2c(response(2, {"messages": [*messages]}))]


def tasks_listed(id_: int = 1, cursor: str | None = None, **page: Any) -> list[Frame]:
    params = None if cursor is None else {"cursor": cursor}
    task = {"taskId": "t", "status": "working"}
    answer = response(id_, {"tasks": [task], **page})
    return [c2s(request(id_, "tasks/list", params)), s2c(answer)]


HI = [{"role": "user", "content": {"type": "text", "text": "hi"}}]


@pytest.mark.parametrize(
    ("arguments", "messages", "rules"),
    [
        ({"who": "a"}, HI, []),
        ({"who": "a", "how": "b"}, HI, []),
        (None, (), ["prompt-arguments"]),
        ({"how": "b"}, HI, ["prompt-arguments", "prompt-accepted"]),
        ({"who": "a", "why": "b"}, HI, ["prompt-arguments"]),
        ({"who": None}, HI, ["prompt-arguments", "prompt-accepted"]),
    ],
)
def test_arguments_of_prompts(arguments: Any, messages: Any, rules: list[str]) -> None:
    """Required ones are given, and no others than declared."""
    assert rules == names(prompts(), prompted(arguments, messages))


@pytest.mark.parametrize("name", [None, True, 5, [], ["greet"], {}, {"name": "greet"}])
def test_names_that_are_no_text_are_in_no_list(name: Any) -> None:
    """The rule `shape` speaks of them, and no other."""
    prompt = c2s(request(2, "prompts/get", {"name": name}))
    call = c2s(request(3, "tools/call", {"name": name}))
    tasks = {**SERVER, "tasks": {"requests": {"tools": {"call": {}}}}}
    assert [] == names(prompts(), prompt)
    assert [] == violations(opening(server=tasks), listed(tool()), call)


def completed(ref: Any, argument: str, *values: str) -> list[Frame]:
    params = {"ref": ref, "argument": {"name": argument, "value": "a"}}
    result = {"completion": {"values": [*values]}}
    return [c2s(request(5, "completion/complete", params)), s2c(response(5, result))]


def templates(*uris: str, **page: Any) -> list[Frame]:
    found = [{"uriTemplate": uri, "name": uri} for uri in uris]
    return [
        c2s(request(11, "resources/templates/list")),
        s2c(response(11, {"resourceTemplates": found, **page})),
        c2s(request(12, "resources/list")),
        s2c(response(12, {"resources": [{"uri": "x://a", "name": "a"}]})),
    ]


def of_prompt(name: str) -> dict[str, str]:
    return {"type": "ref/prompt", "name": name}


def of_template(uri: str) -> dict[str, str]:
    return {"type": "ref/resource", "uri": uri}


BOTH = ["completion-ref", "completion-accepted"]


@pytest.mark.parametrize(
    ("steps", "rules"),
    [
        ([prompts(), completed(of_prompt("greet"), "who", "a")], []),
        ([prompts(), completed(of_prompt("grete"), "who", "a")], BOTH),
        ([prompts(), completed(of_prompt("grete"), "who")], BOTH[:1]),
        ([prompts(), completed(of_prompt("greet"), "whom", "a")], BOTH),
        ([prompts(nextCursor="2"), completed(of_prompt("grete"), "who", "a")], []),
        ([completed(of_prompt("grete"), "who", "a")], []),
        ([templates("x://{city}/{+day*}"), completed(of_template("x://{city}/{+day*}"), "day", "a")], []),
        ([templates("x://{city}"), completed(of_template("x://{city}"), "town", "a")], BOTH),
        ([templates("x://{city}"), completed(of_template("x://{town}"), "town", "a")], BOTH),
        ([templates("x://{city}"), completed(of_template("x://a"), "town", "a")], []),
        ([templates("x://{city}", nextCursor="2"), completed(of_template("x://{town}"), "town", "a")], []),
    ],
)  # fmt: skip
def test_references_of_completions(steps: list[list[Frame]], rules: list[str]) -> None:
    """They name what complete lists have."""
    assert rules == names(*steps)


@pytest.mark.parametrize(
    ("steps", "rules"),
    [
        ([listed(tool(), more="2"), listed(id_=2, cursor="2")], []),
        ([listed(tool(), more="2"), listed(id_=2, cursor="3")], ["cursor-unknown"]),
        ([listed(tool(), more=""), listed(id_=2, cursor="")], []),
        ([listed(tool()), listed(id_=2, cursor="")], ["cursor-unknown"]),
        ([prompts(nextCursor="2"), listed(id_=2, cursor="2")], ["cursor-unknown"]),
        ([listed(tool(), more="2"), [s2c(CHANGED)], listed(id_=2, cursor="2")], []),
        ([listed(id_=2, cursor="mcpmock:secret:token:1")], []),
        ([tasks_listed(nextCursor="2"), tasks_listed(id_=2, cursor="2")], []),
        ([tasks_listed(nextCursor="2"), tasks_listed(id_=2, cursor="3")], ["cursor-unknown"]),
        ([listed(tool(), more="2"), tasks_listed(id_=2, cursor="2")], ["cursor-unknown"]),
    ],
)
def test_cursors(steps: list[list[Frame]], rules: list[str]) -> None:
    """A page of the same list gave it in this session."""
    assert rules == names(*steps)


# Headers of parameters.

MIRRORED = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "x-mcp-header": "City"},
        "days": {"type": "integer", "x-mcp-header": "Days"},
        "when": {
            "type": "object",
            "properties": {"now": {"type": "boolean", "x-mcp-header": "Now"}},
        },
    },
}


def posted_call(arguments: Any, **fields: Any) -> list[Any]:
    lists = asked(2, ask(2, "tools/list"), "tools/list")
    page = done(2, {"tools": [tool(inputSchema=MIRRORED)], **HINTS})
    call = ask(3, "tools/call", {"name": "weather", "arguments": arguments})
    sent = asked(3, call, "tools/call", "weather", **fields)
    return [*modern_http(), lists, answers(2, page), sent, answers(3, done(3, {"content": []}))]


@pytest.mark.parametrize(
    ("arguments", "fields", "rules"),
    [
        ({"city": "Oslo"}, {"mcp_param_city": "Oslo"}, []),
        ({}, {}, []),
        ({"days": 3}, {"mcp_param_days": "3"}, []),
        ({"days": 3}, {"mcp_param_days": "3.0"}, []),
        ({"city": "Ås"}, {"mcp_param_city": "=?base64?w4Vz?="}, []),
        ({"city": "=?base64?w4Vz"}, {"mcp_param_city": "=?base64?w4Vz"}, []),
        ({"when": {"now": True}}, {"mcp_param_now": "true"}, []),
        ({"city": "Oslo"}, {"mcp_param_other": "x", "mcp_param_city": "Oslo"}, []),
        ({"city": "mcpmock:secret:token:1"}, {"mcp_param_city": "x"}, []),
        ({"city": "Oslo"}, {}, ["header-param"]),
        ({"when": {"now": False}}, {}, ["header-param"]),
        ({"city": "Oslo"}, {"mcp_param_city": "oslo"}, ["header-param-match"]),
        ({"days": 3}, {"mcp_param_days": "4"}, ["header-param-match"]),
        ({"when": {"now": True}}, {"mcp_param_now": "True"}, ["header-param-match"]),
        ({"city": None}, {"mcp_param_city": "Oslo"}, ["header-param-extra", "input-schema", "input-accepted"]),
        ({}, {"mcp_param_city": "Oslo"}, ["header-param-extra"]),
    ],
)  # fmt: skip
def test_headers_that_repeat_arguments(arguments: Any, fields: Any, rules: list[str]) -> None:
    """Each that is given has its header, with its value; and a result accepts what is wrong."""
    found = [one.rule.name for one in violations(*posted_call(arguments, **fields), transport=HTTP)]

    accepted = ["header-accepted"] if any(name.startswith("header-") for name in rules) else []
    assert sorted([*rules, *accepted]) == sorted(found)


def test_a_missing_standard_header_is_not_to_be_accepted_either() -> None:
    """`Mcp-Name` is one."""
    steps = posted_call({}, mcp_name=None)

    found = [one.rule.name for one in violations(*steps, transport=HTTP)]
    assert ["header-name", "header-accepted"] == found


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"a": {"type": "string", "x-mcp-header": ""}}, ".a"),
        ({"a": {"type": "string", "x-mcp-header": "a b"}}, ".a"),
        ({"a": {"type": "string", "x-mcp-header": 5}}, ".a"),
        ({"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}, ".b"),
        ({"a": {"type": "object", "x-mcp-header": "A"}}, ".a"),
        ({"a": {"type": "array", "x-mcp-header": "A"}}, ".a"),
        ({"a": {"type": "number", "x-mcp-header": "A"}}, ".a"),
        ({"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}, ".a.items"),
        ({"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}}, ".a.anyOf[0]"),
    ],
)  # fmt: skip
def test_annotations_that_a_schema_may_not_have(properties: Any, path: str) -> None:
    """Empty, no token, twice, on what is no simple value, or where `properties` do not lead."""
    schema = {"type": "object", "properties": properties}
    page = done(1, {"tools": [tool(inputSchema=schema)], **HINTS})
    [found] = violations(modern(), c2s(ask(1, "tools/list")), s2c(page))

    where = f"$.result.tools[0].inputSchema.properties{path}['x-mcp-header']"
    assert ("header-schema", "server", where) == (found.rule.name, found.by, found.path)


def test_below_a_reference_an_annotation_is_not_reached() -> None:
    """Only `properties` lead to one."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {"type": "string", "x-mcp-header": "B"}},
    }
    page = done(1, {"tools": [tool(inputSchema=schema)], **HINTS})

    assert ["header-schema"] == [
        one.rule.name for one in violations(modern(), c2s(ask(1, "tools/list")), s2c(page))
    ]


PLANTED = [
    Planted("output-schema", [*opening(), listed(MEASURES), called(OSLO)]),
    Planted("input-schema", [*opening(), listed(tool()), failed({})]),
    Planted("input-accepted", [*opening(), listed(tool()), called({})], also=("input-schema",)),
    Planted("tool-schema", [*opening(), listed(tool(inputSchema={"type": "object", "minProperties": "5"}))]),
    *(
        Planted("elicited-content", [*opening(revision), elicited(action="accept", content={})])
        for revision in REVISIONS[2:4]
    ),
    Planted("prompt-arguments", [*opening(), prompts(), prompted({})]),
    Planted("prompt-accepted", [*opening(), prompts(), prompted({}, HI)], also=("prompt-arguments",)),
    Planted("completion-ref", [*opening(), prompts(), completed(of_prompt("x"), "who")]),
    Planted("completion-accepted", [*opening(), prompts(), completed(of_prompt("x"), "who", "a")], also=("completion-ref",)),
    Planted("cursor-unknown", [*opening(), listed(cursor="x")]),
    Planted("header-param", posted_call(OSLO), HTTP, also=("header-accepted",)),
    Planted("header-param-match", posted_call(OSLO, mcp_param_city="x"), HTTP, also=("header-accepted",)),
    Planted("header-param-extra", posted_call({}, mcp_param_city="x"), HTTP, also=("header-accepted",)),
    Planted(
        "header-schema",
        [
            *modern(),
            c2s(ask(1, "tools/list")),
            s2c(done(1, {"tools": [tool(inputSchema={"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}})], **HINTS})),
        ],
    ),
]  # fmt: skip
