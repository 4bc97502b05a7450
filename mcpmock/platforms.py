"""What differs between operating systems: locks, places in files, descriptors, signals, processes
and their groups.

Nothing else names `fcntl`, `termios`, `resource`, `/proc`, pidfds, `sigtimedwait`, `os.killpg` or
`os.fork` (`tests/laws/test_platforms.py`). The lowest room, of the standard library alone; modules
that one system lacks are imported where they are used. What a system cannot do at all is refused by
the faces before anything starts (`errors.NotOnThisPlatform`).
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
"""For `os.open`: no waiting for the other end of a pipe. Windows has no pipes among its files."""
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
NO_TERMINAL: int = getattr(os, "O_NOCTTY", 0)
BINARY: int = getattr(os, "O_BINARY", 0)
"""For `os.open` on Windows, which changes line ends without it."""

if sys.platform == "win32":
    KILL = 9  # TerminateProcess, as for any number that is no event of a console
    TERMINATE = signal.SIGBREAK
    STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    SYSTEM = "windows"
    REPLACES_OPEN_FILES = False
else:
    KILL = signal.SIGKILL
    TERMINATE = signal.SIGTERM
    STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    SYSTEM = "macos" if sys.platform == "darwin" else "linux"
    REPLACES_OPEN_FILES = True

_LOCKED_BYTE = 1 << 40
"""Where Windows locks: a locked byte cannot be read, so it lies behind all that a file holds."""


if sys.platform == "win32":

    def _lock_byte(fd: int, *, wait: bool = False) -> bool:
        import msvcrt

        at = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(fd, at, os.SEEK_SET)
        return True


def try_lock(fd: int) -> bool:
    """Take the lock of an open file for as long as it is open. Returns False if another holds
    it.
    """
    if sys.platform == "win32":
        return _lock_byte(fd)
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_lock(fd: int) -> None:
    """Take the lock of an open file, once it is free."""
    if sys.platform == "win32":
        while not _lock_byte(fd, wait=True):
            pass  # each try waits for ten seconds
        return
    import fcntl

    fcntl.flock(fd, fcntl.LOCK_EX)


def open_lock_of(folder: Path) -> int:
    """Open what stands for a folder that processes use one after the other: `wait_lock` takes it.
    Raises OSError.
    """
    if sys.platform == "win32":  # opens no folder
        return os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | BINARY, 0o600)
    # The folder itself: so one that is only read can be locked too.
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


if sys.platform == "win32":
    RESET_ON_CLOSE = struct.pack("HH", 1, 0)

    def read_socket(fd: int, size: int) -> bytes:
        """Read at most `size` bytes from a socket, as `os.read` does elsewhere."""
        import socket

        borrowed = socket.socket(fileno=fd)  # to the C library it is no descriptor
        try:
            return borrowed.recv(size)
        finally:
            borrowed.detach()

    def write_socket(fd: int, data: bytes) -> int:
        """Write to a socket, as `os.write` does elsewhere. Gives how many bytes it took."""
        import socket

        borrowed = socket.socket(fileno=fd)
        try:
            return borrowed.send(data)
        finally:
            borrowed.detach()
else:
    RESET_ON_CLOSE = struct.pack("ii", 1, 0)
    """For SO_LINGER: a close is a reset (RST)."""
    read_socket, write_socket = os.read, os.write


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Read at most `size` bytes from this place of a file."""
    if sys.platform == "win32":
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, size)
    return os.pread(fd, size, offset)


def keep_owner(fd: int, path: Path, old: os.stat_result) -> None:
    """Give a new file to the owner of the one that it replaces. Raises PermissionError where that
    is another user. Windows gives a file the owner that its folder says.
    """
    if sys.platform != "win32":
        try:
            os.chown(fd, old.st_uid, old.st_gid)
        except PermissionError as error:  # only root may give a file away
            if old.st_uid != os.geteuid():
                raise PermissionError(error.errno, "belongs to another user", str(path)) from error


def own_descriptor(fd: int, flags: int) -> int | None:
    """Open anew what a descriptor refers to, with flags of its own; None where the system
    gives only the same description again. Raises OSError.
    """
    if sys.platform != "linux":
        return None
    return os.open(f"/proc/self/fd/{fd}", flags | NO_WAIT | NO_TERMINAL)


def unread_bytes(fd: int, *, sent: bool) -> int:
    """Return how many bytes wait in a pipe, or (`sent`) were sent into a socket and not taken; 0
    where the system cannot say.
    """
    if sys.platform == "win32":
        return 0
    import fcntl
    import termios

    counted = bytearray(4)
    try:
        fcntl.ioctl(fd, termios.TIOCOUTQ if sent else termios.FIONREAD, counted)
    except OSError:
        return 0
    return int.from_bytes(counted, sys.byteorder)


