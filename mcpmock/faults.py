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
from pathlib import Path

from mcpmock.api.faulting import FaultControl
from mcpmock.modes.faulting import load_plan
from mcpmock.pipeline.faults.backpressure import Backpressure
from mcpmock.pipeline.faults.bandwidth import Bandwidth
from mcpmock.pipeline.faults.black_hole import BlackHole
from mcpmock.pipeline.faults.cancel import Cancel
from mcpmock.pipeline.faults.cancel_race import CancelRace
from mcpmock.pipeline.faults.capability_lie import CapabilityLie
from mcpmock.pipeline.faults.close_before_response import CloseBeforeResponse
from mcpmock.pipeline.faults.coalesce import Coalesce
from mcpmock.pipeline.faults.corrupt import Corrupt
from mcpmock.pipeline.faults.cursor_loop import CursorLoop
from mcpmock.pipeline.faults.deep import Deep
from mcpmock.pipeline.faults.delay import Delay
from mcpmock.pipeline.faults.down import Down
from mcpmock.pipeline.faults.dribble import Dribble
from mcpmock.pipeline.faults.drop import Drop
from mcpmock.pipeline.faults.duplicate import Duplicate
from mcpmock.pipeline.faults.empty import Empty
from mcpmock.pipeline.faults.empty_response import EmptyResponse
from mcpmock.pipeline.faults.error import Error
from mcpmock.pipeline.faults.exit import Exit
from mcpmock.pipeline.faults.fault import Fault, PlanError
from mcpmock.pipeline.faults.garbage_then_close import GarbageThenClose
from mcpmock.pipeline.faults.half_close import HalfClose
from mcpmock.pipeline.faults.hold import Hold
from mcpmock.pipeline.faults.http_status import HttpStatus
from mcpmock.pipeline.faults.huge import Huge
from mcpmock.pipeline.faults.id_type_flip import IdTypeFlip
from mcpmock.pipeline.faults.ignore_eof import IgnoreEof
from mcpmock.pipeline.faults.initialize_error import InitializeError
from mcpmock.pipeline.faults.inject import Inject
from mcpmock.pipeline.faults.invalid_json import InvalidJson
from mcpmock.pipeline.faults.invalid_utf8 import InvalidUtf8
from mcpmock.pipeline.faults.json_instead_of_sse import JsonInsteadOfSse
from mcpmock.pipeline.faults.latency import Latency
from mcpmock.pipeline.faults.limit_data import LimitData
from mcpmock.pipeline.faults.list_changed_storm import ListChangedStorm
from mcpmock.pipeline.faults.malformed_chunk import MalformedChunk
from mcpmock.pipeline.faults.match import Match
from mcpmock.pipeline.faults.never_answer_server_request import NeverAnswerServerRequest
from mcpmock.pipeline.faults.never_respond import NeverRespond
from mcpmock.pipeline.faults.no_initialized import NoInitialized
from mcpmock.pipeline.faults.outage import Outage
from mcpmock.pipeline.faults.pause import Pause
from mcpmock.pipeline.faults.plan import Plan
from mcpmock.pipeline.faults.progress_after_response import ProgressAfterResponse
from mcpmock.pipeline.faults.progress_decreasing import ProgressDecreasing
from mcpmock.pipeline.faults.progress_unknown_token import ProgressUnknownToken
from mcpmock.pipeline.faults.quota import Quota
from mcpmock.pipeline.faults.receipts import Armed
from mcpmock.pipeline.faults.reorder import Reorder
from mcpmock.pipeline.faults.replace import Replace
from mcpmock.pipeline.faults.request_without_capability import RequestWithoutCapability
from mcpmock.pipeline.faults.reset_peer import ResetPeer
from mcpmock.pipeline.faults.respond_twice import RespondTwice
from mcpmock.pipeline.faults.session_expired import SessionExpired
from mcpmock.pipeline.faults.slicer import Slicer
from mcpmock.pipeline.faults.slow_close import SlowClose
from mcpmock.pipeline.faults.sse_comment_storm import SseCommentStorm
from mcpmock.pipeline.faults.sse_duplicate_id import SseDuplicateId
from mcpmock.pipeline.faults.sse_gap import SseGap
from mcpmock.pipeline.faults.sse_retry import SseRetry
from mcpmock.pipeline.faults.stderr_flood import StderrFlood
from mcpmock.pipeline.faults.stdout_noise import StdoutNoise
from mcpmock.pipeline.faults.structure import fault_of
from mcpmock.pipeline.faults.swap_responses import SwapResponses
from mcpmock.pipeline.faults.tool_error import ToolError
from mcpmock.pipeline.faults.tool_vanishes import ToolVanishes
from mcpmock.pipeline.faults.truncate import Truncate
from mcpmock.pipeline.faults.unsolicited_response import UnsolicitedResponse
from mcpmock.pipeline.faults.version_mismatch import VersionMismatch
from mcpmock.pipeline.faults.wrong_content_type import WrongContentType
from mcpmock.pipeline.faults.wrong_id import WrongId

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


def load(path: Path | str | os.PathLike[str], *, seed: int | None = None) -> Plan:
    """The plan in a TOML file; `seed` overrules the file's.

    Raises PlanError with all mistakes, and CassetteError for a recording that a fault draws from.

    >>> plan = mcpmock.faults.load("slow.toml", seed=8)
    >>> plan.seed, plan.faults[0].latency
    (8, 0.25)
    """
    return load_plan(Path(path), (), seed)


def parse(shorthand: str) -> Fault:
    """A fault from what `--fault` takes: `KIND:KEY=VALUE,KEY=VALUE`. Raises PlanError with all
    mistakes.

    >>> fault = mcpmock.faults.parse("latency:latency=250ms,tool=get_*")
    >>> fault == mcpmock.faults.Latency(latency="250ms", match={"tool": "get_*"})
    True
    """
    return fault_of(shorthand)
