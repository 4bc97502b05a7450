"""Which stream carries which message."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.messages import C2S
from mcpmock.rules.checker import check
from tests.rules.violations import (
    HINTS,
    HTTP,
    Planted,
    Step,
    ask,
    asked,
    done,
    got,
    modern_http,
    names,
    opening_http,
    posted,
    violations,
)
from tests.support import (
    accepts,
    cancelled,
    ends,
    notification,
    opens,
    progress,
    request,
    response,
    says,
)

OLD = "2025-06-18"
CALL = request(1, "tools/call", {"name": "dig"}, token=7)
OTHER = request(2, "tools/call", {"name": "rest"})
UP, DONE = progress(7), response(1)


def streaming(x: int, raw: bytes, version: str | None = "2025-11-25") -> list[Step]:
    """A request that is answered by a stream."""
    return [posted(x, raw, version), opens(x)]


def opened(*steps: Step, rule: str, revision: str = "2025-11-25", also: Any = ()) -> Planted:
    return Planted(rule, [*opening_http(revision), *steps], HTTP, 2, also)


def old(rule: str, revision: str, *steps: Step) -> Planted:
    version = revision if revision >= OLD else None
    call = streaming(3, request(1, "ping"), version)
    return opened(*call, *steps, rule=rule, revision=revision)


ROOTS = request(1, "roots/list")
MODERN_CALL: list[Step] = [asked(2, ask(1, "prompts/list"), "prompts/list"), opens(2)]


def resumed(retry: int, *steps: Step, version: str = "2025-11-25") -> list[Step]:
    """A stream that the server ends after it has asked to wait, and that is resumed behind
    `steps`, each of which takes a second.
    """
    begun: list[Step] = [posted(3, CALL, version), opens(3), says(3, UP, id="1", retry=retry)]
    return [*begun, ends(3), *steps, got(4, version, last_event_id="1"), opens(4), says(4, DONE)]


WAIT: Step = [*posted(9, notification("notifications/roots/list_changed")), *accepts(9)]
PLANTED = [
    opened(*resumed(1060), rule="retry-ignored"),
    opened(*resumed(60_000, WAIT, WAIT), rule="retry-ignored"),
    opened(*resumed(5000, WAIT), rule="retry-ignored"),
    opened(posted(3, CALL), got(4), opens(4), says(4, DONE), rule="response-on-get"),
    *(
        opened(
            posted(3, request(1, "ping"), version),
            posted(4, request(2, "ping"), version),
            opens(4),
            says(4, DONE),
            rule="response-stream",
            revision=revision,
        )
        for revision, version in (("2025-03-26", None), (OLD, OLD), ("2025-11-25", "2025-11-25"))
    ),
    opened(*streaming(3, CALL), *streaming(4, OTHER), says(4, UP), rule="message-stream"),
    opened(
        got(3),
        opens(3),
        got(4),
        opens(4),
        says(3, ROOTS),
        says(4, ROOTS),
        rule="broadcast",
        also=("id-reused",),
    ),
    opened(
        *streaming(3, CALL),
        says(3, UP, id="1"),
        *streaming(4, OTHER),
        says(4, progress(7, 2), id="1"),
        rule="event-id-reused",
    ),
    opened(
        *streaming(3, CALL),
        says(3, UP, id="1"),
        *streaming(4, OTHER),
        says(4, response(2), id="2"),
        ends(3, "closed", C2S),
        got(5, last_event_id="1"),
        opens(5),
        says(5, response(2), id="2"),
        rule="replays-other-stream",
    ),
    old("stream-cut", "2025-03-26", ends(3)),
    old("stream-cut", OLD, ends(3)),
    old("stream-cut", "2025-11-25", ends(3)),
    old("stream-goes-on", "2025-03-26", says(3, DONE), says(3, ROOTS)),
    old("stream-goes-on", OLD, says(3, DONE), says(3, ROOTS)),
    old("stream-goes-on", "2025-11-25", says(3, DONE), says(3, ROOTS)),
    Planted(
        "stream-goes-on",
        [
            *modern_http(),
            *MODERN_CALL,
            says(2, done(1, HINTS)),
            says(2, notification("vendor/note")),
        ],
        HTTP,
    ),
    Planted(
        "stream-cut",
        [*modern_http(), *MODERN_CALL, ends(2)],
        HTTP,
    ),
]


def test_a_stream_that_breaks_off_and_is_resumed() -> None:
    """Events may be repeated on the GET that resumes a stream, and its response may come there."""
    broken = [*streaming(3, CALL), says(3, UP, id="1"), says(3, progress(7, 2), id="2")]
    left = ends(3, "closed", C2S)
    resumed: list[Step] = [got(4, last_event_id="1"), opens(4), says(4, progress(7, 2), id="2")]

    assert [] == names(
        *opening_http(), *broken, left, *resumed, says(4, DONE, id="3"), ends(4), transport=HTTP
    )


def test_a_server_may_close_what_can_be_resumed() -> None:
    """In 2025-11-25 a server may close a stream whose events have ids."""
    polled: list[Step] = [*streaming(3, CALL), says(3, b"", id="1", retry=10), ends(3)]
    resumed: list[Step] = [got(4, last_event_id="1"), opens(4), says(4, DONE, id="2"), ends(4)]

    assert [] == names(*opening_http(), *polled, *resumed, transport=HTTP)


def test_what_was_cancelled_needs_no_response() -> None:
    """The server ends the stream of a call that was cancelled."""
    cancel: list[Step] = [posted(4, cancelled(1)), accepts(4)]

    steps: list[Step] = [*opening_http(), *streaming(3, CALL), *cancel, ends(3)]

    assert [] == names(*steps, transport=HTTP)


def test_a_broken_stream_breaks_no_rule() -> None:
    """Connections are lost."""
    steps: list[Step] = [*opening_http(OLD), *streaming(3, CALL, OLD)]

    assert [] == names(*steps, ends(3, "reset"), transport=HTTP)
    assert ["stream-cut"] == names(*steps, ends(3), transport=HTTP)


def test_a_listen_may_end_without_a_word() -> None:
    """The specification has three ways to end a listen; all are allowed."""
    listen = asked(2, ask(1, "subscriptions/listen", {"notifications": {}}), "subscriptions/listen")

    assert [] == names(*modern_http(), listen, opens(2), ends(2), transport=HTTP, sessionless=True)


def test_the_events_of_other_streams_are_known() -> None:
    """Servers whose store does not know of streams replay them all, which is named."""
    two = [*streaming(3, CALL), says(3, UP, id="1"), *streaming(4, OTHER)]
    asked_again = [says(4, response(2), id="2"), got(5, last_event_id="1"), opens(5)]
    again = says(5, response(2), id="2")
    [told] = violations(*opening_http(), *two, *asked_again, again, transport=HTTP)

    assert ("replays-other-stream", "notice") == (told.rule.name, told.level.value)


def test_an_event_without_an_id() -> None:
    """Only what has an id can have one that was used; the end of a stream as other APIs write it is
    no error either.
    """
    again = [says(3, UP, id="1"), *streaming(4, OTHER), says(4, b"", id="1")]
    for rest in ([says(4, response(2))], [says(4, response(2)), says(4, b"[DONE]")]):
        found = violations(
            *opening_http("2025-11-25"), *streaming(3, CALL), *again, *rest, transport=HTTP
        )
        reused = [one for one in found if one.rule.name == "event-id-reused"]
        assert ["the event id 1, used before"] == [one.text for one in reused]
        assert ["event-id-reused"] == [one.rule.name for one in found]


@pytest.mark.parametrize(
    "steps",
    [
        resumed(1000),
        resumed(1050),
        resumed(3000, WAIT, WAIT),
        resumed(0),
        [*resumed(1000), ends(4), WAIT, got(5, last_event_id="1")],
    ],
)
def test_a_client_that_waits(steps: list[Step]) -> None:
    """It resumes when it should, or as good as then."""
    assert [] == found_in(*opening_http(), *steps)


def test_who_ended_the_stream_and_when() -> None:
    """A stream that the client ended is resumed at any time, one without times is not judged, and
    before 2025-11-25 there was no such rule.
    """
    left = resumed(60_000)
    left[3] = ends(3, "closed", C2S)
    assert [] == found_in(*opening_http(), *left)
    assert [] == names(*opening_http(), *resumed(60_000), transport=HTTP)
    old_one = resumed(60_000, version="2025-06-18")
    assert ["stream-cut"] == found_in(*opening_http("2025-06-18"), *old_one)


def test_a_wait_holds_for_the_stream() -> None:
    """A stream that ends again is resumed as the server asked at first; another stream is not."""
    again: list[Step] = [ends(4), got(5, last_event_id="1")]
    steps = [*resumed(1060, WAIT)[:-1], *again]
    assert ["retry-ignored"] == found_in(*opening_http(), *steps)
    other: list[Step] = [posted(6, OTHER), opens(6), says(6, response(2)), ends(6), got(7)]
    assert [] == found_in(*opening_http(), *resumed(60_000)[:4], *other)


def found_in(*steps: Step) -> list[str]:
    """The rules that a recording breaks, which has times."""
    row = Planted("", steps, HTTP, 2)
    checked = (getattr(one, "violation", None) for one in check(row.cassette))
    return [one.rule.name for one in checked if one is not None and one.rule.name != "shape"]