def open_descriptors() -> list[int]:
    """Return the numbers of all descriptors of this process; none where the system has no list."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return sorted(int(name) for name in os.listdir(folder))
        except OSError:
            continue
    return []


def raise_descriptor_limit() -> None:
    """Allow this process as many open files as it may have."""
    if sys.platform != "win32":  # without a limit that matters
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            pass  # macOS says "unlimited" and takes no more than OPEN_MAX


def exit_descriptor(pid: int) -> int | None:
    """Return what becomes readable when a child ends, for the caller to close; None where there is
    no such thing, or no descriptor left.
    """
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # a Python built for an old kernel
        return None


if sys.platform == "win32":
    _CREATE_SUSPENDED = 0x4
    _PROCESS_ALL_ACCESS, _PROCESS_DUP_HANDLE = 0x1F0FFF, 0x40
    _KILL_ON_JOB_CLOSE, _EXTENDED_LIMITS = 0x2000, 9
    _LIMITS = struct.pack("@2qI2PIP2I6Q4P", 0, 0, _KILL_ON_JOB_CLOSE, *(16 * [0]))
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION with its flags."""

    class JobObject:
        """Holds a child that was started with `own_group`, and all that it starts: they end with
        this process, however it ends.
        """

        def __init__(self, pid: int) -> None:
            """Let the child run, once it is held. Raises OSError."""
            import _winapi
            import ctypes
            from ctypes.wintypes import HANDLE

            self._pid = pid
            self._kernel = kernel = ctypes.WinDLL("kernel32", use_last_error=True)
            kernel.CreateJobObjectW.restype = HANDLE
            process = _winapi.OpenProcess(_PROCESS_ALL_ACCESS, False, pid)
            self._job = HANDLE(kernel.CreateJobObjectW(None, None))
            try:
                if not (
                    kernel.SetInformationJobObject(
                        self._job, _EXTENDED_LIMITS, _LIMITS, len(_LIMITS)
                    )
                    and kernel.AssignProcessToJobObject(self._job, HANDLE(process))
                ):
                    raise ctypes.WinError(ctypes.get_last_error())
                ctypes.WinDLL("ntdll").NtResumeProcess(HANDLE(process))
            except OSError:
                self.dismiss()
                raise
            finally:
                _winapi.CloseHandle(process)

        def signal(self, signum: int) -> None:
            """End all at once (KILL), or press Ctrl-Break for the child: that reaches it where both
            have one console.
            """
            if signum == KILL:
                self._kernel.TerminateJobObject(self._job, 128 + KILL)
            else:
                self._kernel.GenerateConsoleCtrlEvent(signal.CTRL_BREAK_EVENT, self._pid)

        def dismiss(self) -> None:
            """End what is left in it. Once is enough."""
            if self._job.value is not None:
                self._kernel.CloseHandle(self._job)
                self._job.value = None

    def duplicate_handles(pid: int, handles: Sequence[int]) -> list[int]:
        """Open what another process of this user has under these numbers. Gives descriptors.
        Raises OSError.
        """
        import _winapi
        import msvcrt

        theirs = _winapi.OpenProcess(_PROCESS_DUP_HANDLE, False, pid)
        try:
            return [
                msvcrt.open_osfhandle(
                    _winapi.DuplicateHandle(
                        theirs,
                        handle,
                        _winapi.GetCurrentProcess(),
                        0,
                        False,
                        _winapi.DUPLICATE_SAME_ACCESS,
                    ),
                    0,
                )
                for handle in handles
            ]
        finally:
            _winapi.CloseHandle(theirs)


def own_group(command: Sequence[str], descriptors: Sequence[int]) -> dict[str, Any]:
    """Return arguments of `Popen` for a child with a group of its own that gets these descriptors.
    On Windows it waits until a `JobObject` holds it, and gets none.
    """
    if sys.platform == "win32":
        import subprocess
        from shutil import which

        # CreateProcess tries no end of a name but .exe: npx is npx.cmd.
        found = which(command[0]) or command[0]
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | _CREATE_SUSPENDED
        return {"args": [found, *command[1:]], "creationflags": flags}
    return {"args": list(command), "start_new_session": True, "pass_fds": descriptors}


def signal_group(group: int, signum: int) -> None:
    """Send a signal to all processes of a group. Raises OSError, ProcessLookupError if there are
    none.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    os.killpg(group, signum)


def exit_argument(status: int) -> int:
    """Return what ends this process with a status, given to `sys.exit`: that takes 32 bits with a
    sign, and a crash on Windows is a number above them (0xC0000005).
    """
    return status - (1 << 32) if sys.platform == "win32" and status >> 31 else status


def lower_priority(pid: int, niceness: int) -> None:
    """Let a process of ours run behind others, where the system has such numbers."""
    if sys.platform != "win32":
        os.setpriority(os.PRIO_PROCESS, pid, niceness)


def session_members(session: int) -> Iterator[tuple[int, str]]:
    """Yield the living processes that a process with a session of its own has started, itself
    included, with their names. Without /proc: those of its group.
    """
    return _members_by_proc(session) if sys.platform == "linux" else _members_by_ps(session)


def _members_by_proc(session: int) -> Iterator[tuple[int, str]]:
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            continue  # it ended meanwhile
        name, _, rest = stat.partition(b"(")[2].rpartition(b")")
        fields = rest.split()
        if int(fields[3]) == session and fields[0] != b"Z":
            yield int(entry), name.decode(errors="replace")


def _members_by_ps(group: int) -> Iterator[tuple[int, str]]:
    import subprocess

    columns = ("pid=", "pgid=", "stat=", "comm=")
    words = ["ps", "-A", *(word for column in columns for word in ("-o", column))]
    listed = subprocess.run(words, capture_output=True, check=False).stdout
    for line in listed.decode(errors="replace").splitlines():
        pid, pgid, state, name = [*line.split(None, 3), ""][:4]
        if pgid == str(group) and not state.startswith("Z"):
            yield int(pid), os.path.basename(name)


def fork_process() -> int:
    """Fork this process, as `os.fork` does. Only replays with workers do, on Linux."""
    if sys.platform == "win32":
        raise NotImplementedError
    return os.fork()


def wait_for_signal(signals: Collection[int], seconds: float) -> None:
    """Wait so long for one of these signals, which have to be blocked. Linux only."""
    if sys.platform != "linux":
        raise NotImplementedError
    signal.sigtimedwait(signals, seconds)


def session_bus() -> str | None:
    """Return where the message bus of this user is on a Linux desktop."""
    if sys.platform == "win32":
        return None
    return f"/run/user/{os.getuid()}/bus"
