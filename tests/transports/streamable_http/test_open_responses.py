"""Open responses: the cases that no whole conversation shows (those are in the test of
`streamable_http_server`).
"""

from __future__ import annotations

from mcpmock.transports.streamable_http.open_responses import OpenResponses
from tests.support import LOG, batch, error, notification, progress, request, response
from tests.transports.wire import Told, told


def say(responses: OpenResponses, *raws: bytes) -> list[Told]:
    for raw in raws:
        responses.route(raw)
    frames = [told(frame) for frame in responses.frames]
    responses.frames.clear()
    return frames


def test_answers_of_no_request() -> None:
    """In a session a second answer goes where other things go, but never waits; among many callers
    it is nobody's.
    """
    responses = OpenResponses(stateless=False)
    assert [] == say(responses, response(1))
    responses.listen(2)
    assert (2, response(1)) == say(responses, response(1))[-1]

    responses = OpenResponses(stateless=True)
    responses.expect(1, request(1, "a"), priming=False)
    tag = {"_meta": {"io.modelcontextprotocol/subscriptionId": 9}}
    assert [] == say(responses, response(9), progress(9), notification("n", tag))


def test_stateless_holds_nothing() -> None:
    """Without sessions an unrelated message is not held."""
    responses = OpenResponses(stateless=True)
    say(responses, LOG)
    responses.expect(1, request(1, "a"), priming=False)

    assert [(1, "200 application/json"), (1, response(1)), (1, "end")] == say(
        responses, response(1)
    )


def test_a_batch_with_more_than_answers_is_streamed() -> None:
    """One JSON body holds answers only."""
    responses = OpenResponses(stateless=False)
    responses.expect(1, request(1, "a", token=5), priming=False)
    both = batch(progress(5), response(1))

    assert [(1, "200 text/event-stream"), (1, "event 1-1"), (1, both), (1, "end")] == say(
        responses, both
    )


def test_a_batch_of_no_call_stays_one() -> None:
    """A batch without a call is sent unchanged."""
    responses = OpenResponses(stateless=False)
    responses.listen(1)

    assert (1, batch(LOG, LOG)) == say(responses, batch(LOG, LOG))[-1]


def test_an_error_without_id_ends_nothing() -> None:
    """An error without an id answers only a request with the id null."""
    responses = OpenResponses(stateless=False)
    responses.expect(1, request(1, "a"), priming=False)
    assert (1, error(None)) == say(responses, error(None))[-1]
    assert (1, "end") == say(responses, response(1))[-1]

    responses.expect(2, request(None, "a"), priming=False)
    assert [(2, "200 application/json"), (2, error(None)), (2, "end")] == say(
        responses, error(None)
    )


def test_the_revision_is_what_the_server_says() -> None:
    """The revision is that of the result; a failed `initialize` sets none."""
    for answer, revision in (
        (response(1, {"protocolVersion": "2025-06-18"}), "2025-06-18"),
        (response(1, {"protocolVersion": 7}), None),
        (error(1), None),
    ):
        responses = OpenResponses(stateless=False)
        responses.expect(1, request(1, "initialize"), priming=False)
        say(responses, answer)

        assert revision == responses.revision
