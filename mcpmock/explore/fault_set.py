"""The faults that are tried at each message, with knobs that make a run short, and what a correct
peer does about each.

A knob that waits is a twentieth of a second: longer than any order of messages needs, and two
thousand runs of it are two minutes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import attrs

from mcpmock.errors import McpMockError
from mcpmock.faults.registry import KINDS
from mcpmock.faults.segments import On
from mcpmock.printable import did_you_mean

SHORT_S = 0.05
Side = Literal["server", "client"]


@attrs.frozen
class TriedKind:
    """A kind of fault as it is tried. `group` is its word in `--faults`."""

    kind: str
    group: str
    knobs: Mapping[str, Any] = attrs.field(factory=dict)
    benign: bool = False
    """A correct peer answers everything as recorded."""
    ends: bool = False
    """The session is over behind it."""
    spoils: bool = False
    """The message may be more than a correct peer reads: it need not be answered, and the answer to
    it need not be understood."""
    on: On = On.MESSAGE
    asked: bool = False
    """It acts on what the client asks: the fake server answers otherwise, or not at all."""


_TIMING = (
    TriedKind("latency", "wire", {"latency": SHORT_S}, benign=True),
    TriedKind("slicer", "wire", {"size": 16, "delay": 0.001}, benign=True),
    TriedKind("coalesce", "wire", {"time": SHORT_S}, benign=True),
    TriedKind("delay", "messages", {"delay": SHORT_S}, benign=True),
)
_READ = On.REQUEST | On.RESPONSE | On.NOTIFICATION
_CUTS = (
    TriedKind("limit_data", "wire", ends=True),
    TriedKind("reset_peer", "wire", ends=True),
    TriedKind("garbage_then_close", "wire", ends=True),
)
_CONTENT = (
    TriedKind("corrupt", "wire", spoils=True),
    TriedKind("truncate", "wire", spoils=True),
    TriedKind("invalid_json", "wire", spoils=True),
    TriedKind("invalid_utf8", "wire", spoils=True),
    TriedKind("drop", "messages"),
    TriedKind("duplicate", "messages"),
    TriedKind("huge", "messages", {"size": 1 << 20}, spoils=True, on=_READ),
    TriedKind("deep", "messages", {"depth": 1000}, spoils=True, on=_READ),
    TriedKind("unsolicited_response", "messages"),
    TriedKind("never_respond", "messages", on=On.RESPONSE),
    TriedKind("respond_twice", "messages", on=On.RESPONSE),
    TriedKind("empty", "messages", on=On.RESPONSE),
    TriedKind("wrong_id", "messages", on=On.RESPONSE),
    TriedKind("id_type_flip", "messages", on=On.RESPONSE),
)
CANCEL_TARGETS = ("twice", "unknown", "finished", "other_type", "no_id")
TOWARD_SERVER: Sequence[TriedKind] = (*_TIMING, *_CONTENT, *_CUTS)
TOWARD_CLIENT: Sequence[TriedKind] = (
    *_TIMING,
    TriedKind("sse_comment_storm", "http", {"count": 100}, benign=True),
    *_CONTENT,
    TriedKind("error", "messages", on=On.REQUEST, asked=True),
    TriedKind("tool_error", "messages", on=On.REQUEST, asked=True),
    TriedKind("version_mismatch", "mcp", on=On.RESPONSE),
    TriedKind("capability_lie", "mcp", on=On.RESPONSE),
    TriedKind("list_changed_storm", "mcp", {"count": 20}, benign=True, on=On.RESPONSE),
    TriedKind("progress_after_response", "mcp", benign=True, on=On.RESPONSE),
    TriedKind("progress_decreasing", "mcp", benign=True, on=On.NOTIFICATION),
    TriedKind("progress_unknown_token", "mcp", benign=True, on=On.NOTIFICATION),
    TriedKind("request_without_capability", "mcp", on=On.RESPONSE),
    TriedKind("http_status", "http", on=On.REQUEST, asked=True),
    TriedKind("session_expired", "http", on=On.REQUEST, asked=True),
    TriedKind("empty_response", "http", on=On.REQUEST, asked=True),
    TriedKind("malformed_chunk", "http", on=On.REQUEST, asked=True),
    TriedKind("wrong_content_type", "http", on=On.RESPONSE),
    TriedKind("close_before_response", "http", on=On.RESPONSE),
    *_CUTS,
    TriedKind("exit", "wire", ends=True, on=On.REQUEST, asked=True),
)
_GROUPS = ("wire", "messages", "http", "mcp")


def chosen_kinds(words: str, side: Side) -> list[TriedKind]:
    """Return the kinds that `--faults` names: `all`, `none`, groups and kinds, with commas. Raises
    McpMockError for an unknown word.
    """
    tried = TOWARD_SERVER if side == "server" else TOWARD_CLIENT
    wanted = {word.strip() for word in words.split(",")} - {"", "none"}
    known: Collection[str] = {"all", "cancel", *_GROUPS, *(one.kind for one in tried)}
    for word in sorted(wanted - set(known)):
        if word in KINDS:
            raise McpMockError(f"{word}: is not tried toward a {side}; inject it with --fault")
        near = did_you_mean(word, known, most=2) or ";"
        raise McpMockError(f"{word}: no kind of fault{near} `mcpmock faults` lists all kinds")
    return [one for one in tried if wanted & {"all", one.group, one.kind}]


def tries_cancels(words: str) -> bool:
    """Return whether `--faults` leaves the cancels in: kinds that are named are tried alone."""
    named = {word.strip() for word in words.split(",")} - {"", "none"}
    return not named or bool(named & {"all", "cancel"})
