"""The vocabulary of the faults' tests: a session with faults between two ends, as a script."""

from __future__ import annotations

from typing import Any

from mcpmock.pipeline.faults.engine import Faults
from mcpmock.pipeline.faults.fault import Fault
from mcpmock.pipeline.faults.plan import Plan
from mcpmock.pipeline.faults.receipts import FaultRun, Receipt
from tests.helpers import Script


def faulty(*faults: Fault, seed: int = 7, transport: str = "stdio", session: int = 1) -> Script:
    """A wire with these faults on it."""
    return Script([Faults(FaultRun.of(Plan(faults=faults, seed=seed)), session, transport)])


def faults_of(script: Script) -> Faults:
    stage = script.pipeline.stages[0]
    assert isinstance(stage, Faults)
    return stage


def receipts(script: Script) -> list[dict[str, Any]]:
    """From now on, the receipts of what fires."""
    told: list[dict[str, Any]] = []

    def note(receipt: Receipt, now: float) -> None:
        told.append(receipt.value)

    faults_of(script).note = note
    return told
