"""`replace`: something else."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.content import Replace
from tests.faults.faulty import CALL, answered, body, on_stdio
from tests.support import response


def test_another_text() -> None:
    """Byte for byte."""
    assert [b"  x\xc3\xa9"] == answered(Replace(text="  xé"))
    assert ["1 200 application/json", "1 x", "1 eof"] == body(Replace(text="x"))


def test_another_result() -> None:
    """The same answer with another result; nothing else is replaced."""
    fault = Replace(result={"a": 1}, toward="both")

    assert ([CALL], [response(1, {"a": 1})]) == on_stdio(fault)


def test_one_of_both() -> None:
    """Either the text or the result."""
    with pytest.raises(PlanError, match="either text or result"):
        Replace()
