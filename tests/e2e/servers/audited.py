"""mcpmock under an audit hook that notes, in a file, whatever reaches beyond this process.

audited.py FILE ARGUMENT.. (of mcpmock)

trio is imported before: it looks for its C library then, by a process of its own (ldconfig).
"""

from __future__ import annotations

import sys

import trio  # noqa: F401

BEYOND = (
    "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostby",
    "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty.",
    "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "ctypes.dlopen",
)  # fmt: skip


def main() -> None:
    with open(sys.argv.pop(1), "w", buffering=1) as notes:

        def note(event: str, args: object) -> None:
            if event.startswith(BEYOND):
                notes.write(f"{event} {args}\n")

        sys.addaudithook(note)
        from mcpmock.cli import main as mcpmock

        mcpmock()


if __name__ == "__main__":
    main()
