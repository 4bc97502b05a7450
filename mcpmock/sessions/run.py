"""`Setup`, the value that every command fills, and `run_sessions`, which runs it.

    Setup -> run_sessions -> Front.serve(Run): a client comes -> Run.converse(Conversation)
                                |                                     |
                                `- Run.recorded: one take, around     `- compose: one pipeline
                                   all conversations                     -> runner.run, to its end

    client | gates observers head recorder faults translation player translation wire | server

    back and replay     what a run is
    -----------------   ------------------------------------------------------------------
    a server            it is passed through, and recorded if a recording is given
    a replay            the recording answers
    both                the recording answers what it can, the server, once needed, the rest

* `compose` is the only place where a pipeline is built; every command fills the same `Setup`.
* A take is opened before the server is started and gets its header after: neither a bad file starts
  a server nor a failed start leaves a take.
* Lives only here: the take, the numbers of conversations and exchanges, the server on standby.
* Not known here: where clients come from (the fronts beside this module), how frames move
  (`runner`), what a stage does. What a recorder alone needs is imported where it is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from itertools import count
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from mcpmock.channels.channel import ConversationEnd
from mcpmock.errors import CassetteError, RecordingIncomplete
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.runner import LiveSession, run

from .servers import Reach, Server
from .signals import stop_requests

if TYPE_CHECKING:
    from mcpmock.authorization.options import AuthorizationOptions
    from mcpmock.faults.receipts import FaultRun, Receipt
    from mcpmock.playback.player import Player
    from mcpmock.recording.deferred import DeferredRecorder
    from mcpmock.recording.recorder import Recorder

    from .replay import Replay
    from .standby import StandbyServer
    from .take import Recording, Say, TakeRecording

STDIO = "stdio"
"""The transport of bare messages, as recordings name it; in memory it is the same."""

Observer = Callable[[int, "Player | None"], Stage | None]
"""Called once for each conversation, with its number and its player (None where a server answers
alone). The stage that it returns, if any, stands next to the client.
"""


class Conversation(Struct, frozen=True, kw_only=True):
    """One client, as its front describes it."""

    number: int = 1
    """The session number in recordings, receipts and logs."""
    transport: str = STDIO
    """The transport that recorders and faults see."""
    gates: Sequence[Stage] = ()
    """Stages that decide what of the client gets in at all: nothing else sees what they answer."""
    head: Sequence[Stage] = ()
    """Stages next to the client: a recorded client, or translation that recorders do not see."""
    translation: Sequence[Stage] = ()
    """Translation from the client's exchanges to bare messages, behind recorders and faults."""
    wire: Sequence[Stage] = ()
    """Stages next to the server, behind the translation on its side."""
    player: Player | None = None
    unchanged: bool = False
    """Whether exchanges reach the server as they are: no translation on its side either."""
    client_opens_stream: bool = False
    """Whether the client says when a standalone stream is opened, not the translation."""
    renews: bool = True
    """Whether a session that a server at a URL has forgotten is replaced by another one: not where
    the server is what is judged.
    """
    in_order: bool = False
    """Whether over HTTP a notification is accepted before what the client says behind it is sent.
    """
    recorder_at_server: bool = False
    """Whether recorders stand next to the server, and see what reaches it, instead of next to the
    client, where they see what it sees.
    """


class Front:
    """Where clients come from."""

    @abstractmethod
    async def serve(self, run: Run, stops: AsyncIterator[int]) -> int:
        """Run all conversations until they are over or a stop signal comes. Gives the exit
        status.
        """


class Setup(Struct, frozen=True, kw_only=True):
    """What a run is put together from."""

    front: Front | None = None
    """None where the caller is the client: see `memory`."""
    back: Server | None = None
    replay: Replay | None = None
    faults: FaultRun | None = None
    recording: Recording | None = None
    authorization: AuthorizationOptions | None = None
    """The login that clients over HTTP need."""
    observers: Sequence[Observer] = ()
    say: Say
    stop: trio.Event | None = None
    """Ends the run in the place of a SIGTERM. With it no signal handler is installed: the process
    belongs to another program.
    """


async def run_sessions(setup: Setup) -> int:
    """Run a setup to its end. Gives the exit status.

    Raises CassetteError before a server is started, CannotStart, CannotListen, and
    RecordingIncomplete at the end of a run that was not recorded whole.
    """
    assert setup.front is not None
    with stop_requests(setup.stop) as stops:
        return await setup.front.serve(Run(setup), stops)


def compose(
    setup: Setup,
    conversation: Conversation,
    recorder: Recorder | DeferredRecorder | None = None,
    exchange_numbers: Iterator[int] | None = None,
) -> Pipeline:
    """Return the pipeline of one conversation, from the client to the server."""
    number, player = conversation.number, conversation.player
    watching = (observe(number, player) for observe in setup.observers)
    at_server = conversation.recorder_at_server
    recorders: list[Stage] = [] if recorder is None else [recorder]
    return Pipeline(
        [
            *conversation.gates,
            *(stage for stage in watching if stage is not None),
            *conversation.head,
            # A recording holds what the client sees: faults stand behind the recorder.
            *([] if at_server else recorders),
            *_faults(setup, recorder, conversation),
            *conversation.translation,
            *_answering(setup, player),
            *_to_server(setup, conversation, exchange_numbers or count(1)),
            *conversation.wire,
            *(recorders if at_server else []),
        ]
    )


