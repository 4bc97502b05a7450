"""Which side may send which method."""

from __future__ import annotations

from tests.rules.violations import (
    CLIENT,
    SERVER,
    Planted,
    ask,
    done,
    modern,
    names,
    opening,
    violations,
)
from tests.support import c2s, error, notification, request, response, s2c

LOG = notification("notifications/message", {"level": "info", "data": "hello"})
CHANGED = notification("notifications/tools/list_changed")
SAMPLE = request(1, "sampling/createMessage", {"messages": [], "maxTokens": 1})
TOOLED = request(1, "sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": []})
VISIT = request(1, "elicitation/create", {"mode": "url", "url": "http://x", "message": "go"})
FORM = request(1, "elicitation/create", {"message": "go", "requestedSchema": {}})
COMPLETED = notification("notifications/elicitation/complete", {"elicitationId": "e"})
TASK = request(1, "tools/call", {"name": "dig", "task": {}})


def without(*features: str) -> dict[str, object]:
    """A server's capabilities but for these."""
    return {name: value for name, value in SERVER.items() if name not in features}


def answered(method: str, feature: str) -> list[Planted]:
    """In either era: the result of a method that the server did not declare."""
    legacy = opening(server=without(feature))
    return [
        Planted("capability", [*legacy, c2s(request(1, method)), s2c(error(1, -32601))]),
        Planted(
            f"{feature}-undeclared",
            [*modern(without(feature)), c2s(ask(1, method)), s2c(done(1, HINTED))],
        ),
    ]


HINTED = {"ttlMs": 0, "cacheScope": "private"}
PLANTED = [
    Planted("method-revision", [*opening("2024-11-05"), s2c(request(1, "elicitation/create", {}))]),
    Planted("method-revision", [*opening("2025-06-18"), c2s(request(1, "tasks/list"))]),
    Planted("method-revision", [*modern(), c2s(ask(1, "logging/setLevel"))]),
    Planted("method-revision", [*modern(), c2s(ask(1, "resources/subscribe"))]),
    Planted("method-sender", [*opening(), s2c(request(1, "tools/list"))]),
    Planted("method-sender", [*opening(), c2s(LOG)]),
    Planted("method-sender", [*modern(), c2s(notification("notifications/tools/list_changed"))]),
    Planted("capability", [*opening("2025-03-26", client={}), s2c(SAMPLE)]),
    Planted("capability", [*opening(client={}), s2c(request(1, "roots/list"))]),
    Planted("capability", [*opening(server={"tools": {"listChanged": False}}), s2c(CHANGED)]),
    Planted(
        "capability",
        [*opening(client={"roots": {}}), c2s(notification("notifications/roots/list_changed"))],
    ),
    Planted("logging-undeclared", [*opening(server={}), s2c(LOG)]),
    *answered("tools/list", "tools"),
    *answered("prompts/list", "prompts"),
    *answered("resources/list", "resources"),
    *answered("completion/complete", "completions"),
    Planted("elicitation-mode", [*opening(), s2c(VISIT)]),
    Planted("elicitation-mode", [*opening(client={"elicitation": {"url": {}}}), s2c(FORM)]),
    Planted("sampling-tools", [*opening(), s2c(TOOLED)]),
    Planted("task-undeclared", [*opening(), c2s(TASK)]),
]


def test_a_result_is_the_servers_fault_too() -> None:
    """A result of a method whose capability is not declared is a violation."""
    asks = [c2s(request(1, "tools/list")), s2c(response(1, {"tools": []}))]

    assert ["capability", "tools-undeclared"] == names(*opening(server={}), *asks)


def test_what_is_declared_is_allowed() -> None:
    """An empty object declares a capability, `false` does not."""
    client = {**CLIENT, "elicitation": {"url": {}}, "sampling": {"tools": {}}}
    server = {**SERVER, "tasks": {"requests": {"tools": {"call": {}}}}}
    opened = opening(client=client, server=server)

    assert [] == names(*opened, s2c(VISIT), c2s(TASK))
    assert [] == names(*opened, s2c(TOOLED), s2c(CHANGED), s2c(LOG))


def test_a_completed_elicitation_needs_the_clients_mode() -> None:
    """The capability is the client's, though the server sends the notification."""
    visited = [s2c(VISIT.replace(b'"mode"', b'"elicitationId":"e","mode"')), s2c(COMPLETED)]
    client = {**CLIENT, "elicitation": {"url": {}}}

    assert [] == names(*opening(client=client), *visited)
    assert ["elicitation-mode", "capability"] == names(*opening(), *visited)


def test_completions_had_no_capability_at_first() -> None:
    """2024-11-05 has no such capability."""
    asks = [c2s(request(1, "completion/complete")), s2c(response(1, {"completion": {}}))]

    assert [] == names(*opening("2024-11-05", server={}), *asks)


def test_unknown_methods_break_no_rule() -> None:
    """Extensions have methods of their own."""
    assert [] == names(*opening(), c2s(request(1, "vendor/method")), s2c(error(1, -32601)))


def test_what_was_once_a_recommendation_is_a_warning() -> None:
    """The same breach is a warning up to 2025-03-26 and an error from 2025-06-18 on."""
    levels = [
        violations(*opening(revision, client={}), s2c(SAMPLE))[0].level.value
        for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    ]

    assert ["warning", "warning", "error", "error"] == levels
