"""Tasks of 2025-11-25: which calls are tasks, their statuses, and the answers that tell of them."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.rules import tasks as module
from tests.rules.violations import (
    HTTP,
    SERVER,
    Planted,
    ask,
    done,
    initialize,
    modern,
    names,
    opening,
    posted,
    violations,
    welcome,
)
from tests.support import (
    INITIALIZED,
    accepts,
    answers,
    c2s,
    error,
    notification,
    post,
    request,
    response,
    s2c,
)

ABLE: Any = {**SERVER, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
RELATED = "io.modelcontextprotocol/related-task"


def tool(support: str | None) -> dict[str, Any]:
    execution = {} if support is None else {"execution": {"taskSupport": support}}
    return {"name": support or "plain", "inputSchema": {"type": "object"}, **execution}


LIST = [
    c2s(request("list", "tools/list")),
    s2c(
        response(
            "list", {"tools": [tool(one) for one in ("required", "optional", "forbidden", None)]}
        )
    ),
]
BEGIN = [*opening(server=ABLE), *LIST]


def task(status: str = "working", id_: str = "t", at: str | None = None) -> dict[str, Any]:
    return {"taskId": id_, "status": status, **({} if at is None else {"lastUpdatedAt": at})}


def call(name: str, *, as_task: bool = True, id_: int = 1) -> Any:
    params = {"name": name, **({"task": {"ttl": 1}} if as_task else {})}
    return c2s(request(id_, "tools/call", params))


def made(call_id: int = 1, **given: Any) -> Any:
    return s2c(response(call_id, {"task": task(**given)}))


def said(status: str, **given: Any) -> Any:
    return s2c(notification("notifications/tasks/status", task(status, **given)))


def got(method: str, result: Any, id_: int = 7, name: str = "t") -> list[Any]:
    asks = c2s(request(id_, f"tasks/{method}", {"taskId": name}))
    return [asks, s2c(result if isinstance(result, bytes) else response(id_, result))]


MADE = [*BEGIN, call("optional"), made()]
OK: Any = {"content": []}

PLANTED = [
    Planted("task-required", [*BEGIN, call("required", as_task=False), s2c(error(1, -32601))]),
    Planted("task-forbidden", [*BEGIN, call("forbidden"), s2c(error(1, -32601))]),
    Planted("task-forbidden", [*BEGIN, call("plain"), s2c(response(1, OK))]),
    Planted(
        "task-required-answer",
        [*BEGIN, call("required", as_task=False), s2c(response(1, OK))],
        also=("task-required",),
    ),
    Planted(
        "task-required-answer",
        [*BEGIN, call("required", as_task=False), s2c(error(1, -32602))],
        also=("task-required",),
    ),
    Planted(
        "error-code-differs",
        [*BEGIN, call("forbidden"), s2c(error(1, -32602))],
        also=("task-forbidden",),
    ),
    Planted("task-begin", [*BEGIN, call("optional"), made(status="completed")]),
    Planted("task-begin", [*BEGIN, call("required"), made(status="input_required")]),
    Planted("task-answer", [*BEGIN, call("required"), s2c(response(1, OK))]),
    Planted("task-answer", [*BEGIN, call("optional"), s2c(response(1, OK))]),
    Planted("task-answer", [*opening(server=ABLE), call("unlisted"), s2c(response(1, OK))]),
    Planted("task-id-reused", [*MADE, call("optional", id_=2), made(2)]),
    Planted("task-transition", [*MADE, said("completed"), said("working")]),
    Planted("task-transition", [*MADE, said("failed"), *got("get", task("completed"))]),
    Planted("task-transition", [*MADE, *got("cancel", task("cancelled")), said("completed")]),
    Planted("task-transition", [*MADE, *got("cancel", task("working"))]),
    Planted(
        "task-transition",
        [
            *MADE,
            said("completed"),
            c2s(request(9, "tasks/list")),
            s2c(response(9, {"tasks": [task("working", "other"), task("working")]})),
        ],
    ),
    Planted(
        "task-transition",
        [
            *MADE,
            said("completed", at="2026-01-02T00:00:00Z"),
            said("working", at="2026-01-03T00:00:00Z"),
        ],
    ),
    Planted("task-cancel-ended", [*MADE, said("completed"), *got("cancel", task("completed"))]),
    Planted("task-cancel-ended", [*MADE, said("failed"), *got("cancel", task("cancelled"))]),
    Planted("task-cancel-ended", [*MADE, said("cancelled"), *got("cancel", error(7, -32603))]),
    Planted("related-task", [*MADE, *got("result", OK)]),
    Planted("related-task", [*MADE, *got("result", {**OK, "_meta": {RELATED: {"taskId": "u"}}})]),
    Planted("not-found-code", [*BEGIN, *got("get", error(7, -32603))]),
    Planted("not-found-code", [*BEGIN, *got("cancel", error(7, 0))]),
    Planted("not-found-code", [*MADE, *got("result", error(7, -32001), name="u")]),
]
FINE = {
    "a plain call": [*BEGIN, call("plain", as_task=False), s2c(response(1, OK))],
    "a tool that may": [*BEGIN, call("optional", as_task=False), s2c(response(1, OK))],
    "a tool that has to": [*BEGIN, call("required"), made()],
    "a server without tasks": [
        *opening(),
        *LIST,
        call("required", as_task=False),
        s2c(response(1, OK)),
    ],
    "a tool that is not listed": [*opening(server=ABLE), call("x", as_task=False)],
    "a tool after a change": [
        *BEGIN,
        s2c(notification("notifications/tools/list_changed")),
        call("required", as_task=False),
        s2c(response(1, OK)),
    ],
    "a refused task": [*BEGIN, call("optional"), s2c(error(1, -32603))],
    "a task that failed at once": [
        *BEGIN,
        call("optional"),
        s2c(response(1, {**OK, "isError": True})),
    ],
    "a note before the answer": [*BEGIN, call("optional"), said("working"), made()],
    "steps": [*MADE, said("input_required"), said("working"), said("completed"), said("completed")],
    "two tasks": [
        *MADE,
        call("optional", id_=2),
        made(2, id_="u"),
        said("completed"),
        said("working", id_="u"),
    ],
    "a late note": [
        *MADE,
        said("completed", at="2026-01-03T00:00:00Z"),
        said("working", at="2026-01-02T00:00:00Z"),
    ],
    "a late note, in another zone": [
        *MADE,
        said("completed", at="2026-01-02T00:00:00Z"),
        said("working", at="2026-01-02T01:00:00+02:00"),
    ],
    "a late note of a full second": [
        *MADE,
        said("completed", at="2026-01-02T00:00:00.5Z"),
        said("working", at="2026-01-02T00:00:00Z"),
    ],
    "a cancel": [*MADE, *got("cancel", task("cancelled")), *got("get", task("cancelled"), 8)],
    "a late cancel": [*MADE, said("completed"), *got("cancel", error(7, -32602))],
    "a result": [*MADE, *got("result", {**OK, "_meta": {RELATED: {"taskId": "t"}}})],
    "an error for a result": [*MADE, *got("result", error(7, -32000))],
    "an unknown task": [*BEGIN, *got("get", error(7, -32602), name="x")],
    "a task of another session": [*BEGIN, *got("get", task("working"), name="x")],
    "a redacted task": [*BEGIN, *got("get", error(7, 0), name="mcpmock:secret:id:1")],
    "the extension": [
        *modern(),
        c2s(ask(1, "tasks/cancel", {"taskId": "x"})),
        s2c(done(1)),
    ],
    "before": [
        *opening("2025-06-18", server=ABLE),
        *LIST,
        call("required", as_task=False),
        s2c(response(1, OK)),
    ],
}


@pytest.mark.parametrize("steps", FINE.values(), ids=FINE)
def test_these_tasks_are_right(steps: list[Any]) -> None:
    """Each is much like one that is wrong."""
    assert [] == names(*steps)


def test_the_typescript_sdks_refusal_is_known() -> None:
    """It answers a call that should be a task with isError: a notice."""
    wrong = s2c(response(1, {**OK, "isError": True}))
    found = violations(*BEGIN, call("required", as_task=False), wrong)

    assert [("task-required", "error"), ("task-required-answer", "notice")] == [
        (one.rule.name, one.level.value) for one in found
    ]


def test_who_is_to_blame() -> None:
    """Calls are the client's, answers and statuses the server's."""
    found = violations(*BEGIN, call("required", as_task=False), s2c(response(1, OK)))
    assert ["client", "server"] == [one.by for one in found]
    [found_one] = violations(*MADE, said("completed"), said("working"))
    assert ("server", "$.params.status") == (found_one.by, found_one.path)


def test_over_http() -> None:
    """A task in a session over HTTP, which is polled in POSTs of their own."""
    steps: list[Any] = [
        post(1, initialize()),
        answers(1, welcome(capabilities=ABLE), mcp_session_id="s-1"),
        posted(2, INITIALIZED),
        accepts(2),
        posted(3, call("x").raw),
        answers(3, made().raw),
    ]
    for x, status in ((4, "completed"), (5, "working")):
        steps += [posted(x, got("get", {}, x)[0].raw), answers(x, response(x, task(status)))]

    assert ["task-transition"] == names(*steps, transport=HTTP)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many tasks the latest are remembered, and no other is said to be unknown."""
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    steps = [said("working", id_=name) for name in "abcd"]

    assert [] == names(*BEGIN, *steps, *got("get", error(7, 0), name="a"))
