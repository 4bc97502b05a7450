"""A stub's server without a player: eras, questions, subscriptions, logs, waits and cancels."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, decode
from mcpmock.stubs.builder import Stub
from mcpmock.stubs.call import StubCall, StubError, StubExit, StubFailure
from mcpmock.stubs.server import StubServer
from tests.support import (
    INITIALIZE,
    Script,
    batch,
    cancelled,
    error,
    errors,
    hangs_up,
    notification,
    request,
    response,
)

from .stub_support import MODERN, VERSION, asks, opened, session, texts

META = "io.modelcontextprotocol/"
LISTEN = "subscriptions/listen"
ALL: dict[str, Any] = {"roots": {}, "sampling": {}}
STUB = Stub("all", capabilities={"resources": {"subscribe": True}, "logging": {}})


@STUB.tool("work").run
def work(call: StubCall) -> Any:
    for step in range(1, call.arguments.get("steps", 1) + 1):
        yield 1
        call.progress(step)
    return "done"


@STUB.tool("ask").run
def ask(call: StubCall) -> Any:
    listed = yield from call.ask("roots/list")
    first = yield from call.ask("sampling/createMessage", {"n": 1})
    second = yield from call.ask("sampling/createMessage", {"n": 2})
    return f"{listed.get('roots')} {first.get('text')} {second.get('text')}"


@STUB.tool("touch").run
def touch(call: StubCall) -> str:
    call.update("a:b")
    call.log("info", "touched")
    call.state["touched"] = call.state.get("touched", 0) + 1
    return f"{call.state['touched']}"


@STUB.tool("raise").run
def fail(call: StubCall) -> Any:
    raise {"error": StubError(-5, "no", 1), "fail": StubFailure("bad"), "exit": StubExit(7)}[
        call.arguments["how"]
    ]


STUB.tool("echo").reply(dict).resource("a:b").reply("1").prompt("p").reply("x")


def alone(*opening: bytes) -> Script:
    """A session of a server that is not in front of a player, behind these messages."""
    live = Script([StubServer(STUB.script)])
    for raw in opening:
        live.heard(raw)
    return live


def able(**capabilities: Any) -> bytes:
    return request(0, "initialize", {"capabilities": capabilities})


def modern(id_: Any, method: str, *, able: Any = None, meta: Any = None, **params: Any) -> bytes:
    has = {META + "clientCapabilities": able or {}}
    return request(id_, method, {**params, "_meta": {**MODERN, **has, **(meta or {})}})


def call_of(id_: Any, tool: str, **more: Any) -> bytes:
    return modern(id_, "tools/call", name=tool, **more)


def kinds(raws: list[bytes]) -> list[Any]:
    """The methods of notifications and questions, and the ids of answers."""
    return [m.get("method", m.get("id")) for m in map(decode, raws)]


def test_first_request_settles_the_era() -> None:
    """By its version or its method; a refused one settles nothing."""
    live = alone()

    assert [(1, -32022)] == errors(
        live.heard(modern(1, "tools/list", meta={VERSION: "2099-01-01"}))
    )
    assert b"resultType" not in live.heard(request(2, "tools/list"))[0]
    assert [(3, -32601)] == errors(live.heard(modern(3, "server/discover")))
    assert b'"resultType":"complete"' in alone().heard(modern(1, "tools/list"))[0]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (request(1, "tools/list"), -32602),
        (modern(1, "tools/list", meta={META + "clientCapabilities": 1}), -32602),
        *((modern(1, m), -32601) for m in ("ping", "initialize", "resources/subscribe", "x/y")),
        (call_of(1, "no"), -32602),
        (modern(1, "tools/call", name=1), -32602),
        (modern(1, "prompts/get", name="no"), -32602),
        (modern(1, "resources/read", uri="no"), -32602),
    ],
)
def test_refusals(raw: bytes, code: int) -> None:
    """What has no answer is refused as by a real server, in the era's codes."""
    assert [(1, code)] == errors(alone(modern(0, "server/discover")).heard(raw))


def test_legacy_refusals() -> None:
    """Names the method; a resource has a code of its own."""
    [raw] = alone(INITIALIZE).heard(request(1, "no/such"))

    assert {"method": "no/such"} == decode(raw)["error"]["data"]
    assert [(1, -32601)] == errors(alone(INITIALIZE).heard(request(1, LISTEN)))
    assert [(1, -32002)] == errors(
        alone(INITIALIZE).heard(request(1, "resources/read", {"uri": ""}))
    )
    assert [(1, -32602)] == errors(
        alone(INITIALIZE).heard(request(1, "logging/setLevel", {"level": "loud"}))
    )


def test_noise_and_batches() -> None:
    """What is no request is passed over; the calls of a batch are answered like calls of their own,
    in order, each under its id.
    """
    live = alone(INITIALIZE)
    for noise in (b"", b"not json", b'{"id":1}', b"[]", b"\xff", response(9, {}), cancelled(9)):
        assert [] == live.heard(noise)

    ids = [*range(20), "1", None]
    assert ids == kinds(live.heard(batch(*(asks(i, "echo") for i in ids))))


def test_waits_and_cancels() -> None:
    """Nobody waits for another's call, and a cancelled one is silent from then on."""
    live = alone(INITIALIZE)

    live.at(1, client=[asks(1, "work", "t", steps=9), asks(2, "work", steps=2)])
    live.at(
        2, to_client=notification("notifications/progress", {"progressToken": "t", "progress": 1})
    )
    live.at(2.5, client=cancelled(1))
    assert texts(live.heard(cancelled(7), 2.5)) == ["done"]


