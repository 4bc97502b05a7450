"""The faults of a plan, as classes: what `mcpmock.serve(..., faults=...)` and the rest take.

    >>> from mcpmock.faults import Latency, Match, ToolError
    >>> slow, broken = Latency(latency="250ms"), ToolError(match=Match(tool="get_*", nth=2))
    >>> with mcpmock.serve("weather.jsonl", faults=[slow, broken], seed=7) as server:
    ...     [fault.kind for fault in server.faults.faults]
    ['latency', 'tool_error']

There is a class for each kind; its fields are the knobs of a plan, by the same names. A duration is
in seconds or `"250ms"`, a size in bytes or `"64KiB"`, and `match` a `Match` or a table of its keys.
`load` reads a plan from a file, `parse` a fault from its shorthand.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpmock.faults.control import FaultControl
    from mcpmock.faults.kinds.backpressure import Backpressure
    from mcpmock.faults.kinds.bandwidth import Bandwidth
    from mcpmock.faults.kinds.black_hole import BlackHole
    from mcpmock.faults.kinds.cancel import Cancel
    from mcpmock.faults.kinds.capability_lie import CapabilityLie
    from mcpmock.faults.kinds.close_before_response import CloseBeforeResponse
    from mcpmock.faults.kinds.coalesce import Coalesce
    from mcpmock.faults.kinds.corrupt import Corrupt
    from mcpmock.faults.kinds.cursor_loop import CursorLoop
    from mcpmock.faults.kinds.deep import Deep
    from mcpmock.faults.kinds.delay import Delay
    from mcpmock.faults.kinds.down import Down
    from mcpmock.faults.kinds.dribble import Dribble
    from mcpmock.faults.kinds.drop import Drop
    from mcpmock.faults.kinds.duplicate import Duplicate
    from mcpmock.faults.kinds.empty import Empty
    from mcpmock.faults.kinds.empty_response import EmptyResponse
    from mcpmock.faults.kinds.error import Error
    from mcpmock.faults.kinds.exit import Exit
    from mcpmock.faults.kinds.garbage_then_close import GarbageThenClose
    from mcpmock.faults.kinds.half_close import HalfClose
    from mcpmock.faults.kinds.hold import Hold
    from mcpmock.faults.kinds.http_status import HttpStatus
    from mcpmock.faults.kinds.huge import Huge
    from mcpmock.faults.kinds.id_type_flip import IdTypeFlip
    from mcpmock.faults.kinds.ignore_eof import IgnoreEof
    from mcpmock.faults.kinds.initialize_error import InitializeError
    from mcpmock.faults.kinds.inject import Inject
    from mcpmock.faults.kinds.invalid_json import InvalidJson
    from mcpmock.faults.kinds.invalid_utf8 import InvalidUtf8
    from mcpmock.faults.kinds.json_instead_of_sse import JsonInsteadOfSse
    from mcpmock.faults.kinds.latency import Latency
    from mcpmock.faults.kinds.limit_data import LimitData
    from mcpmock.faults.kinds.list_changed_storm import ListChangedStorm
    from mcpmock.faults.kinds.malformed_chunk import MalformedChunk
    from mcpmock.faults.kinds.never_answer_server_request import NeverAnswerServerRequest
    from mcpmock.faults.kinds.never_respond import NeverRespond
    from mcpmock.faults.kinds.no_initialized import NoInitialized
    from mcpmock.faults.kinds.outage import Outage
    from mcpmock.faults.kinds.pause import Pause
    from mcpmock.faults.kinds.progress_after_response import ProgressAfterResponse
    from mcpmock.faults.kinds.progress_decreasing import ProgressDecreasing
    from mcpmock.faults.kinds.progress_unknown_token import ProgressUnknownToken
    from mcpmock.faults.kinds.quota import Quota
    from mcpmock.faults.kinds.reorder import Reorder
    from mcpmock.faults.kinds.replace import Replace
    from mcpmock.faults.kinds.request_without_capability import RequestWithoutCapability
    from mcpmock.faults.kinds.reset_peer import ResetPeer
    from mcpmock.faults.kinds.respond_twice import RespondTwice
    from mcpmock.faults.kinds.session_expired import SessionExpired
    from mcpmock.faults.kinds.slicer import Slicer
    from mcpmock.faults.kinds.slow_close import SlowClose
    from mcpmock.faults.kinds.sse_comment_storm import SseCommentStorm
    from mcpmock.faults.kinds.sse_duplicate_id import SseDuplicateId
    from mcpmock.faults.kinds.sse_gap import SseGap
    from mcpmock.faults.kinds.sse_retry import SseRetry
    from mcpmock.faults.kinds.stderr_flood import StderrFlood
    from mcpmock.faults.kinds.stdout_noise import StdoutNoise
    from mcpmock.faults.kinds.swap_responses import SwapResponses
    from mcpmock.faults.kinds.tool_error import ToolError
    from mcpmock.faults.kinds.tool_vanishes import ToolVanishes
    from mcpmock.faults.kinds.truncate import Truncate
    from mcpmock.faults.kinds.unsolicited_response import UnsolicitedResponse
    from mcpmock.faults.kinds.version_mismatch import VersionMismatch
    from mcpmock.faults.kinds.wrong_content_type import WrongContentType
    from mcpmock.faults.kinds.wrong_id import WrongId
    from mcpmock.faults.races.fault import CancelRace

    from .fault import Fault, PlanError
    from .match import Match
    from .plan import Plan
    from .receipts import Armed

__all__ = [
    "Armed",
    "Backpressure",
    "Bandwidth",
    "BlackHole",
    "Cancel",
    "CancelRace",
    "CapabilityLie",
    "CloseBeforeResponse",
    "Coalesce",
    "Corrupt",
    "CursorLoop",
    "Deep",
    "Delay",
    "Down",
    "Dribble",
    "Drop",
    "Duplicate",
    "Empty",
    "EmptyResponse",
    "Error",
    "Exit",
    "Fault",
    "FaultControl",
    "GarbageThenClose",
    "HalfClose",
    "Hold",
    "HttpStatus",
    "Huge",
    "IdTypeFlip",
    "IgnoreEof",
    "InitializeError",
    "Inject",
    "InvalidJson",
    "InvalidUtf8",
    "JsonInsteadOfSse",
    "Latency",
    "LimitData",
    "ListChangedStorm",
    "MalformedChunk",
    "Match",
    "NeverAnswerServerRequest",
    "NeverRespond",
    "NoInitialized",
    "Outage",
    "Pause",
    "Plan",
    "PlanError",
    "ProgressAfterResponse",
    "ProgressDecreasing",
    "ProgressUnknownToken",
    "Quota",
    "Reorder",
    "Replace",
    "RequestWithoutCapability",
    "ResetPeer",
    "RespondTwice",
    "SessionExpired",
    "Slicer",
    "SlowClose",
    "SseCommentStorm",
    "SseDuplicateId",
    "SseGap",
    "SseRetry",
    "StderrFlood",
    "StdoutNoise",
    "SwapResponses",
    "ToolError",
    "ToolVanishes",
    "Truncate",
    "UnsolicitedResponse",
    "VersionMismatch",
    "WrongContentType",
    "WrongId",
    "load",
    "parse",
]

_PLACES = {
    "Armed": "mcpmock.faults.receipts",
    "Backpressure": "mcpmock.faults.kinds.backpressure",
    "Bandwidth": "mcpmock.faults.kinds.bandwidth",
    "BlackHole": "mcpmock.faults.kinds.black_hole",
    "Cancel": "mcpmock.faults.kinds.cancel",
    "CancelRace": "mcpmock.faults.races.fault",
    "CapabilityLie": "mcpmock.faults.kinds.capability_lie",
    "CloseBeforeResponse": "mcpmock.faults.kinds.close_before_response",
    "Coalesce": "mcpmock.faults.kinds.coalesce",
    "Corrupt": "mcpmock.faults.kinds.corrupt",
    "CursorLoop": "mcpmock.faults.kinds.cursor_loop",
    "Deep": "mcpmock.faults.kinds.deep",
    "Delay": "mcpmock.faults.kinds.delay",
    "Down": "mcpmock.faults.kinds.down",
    "Dribble": "mcpmock.faults.kinds.dribble",
    "Drop": "mcpmock.faults.kinds.drop",
    "Duplicate": "mcpmock.faults.kinds.duplicate",
    "Empty": "mcpmock.faults.kinds.empty",
    "EmptyResponse": "mcpmock.faults.kinds.empty_response",
    "Error": "mcpmock.faults.kinds.error",
    "Exit": "mcpmock.faults.kinds.exit",
    "Fault": "mcpmock.faults.fault",
    "FaultControl": "mcpmock.faults.control",
    "GarbageThenClose": "mcpmock.faults.kinds.garbage_then_close",
    "HalfClose": "mcpmock.faults.kinds.half_close",
    "Hold": "mcpmock.faults.kinds.hold",
    "HttpStatus": "mcpmock.faults.kinds.http_status",
    "Huge": "mcpmock.faults.kinds.huge",
    "IdTypeFlip": "mcpmock.faults.kinds.id_type_flip",
    "IgnoreEof": "mcpmock.faults.kinds.ignore_eof",
    "InitializeError": "mcpmock.faults.kinds.initialize_error",
    "Inject": "mcpmock.faults.kinds.inject",
    "InvalidJson": "mcpmock.faults.kinds.invalid_json",
    "InvalidUtf8": "mcpmock.faults.kinds.invalid_utf8",
    "JsonInsteadOfSse": "mcpmock.faults.kinds.json_instead_of_sse",
    "Latency": "mcpmock.faults.kinds.latency",
    "LimitData": "mcpmock.faults.kinds.limit_data",
    "ListChangedStorm": "mcpmock.faults.kinds.list_changed_storm",
    "MalformedChunk": "mcpmock.faults.kinds.malformed_chunk",
    "Match": "mcpmock.faults.match",
    "NeverAnswerServerRequest": "mcpmock.faults.kinds.never_answer_server_request",
    "NeverRespond": "mcpmock.faults.kinds.never_respond",
    "NoInitialized": "mcpmock.faults.kinds.no_initialized",
    "Outage": "mcpmock.faults.kinds.outage",
    "Pause": "mcpmock.faults.kinds.pause",
    "Plan": "mcpmock.faults.plan",
    "PlanError": "mcpmock.faults.fault",
    "ProgressAfterResponse": "mcpmock.faults.kinds.progress_after_response",
    "ProgressDecreasing": "mcpmock.faults.kinds.progress_decreasing",
    "ProgressUnknownToken": "mcpmock.faults.kinds.progress_unknown_token",
    "Quota": "mcpmock.faults.kinds.quota",
    "Reorder": "mcpmock.faults.kinds.reorder",
    "Replace": "mcpmock.faults.kinds.replace",
    "RequestWithoutCapability": "mcpmock.faults.kinds.request_without_capability",
    "ResetPeer": "mcpmock.faults.kinds.reset_peer",
    "RespondTwice": "mcpmock.faults.kinds.respond_twice",
    "SessionExpired": "mcpmock.faults.kinds.session_expired",
    "Slicer": "mcpmock.faults.kinds.slicer",
    "SlowClose": "mcpmock.faults.kinds.slow_close",
    "SseCommentStorm": "mcpmock.faults.kinds.sse_comment_storm",
    "SseDuplicateId": "mcpmock.faults.kinds.sse_duplicate_id",
    "SseGap": "mcpmock.faults.kinds.sse_gap",
    "SseRetry": "mcpmock.faults.kinds.sse_retry",
    "StderrFlood": "mcpmock.faults.kinds.stderr_flood",
    "StdoutNoise": "mcpmock.faults.kinds.stdout_noise",
    "SwapResponses": "mcpmock.faults.kinds.swap_responses",
    "ToolError": "mcpmock.faults.kinds.tool_error",
    "ToolVanishes": "mcpmock.faults.kinds.tool_vanishes",
    "Truncate": "mcpmock.faults.kinds.truncate",
    "UnsolicitedResponse": "mcpmock.faults.kinds.unsolicited_response",
    "VersionMismatch": "mcpmock.faults.kinds.version_mismatch",
    "WrongContentType": "mcpmock.faults.kinds.wrong_content_type",
    "WrongId": "mcpmock.faults.kinds.wrong_id",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'mcpmock.faults' has no attribute {name!r}")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def load(path: Path | str | os.PathLike[str], *, seed: int | None = None) -> Plan:
    """The plan in a TOML file; `seed` overrules the file's.

    Raises PlanError with all mistakes, and CassetteError for a recording that a fault draws from.

    >>> plan = mcpmock.faults.load("slow.toml", seed=8)
    >>> plan.seed, plan.faults[0].latency
    (8, 0.25)
    """
    from mcpmock.faults.plan_files import load_plan

    return load_plan(Path(path), (), seed)


def parse(shorthand: str) -> Fault:
    """A fault from what `--fault` takes: `KIND:KEY=VALUE,KEY=VALUE`. Raises PlanError with all
    mistakes.

    >>> fault = mcpmock.faults.parse("latency:latency=250ms,tool=get_*")
    >>> fault == mcpmock.faults.Latency(latency="250ms", match={"tool": "get_*"})
    True
    """
    from .plan_parser import fault_of

    return fault_of(shorthand)
