"""`ExploredBody`: the body of a test, run again and again: under trio on a mock clock where that
works, and never for ever.

On the mock clock a latency, a pause or a limit of an hour takes no time, and trio's scheduler draws
from a seed: a run is the same each time. A body that leaves the event loop (a process, a socket, a
thread) needs the real clock. So does one under asyncio, which has no other, and one without an
event loop, whose server is closed at the limit so that its read ends. `explore` stands above.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from threading import Timer
from typing import Any

import attrs
import pytest
import trio
from trio._core import _run
from trio.testing import MockClock

FIRST_LIMIT_S = 60.0
"""How long the recorded order may take."""
LEAST_LIMIT_S = 10.0
VIRTUAL_LIMIT_S = 3600.0
"""How long a body may take on the mock clock, where it costs nothing."""
_SLOWER = 5
"""On the real clock a body may take so many times as long as with the recorded order."""
_CLOCK = "_mcpmock_clock"


class EndlessBody(Exception):
    """A body that did not end within its limit."""


@attrs.define(eq=False)
class ExploredBody:
    """The body of one test. It has to be made before another plugin wraps the function."""

    item: pytest.Function
    close: Callable[[], None]
    """Closes the server of the body."""
    limit: float = FIRST_LIMIT_S
    virtual: bool = False
    """Whether it runs on a mock clock."""
    on_mock_clock: bool = attrs.field(default=False, init=False)
    """Whether the last run did: a runner that an async fixture keeps has a clock already."""
    ended: bool = attrs.field(default=True, init=False)
    """Whether the last run ended within the limit."""
    seconds: float = attrs.field(default=0.0, init=False)
    """How long the last run took on the real clock."""
    _is_async: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        function = self.item.obj
        self._is_async = inspect.iscoroutinefunction(function)
        self.item.obj = self._limited_async(function) if self._is_async else self._limited(function)

    @property
    def limit_text(self) -> str:
        """The report of a body that did not end."""
        clock = " of the mock clock" if self.virtual else ""
        return f"the test does not end within {self.limit:g} s{clock}"

    @property
    def is_trio(self) -> bool:
        """Whether it runs under trio, by anyio's plugin or pytest-trio."""
        backend = self.item.funcargs.get("anyio_backend")
        name = backend[0] if isinstance(backend, tuple) else backend
        marked = self.item.get_closest_marker("trio") is not None
        return self._is_async and (name == "trio" or marked)

    def use_mock_clock(self) -> None:
        """Use the mock clock from now on."""
        self.virtual, self.limit = True, VIRTUAL_LIMIT_S

    def use_real_clock(self, usual: float) -> None:
        """Use the real clock from now on; the body usually takes so many seconds."""
        self.virtual, self.limit = False, max(LEAST_LIMIT_S, _SLOWER * usual)

    def run(self, close: Callable[[], None], seed: int) -> BaseException | None:
        """Run it once. Gives what it raised."""
        self.close = close
        with self._clock(), same_scheduling(seed) if self.virtual else nullcontext():
            try:
                self.item.runtest()
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (it is judged)
                return error
        return None

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Give a new mock clock to the runner of the body, unless the test brings a clock."""
        item, given = self.item, self.item.funcargs
        own = any(isinstance(value, trio.abc.Clock) for value in given.values())
        if not self.virtual or own:
            yield
            return
        clock, backend, function = MockClock(autojump_threshold=0), None, item.obj
        if "anyio_backend" in given:
            backend = given["anyio_backend"]
            name, options = backend if isinstance(backend, tuple) else (backend, {})
            given["anyio_backend"] = (name, {"clock": clock, **options})
        else:  # pytest-trio takes the clock that it finds among the arguments
            item.obj = lambda **arguments: function(**arguments, **{_CLOCK: clock})
        try:
            yield
        finally:
            item.obj = function
            if backend is not None:
                given["anyio_backend"] = backend

    def _limited_async(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        async def run(*args: Any, **arguments: Any) -> None:
            __tracebackhide__ = True
            arguments.pop(_CLOCK, None)
            within = _within_trio if trio.lowlevel.in_trio_task() else _within_asyncio
            with self._watched(2 * self.limit):  # later: for one that blocks the event loop
                await within(self, lambda: function(*args, **arguments))

        return run

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any, **arguments: Any) -> None:
            __tracebackhide__ = True
            with self._watched(self.limit):
                function(*args, **arguments)

        return run

    @contextmanager
    def _watched(self, seconds: float) -> Iterator[None]:
        """Close the server of a body that blocks: what it reads from it then ends."""
        __tracebackhide__ = True
        self.ended, began = True, time.monotonic()
        timer = Timer(seconds, self._give_up)
        timer.daemon = True
        if not self.virtual:
            timer.start()
        try:
            yield
        except Exception as error:
            if not self.ended:
                raise EndlessBody(self.limit_text) from error
            raise
        finally:
            timer.cancel()
            self.seconds = time.monotonic() - began
        if not self.ended:
            raise EndlessBody(self.limit_text)

    def _give_up(self) -> None:
        self.ended = False
        self.close()


async def _within_trio(body: ExploredBody, run: Callable[[], Awaitable[Any]]) -> None:
    __tracebackhide__ = True
    body.on_mock_clock = isinstance(trio.lowlevel.current_clock(), MockClock)
    limit = FIRST_LIMIT_S if body.virtual and not body.on_mock_clock else body.limit
    with trio.move_on_after(limit) as scope:
        try:
            await run()
        finally:
            body.ended = body.ended and not scope.cancel_called


async def _within_asyncio(body: ExploredBody, run: Callable[[], Awaitable[Any]]) -> None:
    import asyncio  # noqa: TID251 (users' tests run on it)

    __tracebackhide__ = True
    waited = asyncio.timeout(body.limit)
    try:
        async with waited:
            await run()
    except TimeoutError:
        if not waited.expired():
            raise
    finally:
        body.ended = body.ended and not waited.expired()


@contextmanager
def same_scheduling(seed: int) -> Iterator[None]:
    """Trio's scheduler runs the tasks that are ready in an order that it draws. Here it draws from
    a seed, as under Hypothesis, so that a run can be repeated (python-trio/trio#890).
    """
    random, name = getattr(_run, "_r", None), "_ALLOW_DETERMINISTIC_SCHEDULING"
    if random is None or not hasattr(_run, name):
        yield  # another version of trio: the order varies
        return
    state, allowed = random.getstate(), getattr(_run, name)
    random.seed(seed)
    setattr(_run, name, True)
    try:
        yield
    finally:
        random.setstate(state)
        setattr(_run, name, allowed)
