"""All kinds of fault by the names that plans give them. A new kind is a module and a line here.

A kind is imported when it is first asked for: a run has one or two of them, and all together take
longer to import than a recorder takes to start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from .fault import Fault

_NAMES = (
    "backpressure",
    "bandwidth",
    "black_hole",
    "cancel",
    "cancel_race",
    "capability_lie",
    "close_before_response",
    "coalesce",
    "corrupt",
    "cursor_loop",
    "deep",
    "delay",
    "down",
    "dribble",
    "drop",
    "duplicate",
    "empty",
    "empty_response",
    "error",
    "exit",
    "garbage_then_close",
    "half_close",
    "hold",
    "http_status",
    "huge",
    "id_type_flip",
    "ignore_eof",
    "initialize_error",
    "inject",
    "invalid_json",
    "invalid_utf8",
    "json_instead_of_sse",
    "latency",
    "limit_data",
    "list_changed_storm",
    "malformed_chunk",
    "never_answer_server_request",
    "never_respond",
    "no_initialized",
    "outage",
    "pause",
    "progress_after_response",
    "progress_decreasing",
    "progress_unknown_token",
    "quota",
    "reorder",
    "replace",
    "request_without_capability",
    "reset_peer",
    "respond_twice",
    "session_expired",
    "slicer",
    "slow_close",
    "sse_comment_storm",
    "sse_duplicate_id",
    "sse_gap",
    "sse_retry",
    "stderr_flood",
    "stdout_noise",
    "swap_responses",
    "tool_error",
    "tool_vanishes",
    "truncate",
    "unsolicited_response",
    "version_mismatch",
    "wrong_content_type",
    "wrong_id",
)


class _Kinds(Mapping[str, type[Fault]]):
    """A kind is the class of its name in the module of its name: `ToolError` in `tool_error`."""

    def __getitem__(self, kind: str) -> type[Fault]:
        if kind not in _NAMES:
            raise KeyError(kind)
        place = "races.fault" if kind == "cancel_race" else f"kinds.{kind}"
        module = import_module(f"mcpmock.faults.{place}")
        found: type[Fault] = getattr(module, "".join(map(str.title, kind.split("_"))))
        return found

    def __contains__(self, kind: object) -> bool:
        return kind in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


KINDS: Mapping[str, type[Fault]] = _Kinds()