def test_end_of_the_input() -> None:
    """Ends the server at once, even if a call still waits."""
    alone(asks(1, "echo")).at(1, client=asks(2, "work")).at(
        1, client=hangs_up(C2S)
    ).hung_up().abandon()


def test_function_that_raises() -> None:
    """An error, a failed tool, the end of the server: what comes behind that is not read."""
    live = alone(INITIALIZE)

    [raw] = live.heard(asks(1, "raise", how="error"))
    assert {"code": -5, "message": "no", "data": 1} == decode(raw)["error"]
    assert ["bad"] == texts(live.heard(asks(2, "raise", how="fail")))
    both = batch(asks(4, "echo"), asks(5, "raise", how="exit"), asks(6, "echo"))
    first, end = live.heard(both)
    assert (4, b"") == (decode(first)["id"], end)
    live.hung_up()


@pytest.mark.parametrize("make", [alone, None], ids=["alone", "in front of a player"])
def test_legacy_questions(make: Any) -> None:
    """Requests of the server. Who cannot answer is not asked; who refuses makes the tool fail."""
    live = alone(able(**ALL)) if make else session(STUB)
    if not make:
        live.heard(request(0, "initialize", {"capabilities": ALL, "protocolVersion": "2025-11-25"}))

    def reply(raws: list[bytes], **result: Any) -> list[bytes]:
        return live.heard(response(decode(raws[-1])["id"], result))

    asked = live.heard(asks(1, "ask"))
    assert ["roots/list"] == kinds(asked)[:1]
    asked = reply(reply(asked, roots=[]), text="a")
    assert {"n": 2} == decode(asked[0])["params"]
    assert ["[] a b"] == texts(reply(asked, text="b"))

    [raw] = live.heard(asks(2, "ask"))
    assert ["the client refused to answer: no"] == texts(
        live.heard(error(decode(raw)["id"], -1, "no"))
    )
    [raw] = live.heard(asks(3, "ask"))
    live.heard(cancelled(3))
    assert [] == live.heard(response(decode(raw)["id"], {}))
    assert ["this client offers no roots"] == texts(alone(INITIALIZE).heard(asks(1, "ask")))


def test_modern_questions() -> None:
    """Unfinished results: the client calls again with the answer, and brings earlier answers with
    it in the state. Who cannot answer is told what it lacks.
    """
    live = alone()
    answers = {"roots": {"roots": []}, "sampling": {"text": "a"}, "sampling 2": {"text": "b"}}
    given: dict[str, Any] = {}
    for name, answer in answers.items():
        [raw] = live.heard(call_of(1, "ask", able=ALL, **given))
        asked = decode(raw)["result"]
        assert ("input_required", [name]) == (asked["resultType"], [*asked["inputRequests"]])
        given = {"inputResponses": {name: answer}}
        given |= {"requestState": asked["requestState"]} if "requestState" in asked else {}

    assert ["[] a b"] == texts(live.heard(call_of(2, "ask", able=ALL, **given)))
    [raw] = live.heard(call_of(3, "ask"))
    lacks: dict[str, Any] = {"requiredCapabilities": {"roots": {}}}
    assert (-32021, lacks) == (decode(raw)["error"]["code"], decode(raw)["error"]["data"])


def test_legacy_subscriptions_and_levels() -> None:
    """From subscribe to unsubscribe; log messages from the level on that the client chose."""
    live, uri, log = opened(STUB), {"uri": "a:b"}, "notifications/message"
    updated = "notifications/resources/updated"

    assert [log, 1] == kinds(live.heard(asks(1, "touch")))
    assert [2] == kinds(live.heard(request(2, "resources/subscribe", uri)))
    assert [3] == kinds(live.heard(request(3, "logging/setLevel", {"level": "error"})))
    assert [updated, 4] == kinds(live.heard(asks(4, "touch")))
    live.heard(request(5, "resources/unsubscribe", uri))
    assert ["3"] == texts(live.heard(asks(6, "touch")))


@pytest.mark.parametrize("wanted", [None, 7, {}, {"resourceSubscriptions": "x"}])
def test_odd_listen(wanted: Any) -> None:
    """Is acknowledged with nothing."""
    [raw] = alone().heard(modern(1, LISTEN, notifications=wanted))

    assert {} == decode(raw)["params"]["notifications"]


def test_modern_subscriptions_and_levels() -> None:
    """Tagged with the id of the listen, until that is cancelled; log messages to calls that ask."""
    wanted = {"resourceSubscriptions": ["a:b", 1], "toolsListChanged": True}
    live, level = alone(), {META + "logLevel": "info"}
    tag = {META + "subscriptionId": "l"}

    [raw] = live.heard(modern("l", LISTEN, notifications=wanted))
    assert {"_meta": tag, "notifications": {"resourceSubscriptions": ["a:b"]}} == decode(raw)[
        "params"
    ]
    first, _ = live.heard(call_of(1, "touch"))
    assert {"_meta": tag, "uri": "a:b"} == decode(first)["params"]
    live.heard(cancelled("l"))
    assert ["notifications/message", 2] == kinds(live.heard(call_of(2, "touch", meta=level)))


def test_hang_of_a_function() -> None:
    """A wait without an end is a call without an answer."""
    stub = Stub().tool("a").run(lambda _: (yield inf))

    assert [] == opened(stub).heard(asks(1, "a"))
