"""Notifications that a stub sends of its own accord."""

from __future__ import annotations

from mcpmock.protocol.messages import decode
from mcpmock.stubs.announcements import messages_for_listener, timed_messages
from mcpmock.stubs.script import StubMessage, StubScript
from tests.support import notification

TOOLS = StubMessage("notifications/tools/list_changed", None, 1.0)
UPDATED = StubMessage("notifications/resources/updated", {"uri": "a:b"}, 2.0)
LOG = StubMessage("notifications/message", {"level": "info", "data": "x"})


def test_timed_messages() -> None:
    """Each is sent its delay after the one before."""
    assert [
        (1.0, notification("notifications/tools/list_changed")),
        (3.0, notification("notifications/resources/updated", {"uri": "a:b"})),
    ] == timed_messages([TOOLS, UPDATED])


def test_messages_for_a_listener() -> None:
    """First what it will hear, of what it asked for; all of it with its id as it is spelled."""
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourceSubscriptions": ["a:b"],
    }
    script = StubScript(announcements=[TOOLS, UPDATED, LOG])
    uris, timed = messages_for_listener(script, b'"l-1"', {"notifications": wanted})
    said = [decode(raw) for _, raw in timed]

    assert ["a:b"] == uris
    assert [0.0, 1.0, 3.0] == [after for after, _ in timed]
    assert {"toolsListChanged": True, "resourceSubscriptions": ["a:b"]} == (
        said[0]["params"]["notifications"]
    )
    assert {"l-1"} == {s["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for s in said}
    assert b'"uri":"a:b"' in timed[2][1]


def test_to_one_that_wants_nothing() -> None:
    """It is told so."""
    for params in ({}, {"notifications": {"resourceSubscriptions": ["a:b"]}}):
        script = StubScript(announcements=[TOOLS])
        _, [(_, raw)] = messages_for_listener(script, b"1.0", params)

        assert b'subscriptionId":1.0}' in raw
        assert {} == decode(raw)["params"]["notifications"]
