"""Two answers to one request."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.semantic_diff.answer_changes import answer_changes
from mcpmock.semantic_diff.ignore_rules import IgnoreRules, Leeway
from mcpmock.semantic_diff.normalize import Namings
from mcpmock.semantic_diff.severity import to_jsonpath
from mcpmock.semantic_diff.value_changes import Measure


def told(method: str, old: Any, new: Any) -> list[str]:
    measure = Measure(Leeway(IgnoreRules(), method, (method, ""), old, new), Namings())
    found = answer_changes(method, old, new, measure)
    return [f"{change.rule} {to_jsonpath(change.path)}" for change in found]


def result(value: Any = None, **more: Any) -> dict[str, Any]:
    return {"result": more if value is None else value}


def error(code: int = -32602, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **more}}


def text(*texts: str, **more: Any) -> dict[str, Any]:
    return result(content=[{"type": "text", "text": one} for one in texts], **more)


TEXT = "result-text-changed $.result.content[0].text"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (text("a"), text("a"), []),
        (text("a"), text("b"), [TEXT]),
        (text("a"), text("b", isError=True), ["error-for-result $.result.isError"]),
        (text("a"), error(), ["error-for-result $.error"]),
        (result(content=[]), error(), ["error-for-result $.error"]),
        (result(content=["a"]), error(), ["error-for-result $.error"]),
        (result(content=[{}]), error(), ["error-for-result $.error"]),
        (result(content="a"), error(), ["error-for-result $.error"]),
        (result([1]), error(), ["error-for-result $.error"]),
        (text("a", isError=True), text("b"), ["result-for-error $.result.isError"]),
        (error(), text("a"), ["result-for-error $.result"]),
        (error(), text("no", isError=True), ["error-kind-changed $"]),
        (text("a", isError=True), text("b", isError=True), [TEXT]),
        (error(-1), error(-2), ["error-code-changed $.error.code"]),
        (error(message="a"), error(message="b"), ["error-text-changed $.error.message"]),
        (error(), error(data=1), ["error-data-changed $.error.data"]),
        ({"error": "a"}, {"error": "b"}, ["error-data-changed $.error"]),
        ({"error": ["a"]}, {"error": ["b"]}, ["error-data-changed $.error[0]"]),
        (
            error(data={"code": 1}),
            error(data={"code": 2}),
            ["error-data-changed $.error.data.code"],
        ),
        (text("a", "b"), text("a"), ["result-item-removed $.result.content[1]"]),
        (text("a"), text("a", "b"), ["result-item-added $.result.content[1]"]),
        (text("a", "b"), text("b", "a"), ["result-reordered $.result.content"]),
        (result(a=1), result(), ["output-field-removed $.result.a"]),
        (result(), result(a=1), ["output-field-added $.result.a"]),
        (result(a=1), result(a="1"), ["output-type-changed $.result.a"]),
        (result(a=1), result(a=2), ["result-value-changed $.result.a"]),
        (result(resultType="a"), result(), ["output-field-removed $.result.resultType"]),
        (result(resultType=1), result(resultType=2), ["result-value-changed $.result.resultType"]),
        (result(1), result("1"), ["output-type-changed $.result"]),
        (result(), {"result": None}, ["output-type-changed $.result"]),
        ({"result": None}, text("a"), ["output-type-changed $.result"]),
        (result(a=None), result(a={}), ["result-value-changed $.result.a"]),
        (
            result(resultType="complete"),
            result(resultType="input_required"),
            ["output-type-changed $.result.resultType"],
        ),
    ],
)
def test_answers(old: Any, new: Any, expected: list[str]) -> None:
    """Each change is reported once, by the rule that judges it."""
    assert expected == told("tools/call", old, new)


def tool(**more: Any) -> dict[str, Any]:
    return result(tools=[{"name": "a", "inputSchema": {}, **more}])


TOOL = "$.result.tools[?@.name=='a']"


@pytest.mark.parametrize(
    ("method", "short", "long"),
    [
        ("tools/call", text("a"), text("a", isError=False, structuredContent=None, _meta=None)),
        ("tools/call", text("a"), text("a", resultType="complete", _meta={})),
        ("tools/call", result(content=[{"type": "text"}]),
         result(content=[{"type": "text", "annotations": None, "_meta": None}])),
        ("prompts/get", result(messages=[]), result(messages=[], description=None)),
        ("tools/list", tool(), tool(title=None, description=None, outputSchema=None, icons=[])),
        ("tools/list", tool(), tool(annotations=None, execution={"taskSupport": "forbidden"})),
        ("tools/list", tool(), tool(execution=None)),
        ("tools/list", tool(icons=[{"src": "a:"}]), tool(icons=[{"src": "a:", "theme": None}])),
        ("tools/list", tool(), tool(annotations={
            "title": None, "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False,
            "openWorldHint": True})),
        ("tools/list", result(tools=[]), result(tools=[], nextCursor=None)),
        ("prompts/list", result(prompts=[{"name": "a"}]),
         result(prompts=[{"name": "a", "arguments": None}])),
        ("resources/list", result(resources=[{"uri": "a:b"}]),
         result(resources=[{"uri": "a:b", "mimeType": None, "size": None}])),
        ("completion/complete", result(completion={"values": []}),
         result(completion={"values": [], "hasMore": False, "total": None})),
        ("initialize", result(capabilities={"tools": {}}), result(instructions=None, capabilities={
            "tools": {"listChanged": False}, "prompts": None, "experimental": {}})),
        ("initialize", result(capabilities={"tasks": {}}), result(_meta=None, capabilities={
            "extensions": {}, "tasks": {"list": None, "cancel": None, "requests": None}})),
        ("tools/call", text("a"), text("a", requestState=None, inputRequests=None)),
        ("tasks/get", result(), result(statusMessage=None, pollInterval=None)),
    ],
)  # fmt: skip
def test_what_absence_says_too(method: str, short: Any, long: Any) -> None:
    """An optional member of the protocol that comes or goes as null, or as its default, is none."""
    assert [] == told(method, short, long) == told(method, long, short)


@pytest.mark.parametrize(
    ("method", "old", "new", "expected"),
    [
        ("tools/call", result(), result(a=None), "output-field-added $.result.a"),
        ("tools/call", result(structuredContent={}), result(structuredContent={"isError": False}),
         "output-field-added $.result.structuredContent.isError"),
        ("tools/call", text("a"), text("a", _meta={"title": None}),
         "output-field-added $.result._meta"),
        ("tools/call", text("null"), text("null "), TEXT),
        ("tools/call", text("a"), text("a", resultType="input_required"),
         "output-type-changed $.result.resultType"),
        ("completion/complete", result(completion={}), result(completion={"hasMore": True}),
         "output-field-added $.result.completion.hasMore"),
        ("tools/list", tool(), tool(annotations={"destructiveHint": False}),
         f"metadata-changed {TOOL}.annotations"),
        ("tools/list", tool(), tool(description=""), f"description-changed {TOOL}.description"),
        ("tools/list", tool(), tool(outputSchema={}), f"output-schema-added {TOOL}.outputSchema"),
        ("initialize", result(capabilities={}), result(capabilities={"tools": {}}),
         "capability-added $.result.capabilities.tools"),
        ("x/y", result(), result(isError=None), "output-field-added $.result.isError"),
    ],
)  # fmt: skip
def test_what_absence_does_not_say(method: str, old: Any, new: Any, expected: str) -> None:
    """Other values, other names, what servers define and methods of their own are compared."""
    assert [expected] == told(method, old, new)


def test_catalogs_and_handshakes_have_rules_of_their_own() -> None:
    """The rules depend on the method of the request."""
    named = result(tools=[{"name": "a"}])

    assert ["tool-removed $.result.tools[?@.name=='a']"] == told(
        "tools/list", named, result(tools=[])
    )
    assert ["description-changed $.result.instructions"] == told(
        "initialize", result(instructions="a"), result(instructions="b")
    )
    front = [result(skill={"uri": "skill://a", "frontmatter": {"name": name}}) for name in "ab"]
    assert ["skill-frontmatter-changed $.result.skill.frontmatter"] == told("skills/get", *front)
    assert ["result-item-removed $.result.tools[0]"] == told("x", named, result(tools=[]))
    assert ["output-type-changed $.result"] == told("tools/list", named, result("x"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            text('{"a": 1.0, "b": 2}', structuredContent={"a": 1, "b": 2}),
            text('{"a": 3, "b": 2}', structuredContent={"a": 3, "b": 2}),
            ["result-value-changed $.result.structuredContent.a"],
        ),
        (
            text("a", structuredContent={"result": "a"}),
            text("b", structuredContent={"result": "b"}),
            [TEXT],
        ),
        (
            text("1", structuredContent={"result": 1}),
            text("2", structuredContent={"result": 2}),
            ["result-value-changed $.result.structuredContent.result"],
        ),
        (
            text('{"a":1}', structuredContent={"result": [{"a": 1}]}),
            text('{"a":2}', structuredContent={"result": [{"a": 2}]}),
            ["result-value-changed $.result.structuredContent.result[0].a"],
        ),
        *(
            (
                text(one, structuredContent={"a": 1}),
                text(other, structuredContent={"a": 2}),
                [TEXT, "result-value-changed $.result.structuredContent.a"],
            )
            for one, other in [('{"a":1}', "x"), ("x", '{"a":2}'), ('{"a":2}', '{"a":1}')]
        ),
        (
            text("a is 1", structuredContent={"a": 1}),
            text("a is 2", structuredContent={"a": 2}),
            [TEXT, "result-value-changed $.result.structuredContent.a"],
        ),
    ],
)
def test_what_is_said_twice_is_told_once(old: Any, new: Any, expected: list[str]) -> None:
    """SDKs repeat the structure as text."""
    assert expected == told("tools/call", old, new)


@pytest.mark.parametrize(
    ("method", "old", "new", "expected"),
    [
        ("tools/call", result(structuredContent={"at": [59.9, 10.7]}),
         result(structuredContent={"at": [10.7, 59.9]}),
         ["result-reordered $.result.structuredContent.at"]),
        ("tools/call", result(structuredContent={"hits": [{"id": 1}, {"id": 2}]}),
         result(structuredContent={"hits": [{"id": 2}, {"id": 1}]}),
         ["result-reordered $.result.structuredContent.hits"]),
        ("tools/call", text('{"a": [1, 2]}', structuredContent={"a": [1, 2]}),
         text('{"a": [2, 1]}', structuredContent={"a": [2, 1]}),
         ["result-reordered $.result.structuredContent.a"]),
        ("resources/read", result(contents=[1, 2]), result(contents=[2, 1]),
         ["result-reordered $.result.contents"]),
        ("prompts/get", result(messages=[1, 2]), result(messages=[2, 1]),
         ["result-reordered $.result.messages"]),
        ("completion/complete", result(completion={"values": ["a", "b"]}),
         result(completion={"values": ["b", "a"]}),
         ["result-reordered $.result.completion.values"]),
        ("x/own", result([1, 2]), result([2, 1]), ["result-reordered $.result"]),
        ("tools/call", result(content=[{"annotations": {"audience": ["user", "assistant"]}}]),
         result(content=[{"annotations": {"audience": ["assistant", "user"]}}]),
         ["list-reordered $.result.content[0].annotations.audience"]),
        ("tools/list", result(tools=[{"name": "a"}, {"name": "b"}]),
         result(tools=[{"name": "b"}, {"name": "a"}]), ["list-reordered $.result.tools"]),
    ],
)  # fmt: skip
def test_order(method: str, old: Any, new: Any, expected: list[str]) -> None:
    """It counts in results, and not where the protocol lists what has names."""
    assert expected == told(method, old, new)
