"""Header fields that repeat a member of the body: how a value is written, and which there are."""

from __future__ import annotations

import pytest

from mcpmock.protocol.messages import Notification, Request, parse
from mcpmock.protocol.mirrored_headers import (
    decode_field,
    encode_field,
    fields_of,
    is_mirror,
    mirrored_headers,
)
from tests.support import notification, request, response

NAMES = ("add", "a b", "", " x", "x\t", "café", "\ud800", "=?base64?eA==?=", "a\nb", "\x7f", "日本")


@pytest.mark.parametrize("name", NAMES)
def test_fields_carry_any_text(name: str) -> None:
    """Any text survives its encoding as a field value."""
    field = encode_field(name)

    assert name == decode_field(field)
    assert field == field.strip()
    assert field.isascii()
    assert field.isprintable()


def test_plain_text_stays_plain() -> None:
    """Plain text is not encoded."""
    assert ("tools/call", "a b") == (encode_field("tools/call"), encode_field("a b"))
    for other in ("=?base64?!?=", "=?base64?/w==?=", "=?base64?eA==", "é"):
        assert other == decode_field(other)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (request(1, "tools/call", {"name": "é"}), ["tools/call", "é"]),
        (request(1, "prompts/get", {"name": "p"}), ["prompts/get", "p"]),
        (request(1, "resources/read", {"uri": "x://y"}), ["resources/read", "x://y"]),
        (request(1, "tasks/cancel", {"taskId": "7"}), ["tasks/cancel", "7"]),
        (request(1, "tools/call", {"uri": "x://y"}), ["tools/call"]),
        (request(1, "tools/call", {"name": 7}), ["tools/call"]),
        (request(1, "tools/list", {"name": "x"}), ["tools/list"]),
        (notification("notifications/cancelled", {"name": "x"}), ["notifications/cancelled"]),
        (response(1), []),
        (b"[]", []),
    ],
)
def test_what_a_message_goes_with(raw: bytes, expected: list[str]) -> None:
    """The version, then the method of a request or a notification, then what a request names."""
    values = [decode_field(value) for _, value in fields_of(parse(raw), "2026-07-28")]

    assert ["2026-07-28", *expected] == values
    assert expected == [decode_field(value) for _, value in fields_of(parse(raw), None)]


def test_names_of_extensions_may_be_missing() -> None:
    """The core asks for the name of a tool, not for that of a task."""
    found = []
    for method in ("tools/call", "tasks/get"):
        message = parse(request(1, method))
        assert isinstance(message, Request | Notification)
        found.append([one.required for one in mirrored_headers(message)])

    assert [[True, True, True], [True, True, False]] == found


def test_what_is_a_mirror() -> None:
    """The version is a header of earlier revisions, too."""
    names = ("mcp-method", "mcp-name", "mcp-param-city", "mcp-protocol-version", "accept")

    assert ["mcp-method", "mcp-name", "mcp-param-city"] == [*filter(is_mirror, names)]
