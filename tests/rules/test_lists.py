"""Lists over their pages: names, order, cache scopes, changes without a notification."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.rules import listings as module
from mcpmock.rules.listings import TOOLS, Listings
from tests.rules.violations import (
    HINTS,
    HTTP,
    SERVER,
    SSE,
    Planted,
    ask,
    asked,
    done,
    got,
    modern,
    modern_http,
    names,
    opening,
    opening_http,
    opening_sse,
    posted,
    violations,
)
from tests.support import (
    accepts,
    answers,
    c2s,
    ends,
    error,
    notification,
    post,
    replies,
    request,
    response,
    s2c,
    says,
)

CHANGED = notification("notifications/tools/list_changed")
MEMBERS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def entry(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "uri": f"demo:{name}", "uriTemplate": f"demo:{name}/{{x}}", **more}


def page(
    id_: int,
    *listed: str | dict[str, Any],
    cursor: str | None = None,
    following: str | None = None,
    method: str = "tools/list",
) -> list[Any]:
    """A page in the legacy era, requested and given."""
    asks = request(id_, method, {} if cursor is None else {"cursor": cursor})
    found = [entry(one) if isinstance(one, str) else one for one in listed]
    result = {MEMBERS[method]: found, **({} if following is None else {"nextCursor": following})}
    return [c2s(asks), s2c(response(id_, result))]


def modern_page(
    id_: int,
    *listed: str,
    cursor: str | None = None,
    following: str | None = None,
    scope: str = "private",
) -> list[Any]:
    asks = ask(id_, "tools/list", None if cursor is None else {"cursor": cursor})
    found: dict[str, Any] = {"tools": [entry(one) for one in listed], **HINTS, "cacheScope": scope}
    return [c2s(asks), s2c(done(id_, {**found, "nextCursor": following}))]


def skills(*named: str) -> list[Any]:
    """A list of skills of these names, in folders of their own."""
    found = [
        {"uri": f"skill://a/{place}/{name}/SKILL.md", "frontmatter": {"name": name}}
        for place, name in enumerate(named)
    ]
    capabilities = {**SERVER, "extensions": {"io.modelcontextprotocol/skills": {}}}
    asks = [c2s(ask(1, "skills/list")), s2c(done(1, {"skills": found, **HINTS}))]
    return [*modern(capabilities), *asks]


def listening(filter_: Any) -> list[Any]:
    """A subscription in the modern era, acknowledged."""
    tagged = {"_meta": {"io.modelcontextprotocol/subscriptionId": "l"}, "notifications": filter_}
    return [
        c2s(ask("l", "subscriptions/listen", {"notifications": filter_})),
        s2c(notification("notifications/subscriptions/acknowledged", tagged)),
    ]


def posted_page(x: int, *listed: str) -> list[Any]:
    asks, answer = page(x, *listed)
    return [posted(x, asks.raw), answers(x, answer.raw)]


STREAM: list[Any] = [got(3), replies(3, 200, "text/event-stream")]
DISCOVER = modern()
TWICE = {method: [*page(1, "a", method=method), *page(2, "b", method=method)] for method in MEMBERS}
PLANTED = [
    Planted("tool-name", [*opening(), *page(1, "a b")]),
    Planted("tool-name", [*opening(), *page(1, "")]),
    Planted("tool-name", [*opening(), *page(1, "a/b")]),
    Planted("tool-name", [*opening(), *page(1, "x" * 129)]),
    Planted("tool-name", [*opening(), *page(1, "größe"), *page(2, "größe")]),
    Planted("tool-name", [*modern(), *modern_page(1, "a,b")]),
    Planted("name-duplicate", [*opening(), *page(1, "a", "b", "a", "a")]),
    Planted(
        "name-duplicate",
        [*opening(), *page(1, "a", following="2"), *page(2, "b", "a", cursor="2")],
    ),
    Planted("name-duplicate", [*modern(), *modern_page(1, "a", "a")]),
    Planted("name-duplicate", skills("x", "y", "x")),
    Planted("tools-order", [*modern(), *modern_page(1, "a", "b"), *modern_page(2, "b", "a")]),
    Planted(
        "tools-order",
        [
            *modern(),
            *modern_page(1, "a", "b", "c"),
            *modern_page(2, "b", following="2"),
            *modern_page(3, "a", "c", cursor="2"),
        ],
    ),
    Planted(
        "cache-scope-pages",
        [
            *modern(),
            *modern_page(1, "a", following="2"),
            *modern_page(2, cursor="2", scope="public"),
        ],
    ),
    Planted("list-refused", [*modern(), c2s(ask(1, "tools/list")), s2c(error(1, -32601))]),
    Planted("list-refused", [*modern(), c2s(ask(1, "prompts/list")), s2c(error(1, -32601))]),
    Planted(
        "list-refused",
        [
            *modern_http(),
            asked(2, ask(1, "resources/list"), "resources/list"),
            answers(2, error(1, -32601), 404),
        ],
        HTTP,
    ),
    *(Planted("list-changed-silent", [*opening(), *steps]) for steps in TWICE.values()),
    Planted("list-changed-silent", [*opening("2024-11-05"), *page(1, "a"), *page(2, "a", "b")]),
    Planted(
        "list-changed-silent",
        [*opening(), *page(1, entry("a", description="x")), *page(2, entry("a", description="y"))],
    ),
    Planted("list-changed-silent", [*opening(), s2c(CHANGED), *page(1, "a"), *page(2)]),
    Planted(
        "list-changed-silent",
        [*opening_http(), *STREAM, *posted_page(4, "a"), *posted_page(5, "b")],
        HTTP,
        of=2,
    ),
    Planted(
        "list-changed-silent",
        [
            *modern(),
            *listening({"toolsListChanged": True}),
            *modern_page(1, "a"),
            *modern_page(2, "b"),
        ],
    ),
]
REDACTED = entry("mcpmock:secret:token:1")
FINE = {
    "good names": [*opening(), *page(1, "a", "A.b-c_9", "x" * 128)],
    "names before 2025-11-25": [*opening("2025-06-18"), *page(1, "a b", "a b")],
    "names of prompts": [*opening(), *page(1, "a b", "a b", method="prompts/list")],
    "a redacted name": [*opening(), *page(1, REDACTED)],
    "names in two lists": [*opening(), *page(1, "a"), *page(2, "a")],
    "skills": skills("x", "y"),
    "the same order": [*modern(), *modern_page(1, "a", "b"), *modern_page(2, "a", "b")],
    "an order of the legacy era": [*opening(), *page(1, "a", "b"), *page(2, "b", "a")],
    "another set": [*modern(), *modern_page(1, "a", "b"), *modern_page(2, "b", "c", "a")],
    "an unfinished list": [
        *modern(),
        *modern_page(1, "a", "b"),
        *modern_page(2, "b", "a", following="2"),
    ],
    "one scope": [
        *modern(),
        *modern_page(1, "a", following="2", scope="public"),
        *modern_page(2, "b", cursor="2", scope="public"),
        *modern_page(3, "a", "b"),
    ],
    "a list that was not declared": [
        *modern({"tools": {}}),
        c2s(ask(1, "prompts/list")),
        s2c(error(1, -32601)),
    ],
    "a template list": [
        *modern(),
        c2s(ask(1, "resources/templates/list")),
        s2c(error(1, -32601)),
    ],
    "refused in the legacy era": [*opening(), c2s(request(1, "tools/list")), s2c(error(1, -32601))],
    "another refusal": [*modern(), c2s(ask(1, "tools/list")), s2c(error(1, -32603))],
    "said": [*opening(), *page(1, "a"), s2c(CHANGED), *page(2, "b")],
    "said while it was listed": [
        *opening(),
        *page(1, "a")[:1],
        s2c(CHANGED),
        *page(1, "a")[1:],
        *page(2, "b"),
    ],
    "not declared": [*opening(server={"tools": {}}), *page(1, "a"), *page(2, "b")],
    "not finished": [*opening(), *page(1, "a", following="x"), *page(2, "b")],
    "in another order": [*opening(), *page(1, "a", "b"), *page(2, "b", "a")],
    "what is no change": [
        *opening(),
        *page(1, entry("a", size=1, annotations={"lastModified": "x"}), method="resources/list"),
        *page(2, entry("a", size=2, annotations={"lastModified": "y"}), method="resources/list"),
    ],
    "redacted": [*opening(), *page(1, REDACTED), *page(2, "b")],
    "nobody listens in the modern era": [*modern(), *modern_page(1, "a"), *modern_page(2, "b")],
    "somebody listens for something else": [
        *modern(),
        *listening({"promptsListChanged": True}),
        *modern_page(1, "a"),
        *modern_page(2, "b"),
    ],
}


@pytest.mark.parametrize("steps", FINE.values(), ids=FINE)
def test_these_lists_are_right(steps: list[Any]) -> None:
    """Each is much like one that is wrong."""
    assert [] == names(*steps)


def test_over_http_a_change_is_heard_on_an_open_stream() -> None:
    """Without a stream, before it, or after a break the notification may have been missed."""
    lists = [*posted_page(4, "a"), *posted_page(5, "b")]
    assert [] == names(*opening_http(), *lists, transport=HTTP)
    late = [*posted_page(4, "a"), *STREAM, *posted_page(5, "b")]
    assert [] == names(*opening_http(), *late, transport=HTTP)
    again: list[Any] = [ends(3), got(6), replies(6, 200, "text/event-stream")]
    broken = [*STREAM, *posted_page(4, "a"), *again, *posted_page(5, "b")]
    assert [] == names(*opening_http(), *broken, transport=HTTP)
    told = [*STREAM, *posted_page(4, "a"), says(3, CHANGED), *posted_page(5, "b")]
    assert [] == names(*opening_http(), *told, transport=HTTP)


def test_over_http_sse() -> None:
    """There is one stream for everything."""
    steps: list[Any] = []
    for x, name in ((4, "a"), (5, "b")):
        asks, answer = page(x, name)
        steps += [post(x, asks.raw, to="/messages?id=1"), accepts(x), says(1, answer.raw)]

    assert ["list-changed-silent"] == names(*opening_sse(), *steps, transport=SSE)


def test_lists_of_other_sessions_do_not_count() -> None:
    """In the modern era the order is that of the server, whoever asks."""
    steps = [*modern_http()]
    for x, listed in ((2, ("a", "b")), (3, ("b", "a"))):
        asks, answer = modern_page(x, *listed)
        steps += [asked(x, asks.raw, "tools/list"), answers(x, answer.raw)]

    assert ["tools-order"] == names(*steps, transport=HTTP, sessionless=True)


def test_what_is_cited() -> None:
    """Each list has its page, and a list of skills another."""
    [found] = violations(*opening(), *TWICE["resources/templates/list"])
    assert "2025-11-25 server/resources" == found.cited
    [found] = violations(*skills("x", "x"))
    assert ("ext-skills skills", "$.result.skills[1].frontmatter.name") == (found.cited, found.path)


def test_definitions() -> None:
    """The last page that lists a name defines it, until the list is said to have changed."""
    found = Listings()
    listing = module.PagedList()
    found.add(TOOLS, listing, "a", b'{"name":"a","x":1}')
    assert (1, True) == (found.definition(TOOLS, "a")["x"], found.knows(TOOLS, "a"))
    assert not found.lacks(TOOLS, "b")  # more pages may come
    found.finish(TOOLS, listing)
    assert found.lacks(TOOLS, "b")
    assert not found.lacks(TOOLS, "mcpmock:secret:token:1")
    found.note_change(TOOLS)
    assert ({}, False, None) == (
        found.definition(TOOLS, "a"),
        found.lacks(TOOLS, "b"),
        found.whole(TOOLS),
    )


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a very long list nothing is said to be missing, of a long definition nothing is known."""
    monkeypatch.setattr(module, "MAX_ENTRIES", 2)
    monkeypatch.setattr(module, "MAX_DEFINITION_BYTES", 10)
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    found = Listings()
    listing = module.PagedList()
    for name in "abc":
        found.add(TOOLS, listing, name, b'{"name":"%b"}' % name.encode())
        found.turn_page(TOOLS, listing, f"{name}.")

    assert listing.too_long
    assert ["a", "b"] == list(listing.entries)
    assert {} == found.definition(TOOLS, "a")
    assert not found.invented(TOOLS, "never given")
