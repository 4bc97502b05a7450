"""`ThreadServer`: the base of servers that run in a thread, fake or recorded: their address, their
log and their faults.

The first client that needs the thread starts it. `server` and the pytest plugin stand above.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from threading import Lock
from typing import Any

from mcpmock.faults.control import FaultControl
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.miss import Miss
from mcpmock.printable import did_you_mean, many, printable
from mcpmock.protocol.methods import METHODS
from mcpmock.sessions.local_front import ServerPlace

from .log import Call, Log
from .recorded_calls import RecordedCalls
from .thread import Thread

_CUTOFF = 0.88
"""A method of an extension (`ui/initialize`, `resources/write`) is no misspelled one."""


class ThreadServer:
    """A server in a thread: its address, its log and its faults."""

    def __init__(self, main: Callable[..., Any], run: FaultRun) -> None:
        self.log = Log()
        self._recorded = RecordedCalls()
        self.fault_run = run
        """The faults of all its sessions."""
        self._faults = FaultControl(run, self.log.asked, Lock())
        self._serving = main
        self._starting = Lock()
        self._thread: Thread[ServerPlace] | None = None
        self._place: ServerPlace | None = None
        self._closed = False

    @property
    def place(self) -> ServerPlace:
        """Where clients reach the server; starts it. Raises CannotListen, and RuntimeError if it is
        closed.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.place.url == server.url
        True
        """
        with self._starting:  # clients in several threads may start it
            if self._closed:
                raise RuntimeError("this server is closed: start another with mcpmock.serve")
            if self._place is None:
                self._thread = Thread(self._serving)
                self._place = self._thread.start()
            return self._place

    @property
    def serves(self) -> bool:
        """Whether it runs in a thread, because a client needs it over stdio or HTTP.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.serves
        False
        """
        return self._place is not None

    @property
    def faults(self) -> FaultControl:
        """The faults that are injected here. They can be changed at any time.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     slow = server.faults.add(mcpmock.faults.Latency(latency="200ms"))
        ...     server.faults.remove(slow)
        """
        return self._faults

    @property
    def url(self) -> str:
        """The URL for clients over HTTP, in any process of this machine. Starts the server. Raises
        CannotListen.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.url
        'http://127.0.0.1:.../mcp'
        """
        return self.place.url

    @property
    def command(self) -> list[str]:
        """The command that clients over stdio start: program and arguments. It needs no environment
        variable. Raises RuntimeError for a server that is only reached over HTTP.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        >>> b'"serverInfo"' in done.stdout
        True
        """
        if self.place.command is None:
            raise RuntimeError("clients reach this server over HTTP only: use .url")
        return self.place.command

    @property
    def stdio(self) -> Any:
        """`command` as the StdioServerParameters of the official SDK, which has to be installed.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     [server.stdio.command, *server.stdio.args] == server.command
        True
        """
        from mcp import StdioServerParameters

        program, *arguments = self.command
        return StdioServerParameters(command=program, args=arguments)

    @property
    def misses(self) -> list[Miss]:
        """The requests that match nothing recorded, each with the nearest recorded requests. Empty
        while a real server answers.

        >>> with mcpmock.serve("weather.jsonl", misses="allow") as server:
        ...     asked = b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}'
        ...     done = subprocess.run(server.command, input=HELLO + asked, capture_output=True)
        ...     [miss.method for miss in server.misses]
        ['prompts/list']
        """
        return self.log.misses

    def transport(self) -> AbstractAsyncContextManager[Any]:
        """Return a new session, as a transport for the Client of the official SDK and of
        FastMCP.
        """
        raise NotImplementedError

    def requests(self, method: str | None = None, *, tool: str | None = None) -> list[Call]:
        """Return the calls of clients, in order: all, those of one method, or those of one tool,
        which `method` may name too: `tools/call get_weather`.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        ...     [call.params["protocolVersion"] for call in server.requests("initialize")]
        ['2025-11-25']
        """
        return [
            call
            for call in list(self.log.calls)
            if method in (None, call.method, str(call)) and tool in (None, call.tool)
        ]

    def assert_called(
        self, method: str, *, times: int | None = None, tool: str | None = None
    ) -> None:
        """Raise AssertionError unless clients sent it at least once, or exactly `times` times; and
        if the method looks misspelled, where that is never.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.assert_called("tools/call", tool="get_weather")
        Traceback (most recent call last):
        AssertionError: tools/call get_weather was called 0 times, expected at least once; ...
        """
        __tracebackhide__ = True
        count = len(self.requests(method, tool=tool))
        asked = method.partition(" ")[0]
        hint = "" if count or asked in METHODS else did_you_mean(asked, METHODS, cutoff=_CUTOFF)
        if not hint and (count == times or (times is None and count)):
            return
        expected = "at least once" if times is None else many(times, "time")
        name = method if tool is None else f"{method} {tool}"
        raise self._failure(f"{name} was called {many(count, 'time')}, expected {expected}{hint}")

    def assert_order(self, *names: str) -> None:
        """Raise AssertionError unless clients sent these in this order; other calls may come in
        between. A name is a method, or a method and a tool: `tools/call get_weather`.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        ...     server.assert_order("initialize", "tools/call get_weather")
        Traceback (most recent call last):
        AssertionError: tools/call get_weather was not called in this order; calls: initialize
        """
        __tracebackhide__ = True
        calls = iter(list(self.log.calls))
        for name in names:
            if not any(name in (call.method, str(call)) for call in calls):
                raise self._failure(f"{name} was not called in this order")

    def assert_trajectory(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        order: str = "same",
        extra: str = "fail",
        missing: str = "fail",
        ignore: Iterable[str] = (),
        like: Iterable[str] = (),
        methods: Sequence[str] = ("tools/call", "prompts/get", "resources/read"),
    ) -> None:
        """Raise AssertionError unless clients made the calls of a recording: that of the server, or
        that in `file`.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        ...     server.assert_trajectory()
        Traceback (most recent call last):
        AssertionError: 0 of 1 recorded call made as recorded: 1 missing
          missing: event 6, tools/call get_weather {"city":"Oslo"}
        calls made:
          none

        Calls of `methods` (globs) count. They come in the recorded order, in which calls that
        overlapped have none, or with `order="any"` in any. `extra="allow"` and `missing="allow"`
        let calls be added or left out; `ignore` and `like` are further rules about what may differ.
        While a real server is recorded it passes. Raises McpMockError for a wrong word or rule, and
        CassetteError.
        """
        __tracebackhide__ = True
        from .trajectory import compare_trajectory

        requests = [(one.method, one.params) for one in self.requests() if one.id is not None]
        lines = compare_trajectory(
            self._recorded, requests, file, (order, extra, missing), (ignore, like), methods
        )
        if lines:
            raise AssertionError("\n".join(lines))

    def _failure(self, text: str) -> AssertionError:
        calls = ", ".join(map(str, self.log.calls)) or "none"
        return AssertionError(printable(f"{text}; calls: {calls}"))

    def close(self) -> None:
        """Stop the server. Raises what failed inside. `serve` calls it at the end of the block.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.close()
        """
        with self._starting:
            self._closed = True
            thread = self._thread if self._place is not None else None
            self._place = None
        if thread is not None:
            thread.stop()
