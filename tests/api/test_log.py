"""What is noted of a conversation, decoded and bounded."""

from __future__ import annotations

from mcpmock.api.log import MAX_LAST_MESSAGES, MAX_STDERR_BYTES, Call, Log
from mcpmock.pipeline.stage import PASS
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import PlayerNote
from mcpmock.protocol.messages import Frame
from tests.support import INITIALIZE, WELCOME, batch, c2s, logs, request, response, s2c

CALL = request(1, "tools/call", {"name": "now"})


def logged(*frames: Frame) -> Log:
    """The log of one conversation."""
    log = Log()
    watcher = log.watch(3, None)
    for frame in frames:
        assert PASS is watcher.feed([frame], 0.0)
    return log


def test_what_clients_sent() -> None:
    """Decoded, in order, by method and by tool; a batch is what is in it, noise is nothing."""
    log = logged(c2s(INITIALIZE), s2c(WELCOME), c2s(b"noise"), c2s(b""), c2s(batch(CALL, CALL)))

    opening = Call("initialize", {"protocolVersion": "2025-11-25"}, 0, 3)
    call = Call("tools/call", {"name": "now"}, 1, 3)
    assert [opening, call, call] == log.calls
    assert "tools/call now" == str(call)


def test_what_is_open() -> None:
    """A request is, until its answer passes."""
    log = logged(c2s(CALL), c2s(request(2, "ping")), s2c(response(1)))

    assert {(3, b"2"): Call("ping", {}, 2, 3)} == log.open


def test_it_is_bounded() -> None:
    """The last messages are kept, and the end of standard error."""
    log = logged(*[c2s(CALL)] * (MAX_LAST_MESSAGES + 1), logs("x" * MAX_STDERR_BYTES), logs("end"))

    assert MAX_LAST_MESSAGES == len(log.last)
    assert (MAX_STDERR_BYTES, True) == (len(log.stderr), log.stderr.endswith(b"end"))


def test_misses_and_notes() -> None:
    """A player reports both."""
    log, miss, note = Log(), Miss("a", ()), PlayerNote("b", "late")
    log.report(miss)
    log.report(note)

    assert ([miss], [note]) == (log.misses, log.notes)
