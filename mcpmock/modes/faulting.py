"""Where faults stand in a session: behind its recorders, next to the client; and plans in files.

Without a plan there is no such stage, and nothing of it is imported: a recorder is to start
quickly. The modes beside it use this.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcpmock.protocol.stage import Stage

if TYPE_CHECKING:
    from mcpmock.pipeline.faults.plan import Plan
    from mcpmock.pipeline.faults.receipts import FaultRun, Receipt


def load_plan(file: Path | None, shorthands: Sequence[str] = (), seed: int | None = None) -> Plan:
    """The plan in a TOML file, if there is one, and behind its faults those of the shorthands;
    `seed` overrules the file's. Raises PlanError with all mistakes, and CassetteError for a
    recording that it draws from.
    """
    from mcpmock.pipeline.faults.structure import read_plan

    return sampled(read_plan(_text_of(file), str(file), shorthands, seed), file)


def sampled(plan: Plan, file: Path | None = None) -> Plan:
    """With the recordings loaded that it names, from where the plan is. Raises CassetteError."""
    from mcpmock.cassette.file import load

    folder = Path() if file is None else file.parent
    return plan.with_samples(lambda name: load(folder / name))


def _text_of(file: Path | None) -> str:
    if file is None:
        return ""
    from mcpmock.pipeline.faults.fault import PlanError

    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise PlanError([f"{file}: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PlanError([f"{file}: not UTF-8: {error}"]) from error


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

    from mcpmock.pipeline.faults.engine import Faults
    from mcpmock.pipeline.late import Late
    from mcpmock.pipeline.recorder import Recorder

    def note(receipt: Receipt, now: float) -> None:
        faults.note(receipt, session)
        for recorder in recorders:
            if isinstance(recorder, Recorder | Late):
                recorder.receipt(receipt.value, receipt.seen.frame, now)

    return [Faults(faults, session, transport, note)]
