"""What a stub's server says of itself, in every revision, alone and in a recorded answer."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.messages import decode
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.stubs.builder import Stub
from mcpmock.stubs.catalog import needed, with_capabilities, with_listed
from tests.support import errors, request, response

from .stub_support import modern, opened, result, session

OLD = {"name": "a", "inputSchema": {"type": "object"}, "x": 1.0}
LEGACY = REVISIONS[:4]


def everything() -> Stub:
    """One of each."""
    stub = Stub("weather", version="2", instructions="Ask.")
    stub.tool("a", {"properties": {"city": {}}}, description="d").reply("1")
    stub.prompt("p", ["who"]).reply("1").resource("a:b").reply("1")
    stub.resource("a:{b}", name="of b").reply("1")
    stub.method("completion/complete").reply({"completion": {"values": []}})
    stub.announce("notifications/tools/list_changed").announce("notifications/message")
    return stub


@pytest.mark.parametrize("asked", [*LEGACY, "1999-01-01", LATEST, None])
def test_initialize(asked: str | None) -> None:
    """The revision that the client asks for, if it is one with handshakes, else the last such; and
    the capabilities that what there is needs in it.
    """
    hello = result(
        session(everything()).heard(request(1, "initialize", {"protocolVersion": asked}))
    )
    completions: dict[str, Any] = {} if asked == LEGACY[0] else {"completions": {}}

    assert {
        "protocolVersion": asked if asked in LEGACY else LAST_LEGACY,
        "serverInfo": {"name": "weather", "version": "2"},
        "instructions": "Ask.",
        "capabilities": {
            "logging": {},
            "prompts": {},
            "resources": {},
            "tools": {"listChanged": True},
            **completions,
        },
    } == hello


def test_discover() -> None:
    """The era without handshakes says the same in its own words."""
    told = result(session(everything()).heard(modern(1, "server/discover")))

    assert ([LATEST], "complete", 0) == (
        told["supportedVersions"], told["resultType"], told["ttlMs"],
    )  # fmt: skip
    assert {"completions", "logging", "prompts", "resources", "tools"} == told[
        "capabilities"
    ].keys()
    assert {"name": "weather", "version": "2"} == (
        told["_meta"]["io.modelcontextprotocol/serverInfo"]
    )


def test_one_revision_only() -> None:
    """An old server knows nothing of the new handshake, and a new one nothing of the old."""
    discover, hello = (
        modern(1, "server/discover"),
        request(2, "initialize", {"protocolVersion": LEGACY[3]}),
    )
    old, new = Stub(revision=LEGACY[1]), Stub(revision=LATEST)

    assert LEGACY[1] == result(session(old).heard(hello))["protocolVersion"]
    assert [(1, -32601)] == errors(session(old).heard(discover))
    assert [LATEST] == result(session(new).heard(discover))["supportedVersions"]
    assert [(2, -31999)] == errors(session(new).heard(hello))


LISTS = {
    "tools/list": ("tools", "a"),
    "prompts/list": ("prompts", "p"),
    "resources/list": ("resources", "a:b"),
    "resources/templates/list": ("resourceTemplates", "of b"),
}


@pytest.mark.parametrize("method", LISTS)
def test_lists(method: str) -> None:
    """All four, as often as they are asked for; in the latest revision with how long they last. A
    server that has nothing says so.
    """
    member, name = LISTS[method]
    live = opened(everything())

    for number in (1, 2):
        told = result(live.heard(request(number, method)))
        assert {member} == told.keys()
        assert [name] == [entry["name"] for entry in told[member]]
    late = result(live.heard(modern(3, method)))
    assert {member, "resultType", "ttlMs", "cacheScope", "_meta"} == late.keys()
    assert {member: []} == result(opened(Stub()).heard(request(1, method)))


def test_what_lists_say() -> None:
    """What was written, and what the protocol asks for besides."""
    stub = Stub().tool("a").reply("1").resource("a:b", mime_type="x/y").reply("1")
    live = opened(stub.tool("a", title="A").tool("b", {"required": ["x"]}))

    tools = result(live.heard(request(1, "tools/list")))["tools"]
    assert [
        {"inputSchema": {"type": "object"}, "name": "a", "title": "A"},
        {"name": "b", "inputSchema": {"type": "object", "required": ["x"]}},
    ] == tools
    assert [{"name": "a:b", "uri": "a:b", "mimeType": "x/y"}] == (
        result(live.heard(request(2, "resources/list")))["resources"]
    )


def merged(stub: Stub, *tools: dict[str, Any], first: bool = True) -> Any:
    raw = with_listed(response(1, {"tools": list(tools)}), "tools/list", stub.script, first=first)
    return decode(raw)["result"]["tools"]


def test_a_recorded_list() -> None:
    """Ours replaces the one of its name where it says anything, and comes behind else; on the first
    page only.
    """
    new = Stub().tool("a", {}).tool("b")
    whole = {"name": "a", "inputSchema": {"type": "object"}}
    b = {"inputSchema": {"type": "object"}, "name": "b"}

    assert [whole, b] == merged(new, OLD)
    assert [OLD, b] == merged(Stub().tool("a").tool("b"), OLD)
    assert [b] == merged(Stub().tool("b"))
    assert [whole] == merged(new, OLD, first=False)


def test_recorded_bytes_stay() -> None:
    """Of what changes nothing, not a byte; what is no list stays whole."""
    raw = b'{"id":1 ,"result":{"tools":[ {"name":"a","n":1.0} ],"nextCursor":"\\u0061"}}'
    for stub, first in ((Stub(), True), (Stub().tool("a"), True), (Stub().tool("b"), False)):
        assert raw == with_listed(raw, "tools/list", stub.script, first=first)
    added = with_listed(raw, "tools/list", Stub().tool("b").script, first=True)
    assert added.startswith(b'{"id":1 ,"result":{"tools":[ {"name":"a","n":1.0} ,{')
    for odd in (b'{"result":{}}', b'{"result":{"tools":1}}', b"x"):
        assert odd == with_listed(odd, "tools/list", Stub().tool("b").script, first=True)


def test_recorded_capabilities() -> None:
    """Those that are there stay as they are."""
    raw = b'{"result":{"capabilities":{"tools":{"x":1.0}}}}'
    stub = Stub().prompt("p").announce("notifications/tools/list_changed").script

    assert (
        b'{"result":{"capabilities":{"tools":{"x":1.0,"listChanged":true},"prompts":{}}}}'
    ) == with_capabilities(raw, stub, LAST_LEGACY).replace(b'"prompts":{},', b"")
    assert raw == with_capabilities(raw, Stub().tool("a").script, LAST_LEGACY)


def test_which_capabilities() -> None:
    """The table of methods says which, for each revision; what is said before replies counts."""
    stub = Stub().method("resources/subscribe").reply({}).tool("a")
    stub.notify("notifications/message").reply("1")

    paths = [["logging"], ["resources", "subscribe"], ["tools"]]
    assert paths == needed(stub.script, LAST_LEGACY)
    assert [["logging"], ["tools"]] == needed(stub.script, LATEST)


def test_log_levels() -> None:
    """A server that logs takes a level; another does not."""
    level = request(1, "logging/setLevel", {"level": "info"})

    assert {} == result(opened(everything()).heard(level))
    assert [(1, -31999)] == errors(opened(Stub()).heard(level))


@pytest.mark.parametrize(
    "stub",
    [
        Stub(capabilities={"resources": {"subscribe": True}}),
        Stub().announce("notifications/resources/updated", {"uri": "a:b"}, after=9),
        Stub().tool("a").notify("notifications/resources/updated", {"uri": "a:b"}).reply("1"),
    ],
)
def test_subscriptions(stub: Stub) -> None:
    """A server that tells of updates takes subscriptions of both eras, and another does not."""
    subscribe = request(1, "resources/subscribe", {"uri": "a:b"})
    wanted = {"resourceSubscriptions": ["a:b"]}
    [acknowledged, *_] = session(stub).heard(
        modern(2, "subscriptions/listen", notifications=wanted)
    )

    assert {} == result(opened(stub).heard(subscribe))
    assert wanted == decode(acknowledged)["params"]["notifications"]
    assert [(1, -31999)] == errors(opened(Stub()).heard(subscribe))


def test_listening() -> None:
    """In the era without sessions, and until the client leaves."""
    stub = Stub().announce("notifications/tools/list_changed", after=1)
    live = opened(stub)
    live.heard(modern(1, "server/discover"))
    heard = live.heard(modern(2, "subscriptions/listen", notifications={"toolsListChanged": True}))

    assert ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"] == [
        decode(raw)["method"] for raw in heard
    ]
