"""Answers: results that lack something, results in place of errors, codes of errors; log
messages.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.rules.conversation import ConversationChecker
from mcpmock.rules.specification import Violation
from tests.rules.violations import (
    HINTS,
    HTTP,
    INFO,
    PREFIX,
    SERVER,
    Planted,
    ask,
    asked,
    done,
    initialize,
    modern,
    modern_http,
    names,
    opening,
    opening_http,
    posted,
    violations,
    welcome,
)
from tests.support import (
    INITIALIZED,
    answers,
    c2s,
    cancelled,
    error,
    notification,
    request,
    response,
    s2c,
)

CALL = c2s(request(1, "tools/call", {"name": "dig"}))
TEXT = {"type": "text", "text": "1"}
EMBEDDED = {"type": "resource", "resource": {"uri": "demo:1", "text": ""}}
NO_RESOURCES = {name: value for name, value in SERVER.items() if name != "resources"}
PROMPT = {"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "how"}]}
SECRET = "mcpmock:secret:token:1"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
MODERN_META = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": {}}


def called(result: Any, revision: str = "2025-11-25", server: Any = SERVER) -> list[Any]:
    return [*opening(revision, server=server), CALL, s2c(response(1, result))]


def modern_called(result: Any, server: Any = SERVER) -> list[Any]:
    return [*modern(server), c2s(ask(1, "tools/call", {"name": "dig"})), s2c(done(1, result))]


def known(method: str, member: str, *listed: Any, id_: Any = "list") -> list[Any]:
    return [c2s(request(id_, method)), s2c(response(id_, {member: [*listed]}))]


def modern_known(method: str, member: str, *listed: Any, id_: Any = "list") -> list[Any]:
    return [c2s(ask(id_, method)), s2c(done(id_, {member: [*listed], **HINTS}))]


def refused(method: str, params: Any, code: int = 5, id_: int = 1) -> list[Any]:
    return [c2s(request(id_, method, params)), s2c(error(id_, code))]


def logged(data: Any, revision: str = "2025-11-25") -> list[Any]:
    log = notification("notifications/message", {"level": "info", "data": data})
    return [*opening(revision), s2c(log)]


def pinged(answer: bytes, *, by_client: bool = True, revision: str = "2025-11-25") -> list[Any]:
    asks, told = request(1, "ping"), answer
    pair = [c2s(asks), s2c(told)] if by_client else [s2c(asks), c2s(told)]
    return [*opening(revision), *pair]


PROMPTS = known("prompts/list", "prompts", PROMPT)
RESOURCES = known("resources/list", "resources", {"uri": "demo:1", "name": "a"}, id_="r")
NO_TEMPLATES = known("resources/templates/list", "resourceTemplates", id_="t")
TEMPLATES = known("resources/templates/list", "resourceTemplates", {"uriTemplate": "a{b}"}, id_="t")
TEMPLATES_REFUSED = [c2s(request("t", "resources/templates/list")), s2c(error("t", -32601))]
MISSING = {"uri": "demo:2"}
NO_ONE = {"who": None}
PAGES = known("tools/list", "tools")
MODERN_RESOURCES = [
    *modern_known("resources/list", "resources", {"uri": "demo:1", "name": "a"}, id_="r"),
    *modern_known("resources/templates/list", "resourceTemplates", id_="t"),
]
SET_LEVEL = "logging/setLevel"
BARE = c2s(request(1, "tools/list"))
DISCOVER = c2s(ask("opening", "server/discover"))

PLANTED = [
    Planted("structured-text", called({"content": [], "structuredContent": {"a": 1}})),
    Planted("structured-text", called({"structuredContent": {}}, "2025-06-18")),
    Planted("structured-text", modern_called({"content": [], "structuredContent": 7})),
    Planted("embedded-undeclared", called({"content": [EMBEDDED]}, server=NO_RESOURCES)),
    Planted("embedded-undeclared", modern_called({"content": [TEXT, EMBEDDED]}, NO_RESOURCES)),
    Planted(
        "contents-empty",
        [
            *modern(),
            c2s(ask(1, "resources/read", MISSING)),
            s2c(done(1, {"contents": [], **HINTS})),
        ],
    ),
    Planted("ping-answer", pinged(error(1))),
    Planted("ping-answer", pinged(response(1, {"ok": True}))),
    Planted("ping-answer", pinged(error(1, -32601), by_client=False, revision="2024-11-05")),
    Planted("ping-answer", pinged(response(1, {"a": 1, "_meta": {}}), by_client=False)),
    Planted(
        "ping-answer",
        [*opening_http(), posted(3, request(1, "ping")), answers(3, error(1))],
        HTTP,
    ),
    Planted(
        "discover-missing",
        [
            DISCOVER,
            s2c(error("opening", -32601)),
            c2s(ask(1, "tools/call")),
            s2c(done(1)),
            c2s(ask(2, "tools/call")),
            s2c(done(2)),
        ],
    ),
    Planted(
        "discover-missing",
        [
            *modern(),
            c2s(ask(1, "server/discover")),
            s2c(error(1, -32601)),
        ],
    ),
    Planted(
        "meta-accepted",
        [*modern(), BARE, s2c(done(1, {"tools": [], **HINTS}))],
        also=("meta-required",),
    ),
    Planted(
        "meta-accepted",
        [*modern(), c2s(ask(1, "tools/call", clientCapabilities=None)), s2c(done(1))],
        also=("meta-required",),
    ),
    Planted("error-code-differs", [*opening(), *PROMPTS, *refused("prompts/get", {"name": "x"})]),
    Planted(
        "error-code-differs",
        [*opening("2024-11-05"), *PROMPTS, *refused("prompts/get", {"name": "greet"})],
        also=("prompt-arguments",),
    ),
    Planted(
        "error-code-differs",
        [*opening(), *PROMPTS, *refused("prompts/get", {"name": "greet", "arguments": NO_ONE})],
        also=("prompt-arguments",),
    ),
    Planted(
        "error-code-differs",
        [*opening(), *RESOURCES, *NO_TEMPLATES, *refused("resources/read", MISSING, -32602)],
    ),
    Planted(
        "error-code-differs",
        [*opening(), *RESOURCES, *TEMPLATES_REFUSED, *refused("resources/read", MISSING)],
    ),
    Planted("error-code-differs", [*opening(), *refused(SET_LEVEL, {"level": "loud"}, -32000)]),
    Planted(
        "error-code-differs",
        [*opening(), *PAGES, *refused("tools/list", {"cursor": "?"})],
        also=("cursor-unknown",),
    ),
    Planted(
        "error-code-differs",
        [
            *opening("2025-03-26", server={"tools": {}}),
            *refused("completion/complete", {}, -32602),
        ],
        also=("capability",),
    ),
    Planted(
        "error-code-differs",
        [
            *opening(),
            *PROMPTS,
            *refused("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}}),
        ],
        also=("completion-ref",),
    ),
    Planted(
        "error-code-differs",
        [*modern(), c2s(ask(1, "tools/call", logLevel="loud")), s2c(error(1, -31000))],
    ),
    Planted(
        "error-code-differs",
        [
            *modern(),
            *modern_known("prompts/list", "prompts", PROMPT),
            c2s(ask(1, "prompts/get", {"name": "x"})),
            s2c(error(1, -31000)),
        ],
    ),
    Planted(
        "not-found-code",
        [
            *modern(),
            *MODERN_RESOURCES,
            c2s(ask(1, "resources/read", MISSING)),
            s2c(error(1, -32603)),
        ],
    ),
    Planted(
        "not-found-code",
        [*opening(server={**SERVER, "tasks": {}}), *refused("tasks/get", {"taskId": "x"}, -32603)],
    ),
    Planted("log-secret", logged(f"key {SECRET}")),
    Planted("log-secret", logged({"a": [{"b": SECRET}]}, "2024-11-05")),
    Planted("log-secret", logged(f"with {GITHUB} in it")),
    Planted(
        "log-secret",
        [
            *modern(),
            c2s(ask(1, "tools/call", logLevel="debug")),
            s2c(notification("notifications/message", {"level": "info", "data": SECRET})),
        ],
    ),
]
FINE = {
    "structured content with its text": called({"content": [TEXT], "structuredContent": {}}),
    "no structured content": called({"content": []}),
    "structured content before 2025-06-18": called({"structuredContent": {}}, "2025-03-26"),
    "an embedded resource": called({"content": [EMBEDDED]}),
    "an embedded resource before": called({"content": [EMBEDDED]}, "2025-03-26", NO_RESOURCES),
    "no contents in the legacy era": [
        *opening(),
        c2s(request(1, "resources/read", MISSING)),
        s2c(response(1, {"contents": []})),
    ],
    "a ping": pinged(response(1)),
    "a ping with _meta": pinged(response(1, {"_meta": {"a": 1}}), by_client=False),
    "a ping that HTTP refuses": [
        *opening_http(),
        posted(3, request(1, "ping")),
        answers(3, error(1, -32001), 404),
    ],
    "a ping that the bridge refuses": pinged(error(1, -32000, "HTTP 404")),
    "a ping that was cancelled": [
        *opening(),
        c2s(request(1, "ping")),
        c2s(cancelled(1)),
    ],
    "a legacy server that is probed": [
        DISCOVER,
        s2c(error("opening", -32601)),
        c2s(initialize(id_="init")),
        s2c(welcome().replace(b'"opening"', b'"init"')),
        c2s(INITIALIZED),
        CALL,
        s2c(response(1)),
    ],
    "discovered later": [
        DISCOVER,
        s2c(error("opening", -32603)),
        c2s(ask(1, "tools/call")),
        s2c(done(1)),
    ],
    "a listed prompt that fails": [
        *opening(),
        *PROMPTS,
        *refused("prompts/get", {"name": "greet", "arguments": {"who": "Ada"}}),
    ],
    "a prompt without a list": [*opening(), *refused("prompts/get", {"name": "x"})],
    "the right code": [*opening(), *PROMPTS, *refused("prompts/get", {"name": "x"}, -32602)],
    "a prompt after a change": [
        *opening(),
        *PROMPTS,
        s2c(notification("notifications/prompts/list_changed")),
        *refused("prompts/get", {"name": "x"}),
    ],
    "a redacted name": [*opening(), *PROMPTS, *refused("prompts/get", {"name": SECRET})],
    "a resource that a template may have": [
        *opening(),
        *RESOURCES,
        *TEMPLATES,
        *refused("resources/read", MISSING),
    ],
    "a resource when nobody asked for templates": [
        *opening(),
        *RESOURCES,
        *refused("resources/read", MISSING),
    ],
    "a resource whose URI is a list": [
        *opening(),
        *RESOURCES,
        *NO_TEMPLATES,
        *refused("resources/read", {"uri": []}),
    ],
    "a listed resource": [
        *opening(),
        *RESOURCES,
        *NO_TEMPLATES,
        *refused("resources/read", {"uri": "demo:1"}),
    ],
    "not found": [
        *opening(),
        *RESOURCES,
        *NO_TEMPLATES,
        *refused("resources/read", MISSING, -32002),
    ],
    "a resource that a tool has linked": [
        *opening(),
        *RESOURCES,
        *NO_TEMPLATES,
        c2s(request("c", "tools/call", {"name": "dig"})),
        s2c(response("c", {"content": [{"type": "resource_link", "name": "a", **MISSING}]})),
        *refused("resources/read", MISSING),
    ],
    "a resource that a prompt has embedded": [
        *opening(),
        *RESOURCES,
        *NO_TEMPLATES,
        c2s(request("p", "prompts/get", {"name": "x"})),
        s2c(
            response(
                "p",
                {
                    "messages": [
                        {
                            "role": "user",
                            "content": {"type": "resource", "resource": {"text": "", **MISSING}},
                        }
                    ]
                },
            )
        ),
        *refused("resources/read", MISSING),
    ],
    "a resource that was read before": [
        *opening(),
        *RESOURCES,
        *NO_TEMPLATES,
        c2s(request("again", "resources/read", MISSING)),
        s2c(response("again", {"contents": [{"text": "", **MISSING}]})),
        *refused("resources/read", MISSING),
    ],
    "a prompt that needs a visit": [
        *opening(),
        *PROMPTS,
        *refused("prompts/get", {"name": "x"}, -32042),
    ],
    "a resource that needs a capability": [
        *modern(),
        *MODERN_RESOURCES,
        c2s(ask(1, "resources/read", MISSING)),
        s2c(error(1, -32021)),
    ],
    "a limit of HTTP in the modern era": [
        *modern_http(),
        asked(2, ask(1, "tools/call", {"name": "a"}, logLevel="loud"), "tools/call", "a"),
        answers(2, error(1, -31000), 429),
    ],
    "a resource that is there": [
        *opening(),
        *RESOURCES,
        *NO_TEMPLATES,
        c2s(request(1, "resources/read", MISSING)),
        s2c(response(1, {"contents": []})),
    ],
    "a level": [*opening(), *refused(SET_LEVEL, {"level": "debug"})],
    "no level": [*opening(), *refused(SET_LEVEL, {"level": "loud"}, -32602)],
    "a cursor that was given": [
        *opening(),
        c2s(request("l", "tools/list")),
        s2c(response("l", {"tools": [], "nextCursor": "c"})),
        *refused("tools/list", {"cursor": "c"}),
    ],
    "an error of HTTP": [
        *opening_http(),
        posted(3, request(1, SET_LEVEL, {"level": "loud"})),
        answers(3, error(1, -32001), 404),
    ],
    "completions before they were declared": [
        *opening("2024-11-05", server={}),
        *refused("completion/complete", {}),
    ],
    "not found in the modern era": [
        *modern(),
        *MODERN_RESOURCES,
        c2s(ask(1, "resources/read", MISSING)),
        s2c(error(1, -32602)),
    ],
    "a log": logged("all is well"),
    "a log with a session id": logged("mcpmock:secret:session-id:1"),
    "a call with a secret": called({"content": [{"type": "text", "text": SECRET}]}),
}


@pytest.mark.parametrize("name", FINE)
def test_these_answers_are_right(name: str) -> None:
    """Each is much like one that is wrong."""
    over_http = "HTTP" in name

    assert [] == names(*FINE[name], transport=HTTP if over_http else "stdio")


def test_the_python_sdks_codes_are_known() -> None:
    """They answer with 0, and with -32603 from version 2 on: notices."""
    for code in (0, -32603):
        steps = [*opening(), *PROMPTS, *refused("prompts/get", {"name": "x"}, code)]
        [found] = violations(*steps)
        assert ("error-code-differs", "notice") == (found.rule.name, found.level.value)


def test_what_is_cited() -> None:
    """Codes are on the pages of what was asked for."""
    for steps, cited in (
        ([*PROMPTS, *refused("prompts/get", {"name": "x"})], "server/prompts"),
        (refused(SET_LEVEL, {"level": "loud"}), "server/utilities/logging"),
        (refused("tools/list", {"cursor": "?"}), "server/utilities/pagination"),
    ):
        *_, found = violations(*opening(), *steps)
        assert (f"2025-11-25 {cited}", "$.error.code") == (found.cited, found.path)


def test_after_a_gap_nothing_is_expected() -> None:
    """What was not seen may have listed the prompt."""
    conversation = ConversationChecker()
    conversation.mark_incomplete()
    steps = [*opening(), *PROMPTS, *refused("prompts/get", {"name": "x"})]
    found = [one for number, frame in enumerate(steps) for one in conversation.check(frame, number)]
    rules = [one.rule.name for one in found if isinstance(one, Violation)]

    assert "error-code-differs" not in rules


def test_modern_over_http() -> None:
    """A result for a POST without capabilities in `_meta`, from another caller."""
    meta = {name: value for name, value in MODERN_META.items() if "Version" in name}
    raw = request(1, "tools/call", {"_meta": {**meta, f"{PREFIX}clientInfo": INFO}})
    steps = [*modern_http(), asked(2, raw, "tools/call", "x"), answers(2, done(1))]
    found = names(*steps, transport=HTTP, sessionless=True)

    assert ["meta-accepted", "meta-required"] == sorted(found)
