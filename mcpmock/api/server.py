"""`ReplayServer`: a fake server that plays a cassette to clients over stdio, over HTTP and in
memory, with one log; `serve`, `replay` and `connect`, which make one.

`serve` works everywhere; its thread starts with the first client that needs it. `replay` plays in
memory under trio. The pytest plugin stands above.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpmock.batch.sources import Source, is_mock, load_source, without_takes
from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import MessageChannel
from mcpmock.errors import McpMockError
from mcpmock.faults.control import Faults, run_of
from mcpmock.options.option import read_options
from mcpmock.options.replay import ReplayOptions
from mcpmock.options.testing import MissUse
from mcpmock.playback.miss import THE_STUB
from mcpmock.playback.session_selection import PlayerOptions
from mcpmock.sessions.local_front import LocalFront, ServerPlace
from mcpmock.sessions.memory import replay_in_memory
from mcpmock.sessions.replay import Replay, scheduled
from mcpmock.sessions.run import Front, Setup, run_sessions
from mcpmock.stubs.builder import Stub

from .recorded_calls import RecordedCalls
from .sdk_transport import sdk_transport
from .targets import say
from .thread import require_trio
from .thread_server import ThreadServer
from .verdict import check_misses, judged

if TYPE_CHECKING:
    import trio

    from mcpmock.authorization.options import AuthorizationOptions
    from mcpmock.faults.receipts import FaultRun


def replay_options(**how: Any) -> PlayerOptions:
    """Return the options of `mcpmock replay`, by their names, with `-` as `_`: `order`, `timing`,
    `repeats`, `sessions`, `overlap_grace` (in milliseconds), `match`, `on_miss`; `ignore`, `like`
    and `echo` (lists of rules), `no_rules`.

    Raises TypeError for an unknown option, and McpMockError for an invalid value.
    """
    return PlayerOptions.of(read_options(ReplayOptions, how))


class ReplayServer(ThreadServer):
    """A fake server that plays a cassette, a stub, or both. `serve`, `replay` and the fixture
    `mcpmock_server` make one.

    >>> with mcpmock.serve("weather.jsonl") as server:
    ...     isinstance(server, mcpmock.ReplayServer)
    True
    """

    def __init__(
        self,
        cassette: Cassette,
        options: PlayerOptions,
        run: FaultRun,
        stub: Stub | None = None,
        authorization: AuthorizationOptions | None = None,
    ) -> None:
        super().__init__(self._main, run)
        self._authorization = authorization
        self.cassette = cassette
        script = None if stub is None else stub.script
        self._replay = Replay(scheduled(cassette, run), options, self.log.report, script)
        playing = self._replay.options
        self._recorded = RecordedCalls(
            cassette=cassette, rules=playing.rules, redaction=playing.redaction
        )
        self._open: Callable[[], MessageChannel] | None = None

    def open(self) -> MessageChannel:
        """Return a new session: the client's end of a channel of frames. Raises RuntimeError
        outside of `replay`.

        >>> async def main():
        ...     async with mcpmock.replay("weather.jsonl") as server:
        ...         async with server.open() as session, server.open() as another:
        ...             return session is another
        >>> trio.run(main)
        False
        """
        if self._open is None:
            raise RuntimeError(
                "open() only works inside `async with mcpmock.replay(...)`; use .url or .stdio"
            )
        return self._open()

    def transport(self) -> AbstractAsyncContextManager[Any]:
        """Return a new session in memory, as the transport that the Client of the official SDK and
        of FastMCP take, under asyncio or trio. Raises ImportError if no SDK is installed.

        >>> from mcp import Client
        >>> async def main():
        ...     with mcpmock.serve("weather.jsonl") as server:
        ...         async with Client(server.transport(), mode="legacy") as client:
        ...             return [tool.name for tool in (await client.list_tools()).tools]
        >>> trio.run(main)
        ['get_weather']
        """
        return sdk_transport(self._opener())

    def _opener(self) -> Callable[[], AbstractAsyncContextManager[Any]]:
        from .memory import open_session

        return partial(open_session, self._setup(), self.log)

    def _judged(self, misses: MissUse) -> AbstractContextManager[None]:
        return judged(self.log, self.faults, self.cassette.name, misses)

    def _setup(self, front: Front | None = None, stop: trio.Event | None = None) -> Setup:
        if front is None and self._authorization is not None:
            raise McpMockError("auth: clients log in over HTTP only; use mcpmock.serve and .url")
        return Setup(
            front=front,
            replay=self._replay,
            faults=self.fault_run,
            authorization=self._authorization,
            observers=[self.log.watch],
            say=say,
            stop=stop,
        )

    async def _main(self, ready: Callable[[ServerPlace], None], stop: trio.Event) -> None:
        await run_sessions(self._setup(LocalFront(ready), stop))


@contextmanager
def serve(
    cassette: Source | Stub,
    *,
    stub: Stub | Path | str | None = None,
    faults: Faults | None = None,
    seed: int | None = None,
    auth: str | None = None,
    misses: MissUse = "fail",
    **how: Any,
) -> Iterator[ReplayServer]:
    """Serve as a fake server for any caller: plain code, asyncio, anyio, trio.

    >>> with mcpmock.serve("weather.jsonl") as server:
    ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
    ...     server.assert_called("initialize", times=1)
    >>> b'"serverInfo"' in done.stdout
    True

    A `stub` answers the requests that it has routes for, the recording all others; a stub alone is
    a server as well (`serve(stub)`). `faults` are the faults to inject: a plan, a fault of
    `mcpmock.faults`, a TOML file, a shorthand such as `"latency:latency=200ms,tool=get_*"`, or a
    list of these; `seed` is their random seed. `auth` is the login that clients need, over HTTP
    only, as for `mcpmock replay --auth`: `"oauth:expires=60s"`. `how` are the options of `mcpmock
    replay` (`replay_options`). Raises CassetteError for a bad cassette, PlanError, CannotListen,
    and at the end of the block any error inside the server, and MissError for requests that match
    nothing recorded; with `misses="allow"` they are only listed in `server.misses`. A fault that
    never fired is a UserWarning that says why.
    """
    check_misses(misses)
    server = _make_server(cassette, stub, faults, seed, how, read_authorization(auth))
    try:
        with server._judged(misses):
            yield server
            server.close()
    finally:
        server.close()


@asynccontextmanager
async def replay(
    cassette: Source | Stub,
    *,
    stub: Stub | Path | str | None = None,
    faults: Faults | None = None,
    seed: int | None = None,
    misses: MissUse = "fail",
    **how: Any,
) -> AsyncIterator[ReplayServer]:
    """Serve as a fake server in memory, under trio: `server.open()` gives the client's end of a
    session. A mock clock makes recorded pauses (`timing="recorded"`) and timeouts exact and free.
    Options and errors are those of `serve`.

    >>> async def main():
    ...     ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    ...     async with mcpmock.replay("weather.jsonl", faults="delay:delay=1h") as server:
    ...         session = server.open()
    ...         await session.send([mcpmock.Frame(mcpmock.C2S, ping)])
    ...         return [frame.raw for frame in await session.receive()], trio.current_time()
    >>> trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    ([b'{"jsonrpc":"2.0","id":1,"result":{}}'], 3600.0)
    """
    require_trio("replay")
    with serve(cassette, stub=stub, faults=faults, seed=seed, misses=misses, **how) as server:
        async with replay_in_memory(server._setup()) as open_session:
            server._open = open_session
            try:
                yield server
            finally:
                server._open = None


def connect(
    cassette: Source | Stub,
    *,
    stub: Stub | Path | str | None = None,
    faults: Faults | None = None,
    seed: int | None = None,
    misses: MissUse = "fail",
    **how: Any,
) -> AbstractAsyncContextManager[Any]:
    """Return one session with a fake server in memory, as the transport that the Client of the
    official SDK and of FastMCP take, under asyncio or trio:

    >>> from mcp import Client
    >>> async def main():
    ...     async with Client(mcpmock.connect("weather.jsonl"), mode="legacy") as client:
    ...         result = await client.call_tool("get_weather", {"city": "Oslo"})
    ...         return result.content[0].text
    >>> trio.run(main)
    'rain'

    It uses the clock of the caller's event loop: with a mock clock of trio, a recorded pause of
    30 s, or a timeout of 30 s under test, takes milliseconds. asyncio has no mock clock, so
    `timing="recorded"` cuts pauses to 100 ms there; `scale:1` keeps them. Options are those of
    `serve`; a miss raises MissError when the client leaves. Raises CassetteError, and ImportError
    if no SDK is installed.
    """
    check_misses(misses)
    server = _make_server(cassette, stub, faults, seed, how)
    return sdk_transport(server._opener(), lambda: server._judged(misses))


def _make_server(
    source: Source | Stub,
    stub: Stub | Path | str | None,
    faults: Faults | None,
    seed: int | None,
    how: dict[str, Any],
    authorization: AuthorizationOptions | None = None,
) -> ReplayServer:
    options, run = replay_options(**how), run_of(faults, seed)
    stub = None if stub is None else to_stub(stub)
    if is_mock(source):
        source = to_stub(source)
    if isinstance(source, Stub):
        if stub is not None:
            raise TypeError("give one stub: serve(stub) or serve(cassette, stub=stub)")
        return ReplayServer(without_takes(THE_STUB), options, run, source, authorization)
    return ReplayServer(load_source(source), options, run, stub, authorization)


def to_stub(given: object) -> Stub:
    """Return a stub as it is given, or the one in a TOML file. Raises TypeError, MockFileError."""
    if isinstance(given, Stub):
        return given
    if not isinstance(given, Path | str) or not is_mock(given):
        raise TypeError(f"stub={given!r}: give a mcpmock.Stub, or the path of a mock in TOML")
    return Stub.load(given)


def read_authorization(text: str | None) -> AuthorizationOptions | None:
    """`auth=` of `serve` and of the pytest marker. Raises McpMockError."""
    if text is None:
        return None

    from mcpmock.authorization.options import AuthorizationOptions

    return AuthorizationOptions.parse(text)
