"""All kinds of fault by the names that plans give them. A new kind is a module and a line here."""

from __future__ import annotations

from .capability_lie import CapabilityLie
from .cursor_loop import CursorLoop
from .deep import Deep
from .delay import Delay
from .drop import Drop
from .duplicate import Duplicate
from .empty import Empty
from .error import Error
from .fault import Fault
from .hold import Hold
from .huge import Huge
from .id_type_flip import IdTypeFlip
from .initialize_error import InitializeError
from .inject import Inject
from .invalid_json import InvalidJson
from .invalid_utf8 import InvalidUtf8
from .latency import Latency
from .list_changed_storm import ListChangedStorm
from .never_answer_server_request import NeverAnswerServerRequest
from .never_respond import NeverRespond
from .no_initialized import NoInitialized
from .progress_after_response import ProgressAfterResponse
from .progress_decreasing import ProgressDecreasing
from .progress_unknown_token import ProgressUnknownToken
from .reorder import Reorder
from .replace import Replace
from .request_without_capability import RequestWithoutCapability
from .respond_twice import RespondTwice
from .swap_responses import SwapResponses
from .tool_error import ToolError
from .tool_vanishes import ToolVanishes
from .truncate import Truncate
from .unsolicited_response import UnsolicitedResponse
from .version_mismatch import VersionMismatch
from .wrong_id import WrongId

KINDS: dict[str, type[Fault]] = {
    fault.kind: fault
    for fault in (
        CapabilityLie,
        CursorLoop,
        Deep,
        Delay,
        Drop,
        Duplicate,
        Empty,
        Error,
        Hold,
        Huge,
        IdTypeFlip,
        InitializeError,
        Inject,
        InvalidJson,
        InvalidUtf8,
        Latency,
        ListChangedStorm,
        NeverAnswerServerRequest,
        NeverRespond,
        NoInitialized,
        ProgressAfterResponse,
        ProgressDecreasing,
        ProgressUnknownToken,
        Reorder,
        Replace,
        RequestWithoutCapability,
        RespondTwice,
        SwapResponses,
        ToolError,
        ToolVanishes,
        Truncate,
        UnsolicitedResponse,
        VersionMismatch,
        WrongId,
    )
}
