"""`Server`: what stands behind a run, and `Command`, the one that is a process. The one that is
reached over HTTP is in `url_server`.
"""

from __future__ import annotations

import errno
import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from shutil import which
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.process import ProcessChannel, start_process
from mcpmock.errors import CannotReach, CannotStart
from mcpmock.pipeline.stage import Stage

if TYPE_CHECKING:
    from mcpmock.channels.child_process import ChildProcess
    from mcpmock.transports.locations import Origin
    from mcpmock.transports.session_router import TransportKind

    from .take import Say


class Reach(Struct, eq=False):
    """Whether the server at a URL accepts connections. The user reads a line each time it stops
    accepting them; clients get an error answer each time.
    """

    say: Say
    failing: bool = False

    def lose(self, url: str, why: str) -> None:
        """Note that the server is not reached now."""
        if not self.failing:
            from mcpmock.redaction.masks import masked_url  # most servers are reached

            # Queries often hold secrets that nothing gives away.
            self.say(str(CannotReach(masked_url(url.partition("?")[0]), why)))
        self.failing = True

    @property
    def status(self) -> int:
        """The exit status of a run in which nothing else failed."""
        return CannotReach.exit_code if self.failing else 0


class Server:
    """A server to be recorded, driven or passed through to."""

    @property
    def kind(self) -> TransportKind | None:
        """Its transport over HTTP; None for one that takes bare messages."""
        return None

    @property
    def target(self) -> str:
        """The path and query of its URL."""
        return ""

    @property
    def origins(self) -> Collection[Origin]:
        """What names it in a URL."""
        return ()

    @property
    @abstractmethod
    def described(self) -> Sequence[str] | str:
        """Its name in the header of a recording."""

    def check(self, say: Say) -> None:
        """Raise CannotStart where a start is sure to fail. A server at a URL may start later."""

    @property
    def needs_login(self) -> bool:
        """Whether it has refused the login that mcpmock has for it, or the lack of one."""
        return False

    def watch_authorization(self, watcher: Callable[[dict[str, Any]], None]) -> None:
        """Tell how requests are authorized, now and when that changes; nothing, if they are
        not.
        """

    @abstractmethod
    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:
        """Return a channel for one conversation. `front` is the HTTP listener whose exchanges are
        passed on unchanged, or None where we make the exchanges.
        """

    def translation(
        self,
        exchange_numbers: Iterator[int],  # noqa: ARG002
        *,
        client_opens_stream: bool = False,  # noqa: ARG002
        in_order: bool = False,  # noqa: ARG002
        renews: bool = False,  # noqa: ARG002
    ) -> list[Stage]:
        """Return the translation from bare messages to what the server speaks."""
        return []


class Command(Server, Struct, frozen=True):
    """A server that is a process: one for each conversation."""

    command: Sequence[str]
    started: list[ChildProcess] = field(default_factory=list)
    """Processes that run already, for the first conversations."""

    @property
    def described(self) -> Sequence[str]:
        return self.command

    def check(self, say: Say) -> None:  # noqa: ARG002
        """Check it before clients come over HTTP: the first of them would find out otherwise."""
        program = self.command[0]
        if which(program) is None:
            found = os.sep in program and os.path.lexists(program)
            number = errno.EACCES if found else errno.ENOENT
            raise CannotStart(program, os.strerror(number), found=found)

    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:  # noqa: ARG002
        if self.started:
            return ProcessChannel(self.started.pop())
        return await start_process(self.command)
