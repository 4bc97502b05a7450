"""Lists of tools and the like, whose members have names, and the handshake."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.semantic_diff.catalog_changes import catalog_changes, handshake_changes
from mcpmock.semantic_diff.ignore_rules import IgnoreRules, Leeway
from mcpmock.semantic_diff.normalize import Namings
from mcpmock.semantic_diff.severity import Change, to_jsonpath
from mcpmock.semantic_diff.value_changes import Measure

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def measure(*unordered: str) -> Measure:
    return Measure(
        Leeway(IgnoreRules.parse(unordered=unordered), "x", ("x", ""), {}, {}), Namings()
    )


def shown(changes: list[Change]) -> list[str]:
    return [f"{change.rule} {to_jsonpath(change.path)}" for change in changes]


def listed(method: str, old: list[Any], new: list[Any], member: str = "tools") -> list[str]:
    return shown([*catalog_changes(method, {member: old}, {member: new}, (), measure())])


def tools(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": SCHEMA, **more} for name in names]


def test_members_stand_for_each_other_by_name() -> None:
    """One that is gone is that and nothing else, wherever it stood."""
    assert ["tool-removed $.tools[?@.name=='a']"] == listed(
        "tools/list", tools("a", "b", "c"), tools("b", "c")
    )
    assert ["tool-added $.tools[?@.name=='x']"] == listed("tools/list", tools("a"), tools("x", "a"))


def test_another_order_breaks_nobody() -> None:
    """Another order is one compatible change, with the names."""
    old, new = tools("a", "b"), tools("b", "a")
    (change,) = catalog_changes("tools/list", {"tools": old}, {"tools": new}, (), measure())

    assert ("list-reordered", ["a", "b"], ["b", "a"]) == (change.rule, change.old, change.new)
    lists = ("tools/list", {"tools": [*old]}, {"tools": new})
    leeway = Leeway(IgnoreRules.parse(unordered=["$['tools']"]), "x", ("x", ""), lists[1], lists[2])
    assert [] == [*catalog_changes(*lists, (), Measure(leeway, Namings()))]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"description": "a"}, {"description": "b"}, "description-changed .description"),
        ({}, {"title": "b"}, "description-changed .title"),
        ({"icons": [{"src": "a"}]}, {"icons": [{"src": "b"}]}, "metadata-changed .icons[0].src"),
        ({"annotations": {"readOnlyHint": True}}, {"annotations": {"readOnlyHint": False}},
         "metadata-changed .annotations.readOnlyHint"),
        ({"inputSchema": {}}, {"inputSchema": {"type": "object", "minProperties": 1}},
         "constraint-tightened .inputSchema.minProperties"),
        ({"outputSchema": SCHEMA}, {"outputSchema": {"type": "object"}},
         "output-field-removed .outputSchema.properties.a"),
        ({"outputSchema": SCHEMA}, {}, "output-schema-removed .outputSchema"),
        ({}, {"outputSchema": SCHEMA}, "output-schema-added .outputSchema"),
    ],
)  # fmt: skip
def test_tools(old: Any, new: Any, expected: str) -> None:
    """The descriptions, the input and the output of a tool are compared."""
    found = listed("tools/list", [{"name": "t", **old}], [{"name": "t", **new}])

    assert [expected.replace(" ", " $.tools[?@.name=='t']")] == found


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (None, "optional", "constraint-loosened"),
        ("forbidden", "optional", "constraint-loosened"),
        ("required", "optional", "constraint-loosened"),
        ("optional", None, "constraint-tightened"),
        ("optional", "required", "constraint-tightened"),
        ("optional", "forbidden", "constraint-tightened"),
        ("required", "forbidden", "constraint-tightened"),
        (None, "required", "constraint-tightened"),
        ("optional", "sometimes", "metadata-changed"),
        ("optional", [], "metadata-changed"),
    ],
)
def test_the_calls_that_a_tool_takes(old: Any, new: Any, rule: str) -> None:
    """Those that run as tasks, the others, or both."""
    before, after = (
        tools("a", **({} if one is None else {"execution": {"taskSupport": one}}))
        for one in (old, new)
    )
    place = "$.tools[?@.name=='a'].execution.taskSupport"

    assert [f"{rule} {place}"] == listed("tools/list", before, after)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([{"name": "a"}], [], "argument-removed"),
        ([], [{"name": "a"}], "argument-added"),
        ([], [{"name": "a", "required": True}], "argument-required"),
        ([], ["a"], "argument-added"),
        ([7], [], "argument-removed"),
        ([{"name": "a"}], [{"name": "a"}, None], "argument-added"),
        ([], [["a"]], "argument-added"),
        ([{"name": "a"}], [{"name": "a", "required": True}], "argument-required"),
        ([{"name": "a", "required": True}], [{"name": "a"}], "argument-optional"),
        ([{"name": "a"}], [{"name": "a", "description": "b"}], "description-changed"),
        ([{"name": "a"}, 1], [{"name": "a"}, 2], "metadata-changed"),
    ],
)
def test_prompts(old: list[Any], new: list[Any], expected: str) -> None:
    """Their arguments have names too."""
    old, new = ([{"name": "p", "arguments": arguments}] for arguments in (old, new))
    found = listed("prompts/list", old, new, "prompts")

    assert [expected] == [line.split()[0] for line in found]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"arguments": [{"name": "a"}]}, ["argument-added"]),
        ({"arguments": [{"name": "a"}]}, {}, ["argument-removed"]),
        ({}, {"arguments": []}, []),
        ({"arguments": 7}, {"arguments": [{"name": "a"}]}, ["metadata-changed"]),
        ({"arguments": [{"name": "a"}]}, {"arguments": 7}, ["metadata-changed"]),
        ({}, {"arguments": 7}, ["metadata-changed"]),
    ],
)
def test_arguments_that_are_no_list(old: Any, new: Any, expected: list[str]) -> None:
    """None are none; anything else is a change of what is said."""
    found = listed("prompts/list", [{"name": "p", **old}], [{"name": "p", **new}], "prompts")

    assert expected == [line.split()[0] for line in found]


def test_an_argument_with_another_name_is_another_one() -> None:
    """Callers name arguments, whatever is said of them."""
    old, new = ([{"name": "p", "arguments": [{"name": name, "description": "d"}]}] for name in "ab")
    found = listed("prompts/list", old, new, "prompts")

    assert ["argument-removed", "argument-added"] == [line.split()[0] for line in found]


def test_resources() -> None:
    """They are named by their URIs, templates by theirs."""
    gone = listed("resources/list", [{"uri": "a"}], [], "resources")
    come = listed("resources/templates/list", [], [{"uriTemplate": "b"}], "resourceTemplates")

    assert ["resource-removed $.resources[?@.uri=='a']"] == gone
    assert ["resource-added $.resourceTemplates[?@.uriTemplate=='b']"] == come


def test_odd_members() -> None:
    """The same name twice, no name, no object: each stands for the one at its turn."""
    assert ["tool-removed $.tools[1]"] == listed("tools/list", tools("a", "a"), tools("a"))
    for old, new in ((1, 2), ({}, 2), (1, {})):
        assert ["metadata-changed $.tools[0]"] == listed("tools/list", [old], [new])
    odd: list[Any] = [7, None, [], {}]
    for name in odd:
        named, other = ({"name": name, "description": text} for text in "ab")
        assert ["description-changed $.tools[0].description"] == listed(
            "tools/list", [named], [other]
        )
    assert ["metadata-changed $.tools"] == shown(
        [*catalog_changes("tools/list", {"tools": 1}, {"tools": 2}, (), measure())]
    )
    assert ["metadata-changed $.tools"] == shown(
        [*catalog_changes("tools/list", {"tools": []}, {"tools": 2}, (), measure())]
    )
    assert ["metadata-changed $.ttlMs"] == shown(
        [*catalog_changes("tools/list", {"tools": []}, {"tools": [], "ttlMs": 1}, (), measure())]
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"capabilities": {"tools": {}}}, {"capabilities": {}},
         ["capability-removed $.capabilities.tools"]),
        ({"capabilities": {}}, {"capabilities": {"tools": {"listChanged": True}}},
         ["capability-added $.capabilities.tools"]),
        ({"capabilities": {"a": {"b": True}}}, {"capabilities": {"a": {"b": False}}},
         ["capability-removed $.capabilities.a.b"]),
        ({"capabilities": {"a": 1}}, {"capabilities": {"a": 2}},
         ["metadata-changed $.capabilities.a"]),
        ({}, {"capabilities": {"a": {}}}, ["capability-added $.capabilities.a"]),
        ({"protocolVersion": "1"}, {"protocolVersion": "2"},
         ["protocol-version-changed $.protocolVersion"]),
        ({"supportedVersions": ["1", "2"]}, {"supportedVersions": ["2", "3"]},
         ["protocol-version-removed $.supportedVersions[0]",
          "protocol-version-added $.supportedVersions[1]"]),
        ({"serverInfo": {"version": "1"}}, {"serverInfo": {"version": "2"}},
         ["server-info-changed $.serverInfo.version"]),
        ({"_meta": {"x": {"version": "1"}}}, {}, ["server-info-changed $._meta.x"]),
        ({"instructions": "a"}, {"instructions": "b"}, ["description-changed $.instructions"]),
        ({"ttlMs": 1}, {"ttlMs": 2}, ["metadata-changed $.ttlMs"]),
        ({"supportedVersions": "1"}, {"supportedVersions": ["1"]},
         ["metadata-changed $.supportedVersions"]),
        ({"supportedVersions": ["1"]}, {"supportedVersions": 1},
         ["metadata-changed $.supportedVersions"]),
        ({"supportedVersions": ["1", "2"]}, {"supportedVersions": ["2", "1"]}, []),
        ({"capabilities": {"a": None}}, {"capabilities": {"a": {}}},
         ["capability-added $.capabilities.a"]),
        ({"capabilities": {"a": {}}}, {}, ["capability-removed $.capabilities.a"]),
        ({"serverInfo": {"name": "x"}}, {}, ["server-info-changed $.serverInfo.name"]),
    ],
)  # fmt: skip
def test_handshakes(old: Any, new: Any, expected: list[str]) -> None:
    """Capabilities, revisions, server info and instructions are compared."""
    assert expected == shown([*handshake_changes(old, new, (), measure())])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (tools("a", description="adds"), tools("b", description="adds"),
         ["tool-renamed $.tools[?@.name=='a'].name"]),
        (tools("a", "x", description="adds"), tools("b", "x", description="adds"),
         ["tool-renamed $.tools[?@.name=='a'].name"]),
        (tools("a", description="adds", title="A"), tools("b", description="adds", title="B"),
         ["tool-renamed $.tools[?@.name=='a'].name"]),
        (tools("a", description="adds"), tools("b", description="sums"),
         ["tool-removed $.tools[?@.name=='a']", "tool-added $.tools[?@.name=='b']"]),
        (tools("a"), tools("b"),
         ["tool-removed $.tools[?@.name=='a']", "tool-added $.tools[?@.name=='b']"]),
        (tools("a", "b", description="adds"), tools("c", description="adds"),
         ["tool-removed $.tools[?@.name=='a']", "tool-removed $.tools[?@.name=='b']",
          "tool-added $.tools[?@.name=='c']"]),
        ([{**tools("a", description="adds")[0], "outputSchema": {}}],
         tools("b", description="adds"),
         ["tool-removed $.tools[?@.name=='a']", "tool-added $.tools[?@.name=='b']"]),
    ],
)  # fmt: skip
def test_renamed(old: list[Any], new: list[Any], expected: list[str]) -> None:
    """One that has the same description and schemas under another name is one change."""
    assert expected == listed("tools/list", old, new)


def test_prompts_and_resources_are_renamed_too() -> None:
    """By their description, whatever they are named by."""
    prompts: list[list[Any]] = [[{"name": name, "description": "greets"}] for name in "ab"]
    resources: list[list[Any]] = [[{"uri": uri, "name": "r", "description": "log"}] for uri in "ab"]

    assert ["prompt-renamed $.prompts[?@.name=='a'].name"] == listed(
        "prompts/list", prompts[0], prompts[1], "prompts"
    )
    assert ["resource-renamed $.resources[?@.uri=='a'].uri"] == listed(
        "resources/list", resources[0], resources[1], "resources"
    )
