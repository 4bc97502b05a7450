"""Ctrl-C on a command: it prints nothing, and the exit status is 130, from the first import of ours
to the exit of the interpreter. `main` stands above; below is only the standard library, because all
else takes time to import.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:  # without an import of typing: no moment is lost before Ctrl-C is ours
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeVar

    _Result = TypeVar("_Result")

STATUS = 128 + signal.SIGINT
_RETRY_S = 0.0001


def raise_interrupts() -> None:
    """Let Ctrl-C raise SystemExit with its status, wherever it is not lost. For KeyboardInterrupt
    click prints an empty line, also between two functions of ours.
    """
    if sys.platform == "win32":
        return  # which has no timer: Python's own handler
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it was ignored
        signal.signal(signal.SIGALRM, _interrupt)
        signal.signal(signal.SIGINT, _interrupt)


def run_trio(main: Callable[..., Awaitable[_Result]], *args: Any) -> _Result:
    """Run a function under trio, which takes Ctrl-C over only from Python's own handler."""
    import trio

    with PythonHandler():
        return trio.run(main, *args)


class PythonHandler:
    """In this block Ctrl-C raises KeyboardInterrupt, which trio and `subprocess` know: a program
    that is run, which Ctrl-C has reached too, then has a moment to end. Behind it, what is imported
    is interrupted as what was imported before.
    """

    def __enter__(self) -> None:
        self._is_ours = signal.getsignal(signal.SIGINT) is _interrupt
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, _interrupt)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C from now on: the exit status is settled, and the interpreter would print a
    traceback from whatever it is cleaning up.
    """
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _interrupt(_signum: int, frame: FrameType | None) -> None:
    """End the command; where what is raised would be printed and forgotten, a little later."""
    if sys.platform == "win32":
        raise NotImplementedError
    if _in_callback(frame):
        signal.setitimer(signal.ITIMER_REAL, _RETRY_S)
    else:
        raise SystemExit(STATUS)


def _in_callback(frame: FrameType | None) -> bool:
    """Return whether a lock of the import system is being removed: by a weakref callback, the only
    code that imports run and that cannot raise (`_get_module_lock`).
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "cb" and code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
