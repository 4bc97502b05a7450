"""`wrong_id`: another id."""

from __future__ import annotations

from mcpmock.faults.kinds.content import WrongId
from tests.faults.faulty import answered
from tests.support import call, response


def test_another_id() -> None:
    """The next number, another text, or the one that is said."""
    assert [response(2, {"content": []})] == answered(WrongId())
    assert [response("a-wrong")] == answered(WrongId(), call("a", "x"), response("a"))
    assert [response("z")] == answered(WrongId(id="z"), call("a", "x"), response("a"))
