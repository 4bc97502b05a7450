"""What is recorded, where, and how: the options of `mcpmock record` and `mcpmock proxy`."""

from pathlib import Path
from typing import Literal

from msgspec import NODEFAULT

from .console import LOG
from .endpoints import OAUTH_HELP
from .option import FileName, OptionTable, Seconds, option

ANSWER_TIMEOUT_S = 30.0
RecordMode = Literal["none", "once", "new_episodes", "all", "rewrite"]


class RecordOptions(OptionTable):
    """What `mcpmock record` writes, the server that it records, and the requests that it makes
    where no client does.
    """

    output: FileName = option(
        NODEFAULT,
        "Write the cassette to FILE; DIR/ gives each run a file of its own.",
        flags=("-o", "--output"),
        metavar="FILE",
        private=True,
    )
    overwrite: bool = option(
        False, "Replace an existing FILE, once the session has ended cleanly.", private=True
    )
    new: bool = option(False, "Fail if FILE exists.")
    strict: bool = option(False, "End the session if it can no longer be recorded.")
    no_redact: bool = option(False, "Write secrets to the cassette unredacted.", private=True)
    url: str | None = option(
        None, "Record the server at this URL instead of a COMMAND.", metavar="URL", private=True
    )
    oauth: bool = option(False, OAUTH_HELP, private=True)
    watch: bool = option(False, "Also serve a live page of FILE while recording (`mcpmock watch`).")
    lists: bool = option(
        False,
        "Without a client: ask for all pages of all lists that the server offers.",
        flags=("--list",),
    )
    call: tuple[str, ...] = option(
        (),
        "Without a client: call a tool with these arguments, in the order written; repeatable.",
        metavar="'TOOL {JSON}'",
        private=True,
    )
    request: tuple[str, ...] = option(
        (),
        "Without a client: send any request, in the order written; repeatable.",
        metavar="'METHOD {JSON}'",
        private=True,
    )
    timeout: Seconds = option(
        ANSWER_TIMEOUT_S,
        "Without a client: wait so long for each answer.",
        metavar="TIME",
        default_text="30s",
        positive=True,
    )
    command: tuple[str, ...] = ()

    @property
    def without_client(self) -> bool:
        """Whether mcpmock is the client itself."""
        return self.lists or bool(self.call or self.request)


class ProxyOptions(OptionTable):
    """What `mcpmock proxy` does besides passing messages on."""

    cassette: Path | None = option(
        None, "Record to or replay from this cassette, depending on --mode.", metavar="FILE"
    )
    mode: RecordMode | None = option(
        None,
        "none: replay FILE. once: replay FILE, or record it if it does not exist. new_episodes: "
        "replay FILE and record what it lacks. all, rewrite: record FILE again.  [default: none]",
    )
    record: FileName | None = option(
        None,
        "Record the session; an existing OUT gets one more take, DIR/ gives each run its own file.",
        metavar="OUT",
        private=True,
    )
    log: Path | None = LOG
    restart_on: tuple[FileName, ...] = option(
        (),
        "Start COMMAND again, behind a session that goes on, when the content of a file that GLOB "
        "matches changes (repeatable).",
        metavar="GLOB",
    )
    restart_grace: Seconds | None = option(
        None,
        "Give open calls this long to be answered before a restart.  [default: 5s]",
        metavar="TIME",
    )
