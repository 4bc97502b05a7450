"""`run_workers`: a replay that listens in several processes, so that it uses several cores.

All listen on one port, and the kernel gives each connection to one of them (SO_REUSEPORT). They are
forked with the cassette loaded and share nothing else: no session, and no count of what was asked
or played. `check_stateless` refuses what needs that. They end together: when this process is
stopped, when it is killed, and when one of them ends by itself.

This process only waits for that. `cli` calls it; in each worker `run_sessions` serves an
`HttpFront`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from socket import socket

import attrs
import trio
from msgspec import structs

from mcpmock.channels.http.addresses import bound_port
from mcpmock.errors import WrongUsage
from mcpmock.platforms import KILL, STOP_SIGNALS, fork_process, wait_for_signal
from mcpmock.playback.session_selection import SessionSelection
from mcpmock.protocol.revisions import is_modern
from mcpmock.transports.session_router import TransportKind

from .http_front import HttpFront, OpenedPort, replay_target
from .replay import Replay
from .run import Setup, run_sessions
from .signals import listener_status_of, status_of

# Elsewhere the kernel gives all connections of a shared port to one process: `cli` refuses that.
assert sys.platform == "linux"

END_TIMEOUT_S = 2.0
"""Seconds that workers have to end once they are to."""
_WAKES = {*STOP_SIGNALS, signal.SIGCHLD}
_ASKS = (b'"sampling/createMessage"', b'"elicitation/create"')


def run_workers(setup: Setup, count: int) -> int:
    """Replay to the clients of an `HttpFront` in so many processes. Returns in each of them, with
    its exit status, and in this one, with that of all.

    Raises CannotListen, and WrongUsage for a recording that needs sessions.
    """
    front, replay = setup.front, setup.replay
    assert isinstance(front, HttpFront)
    assert replay is not None
    kind, target = replay_target(replay.cassette, front.kind)
    check_stateless(replay, kind)
    token = front.token()
    shares = front.address.listen_shared(count)
    port = bound_port(shares[0][0])
    front.announce(front.address.url(port, target), token)
    # Else the first collection in each worker would write to, and so copy, the whole cassette.
    gc.freeze()
    workers = _Workers(setup.say)
    for share in shares:
        if workers.fork():
            continue
        _close(*(other for other in shares if other is not share))
        mine = partial(_opened, share, port, token)
        return trio.run(_work, setup, front, mine, workers.watched)
    _close(*shares)
    return workers.wait()


def check_stateless(replay: Replay, kind: TransportKind) -> None:
    """Raise WrongUsage where an answer depends on more than its request, or does not come on the
    connection of that.
    """
    if kind is TransportKind.SSE:
        raise _cannot_share("HTTP+SSE has sessions; add --transport streamable-http")
    if replay.options.order != "any":
        revisions = SessionSelection(replay.cassette, replay.options).revisions
        if not all(map(is_modern, revisions)):
            raise _cannot_share("a revision before 2026-07-28 has sessions; add --order any")
        return
    for take in replay.cassette.takes:
        for event in take.events:
            payload = event.payload if event.d == "s2c" else None
            if payload is not None and any(method in payload for method in _ASKS):
                text = "the server asks the client, whose answer may come to any process"
                raise _cannot_share(f"in event {event.n} {text}")


def _cannot_share(why: str) -> WrongUsage:
    return WrongUsage(f"--workers: the processes share no sessions, but {why}")


async def _work(
    setup: Setup, front: HttpFront, opened: Callable[[], OpenedPort], watched: int
) -> int:
    """Work until a stop signal, or until `watched` ends: the first process is gone then."""

    async def end_with_first() -> None:
        await trio.lowlevel.wait_readable(watched)
        signal.raise_signal(signal.SIGTERM)

    front = attrs.evolve(front, opened=opened(), sessions=False, announce=lambda _url, _token: None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(end_with_first)
        status = await run_sessions(structs.replace(setup, front=front))
        nursery.cancel_scope.cancel()
    return status


def _opened(sockets: Sequence[socket], port: int, token: str | None) -> OpenedPort:
    made = [trio.SocketListener(trio.socket.from_stdlib_socket(one)) for one in sockets]
    return OpenedPort(made, port, token)


def _close(*shares: Sequence[socket]) -> None:
    for sockets in shares:
        for one in sockets:
            one.close()


class _Workers:
    """Processes that are forked from this one and end with it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.watched, self._alive = os.pipe()
        self._running: set[int] = set()
        self._statuses: list[int] = []
        # For the rest of this process: none may come between two looks, or change its exit status.
        signal.pthread_sigmask(signal.SIG_BLOCK, _WAKES)

    def fork(self) -> bool:
        """Return one more; whether this is still the first process."""
        if pid := fork_process():
            self._running.add(pid)
            return True
        os.close(self._alive)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAKES)
        return False

    def wait(self) -> int:
        """Wait for a stop signal, or until any of them ends; then the others are ended. Gives the
        exit status.
        """
        stopped_by = 0
        while not (stopped_by or self._statuses):
            signum = signal.sigwait(_WAKES)
            self._reap()
            # A Ctrl-C is for all of them: the end of a worker may be seen first.
            stopped_by = next((s for s in (signum, *signal.sigpending()) if s in STOP_SIGNALS), 0)
        failed = [] if stopped_by else list(self._statuses)
        if failed:
            self._say(f"a worker has ended with status {failed[0]}, and so do all others")
        os.close(self._alive)
        until = time.monotonic() + END_TIMEOUT_S
        while self._running and (left := until - time.monotonic()) > 0:
            wait_for_signal({signal.SIGCHLD}, left)
            self._reap()
        for pid in self._running:
            os.kill(pid, KILL)
        if failed:
            return failed[0] or 1
        missed = max((s for s in self._statuses if s < 128), default=0)
        return missed or listener_status_of(stopped_by)

    def _reap(self) -> None:
        for pid in tuple(self._running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._running.discard(pid)
                code = os.waitstatus_to_exitcode(status)
                self._statuses.append(code if code >= 0 else status_of(-code))
