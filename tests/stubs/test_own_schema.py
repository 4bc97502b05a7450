"""Answers of stubs that break what their own server declares."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import trio

import mcpmock
from mcpmock.protocol.messages import encode
from mcpmock.stubs.own_schema import misfit_of
from tests.rules.violations import HINTS
from tests.support import INITIALIZE, INITIALIZED, c2s, call

NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
TEXT = {"type": "text", "text": "hi"}
LEGACY, MODERN = "2025-11-25", "2026-07-28"
NO_SCHEMA: dict[str, Any] = {"type": "object", "minProperties": "1"}
ELSEWHERE = {"$ref": "https://example.com/a.json"}


@pytest.mark.parametrize(
    ("result", "schema", "revision", "wrong"),
    [
        ({"content": [TEXT]}, None, LEGACY, None),
        ({"content": [TEXT], "structuredContent": {"n": 1}}, NUMBER, LEGACY, None),
        ({"content": [TEXT], "isError": True}, NUMBER, LEGACY, None),
        ({"content": [TEXT]}, NUMBER, "2025-03-26", None),
        ({"content": [TEXT], "structuredContent": {}}, ELSEWHERE, LEGACY, None),
        ({"resultType": "input_required", "requestState": "s"}, NUMBER, MODERN, None),
        ({"content": [{"type": "text"}]}, None, LEGACY, "content[0].text: missing"),
        ({"content": 5}, None, LEGACY, "content: 5 is not a list of"),
        (
            {"content": [TEXT], "resultType": "complete"},
            NUMBER,
            MODERN,
            "structuredC",
        ),
        ({"content": [TEXT]}, NUMBER, LEGACY, "structuredContent is missing"),
        (
            *({"content": [TEXT], "structuredContent": {"n": "1"}}, NUMBER, LEGACY),
            'its outputSchema refuses structuredContent.n: "1" is not of type "number"',
        ),
        ({"content": [TEXT], "structuredContent": {}}, NO_SCHEMA, LEGACY, "its outputSchema is no"),
    ],
)
def test_what_is_wrong_with_a_result(
    result: Any, schema: Any, revision: str, wrong: str | None
) -> None:
    """The shape first, then the schema; what cannot be judged is not wrong."""
    listed = {} if schema is None else {"outputSchema": schema}
    found = misfit_of("tools/call", listed, encode(result), revision)

    assert (found is None) if wrong is None else (found or "").startswith(wrong)


def test_resources_and_prompts_have_shapes_too() -> None:
    """Of their revision."""
    contents = {"contents": [{"uri": "x://a"}], "resultType": "complete", **HINTS}

    assert misfit_of("resources/read", {}, encode(contents), MODERN)
    assert not misfit_of("resources/read", {}, encode({"contents": []}), LEGACY)
    assert misfit_of("prompts/get", {}, encode({"messages": [{"role": "me"}]}), LEGACY)


def test_a_wrong_answer_is_warned_of_once() -> None:
    """At the end, for each tool; right ones are not."""
    stub = mcpmock.Stub()
    stub.tool("weather", outputSchema=NUMBER).reply({"n": "warm"})
    stub.tool("right", outputSchema=NUMBER).reply({"n": 1})

    async def main() -> None:
        async with mcpmock.replay(stub) as server, server.open() as client:
            await client.send([c2s(INITIALIZE), c2s(INITIALIZED)])
            for number, name in enumerate(("weather", "weather", "right"), 1):
                await client.send([c2s(call(number, name))])
                while b'"id":%d' % number not in (await client.receive())[-1].raw:
                    pass

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trio.run(main)

    refused = 'its outputSchema refuses structuredContent.n: "warm" is not of type "number"'
    assert [f"mcpmock: tools/call: the answer of weather: {refused}"] == [
        str(one.message) for one in caught
    ]
