"""Work beside the calls that wait for it."""

from __future__ import annotations

from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any, cast

import attrs
import pytest

from mcpmock.agent_tools.workers import MAX_WAITING, Workers
from mcpmock.errors import McpMockError
from mcpmock.stubs.call import StubCall, StubFailure


@attrs.define
class Call:
    """What stands for a call: it keeps what it was told."""

    told: list[float] = attrs.field(factory=list)

    def progress(self, amount: float, *, message: str) -> None:
        assert "working" == message
        self.told.append(amount)


def steps(workers: Workers, work: Callable[[], Any], call: Call | None = None) -> Any:
    return workers.steps(cast("StubCall", call or Call()), work)


def ended(steps: Any) -> Any:
    """What they come to. They must not wait any more."""
    with pytest.raises(StopIteration) as found:
        next(steps)
    return found.value.value


def test_a_call_waits_for_its_work() -> None:
    """It looks often at first, then each 50 ms, and tells of each second."""
    begun: list[Callable[[], None]] = []
    call = Call()
    waiting = steps(Workers(start=begun.append), lambda: "done", call)

    pauses = [next(waiting) for _ in range(48)]
    assert [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.05, 0.05] == pauses[:8]
    assert {0.05} == {*pauses[8:]}
    assert [1, 2] == call.told
    [work] = begun
    work()
    assert "done" == ended(waiting)


def test_too_many_calls() -> None:
    """One more than may wait is refused, until one of them is done."""
    begun: list[Callable[[], None]] = []
    workers = Workers(start=begun.append)
    for _ in range(MAX_WAITING):
        next(steps(workers, lambda: None))

    with pytest.raises(StubFailure, match="64 calls are open already; ask again later"):
        next(steps(workers, lambda: None))
    begun.pop()()
    assert next(steps(workers, lambda: None))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (McpMockError("no such file\x1b"), r"no such file\u001b"),
        (ValueError("no such filter"), "no such filter"),
        (KeyError("secret"), "internal error (please report): KeyError"),
    ],
)
def test_work_that_fails(error: Exception, said: str) -> None:
    """What the user can mend is told as it is; of what is ours only what kind of error it is."""

    def work() -> None:
        raise error

    turns = BoundedSemaphore(1)
    workers = Workers(start=lambda work: work(), turns=turns)
    with pytest.raises(StubFailure) as raised:
        next(steps(workers, work))
    assert said == str(raised.value)
    assert turns.acquire(blocking=False)
