"""`id_type_flip`: another type."""

from __future__ import annotations

import pytest

from mcpmock.faults.kinds.content import IdTypeFlip
from tests.faults.faulty import answered
from tests.support import call, response


@pytest.mark.parametrize(("id_", "flipped"), [(1, "1"), ("1", 1), ("a", 0)])
def test_flipped(id_: object, flipped: object) -> None:
    """Numbers become texts and texts numbers."""
    assert [response(flipped)] == answered(IdTypeFlip(), call(id_, "x"), response(id_))
