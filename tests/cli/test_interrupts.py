"""What Ctrl-C raises; the moments of a start are in tests/e2e/test_interrupts.py."""

from __future__ import annotations

import signal

import pytest

from mcpmock.cli.interrupts import STATUS, PythonHandler, raise_interrupts


def test_trio_and_programs_that_are_run_know_a_keyboard_interrupt() -> None:
    """All else ends with the status."""
    raise_interrupts()
    with PythonHandler(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(SystemExit) as ended:
        signal.raise_signal(signal.SIGINT)

    assert STATUS == ended.value.code


def test_who_ignores_ctrl_c_goes_on() -> None:
    """As in a job that a shell has started in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise_interrupts()
    with PythonHandler():
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
