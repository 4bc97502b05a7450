"""Shows the package a platform that it does not run on: `python shown_platform.py PLATFORM ARG...`
runs the command line there, and with `-` the command lines of a JSON list on standard input.

What is imported by `mcpmock.*` of `os`, `signal`, `socket`, `select` and `sys` lacks the names that
the platform lacks, and modules that it lacks are not found. All other modules are those of this
machine: the libraries below are tested elsewhere by their authors.
"""

from __future__ import annotations

import builtins
import fcntl
import importlib
import io
import json
import os
import re
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from types import ModuleType
from typing import Any

_ELSEWHERE = re.compile(
    r"epoll|EPOLL\w+|pidfd_\w+|P_PIDFD|sigtimedwait|AF_NETLINK|fdatasync|O_PATH"
)
_POSIX = re.compile(
    r"fork\w*|killpg|[sg]et(sid|pgid|pgrp|uid|euid|gid|egid|priority)|PRIO_\w+|l?f?chown|fchmod"
    r"|p(read|write)v?|[sg]et_blocking|mk(fifo|nod)|wait\w*|W[A-Z]\w+|openpty|login_tty|sysconf|uname"
    r"|posix_\w+|sched_\w+|O_(NONBLOCK|NOFOLLOW|CLOEXEC|DIRECTORY|NOCTTY|SYNC|DSYNC)"
    r"|SIG(KILL|HUP|QUIT|ALRM|CHLD|USR[12]|PIPE|STOP|CONT|TSTP)|ITIMER_\w+|[sg]etitimer|alarm|pause"
    r"|pthread_\w+|SIG_(UN)?BLOCK|SIG_SETMASK|sigwait\w*|sigpending"
    r"|AF_UNIX|(send|recv)_fds|sendmsg|recvmsg|SCM_RIGHTS|MSG_DONTWAIT|SO_REUSEPORT"
    r"|poll|POLL\w+|PIPE_BUF"
)
_LACKED = {"darwin": (), "win32": ("fcntl", "termios", "resource", "pwd", "grp", "pty", "tty")}
_ADDED = {
    "darwin": {},
    "win32": {"os": {"O_BINARY": 0}, "signal": {"SIGBREAK": 12}},
}
_SHOWN = ("os", "signal", "socket", "select", "sys")


class _Shown(ModuleType):
    """A module of this machine, as it is on a platform."""

    def __init__(self, real: ModuleType, platform: str) -> None:
        super().__init__(real.__name__)
        self.__dict__["_real"] = real
        self.__dict__["_platform"] = platform
        self.__dict__.update(_ADDED[platform].get(real.__name__, {}))

    def __getattr__(self, name: str) -> Any:
        if self._real is sys and name == "platform":
            return self._platform
        lacked = _ELSEWHERE.fullmatch(name) or (
            self._platform == "win32" and _POSIX.fullmatch(name)
        )
        if lacked:
            raise AttributeError(f"{self._platform}: {self.__name__}.{name}")
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._real, name, value)


class _Msvcrt(ModuleType):
    """Locks of Windows over those of this machine."""

    LK_LOCK, LK_NBLCK = 1, 2

    def locking(self, fd: int, mode: int, count: int) -> None:
        """Lock the bytes at the place of the file."""
        # Nobody else may read what is locked.
        assert os.lseek(fd, 0, os.SEEK_CUR) > os.fstat(fd).st_size
        assert count == 1
        fcntl.flock(fd, fcntl.LOCK_EX | (fcntl.LOCK_NB if mode == self.LK_NBLCK else 0))


def show(platform: str) -> None:
    """Let all of the package that is imported from now on see this platform."""
    real_import = builtins.__import__
    shown = {name: _Shown(importlib.import_module(name), platform) for name in _SHOWN}
    msvcrt = _Msvcrt("msvcrt")

    def import_(
        name: str,
        globals: dict[str, Any] | None = None,
        locals: dict[str, Any] | None = None,
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> Any:
        if str((globals or {}).get("__name__")).partition(".")[0] == "mcpmock" and not level:
            if name in shown:
                return shown[name]
            if name in _LACKED[platform]:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if name == "msvcrt" and platform == "win32":
                return msvcrt
        return real_import(name, globals, locals, fromlist, level)

    builtins.__import__ = import_  # type: ignore[assignment]


def run_all(commands: list[list[str]]) -> list[list[Any]]:
    """Run command lines one after the other; gives the status, output and errors of each."""
    main = importlib.import_module("mcpmock.cli").main
    results = []
    for arguments in commands:
        sys.argv[:] = ["mcpmock", *arguments]
        output, errors = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
        status: object = None
        with redirect_stdout(output), redirect_stderr(errors):
            try:
                main()
            except SystemExit as ended:
                status = ended.code
            except Exception:  # noqa: BLE001 (it is judged with the rest)
                traceback.print_exc()
        written = []
        for stream in (output, errors):
            stream.flush()
            assert isinstance(stream.buffer, io.BytesIO)
            written.append(stream.buffer.getvalue().decode())
        results.append([status or 0, *written])
    return results


if __name__ == "__main__":
    assert not any(name.startswith("mcpmock") for name in sys.modules)
    platform, *arguments = sys.argv[1:]
    if platform != "linux":
        show(platform)
    if arguments == ["-"]:
        print(json.dumps(run_all(json.load(sys.stdin))))
    else:
        sys.argv[:] = ["mcpmock", *arguments]
        importlib.import_module("mcpmock.cli").main()
