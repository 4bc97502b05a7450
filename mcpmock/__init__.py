"""mcpmock: see, keep, replay and break the traffic between MCP clients and servers.

    >>> with mcpmock.serve("weather.jsonl") as server:  # a fake server, from any program
    ...     server.url  # and server.stdio, server.transport()
    'http://127.0.0.1:.../mcp'

Every name of `__all__` is imported on first use: `import mcpmock` costs nothing.

Glossary. Each word means the same in the whole package:

    frame      one thing that crossed the wire: a message with its raw bytes, or a transport fact
    exchange   one HTTP request and its response
    session    one client's conversation with one server, from connect to end
    channel    a duplex end that carries frames: stdio, a process, HTTP, memory
    stage      a pure piece of behaviour that frames pass; a pipeline is stages in a row
    cassette   the file; a take is one run of a recorder in it, an event one line of a take
    episode    one recorded session of one take: what a live session is replayed from
    plan       what is decided before a run: of a replay from its episode, of faults from TOML
    schedule   which planned message is due when, in one live session
    match      the recorded request that a live request stands for; a miss is a request without one
    fault      one line of a fault plan; its options are knobs, each firing leaves a receipt
    race       a cancellation that crosses an answer; a cell is one order of crossing
    rule       one sentence of the specification; a violation is traffic that breaks it
"""

from __future__ import annotations

from importlib import import_module

from mcpmock.version import VERSION as __version__

TYPE_CHECKING = False  # without typing, a command has Ctrl-C in its hands 3 ms earlier
if TYPE_CHECKING:
    from typing import Any

    from mcpmock.api.cassettes import check, diff, load, redact, scan, stats
    from mcpmock.api.drive import Driven, drive
    from mcpmock.api.log import Call
    from mcpmock.api.record import record
    from mcpmock.api.server import ReplayServer, connect, replay, serve
    from mcpmock.api.verdict import MissError
    from mcpmock.cassette.model import Cassette
    from mcpmock.channels.channel import MessageChannel
    from mcpmock.errors import McpMockError
    from mcpmock.matching.kinds import like
    from mcpmock.protocol.messages import C2S, S2C, Frame
    from mcpmock.rules.report import CheckReport
    from mcpmock.semantic_diff.compare import Diff
    from mcpmock.stubs.builder import Stub, StubRoute
    from mcpmock.stubs.call import StubCall, StubError, StubFailure
    from mcpmock.view.stats import Stats

    from . import faults

__all__ = [
    "C2S",
    "S2C",
    "Call",
    "Cassette",
    "CheckReport",
    "Diff",
    "Driven",
    "Frame",
    "McpMockError",
    "MessageChannel",
    "MissError",
    "ReplayServer",
    "Stats",
    "Stub",
    "StubCall",
    "StubError",
    "StubFailure",
    "StubRoute",
    "__version__",
    "check",
    "connect",
    "diff",
    "drive",
    "faults",
    "like",
    "load",
    "record",
    "redact",
    "replay",
    "scan",
    "serve",
    "stats",
]

_NAMES = {
    "api.cassettes": ("check", "diff", "load", "redact", "scan", "stats"),
    "api.drive": ("Driven", "drive"),
    "api.verdict": ("MissError",),
    "api.log": ("Call",),
    "api.record": ("record",),
    "api.server": ("ReplayServer", "connect", "replay", "serve"),
    "cassette.model": ("Cassette",),
    "channels.channel": ("MessageChannel",),
    "errors": ("McpMockError",),
    "matching.kinds": ("like",),
    "protocol.messages": ("C2S", "S2C", "Frame"),
    "rules.report": ("CheckReport",),
    "semantic_diff.compare": ("Diff",),
    "stubs.builder": ("Stub", "StubRoute"),
    "stubs.call": ("StubCall", "StubError", "StubFailure"),
    "view.stats": ("Stats",),
}
_MODULES = {name: f"mcpmock.{module}" for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "faults":
        return import_module("mcpmock.faults")
    if name not in _MODULES:
        raise AttributeError(f"module 'mcpmock' has no attribute {name!r}")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
