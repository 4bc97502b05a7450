"""All kinds of fault by the names that plans give them. A new kind is a module and a line here."""

from __future__ import annotations

from .backpressure import Backpressure
from .bandwidth import Bandwidth
from .black_hole import BlackHole
from .cancel import Cancel
from .cancel_race import CancelRace
from .capability_lie import CapabilityLie
from .close_before_response import CloseBeforeResponse
from .coalesce import Coalesce
from .corrupt import Corrupt
from .cursor_loop import CursorLoop
from .deep import Deep
from .delay import Delay
from .down import Down
from .dribble import Dribble
from .drop import Drop
from .duplicate import Duplicate
from .empty import Empty
from .empty_response import EmptyResponse
from .error import Error
from .exit import Exit
from .fault import Fault
from .garbage_then_close import GarbageThenClose
from .half_close import HalfClose
from .hold import Hold
from .http_status import HttpStatus
from .huge import Huge
from .id_type_flip import IdTypeFlip
from .ignore_eof import IgnoreEof
from .initialize_error import InitializeError
from .inject import Inject
from .invalid_json import InvalidJson
from .invalid_utf8 import InvalidUtf8
from .json_instead_of_sse import JsonInsteadOfSse
from .latency import Latency
from .limit_data import LimitData
from .list_changed_storm import ListChangedStorm
from .malformed_chunk import MalformedChunk
from .never_answer_server_request import NeverAnswerServerRequest
from .never_respond import NeverRespond
from .no_initialized import NoInitialized
from .outage import Outage
from .pause import Pause
from .progress_after_response import ProgressAfterResponse
from .progress_decreasing import ProgressDecreasing
from .progress_unknown_token import ProgressUnknownToken
from .quota import Quota
from .reorder import Reorder
from .replace import Replace
from .request_without_capability import RequestWithoutCapability
from .reset_peer import ResetPeer
from .respond_twice import RespondTwice
from .session_expired import SessionExpired
from .slicer import Slicer
from .slow_close import SlowClose
from .sse_comment_storm import SseCommentStorm
from .sse_duplicate_id import SseDuplicateId
from .sse_gap import SseGap
from .sse_retry import SseRetry
from .stderr_flood import StderrFlood
from .stdout_noise import StdoutNoise
from .swap_responses import SwapResponses
from .tool_error import ToolError
from .tool_vanishes import ToolVanishes
from .truncate import Truncate
from .unsolicited_response import UnsolicitedResponse
from .version_mismatch import VersionMismatch
from .wrong_content_type import WrongContentType
from .wrong_id import WrongId

KINDS: dict[str, type[Fault]] = {
    fault.kind: fault
    for fault in (
        Backpressure,
        Bandwidth,
        BlackHole,
        Cancel,
        CancelRace,
        CapabilityLie,
        CloseBeforeResponse,
        Coalesce,
        Corrupt,
        CursorLoop,
        Deep,
        Delay,
        Down,
        Dribble,
        Drop,
        Duplicate,
        Empty,
        EmptyResponse,
        Error,
        Exit,
        GarbageThenClose,
        HalfClose,
        Hold,
        HttpStatus,
        Huge,
        IdTypeFlip,
        IgnoreEof,
        InitializeError,
        Inject,
        InvalidJson,
        InvalidUtf8,
        JsonInsteadOfSse,
        Latency,
        LimitData,
        ListChangedStorm,
        MalformedChunk,
        NeverAnswerServerRequest,
        NeverRespond,
        NoInitialized,
        Outage,
        Pause,
        ProgressAfterResponse,
        ProgressDecreasing,
        ProgressUnknownToken,
        Quota,
        Reorder,
        Replace,
        RequestWithoutCapability,
        ResetPeer,
        RespondTwice,
        SessionExpired,
        Slicer,
        SlowClose,
        SseCommentStorm,
        SseDuplicateId,
        SseGap,
        SseRetry,
        StderrFlood,
        StdoutNoise,
        SwapResponses,
        ToolError,
        ToolVanishes,
        Truncate,
        UnsolicitedResponse,
        VersionMismatch,
        WrongContentType,
        WrongId,
    )
}
