"""What a server asks of a client, and what the client answers, in either era."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.violations import (
    CLIENT,
    HTTP,
    Planted,
    ask,
    done,
    modern,
    names,
    opening,
    opening_http,
    posted,
    violations,
)
from tests.support import (
    accepts,
    answers,
    c2s,
    error,
    notification,
    request,
    response,
    s2c,
    says,
)

CALL = c2s(request("call", "tools/call", {"name": "dig"}))
TOOLS = [{"name": "dig", "inputSchema": {"type": "object"}}]
ABLE: Any = {
    **CLIENT,
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"url": {}, "form": {}},
}
SAMPLE, ELICIT, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"


def use(id_: str = "u") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "dig", "input": {}}


def used(id_: str = "u") -> dict[str, Any]:
    return {"type": "tool_result", "toolUseId": id_, "content": []}


TEXT = {"type": "text", "text": "hi"}
Message = tuple[str, Any]


def messages(*told: Message) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in told]}


def sampled(*told: Message, client: Any = ABLE, revision: str = "2025-11-25", **params: Any) -> Any:
    asks = {**messages(*told), "maxTokens": 1, **params}
    return [*opening(revision, client=client), s2c(request(1, SAMPLE, asks))]


def modern_asked(method: str, params: Any, client: Any = ABLE) -> list[Any]:
    call = c2s(ask(1, "tools/call", {"name": "dig"}, clientCapabilities=client))
    inputs = {"a": {"method": method, "params": params}}
    return [
        *modern(),
        call,
        s2c(done(1, {"resultType": "input_required", "inputRequests": inputs})),
    ]


def retried(answer: Any, client: Any = ABLE) -> list[Any]:
    params = {"name": "dig", "inputResponses": {"a": answer}}
    return [c2s(ask(2, "tools/call", params, clientCapabilities=client))]


def answered(content: Any, **more: Any) -> Any:
    return {"role": "assistant", "model": "m", "content": content, "stopReason": "endTurn", **more}


def form(*fields: str, **params: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in fields}}
    return {"message": "go", "requestedSchema": schema, **params}


def given(*uris: str, id_: int = 1) -> list[Any]:
    roots = {"roots": [{"uri": uri} for uri in uris]}
    return [s2c(request(id_, ROOTS)), c2s(response(id_, roots))]


def completed(id_: str) -> Any:
    return s2c(notification("notifications/elicitation/complete", {"elicitationId": id_}))


VISIT = {"mode": "url", "url": "https://x", "message": "go", "elicitationId": "e"}
ASKED = [*opening(client=ABLE), s2c(request(1, ELICIT, VISIT))]
CHOICE: Any = {"tools": TOOLS, "toolChoice": {"mode": "none"}}
REQUIRED: Any = {"tools": TOOLS, "toolChoice": {"mode": "required"}}
ONE = ("user", TEXT)
MIXED = (ONE, ("assistant", use()), ("user", [used(), TEXT]))
UNUSED = (ONE, ("assistant", use()), ("user", TEXT))

PLANTED = [
    Planted("tool-results-mixed", sampled(*MIXED)),
    Planted("tool-results-mixed", modern_asked(SAMPLE, messages(*MIXED))),
    Planted("tool-results-missing", sampled(*UNUSED)),
    Planted("tool-results-missing", sampled(ONE, ("assistant", [TEXT, use()]))),
    Planted(
        "tool-results-missing", sampled(("assistant", [use("a"), use("b")]), ("user", used("a")))
    ),
    Planted("tool-results-missing", sampled(("user", used()))),
    Planted("tool-results-missing", sampled(("assistant", use()), ("user", [used(), used()]))),
    Planted(
        "tool-results-missing", sampled(("assistant", use()), ("assistant", TEXT), ("user", TEXT))
    ),
    Planted("tool-results-missing", modern_asked(SAMPLE, messages(*UNUSED))),
    Planted("tool-results-missing", sampled(ONE, ("assistant", use()), ("assistant", used()))),
    Planted("tool-results-missing", sampled(ONE, ("assistant", used()))),
    Planted("sampling-context", sampled(ONE, client=CLIENT, includeContext="thisServer")),
    Planted("sampling-context", sampled(ONE, client=CLIENT, includeContext="allServers")),
    Planted(
        "sampling-context",
        modern_asked(SAMPLE, {**messages(ONE), "includeContext": "allServers"}, {"sampling": {}}),
    ),
    Planted("tool-choice", [*sampled(ONE, **CHOICE), c2s(response(1, answered(use())))]),
    Planted("tool-choice", [*sampled(ONE, **CHOICE), c2s(response(1, answered([TEXT, use()])))]),
    Planted("tool-choice", [*sampled(ONE, **REQUIRED), c2s(response(1, answered(TEXT)))]),
    Planted(
        "tool-choice",
        [*modern_asked(SAMPLE, {**messages(ONE), **CHOICE}), *retried(answered(use()))],
    ),
    Planted("elicits-secret", [*opening(), s2c(request(1, ELICIT, form("name", "apiKey")))]),
    Planted("elicits-secret", [*opening(), s2c(request(1, ELICIT, form("password", mode="form")))]),
    Planted(
        "elicits-secret", [*opening("2025-06-18"), s2c(request(1, ELICIT, form("db_password")))]
    ),
    Planted("elicits-secret", modern_asked(ELICIT, form("access_token"))),
    Planted("elicitation-unknown", [*opening(client=ABLE), completed("e")]),
    Planted("elicitation-unknown", [*ASKED, completed("other")]),
    Planted("answer-undeclared", [*opening(client={}), *given("file:///a")], also=("capability",)),
    Planted(
        "answer-undeclared",
        [*sampled(ONE, client={}, revision="2024-11-05"), c2s(response(1, answered(TEXT)))],
        also=("capability",),
    ),
    Planted(
        "answer-undeclared",
        [
            *opening("2025-06-18", client={}),
            s2c(request(1, ELICIT, form("a"))),
            c2s(response(1, {"action": "decline"})),
        ],
        also=("capability",),
    ),
    Planted(
        "answer-undeclared",
        [*sampled(ONE, client=CLIENT, tools=TOOLS), c2s(response(1, answered(TEXT)))],
        also=("sampling-tools",),
    ),
    Planted(
        "answer-undeclared",
        [*modern_asked(ROOTS, {}, {}), *retried({"roots": []}, {})],
        also=("input-undeclared",),
    ),
    Planted(
        "answer-undeclared",
        [
            *modern_asked(SAMPLE, {**messages(ONE), "tools": TOOLS}, {"sampling": {}}),
            *retried(answered(TEXT), {"sampling": {}}),
        ],
        also=("sampling-tools",),
    ),
    Planted("roots-changed-silent", [*opening(), *given("file:///a"), *given("file:///b", id_=2)]),
    Planted("roots-changed-silent", [*opening("2024-11-05"), *given(), *given("file:///b", id_=2)]),
]
CHANGED = c2s(notification("notifications/roots/list_changed"))
FINE = {
    "tools that were answered": sampled(
        ONE, ("assistant", [TEXT, use("a"), use("b")]), ("user", [used("b"), used("a")]), ONE
    ),
    "messages before 2025-11-25": sampled(*MIXED, revision="2025-06-18"),
    "a context that was declared": sampled(ONE, includeContext="thisServer"),
    "no context": sampled(ONE, client=CLIENT, includeContext="none"),
    "a choice": [*sampled(ONE, **CHOICE), c2s(response(1, answered(TEXT)))],
    "a free choice": [*sampled(ONE, tools=TOOLS), c2s(response(1, answered(use())))],
    "a tool that was required": [*sampled(ONE, **REQUIRED), c2s(response(1, answered(use())))],
    "a tool that was used before": [
        *sampled(ONE, ("assistant", use()), ("user", used()), **REQUIRED),
        c2s(response(1, answered(TEXT))),
    ],
    "an answer cut short": [
        *sampled(ONE, **REQUIRED),
        c2s(response(1, answered(TEXT, stopReason="maxTokens"))),
    ],
    "a refusal": [
        *sampled(ONE, client={}, revision="2024-11-05")[:3],
        s2c(request(1, "ping")),
        c2s(response(1)),
    ],
    "a form": [*opening(), s2c(request(1, ELICIT, form("name", "maxTokens", "keyboard")))],
    "a visit": [*ASKED, completed("e")],
    "a visit that an error asks for": [
        *opening(client=ABLE),
        CALL,
        s2c(
            error("call", -32042)[:-2]
            + b',"data":{"elicitations":[%b]}}}'
            % b'{"mode":"url","url":"https://x","message":"","elicitationId":"e"}'
        ),
        completed("e"),
    ],
    "roots": [*opening(), *given("file:///a"), *given("file:///a", id_=2)],
    "roots in another order": [
        *opening(),
        *given("file:///a", "file:///b"),
        *given("file:///b", "file:///a", id_=2),
    ],
    "changes that are said": [
        *opening(),
        *given("file:///a"),
        CHANGED,
        *given("file:///b", id_=2),
    ],
    "a change that crosses its answer": [
        *opening(),
        *given("file:///a"),
        s2c(request(2, ROOTS)),
        CHANGED,
        c2s(response(2, {"roots": [{"uri": "file:///a"}]})),
        *given("file:///b", id_=3),
    ],
    "changes that are not declared": [
        *opening(client={"roots": {}}),
        *given("file:///a"),
        *given("file:///b", id_=2),
    ],
    "a modern answer": [
        *modern_asked(SAMPLE, {**messages(ONE), "tools": TOOLS}),
        *retried(answered(use())),
    ],
}


@pytest.mark.parametrize("steps", FINE.values(), ids=FINE)
def test_these_requests_and_answers_are_right(steps: list[Any]) -> None:
    """Each is much like one that is wrong."""
    assert [] == names(*steps)


def test_an_error_declares_nothing() -> None:
    """A client refuses what it did not declare."""
    steps = [*opening(client={}), s2c(request(1, ROOTS)), c2s(error(1, -32601))]

    assert ["capability"] == names(*steps)


def test_over_http() -> None:
    """The server asks on the stream of a call, the client answers in a POST of its own."""
    steps = [
        *opening_http(),
        posted(3, request(1, "tools/call", {"name": "dig"})),
        answers(3, request(9, SAMPLE, {**messages(ONE), "maxTokens": 1, **CHOICE}))[:-1],
        posted(4, response(9, answered(use()))),
        accepts(4),
        says(3, response(1)),
    ]
    found = names(*steps, transport=HTTP)

    assert ["sampling-tools", "answer-undeclared", "tool-choice"] == found


def test_where_it_is() -> None:
    """Paths lead into the request or the answer, and what is asked has a page of its own."""
    [found] = violations(*sampled(*MIXED))
    assert "$.params.messages[2].content" == found.path
    [found] = violations(*modern_asked(ELICIT, form("pin", "access_token")))
    assert "$.result.inputRequests.a.params.requestedSchema.properties.access_token" == found.path
    steps = [*opening(client={}), s2c(request(1, ROOTS)), c2s(response(1, {"roots": []}))]
    assert "2025-11-25 client/roots" == violations(*steps)[-1].cited
