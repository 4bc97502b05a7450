"""`KINDS`: all kinds of fault by the names that plans give them.

The class of a kind has its name in camel case (`tool_error`, `ToolError`) and stands in the module
of its theme, which is imported when one of its kinds is first asked for: a run has one or two of
them, and all together take longer to import than a recorder takes to start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .fault import Fault

_THEMES = {
    "timing": (
        "latency delay hold pause bandwidth slicer dribble coalesce backpressure slow_close"
    ),
    "loss": "drop no_initialized never_answer_server_request sse_gap never_respond black_hole",
    "order": "duplicate reorder swap_responses respond_twice",
    "connection": (
        "limit_data reset_peer half_close garbage_then_close close_before_response ignore_eof"
    ),
    "process": "exit down stdout_noise stderr_flood",
    "http": (
        "http_status session_expired empty_response malformed_chunk wrong_content_type "
        "json_instead_of_sse outage quota"
    ),
    "sse": "sse_comment_storm sse_retry sse_duplicate_id",
    "content": (
        "corrupt truncate invalid_json invalid_utf8 huge deep replace inject unsolicited_response "
        "empty wrong_id id_type_flip"
    ),
    "errors": "error initialize_error tool_error",
    "mcp": (
        "version_mismatch capability_lie list_changed_storm tool_vanishes cursor_loop "
        "progress_after_response progress_decreasing progress_unknown_token "
        "request_without_capability"
    ),
    "cancel": "cancel cancel_race",
    "auth": (
        "auth_wrong_iss auth_wrong_issuer auth_wrong_resource auth_invalid_grant auth_expire_token "
        "auth_no_registration auth_scope_loop auth_slow"
    ),
}
THEMES: Mapping[str, tuple[str, ...]] = {name: tuple(k.split()) for name, k in _THEMES.items()}
"""The kinds of each theme. A new kind is a class in the module of its theme and a word here."""
_MODULES = {
    **{kind: f"mcpmock.faults.kinds.{theme}" for theme, kinds in THEMES.items() for kind in kinds},
    "cancel_race": "mcpmock.faults.races.fault",
}


def class_name(kind: str) -> str:
    """`ToolError` of `tool_error`."""
    return "".join(map(str.title, kind.split("_")))


class _Kinds(Mapping[str, "type[Fault]"]):
    """The classes, each imported when it is asked for."""

    def __getitem__(self, kind: str) -> type[Fault]:
        found: type[Fault] = getattr(import_module(_MODULES[kind]), class_name(kind))
        return found

    def __contains__(self, kind: object) -> bool:
        return kind in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_MODULES))

    def __len__(self) -> int:
        return len(_MODULES)


KINDS: Mapping[str, type[Fault]] = _Kinds()
