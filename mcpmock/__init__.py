"""mcpmock: see, keep, replay and break the traffic between MCP clients and servers.

    >>> with mcpmock.serve("weather.jsonl") as server:  # a fake server, from any program
    ...     server.url  # and server.stdio, server.transport()
    'http://127.0.0.1:.../mcp'

Every name of `__all__` is imported when it is first asked for: `import mcpmock` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcpmock.version import VERSION as __version__

if TYPE_CHECKING:
    from mcpmock.api.cassettes import check, diff, load, redact
    from mcpmock.api.drive import Driven, drive
    from mcpmock.api.log import Call
    from mcpmock.api.record import record
    from mcpmock.api.server import ReplayServer, connect, replay, serve
    from mcpmock.api.stub import Stub, StubRoute
    from mcpmock.cassette.model import Cassette
    from mcpmock.errors import McpMockError
    from mcpmock.semantic_diff.compare import Comparison as Diff

    from . import faults

__all__ = [
    "Call",
    "Cassette",
    "Diff",
    "Driven",
    "McpMockError",
    "ReplayServer",
    "Stub",
    "StubRoute",
    "__version__",
    "check",
    "connect",
    "diff",
    "drive",
    "faults",
    "load",
    "record",
    "redact",
    "replay",
    "serve",
]

_PLACES = {
    "Call": "api.log:Call",
    "Cassette": "cassette.model:Cassette",
    "Diff": "semantic_diff.compare:Comparison",
    "Driven": "api.drive:Driven",
    "McpMockError": "errors:McpMockError",
    "ReplayServer": "api.server:ReplayServer",
    "Stub": "api.stub:Stub",
    "StubRoute": "api.stub:StubRoute",
    "check": "api.cassettes:check",
    "connect": "api.server:connect",
    "diff": "api.cassettes:diff",
    "drive": "api.drive:drive",
    "faults": "faults:",
    "load": "api.cassettes:load",
    "record": "api.record:record",
    "redact": "api.cassettes:redact",
    "replay": "api.server:replay",
    "serve": "api.server:serve",
}


def __getattr__(name: str) -> Any:
    place, _, attribute = _PLACES.get(name, "").partition(":")
    if not place:
        raise AttributeError(f"module 'mcpmock' has no attribute {name!r}")
    module = import_module(f"mcpmock.{place}")
    found = getattr(module, attribute) if attribute else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
