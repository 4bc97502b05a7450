"""`cancel`: what goes out, and when."""

from __future__ import annotations

import pytest

from mcpmock.pipeline.faults.cancel import Cancel, Target
from tests.helpers import cancelled, notification, progress, request, response
from tests.pipeline.faults.faulty import ANSWER, CALL, faulty, receipts


def test_right_behind_the_request() -> None:
    """With nothing consumed."""
    wire = faulty(Cancel())

    wire.at(0, client=CALL, to_server=[CALL, cancelled(1)]).at(1, server=ANSWER, to_client=ANSWER)
    wire.nothing_more()


def test_behind_so_many_messages() -> None:
    """Progress and the answer count; other calls do not."""
    wire = faulty(Cancel(i=2))
    told = receipts(wire)

    wire.at(0, client=CALL, to_server=CALL).at(1, server=progress("t"), to_client=progress("t"))
    wire.at(1, server=response(8), to_client=response(8))
    wire.at(2, server=ANSWER, to_client=ANSWER, to_server=cancelled(1)).nothing_more()
    assert {"i": 2} == told[-1]["drawn"]


def test_a_call_that_ends_before() -> None:
    """It is not cancelled."""
    wire = faulty(Cancel(i=2))

    wire.at(0, client=CALL, to_server=CALL).at(1, server=ANSWER, to_client=ANSWER)
    wire.at(2, server=progress("t"), to_client=progress("t")).nothing_more()


@pytest.mark.parametrize(
    ("target", "cancels"),
    [
        ("twice", [cancelled(1)] * 2),
        ("unknown", [cancelled("mcpmock-unknown")]),
        ("other_type", [cancelled("1")]),
        ("no_id", [notification("notifications/cancelled", {})]),
        ("initialize", [cancelled(0)]),
    ],
)
def test_odd_targets(target: Target, cancels: list[bytes]) -> None:
    """Of nothing, of something else, or twice."""
    faulty(Cancel(target=target)).at(0, client=CALL, to_server=[CALL, *cancels])


def test_requests_of_the_server() -> None:
    """The server cancels what it asked, with a reason."""
    asked = request(5, "sampling/createMessage")
    told = notification("notifications/cancelled", {"reason": "no", "requestId": 5})
    wire = faulty(Cancel(reason="no", toward="client"))

    wire.at(0, server=asked, to_client=[asked, told]).at(
        1, client=response(5), to_server=response(5)
    )
