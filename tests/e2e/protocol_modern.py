"""The modern era over Streamable HTTP: no sessions, everything in the request, streams only where
an answer needs one.  See protocol_suite.py."""

from __future__ import annotations

import json
from typing import Any

from tests.support.raw_http import Exchange

from .protocol_suite import Talk, call, request, suite

modern = suite("streamable-http")
REVISION = "2026-07-28"
_META = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def enveloped(talk: Talk, message: dict[str, Any], revision: str = REVISION) -> dict[str, Any]:
    """The message with all that the modern era wants in it."""
    params = message.get("params", {})
    meta = {
        f"{_META}protocolVersion": revision,
        f"{_META}clientInfo": {"name": talk.name, "version": "1"},
        f"{_META}clientCapabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
        f"{_META}logLevel": "info",
        **params.get("_meta", {}),
    }
    return {**message, "params": {**params, "_meta": meta}}


def send(talk: Talk, message: dict[str, Any], **headers: str | None) -> Exchange:
    """Send a message of the modern era with the headers that it is to have."""
    whole = enveloped(talk, message)
    method = whole["method"]
    usual: dict[str, str | None] = {"mcp_protocol_version": REVISION, "mcp_method": method}
    if method in NAMED:
        usual["mcp_name"] = whole["params"].get(NAMED[method])
    return talk.post(whole, **{**usual, **headers})


@modern
def discover(talk: Talk) -> None:
    talk.hear(send(talk, request("probe", "server/discover")))


@modern
def lists_and_reads(talk: Talk) -> None:
    talk.hear(send(talk, request(1, "tools/list")))
    talk.hear(send(talk, request(2, "resources/read", {"uri": "note://topic"})))
    params = {"name": "greet", "arguments": {"name": "naïve ☃"}}
    talk.hear(send(talk, request(3, "prompts/get", params)))


@modern
def a_call_answered_in_json(talk: Talk) -> None:
    talk.hear(send(talk, call(1, "add", a=1, b=0.5)))


@modern
def a_call_answered_in_events(talk: Talk) -> None:
    talk.hear(send(talk, call(1, "countdown", progress=True, start=3)))


@modern
def a_call_that_fails(talk: Talk) -> None:
    talk.hear(send(talk, call(1, "fail")))
    talk.hear(send(talk, call(2, "no-such-tool")))
    talk.hear(send(talk, call(3, "ask_model", text="What is it?")))


@modern
def no_envelope(talk: Talk) -> None:
    headers = {"mcp_protocol_version": REVISION, "mcp_method": "tools/list"}
    talk.hear(talk.post(request(1, "tools/list"), **headers))


@modern
def headers_that_do_not_match(talk: Talk) -> None:
    talk.hear(send(talk, request(1, "tools/list"), mcp_protocol_version="2025-11-25"))
    talk.hear(send(talk, request(2, "tools/list"), mcp_method="tools/call"))
    talk.hear(send(talk, call(3, "add", a=1, b=2), mcp_name="subtract"))
    talk.hear(send(talk, call(4, "add", a=1, b=2), mcp_name=None))
    talk.hear(send(talk, call(5, "add", a=1, b=2), mcp_name="  add "))


@modern
def a_revision_that_nobody_has(talk: Talk) -> None:
    message = enveloped(talk, request(1, "tools/list"), "2999-01-01")
    headers = {"mcp_protocol_version": "2999-01-01", "mcp_method": "tools/list"}
    talk.hear(talk.post(message, **headers))


@modern
def methods_of_the_other_era(talk: Talk) -> None:
    for number, method in enumerate(("ping", "logging/setLevel", "no/such/method")):
        talk.hear(send(talk, request(number, method)))
    talk.hear(talk.send("GET", mcp_protocol_version=REVISION))
    talk.hear(talk.send("DELETE", mcp_protocol_version=REVISION))


@modern
def a_notification(talk: Talk) -> None:
    talk.hear(send(talk, request(None, "notifications/cancelled", {"requestId": 1})))


@modern
def a_batch_of_the_modern_era(talk: Talk) -> None:
    batch = [enveloped(talk, request(number, "tools/list")) for number in (1, 2)]
    talk.hear(talk.post(batch, mcp_protocol_version=REVISION, mcp_method="tools/list"))


@modern
def a_question_in_rounds(talk: Talk) -> None:
    answers = {
        "elicitation/create": {"action": "accept", "content": {"name": "Ada", "integer": 1}},
        "sampling/createMessage": {
            "role": "assistant",
            "content": {"type": "text", "text": "42"},
            "model": "none",
        },
        "roots/list": {"roots": [{"uri": "file:///tmp"}]},
    }
    message = call(1, "consult", topic="the weather")
    for round_ in range(2, 6):
        exchange = send(talk, message)
        entry = talk.head(exchange)
        entry["body"] = answer = json.loads(exchange.rest())
        questions = answer.get("result", {}).get("inputRequests")
        if not questions:
            break
        message = call(round_, "consult", topic="the weather")
        message["params"]["inputResponses"] = {
            key: answers[question["method"]] for key, question in questions.items()
        }
        if state := answer["result"].get("requestState"):
            message["params"]["requestState"] = state


@modern
def a_subscription(talk: Talk) -> None:
    wanted = {"notifications": {"resourceSubscriptions": ["note://topic"]}}
    with send(talk, request("listen-1", "subscriptions/listen", wanted)) as stream:
        entry = talk.head(stream)
        talk.events(stream, entry, upto=1)
        talk.hear(send(talk, call(2, "touch")))
        talk.events(stream, entry, upto=1)


@modern
def a_call_that_is_dropped(talk: Talk) -> None:
    with send(talk, call(1, "countdown", progress=True, start=50)) as exchange:
        talk.hear(exchange, upto=3)
    talk.hear(send(talk, call(2, "add", a=1, b=2)))


@modern
def two_calls_in_parallel(talk: Talk) -> None:
    slow = send(talk, call(1, "countdown", progress=True, start=5))
    talk.hear(slow, upto=2)
    talk.hear(send(talk, call(2, "add", a=1, b=2)))
    talk.events(slow, talk.said[0])
