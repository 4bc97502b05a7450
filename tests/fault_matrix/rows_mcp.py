"""What the faults of MCP's own rules do to the conversation."""

from __future__ import annotations

from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.kinds.errors import InitializeError
from mcpmock.faults.kinds.loss import NeverAnswerServerRequest, NoInitialized
from mcpmock.faults.kinds.mcp import (
    CapabilityLie,
    CursorLoop,
    ListChangedStorm,
    ProgressAfterResponse,
    ProgressDecreasing,
    ProgressUnknownToken,
    RequestWithoutCapability,
    ToolVanishes,
    VersionMismatch,
)
from mcpmock.faults.match import Match
from mcpmock.faults.races.fault import CancelRace
from tests.support import cancelled, error, notification, progress, request

from .conversation import (
    ANSWER,
    ASKED,
    INITIALIZE,
    INITIALIZED,
    LISTED,
    ODD,
    PROGRESS,
    REPLY,
    WELCOME,
)
from .hearing import Run
from .row import Row
from .rows_messages import CALL, SAMPLING

CHANGED = notification("notifications/tools/list_changed")
NO_TOOL = error(1, -32602, "Unknown tool: odd")
ROOTS = request("mcpmock-1", "roots/list", {})


def accepted(run: Run, base: Run) -> None:
    """The POST of what was lost."""
    if "stdout" not in run.client[0]:
        assert 202 == run.client[0]["notifications/initialized"].answer().status


ROWS = [
    Row(
        fault=VersionMismatch(version="1999-12-31"),
        client={WELCOME: [WELCOME.replace(b"2025-11-25", b"1999-12-31")]},
    ),
    Row(
        fault=InitializeError(),
        client={WELCOME: [error(0, -32602, "Unsupported protocol version")]},
        server={INITIALIZE: []},
        on={"sse": {"free": ["initialize"]}},
        elsewhere=["streamable-http"],
    ),
    Row(
        fault=NoInitialized(),
        server={INITIALIZED: []},
        free=["notifications/initialized"],
        check=accepted,
    ),
    Row(
        fault=CapabilityLie(claims=("logging",), hides=("prompts",)),
        client={WELCOME: [WELCOME.replace(b'"prompts":{}', b'"logging":{}')]},
    ),
    Row(
        fault=ListChangedStorm(count=3, match=Match(method="tools/list")),
        client={LISTED: [CHANGED, CHANGED, CHANGED, LISTED]},
    ),
    Row(
        fault=ToolVanishes(gone="odd"),
        client={
            PROGRESS: [],
            ANSWER: [NO_TOOL],
            LISTED: [LISTED.replace(b'{"name":"odd"},', b"")],
        },
        server={ODD: []},
        late={NO_TOOL: -0.5},
        on={"sse": {"free": ["odd"]}},
    ),
    Row(
        fault=CursorLoop(cursor="again"),
        client={LISTED: [LISTED[:-2] + b',"nextCursor":"again"}}']},
    ),
    Row(
        fault=ProgressAfterResponse(match=CALL),
        client={ANSWER: [ANSWER, progress("t", 1000)]},
    ),
    Row(
        fault=ProgressDecreasing(match=CALL),
        client={PROGRESS: [progress("t", 999)]},
    ),
    Row(
        fault=ProgressUnknownToken(match=CALL, token="nobody's"),
        client={PROGRESS: [progress("nobody's", 1)]},
    ),
    Row(
        fault=RequestWithoutCapability(match=CALL, asks="roots/list"),
        client={ANSWER: [ROOTS, ANSWER]},
    ),
    Row(
        fault=NeverAnswerServerRequest(match=SAMPLING),
        server={REPLY: []},
        free=["reply s1"],
        on={"replay": {"client": {ASKED: []}}},
    ),
    Row(
        fault=Cancel(match=CALL, i=1),
        more=[(2.25, cancelled(1))],
        on={"replay": {"client": {ANSWER: []}}},
    ),
    Row(
        fault=CancelRace(match=CALL, cell="cancel_during_work"),
        elsewhere=["stdio", "http"],
    ),
]