def _faults(
    setup: Setup,
    recorder: Recorder | DeferredRecorder | None,
    conversation: Conversation,
) -> list[Stage]:
    faults = setup.faults
    if faults is None:  # nothing of the engine is imported: a recorder has to start quickly
        return []

    from mcpmock.faults.engine import FaultEngine
    from mcpmock.transports.content_coding import SendDecoded

    def note(receipt: Receipt, now: float) -> None:
        faults.note(receipt, conversation.number)
        if recorder is not None:
            recorder.receipt(receipt.value, receipt.matched.frame, now)

    replayed = setup.back is None
    engine = FaultEngine(faults, conversation.number, conversation.transport, note, replayed)
    return [engine, *([SendDecoded()] if conversation.unchanged else [])]


def _answering(setup: Setup, player: Player | None) -> list[Stage]:
    """Return what answers from a recording, where there is one."""
    if player is None:
        return []
    if setup.back is None:
        assert setup.replay is not None
        return setup.replay.stages(player)

    from mcpmock.playback.passthrough import Live

    return [Live(player)]


def _to_server(
    setup: Setup, conversation: Conversation, exchange_numbers: Iterator[int]
) -> list[Stage]:
    if setup.back is None or conversation.unchanged:
        return []
    return setup.back.translation(
        exchange_numbers,
        client_opens_stream=conversation.client_opens_stream,
        in_order=conversation.in_order,
        renews=conversation.renews,
    )


class Run:
    """One run of a setup: its take, its server, its conversations."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.reach = Reach(setup.say)
        self.numbers = count(1)
        """For conversations that their front does not number."""
        self._exchange_numbers = count(1)
        self._recording = setup.recording
        self._take: TakeRecording | None = None
        self._standby: StandbyServer | None = None

    def check(self) -> None:
        """Raise CannotStart for a server that is sure to fail, so that it leaves no take. One
        behind a recording may never be needed. Raises PlanError for faults of a login without
        a login.
        """
        setup = self.setup
        if setup.faults is not None and setup.authorization is None:
            setup.faults.refuse_logins()
        if setup.back is not None and setup.replay is None:
            setup.back.check(setup.say)

    @asynccontextmanager
    async def recorded(
        self, transport: str, *, open_server: bool = False
    ) -> AsyncIterator[ConversationEnd | None]:
        """Record one take for the time of the block, if a recording is wanted. A server behind a
        recording is only needed for what the recording lacks: then the take begins with the first
        need.

        With `open_server`, for a run with one conversation, gives the server.
        """
        setup, server = self.setup, None
        if setup.back is not None and setup.replay is not None:
            from .standby import standing_by

            standby = standing_by(setup.back, self._recording, transport, self.reach)
            async with standby as self._standby:
                yield None
            return
        self.check()
        take, missed = None, ""
        try:
            take = await self._open_take()
        except CassetteError as error:
            if self._recording is None or not self._recording.may_be_missing:
                raise
            missed = f"not recorded: {error}"
            setup.say(f"{missed}; the session goes on")
        try:
            if open_server:
                server = await self.open_server()
        except BaseException:
            if take is not None:
                take.file.discard()
            raise
        async with nullcontext() if take is None else take.recorded(transport, self._target()):
            if take is not None and setup.back is not None:
                setup.back.watch_authorization(take.authorized)
            yield server
        if missed:
            raise RecordingIncomplete(missed)

    async def open_server(self, front: object = None) -> ConversationEnd | None:
        """Return a channel to the server for one conversation: None where there is none, or where
        the conversation opens it when it is needed.
        """
        if self.setup.back is None or self._standby is not None:
            return None
        return await self.setup.back.open(self.reach, front)

    async def converse(
        self,
        conversation: Conversation,
        client: ConversationEnd,
        server: ConversationEnd | None = None,
        control: Callable[[LiveSession], Awaitable[None]] | None = None,
    ) -> LiveSession:
        """Run one conversation to its end, and `control` beside it. Gives the session, which knows
        how it ended.
        """
        recorder: Recorder | DeferredRecorder | None
        take, number = self._take, conversation.number
        with nullcontext() if take is None else take.conversation(number) as recorder:
            if self._standby is not None:
                recorder, server = self._standby.session(number)
            pipeline = compose(self.setup, conversation, recorder, self._exchange_numbers)
            session = LiveSession(pipeline, client, server)
            async with trio.open_nursery() as nursery:
                if control is not None:
                    nursery.start_soon(control, session)
                await run(session)
                nursery.cancel_scope.cancel()
        return session

    def note_stop(self, signum: int) -> None:
        """Record that the client sent this signal: this process may be killed next."""
        if self._take is not None:
            self._take.signalled(signum)

    def server_needed(self) -> bool:
        """Return whether the server takes part: one behind a recording may not."""
        return self._standby is None or self._standby.needed

    async def _open_take(self) -> TakeRecording | None:
        if self._recording is None:
            return None

        from .take import open_take_recording  # 11 ms, which a replay need not pay

        self._take = await open_take_recording(self._recording, self.setup.say)
        self._recording = self._take.next_recording()
        return self._take

    def _target(self) -> Sequence[str] | str:
        if self.setup.back is not None:
            return self.setup.back.described
        assert self.setup.replay is not None
        return ["mcpmock", "replay", self.setup.replay.cassette.name]
