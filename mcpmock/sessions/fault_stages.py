"""Where faults stand in a session: behind its recorders, next to the client.

Without a plan there is no such stage, and nothing of it is imported: a recorder is to start
quickly. The modes beside it use this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpmock.pipeline.stage import Stage

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun, Receipt


def with_faults(
    recorders: Sequence[Stage],
    faults: FaultRun | None,
    *,
    session: int = 1,
    transport: str = "stdio",
) -> list[Stage]:
    """The recorders of a session and, if there is a plan, its faults, whose receipts they note."""
    return [*recorders, *faults_for(recorders, faults, session=session, transport=transport)]


def faults_for(
    recorders: Sequence[Stage],
    faults: FaultRun | None,
    *,
    session: int = 1,
    transport: str = "stdio",
) -> list[Stage]:
    """The faults alone, where the recorders stand elsewhere in the row."""
    if faults is None:
        return []

    from mcpmock.faults.engine import FaultEngine
    from mcpmock.recording.deferred import DeferredRecorder
    from mcpmock.recording.recorder import Recorder

    def note(receipt: Receipt, now: float) -> None:
        faults.note(receipt, session)
        for recorder in recorders:
            if isinstance(recorder, Recorder | DeferredRecorder):
                recorder.receipt(receipt.value, receipt.seen.frame, now)

    return [FaultEngine(faults, session, transport, note)]
