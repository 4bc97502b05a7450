"""What a plan makes of the recorded events."""

from __future__ import annotations

from mcpmock.cassette.file import load
from mcpmock.explore.arrangement import arrange
from mcpmock.explore.recorded_call import messages_of_events
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.plan import Plan
from mcpmock.protocol.messages import Notification, Request, Response
from tests.support import request
from tests.support.explored import RECORDED


def test_a_cancel_and_what_is_asked_behind_it() -> None:
    """A request follows the cancel at once, and nothing waits for its answer but the end, where the
    same is asked once more.
    """
    cancel = Cancel(i=1, match={"method": "tools/call", "id": 3})
    arranged = arrange(load(RECORDED), Plan(faults=(cancel,)), probe=request("p", "ping"))
    said = [message for _, message in messages_of_events(arranged.take.events)]
    at = next(
        n for n, one in enumerate(said) if isinstance(one, Notification) and "cancel" in one.method
    )
    behind = said[at + 1]

    assert isinstance(behind, Request)
    assert ("ping", ()) == (behind.method, arranged.faults)
    ends = [one.id for one in said[-3:] if isinstance(one, Request | Response)]
    assert [behind.id, b'"p"', b'"mcpmock-probe"'] == ends
    assert b"3" not in [one.id for one in said if isinstance(one, Response)]
