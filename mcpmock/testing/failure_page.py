"""The HTML page of a failed test (`--mcp-report DIR`): what was recorded, what the test's clients
asked and got, and how the two differ. A miss stands where the client got it, with its near misses.

`view.report` makes the page. Without the option nothing here is imported and nothing is kept.
"""

from __future__ import annotations

import re
from collections import deque
from hashlib import sha256
from pathlib import Path
from time import monotonic

from mcpmock.api.cassettes import load
from mcpmock.api.log import Log
from mcpmock.cassette.file import rewrite
from mcpmock.cassette.model import FORMAT, Cassette, Header, event_line
from mcpmock.cassette.parser import read
from mcpmock.errors import McpMockError
from mcpmock.printable import printable
from mcpmock.protocol.messages import Frame
from mcpmock.redaction.cassettes import redact_cassette
from mcpmock.view.html_page import encode
from mcpmock.view.report import report_page

MAX_MESSAGES = 10_000
"""How many messages of a test are kept for its page, the newest."""
MAX_NAME_CHARS = 120


class SessionLog:
    """The messages of a fake server and its clients."""

    def __init__(self, log: Log) -> None:
        self._messages: deque[tuple[float, int, Frame]] = deque(maxlen=MAX_MESSAGES)
        self._start = monotonic()
        log.listeners.append(self._note)

    def _note(self, session: int, frame: Frame) -> None:
        self._messages.append((monotonic() - self._start, session, frame))

    def cassette(self, name: str) -> Cassette:
        """Return the session as a recording, redacted as one."""
        header = Header(mcpmock=FORMAT, transport="memory", test=name)
        lines = [encode(header) + b"\n"]
        for n, (seconds, session, frame) in enumerate(list(self._messages), 1):
            bare = Frame(frame.direction, frame.raw, frame.eol)
            lines.append(event_line(n, round(seconds * 1_000_000), bare, session=session))
        return read("this test", redact_cassette(b"".join(lines)).data)


def write_failure_page(
    folder: Path, test: str, recorded: Path, live: SessionLog
) -> tuple[Path | None, str]:
    """Write the page of a test. Gives the path, and a line that says where the page is, or why
    there is none.
    """
    name = re.sub(r"[^\w.-]+", "-", test).strip("-")
    if len(name) > MAX_NAME_CHARS:
        name = f"{name[:MAX_NAME_CHARS]}-{sha256(test.encode()).hexdigest()[:8]}"
    path = folder / f"{name}.html"
    seen = live.cassette(test)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = report_page(load(recorded), seen) if recorded.exists() else report_page(seen)
        rewrite(path, page)
    except (McpMockError, OSError) as error:
        return None, printable(f"report: none, because {error}")
    return path, printable(f"report: {path}")
