"""`ThreadServer`: what all servers of ours in a thread have in common, fake ones and those that are
recorded: where they can be reached, what they were asked, and what goes wrong there on purpose.

The thread is started by the first client that needs it. `server` and the pytest plugin stand above.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from threading import Lock
from typing import Any

from mcpmock.faults.control import FaultControl
from mcpmock.faults.receipts import FaultRun
from mcpmock.sessions.local_front import ServerPlace

from .log import Call, Log
from .thread import Thread


class ThreadServer:
    """A server of ours in a thread: where it is, its log, and what goes wrong."""

    def __init__(self, main: Callable[..., Any], run: FaultRun) -> None:
        self.log = Log()
        self._run = run
        self._faults = FaultControl(run)
        self._serving = main
        self._starting = Lock()
        self._thread: Thread[ServerPlace] | None = None
        self._place: ServerPlace | None = None
        self._closed = False

    @property
    def place(self) -> ServerPlace:
        """Where it can be reached; starts it. Raises CannotListen, and RuntimeError where it was
        closed.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.place.url == server.url
        True
        """
        with self._starting:  # whoever asks first, from whatever thread
            if self._closed:
                raise RuntimeError("this server was closed: make another with mcpmock.serve")
            if self._place is None:
                self._thread = Thread(self._serving)
                self._place = self._thread.start()
            return self._place

    @property
    def faults(self) -> FaultControl:
        """What goes wrong here on purpose, to be changed at any time.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     slow = server.faults.add(mcpmock.faults.Latency(latency="200ms"))
        ...     server.faults.remove(slow)
        """
        return self._faults

    @property
    def url(self) -> str:
        """Where clients over HTTP reach it, from any process of this machine. Starts it, and raises
        CannotListen.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.url
        'http://127.0.0.1:.../mcp'
        """
        return self.place.url

    @property
    def command(self) -> list[str]:
        """What clients over stdio start to reach it, program and arguments. It needs no variable of
        the environment. Raises RuntimeError where the server is only to be had over HTTP.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        >>> b'"serverInfo"' in done.stdout
        True
        """
        if self.place.command is None:
            raise RuntimeError("a server at a URL is recorded over HTTP: use .url")
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

    def transport(self) -> AbstractAsyncContextManager[Any]:
        """What the Client of the official SDK and of FastMCP take as a transport: a new session."""
        raise NotImplementedError

    def requests(self, method: str | None = None, *, tool: str | None = None) -> list[Call]:
        """What clients sent, in order: all of it, or of one method, or for one tool.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        ...     [call.params["protocolVersion"] for call in server.requests("initialize")]
        ['2025-11-25']
        """
        return self.log.requests(method, tool=tool)

    def assert_called(
        self, method: str, *, times: int | None = None, tool: str | None = None
    ) -> None:
        """Raises AssertionError unless it was sent at least once, or exactly `times` times.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.assert_called("tools/call", tool="get_weather")
        Traceback (most recent call last):
        AssertionError: tools/call get_weather was to be called at least once, and was 0 ...
        """
        self.log.assert_called(method, times=times, tool=tool)

    def assert_order(self, *names: str) -> None:
        """Raises AssertionError unless these came in this order: methods, or `tools/call NAME`.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        ...     server.assert_order("initialize", "tools/call get_weather")
        Traceback (most recent call last):
        AssertionError: tools/call get_weather did not come in its turn; what came: initialize
        """
        self.log.assert_order(*names)

    def close(self) -> None:
        """Stops it, and raises what went wrong in it. `serve` does it at its end.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.close()
        """
        with self._starting:
            self._closed = True
            thread = self._thread if self._place is not None else None
            self._place = None
        if thread is not None:
            thread.stop()
