"""The figures of a load: what counts where, from when, and which limits are exceeded."""

from __future__ import annotations

import pytest

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.client.driver import Driver
from mcpmock.playback.client.load import (
    CallKind,
    LatencyLimit,
    Load,
    LoadCalls,
    LoadLimits,
    LoadSession,
)
from mcpmock.playback.client.script import ClientScript, script_of
from mcpmock.protocol.messages import S2C, Frame, StreamEnd
from tests.support import Line, c, call, cancelled, episode, error, request, response, s, s2c

FAILED = {"content": [], "isError": True}
ADD, SUB = CallKind("tools/call", "add"), CallKind("tools/call", "sub")
ASKS_TWO = (c(call(1, "add")), c(call(2, "sub")), s(response(1)), s(response(2)))


def scripted(*events: Line) -> ClientScript:
    return script_of(episode(*events))


def play(load: Load, script: ClientScript, *answers: tuple[float, bytes], delay: float = 0) -> None:
    """A session in which the server sends these, and then nothing."""
    session = LoadSession(load, script, load.calls_of(script), delay)
    driver = Driver(script, report=load.fail, on_answer=session.answered)
    pipeline = Pipeline([driver])
    pipeline.begin(0.0)
    pipeline.advance(0.0)
    for now, raw in answers:
        pipeline.enter([Frame(S2C, fact=StreamEnd()) if raw == b"" else s2c(raw)], now)
        pipeline.advance(now)
    while (due := pipeline.next_due) is not None:
        pipeline.advance(due)
    session.finish(driver)


def test_latencies_are_counted_by_method_and_tool() -> None:
    """In microseconds from the call to its answer, whatever else is open."""
    load, script = Load(), scripted(*ASKS_TWO)
    play(load, script, (0.25, response(2)), (1.5, response(1)))
    play(load, script, (0.5, response(1)), (0.75, response(2)))

    assert [ADD, SUB] == list(load.calls)
    assert {500_000: 1, 1_500_000: 1} == load.calls[ADD].latencies.buckets
    assert {250_000: 1, 750_000: 1} == load.calls[SUB].latencies.buckets
    assert (1_500_000, 750_000) == (load.calls[ADD].longest, load.calls[SUB].longest)
    assert (2, 4, 0, 0) == (load.sessions, load.count, load.errors, load.broken)


@pytest.mark.parametrize(("kind", "text"), [(ADD, "tools/call add"), (CallKind("ping"), "ping")])
def test_the_name_of_a_kind(kind: CallKind, text: str) -> None:
    """The method, and of a call the tool."""
    assert text == str(kind)


def test_a_percentile_is_never_above_the_longest() -> None:
    """Though the bound of its bucket is."""
    load = Load()
    play(load, scripted(c(call(1, "add")), s(response(1))), (1.234567, response(1)))

    assert 1_234_567 == load.calls[ADD].percentile(0.99)
    assert LoadCalls().percentile(0.99) is None


def test_an_error_that_was_recorded_is_none() -> None:
    """An answer fails where the recorded one did not; then its latency does not count."""
    load = Load()
    recorded = scripted(c(call(1, "add")), s(error(1)), c(call(2, "sub")), s(response(2)))
    play(load, recorded, (1, error(1)), (2, response(2, FAILED)))

    assert (0, 1) == (load.calls[ADD].errors, load.calls[ADD].latencies.count)
    assert (1, 0) == (load.calls[SUB].errors, load.calls[SUB].latencies.count)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (error(2), '{"code":-32602,"message":"no"}'),
        (response(2, FAILED), '{"content":[],"isError":true}'),
        (error(2, message="token=abcdefghij0123456789"), '{"code":-32602,"message":"token=***"}'),
        (error(2, message="x" * 1000), '{"code":-32602,"message":"' + "x" * 171 + "..."),
    ],
)
def test_the_reason_of_an_error(answer: bytes, reason: str) -> None:
    """What the server said, in short, and which call it was; equal ones are counted."""
    load, recorded = Load(), scripted(*ASKS_TWO)
    for _ in range(2):
        play(load, recorded, (1, response(1)), (2, answer))

    assert {f"the request in event 2 was answered with an error: {reason}": 2} == load.failures


def test_calls_without_an_answer() -> None:
    """One that is given up is an error; one that the client cancelled, or that was not answered in
    the recording, is none.
    """
    load = Load()
    play(load, scripted(*ASKS_TWO), (1, response(2)))
    play(load, scripted(c(call(1, "add")), c(cancelled(1))))
    play(load, scripted(c(request(1, "ping"))))

    assert (2, 1, 1) == (load.calls[ADD].count, load.calls[ADD].errors, load.calls[ADD].cancelled)
    assert 0 == load.calls[CallKind("ping")].count
    assert {"no answer to the request in event 1": 1} == load.failures
    assert (3, 1) == (load.sessions, load.broken)


def test_calls_of_a_session_that_breaks_off() -> None:
    """Those that were open and those that could not be made are errors."""
    load = Load()
    recorded = scripted(c(call(1, "add")), s(response(1)), c(call(2, "sub")), s(response(2)))
    play(load, recorded, (1, b""))

    assert (1, 1) == (load.calls[ADD].count, load.calls[ADD].errors)
    assert (1, 1) == (load.calls[SUB].count, load.calls[SUB].errors)


def test_latencies_count_from_the_intended_start() -> None:
    """Of every call of a session that was started too late."""
    load = Load()
    recorded = scripted(c(call(1, "add")), s(response(1)), c(call(2, "sub")), s(response(2)))
    play(load, recorded, (1, response(1)), (3, response(2)), delay=5)

    assert (6_000_000, 7_000_000) == (load.calls[ADD].longest, load.calls[SUB].longest)


def test_only_so_many_failures_are_named() -> None:
    """A server may invent any number of names."""
    load = Load()
    for number in range(1000):
        load.fail(f"{number}")
        load.fail("0")

    assert (100, 1001) == (len(load.failures), load.failures["0"])


@pytest.mark.parametrize(
    ("limit", "exceeded"),
    [
        (LatencyLimit("", 0.5), [ADD]),
        (LatencyLimit("", 0.4), [ADD, SUB]),
        (LatencyLimit("", 0.4, tool="s*"), [SUB]),
        (LatencyLimit("", 0.4, method="tools/*"), [ADD, SUB]),
        (LatencyLimit("", 0.4, method="ping"), []),
        (LatencyLimit("", 1.0), []),
        (LatencyLimit("", 0.1, method="ping"), [CallKind("ping")]),
        (LatencyLimit("", 0.1, method="ping", tool="*"), []),
    ],
)
def test_limits_of_latencies(limit: LatencyLimit, exceeded: list[CallKind]) -> None:
    """Each kind of call that fits has to keep to it by itself."""
    load = Load()
    play(load, scripted(*ASKS_TWO), (0.5, response(2)), (1.0, response(1)))
    play(load, scripted(c(request(1, "ping")), s(response(1))), (0.25, response(1)))

    found = LoadLimits([limit]).exceeded(load)
    assert exceeded == [kind for kind, _, _ in found]
    assert all(p99 == load.calls[kind].longest for kind, p99, _ in found)


@pytest.mark.parametrize(("share", "too_many"), [(0.0, True), (0.49, True), (0.5, False)])
def test_a_limit_of_errors(share: float, too_many: bool) -> None:
    """It is a share of all calls."""
    load = Load()
    play(load, scripted(*ASKS_TWO), (1, response(1)), (1, error(2)))

    assert too_many == LoadLimits(errors=share).too_many_errors(load)
    assert not LoadLimits().too_many_errors(Load())
