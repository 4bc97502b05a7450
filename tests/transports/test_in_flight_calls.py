"""Ids and tokens that several callers use at once."""

from __future__ import annotations

import pytest

from mcpmock.protocol.messages import parse
from mcpmock.transports.in_flight_calls import (
    MAX_CALLS,
    InFlightCall,
    InFlightCalls,
)
from tests.support import batch, cancelled, notification, progress, request, response


def of(flight: InFlightCalls, raw: bytes, *, cancels: bool = False) -> InFlightCall | None:
    return flight.of(parse(raw), cancels=cancels)


def test_what_is_free_stays_as_it_is() -> None:
    """A free id is passed on as spelled."""
    flight = InFlightCalls()
    for x, id_ in enumerate(
        (b"1", b'"1"', b"1.5", b'"a\\u0062"', b"null", b"123456789012345678901")
    ):
        raw = b' { "method":"a", "id" : %b}' % id_

        assert raw == flight.ask(x, raw)[0]


def test_what_is_taken_is_replaced_and_put_back() -> None:
    """Only the bytes of id and token are replaced."""
    flight = InFlightCalls()
    raw = b'{"id":1, "jsonrpc":"2.0","method":"a","params":{"x":1,"_meta":{"progressToken":1} }}'
    flight.ask(1, raw)
    sent, [call] = flight.ask(2, raw)

    assert (b'"mcpmock-1"', b'"mcpmock-2"') == (call.sent, call.sent_token)
    expected = raw.replace(b'"id":1', b'"id":"mcpmock-1"')
    assert expected.replace(b'Token":1', b'Token":"mcpmock-2"') == sent
    answer = b'{"id":"mcpmock-1","result":{"said":"mcpmock-1","_meta":{"%b":"mcpmock-1"}}}'
    answer %= b"io.modelcontextprotocol/subscriptionId"
    expected = answer.replace(b'"mcpmock-1"', b"1").replace(b'"said":1', b'"said":"mcpmock-1"')
    assert expected == flight.put_back(answer, call)
    assert progress(1) == flight.put_back(progress("mcpmock-2"), call)
    assert cancelled(1) == flight.put_back(cancelled("mcpmock-1"), call)


@pytest.mark.parametrize(
    ("one", "other"), [(b"1", b"1.0"), (b"100", b"1e2"), (b'"a"', b'"\\u0061"')]
)
def test_one_id_has_many_spellings(one: bytes, other: bytes) -> None:
    """Every spelling of an id is the same id."""
    flight = InFlightCalls()
    _, [call] = flight.ask(1, request(one, "a"))

    assert call is of(flight, response(other))
    assert b'"mcpmock-1"' == flight.ask(2, request(other, "a"))[1][0].sent
    assert [1, 2] == [call.exchange for call in flight.meant(one)]


@pytest.mark.parametrize("strange", [b"1e9999999999999999999", b"NaN", b'"\\ud800"', b"-0", b"{}"])
def test_strange_ids_are_ids(strange: bytes) -> None:
    """Ids that cannot be decoded are compared by their bytes."""
    flight = InFlightCalls()
    raw = b'{"jsonrpc":"2.0","id":%b,"method":"a"}' % strange

    assert strange == flight.ask(1, raw)[1][0].sent
    assert b'"mcpmock-1"' == flight.ask(2, raw)[1][0].sent


def test_numbers_and_strings_differ() -> None:
    """`1` and `"1"` are two ids."""
    flight = InFlightCalls()
    flight.ask(1, request(1, "a"))

    assert b'"1"' == flight.ask(2, request("1", "a"))[1][0].sent
    assert [1] == [call.exchange for call in flight.meant(b"1")]


def test_minted_ids_are_unused() -> None:
    """A minted id is never one that a client is using."""
    flight = InFlightCalls()
    flight.ask(1, request("mcpmock-1", "a"))
    flight.ask(2, request(1, "a"))

    assert b'"mcpmock-2"' == flight.ask(3, request(1, "a"))[1][0].sent


def test_what_is_forgotten_is_free() -> None:
    """An id can be used again after its answer."""
    flight = InFlightCalls()
    _, [call] = flight.ask(1, request(1, "a", token="t"))
    flight.forget(call)

    assert request(1, "a", token="t") == flight.ask(2, request(1, "a", token="t"))[0]


def test_the_members_of_a_batch() -> None:
    """Each request of a batch is a call of its own."""
    flight = InFlightCalls()
    sent, calls = flight.ask(1, batch(request(1, "a"), notification("n"), request(1, "b")))

    assert ["a", "b"] == [call.method for call in calls]
    assert batch(request(1, "a"), notification("n"), request("mcpmock-1", "b")) == sent


def test_messages_of_no_call() -> None:
    """Messages that name no call, and legacy cancels of the server, belong to no call."""
    flight = InFlightCalls()
    flight.ask(1, request(1, "a", token="t"))

    for raw in (
        response(2),
        progress("u"),
        notification("n"),
        request(1, "ping"),
        cancelled(1),
        b"x",
    ):
        assert None is of(flight, raw)
    assert of(flight, progress("t")) is of(flight, cancelled(1), cancels=True)


def test_calls_are_bounded() -> None:
    """Beyond MAX_CALLS the oldest call is forgotten."""
    flight = InFlightCalls()
    for number in range(MAX_CALLS + 1):
        flight.ask(number, request(number, "a"))

    assert [None, 1] == [
        call and call.exchange for call in (of(flight, response(0)), of(flight, response(1)))
    ]
