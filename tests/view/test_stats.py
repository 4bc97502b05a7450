"""Cassettes in numbers."""

from __future__ import annotations

from mcpmock.cassette.parser import read
from mcpmock.protocol.messages import C2S, S2C
from mcpmock.view.stats import Calls, Stats, What, stats
from tests.support import (
    HEADER,
    Line,
    batch,
    call,
    cancelled,
    cassette,
    error,
    notification,
    progress,
    request,
    response,
)

ADD = What(C2S, "tools/call", "add")
FAILED = {"content": [], "isError": True}


def counted(*events: Line) -> Stats:
    return stats([cassette(*events)])


def test_calls_are_counted_by_method_and_tool() -> None:
    """Tools are told apart, and so are the two directions of one method."""
    found = counted(
        ("c2s", call(1, "add")),
        ("c2s", call(2, "sub")),
        ("c2s", call(3, "add")),
        ("c2s", request(4, "ping")),
        ("s2c", request(4, "ping")),
    )

    assert {
        What(C2S, "ping"): 1,
        ADD: 2,
        What(C2S, "tools/call", "sub"): 1,
        What(S2C, "ping"): 1,
    } == {what: calls.count for what, calls in found.calls.items()}
    assert [C2S, C2S, C2S, S2C] == [what.direction for what in found.calls]


def test_fates_are_told_apart() -> None:
    """Errors, results that say so, cancelled and unanswered calls; a late answer is no error."""
    calls = counted(
        ("c2s", call(1, "add")),
        ("s2c", error(1)),
        ("c2s", call(2, "add")),
        ("s2c", response(2, FAILED)),
        ("c2s", call(3, "add")),
        ("c2s", cancelled(3)),
        ("s2c", error(3)),
        ("c2s", call(4, "add")),
    ).calls[ADD]

    assert (4, 2, 1, 1) == (calls.count, calls.errors, calls.cancelled, calls.unanswered)
    assert 2 == calls.latencies.count


def test_requests_of_the_server_are_counted_too() -> None:
    """What the client answered them is an answer like any other."""
    asked = request("a", "roots/list")
    answer = response("a", {"roots": []})
    calls = counted((1.0, "s2c", asked), (1.5, "c2s", answer)).calls[What(S2C, "roots/list")]

    assert (1, {500_000: 1}) == (calls.count, calls.latencies.buckets)
    assert (len(asked), len(answer)) == (calls.asked, calls.answered)


def test_progress_belongs_to_the_call() -> None:
    """Reports are counted where they belong, and all of them among the notifications."""
    report = progress("t")
    found = counted(
        ("c2s", request(1, "tools/call", {"name": "add"}, token="t")),
        ("s2c", report),
        ("s2c", report),
        ("s2c", progress("nobody's")),
        ("s2c", response(1)),
    )

    told = found.notifications[What(S2C, "notifications/progress")]
    assert 2 == found.calls[ADD].progress
    assert (3, 2 * len(report) + len(progress("nobody's"))) == (told.count, told.size)


def test_members_of_a_batch_have_their_own_size() -> None:
    """A batch is as many calls as it holds."""
    one, two = call(1, "add"), call(2, "add", a=1)
    answer = response(1)
    calls = counted(("c2s", batch(one, two)), ("s2c", batch(answer, answer))).calls[ADD]

    assert (2, len(one + two)) == (calls.count, calls.asked)
    assert (2 * len(answer), len(answer)) == (calls.answered, calls.largest)


def test_a_frame_cut_short_has_the_size_it_had() -> None:
    """`oversize` says how large a message was."""
    lines = b'{"n":1,"d":"c2s","text":"{","oversize":{"bytes":70000000,"sha256":""}}\n'
    whole = notification("a")
    lines += b'{"n":2,"d":"c2s","m":%b,"oversize":{"bytes":5000,"sha256":""}}\n' % whole
    found = stats([read("x", HEADER + lines)])

    assert 5000 == found.notifications[What(C2S, "a")].size
    assert 1 == found.kinds["opaque"]


def test_wide_buckets_are_made_of_narrow_ones() -> None:
    """For a drawing: with bounds of 1, 2, 5, 10 and so on."""
    calls = Calls()
    for latency in (0, 1, 2, 3, 2000, 2001, 4321, 70_000):
        calls.latencies.add(latency)

    assert {1: 2, 2: 1, 5: 1, 2000: 1, 5000: 2, 100_000: 1} == calls.histogram()


def test_without_times_there_is_no_latency() -> None:
    """A formatted cassette has no times; zero would be a lie."""
    lines = (call(1, "add"), response(1))
    body = b"".join(
        b'{"n":%d,"d":"%b","m":%b}\n' % (n, way, raw)
        for n, (way, raw) in enumerate(zip((b"c2s", b"s2c"), lines, strict=True), 1)
    )

    assert 0 == stats([read("x", HEADER + body)]).calls[ADD].latencies.count


def test_cassettes_add_up() -> None:
    """Several are counted as one, and their takes and events with them."""
    one = cassette(("c2s", call(1, "add")), ("s2c", response(1)), ("take", None))
    found = stats([one, one])

    assert (2, 4, 4) == (found.cassettes, found.takes, found.events)
    assert 2 == found.calls[ADD].count
    assert {"request": 2, "response": 2} == found.kinds


def test_stats_add_up() -> None:
    """As if their cassettes had been counted together, and neither is changed by it."""
    one = cassette((1.0, "c2s", call(1, "add")), (1.5, "s2c", response(1)), ("s2c", b"a banner"))
    other = cassette(
        ("c2s", request(1, "ping")),
        ("c2s", call(2, "add", a="b" * 99)),
        ("s2c", progress("t")),
        ("s2c", error(2)),
        ("c2s", call(3, "add")),
        ("c2s", cancelled(3)),
    )
    some, more = stats([one]), stats([other])

    assert stats([one, other, one]) == some + more + some
    assert list(stats([one, other]).calls) == list((more + some).calls)
    assert (stats([one]), stats([other])) == (some, more)
