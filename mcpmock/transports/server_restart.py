"""The rules of a server that is replaced behind a live client, as `proxy --restart-on` does.

A stage between a client's bare messages and the end that has the server's processes. Until files
change it only watches. Then open calls get the grace; those still open get an error, questions of
the old server are withdrawn, and the end is asked to replace it. The new server gets the handshake,
the settings and open subscriptions of the client (`session_memory`), then what was asked meanwhile;
lists that differ are announced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from math import inf

import attrs

from mcpmock.errors import CannotReach
from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.printable import printable
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import (
    CANCELLED,
    LISTEN,
    PROGRESS,
    SUBSCRIPTION_PATH,
    Correlation,
)
from mcpmock.protocol.error_codes import SERVER_RESTARTED
from mcpmock.protocol.http_reply import HeldMessages, request_ids
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    Fragment,
    Frame,
    Message,
    Notification,
    ProcessExit,
    Request,
    Response,
    RestartStep,
    Stderr,
    StopSignal,
    StreamEnd,
    decode,
    member,
    parse_items,
    plain_id,
)
from mcpmock.protocol.reassembly import Reassembly
from mcpmock.protocol.revisions import initialized_version, is_modern, version_of

from .in_flight_calls import InFlightCalls
from .session_memory import ListProbe, SessionMemory

HANDSHAKE_TIMEOUT_S = 60.0
"""How long a new server may take to answer the handshake."""
MAX_QUOTE_CHARS = 200
"""How much of what a server printed last is quoted."""
_HANDSHAKES = ("initialize", "server/discover")
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_LISTS = ("tools", "prompts", "resources")
_HANDSHAKE_ID = b'"mcpmock-handshake"'
_CANCELLED_ID = ("params", "requestId")


class _Phase(Enum):
    PASSING = auto()
    """The server has what the client says."""
    GRACE = auto()
    """Files have changed, and calls are open."""
    REPLACING = auto()
    """The old server ends, the new one starts."""
    GREETING = auto()
    """The new server was sent the handshake."""
    FAILED = auto()
    """There is no server until the next change."""


@attrs.define(eq=False)
class ServerRestart(Stage):
    """`grace` is how many seconds open calls have to be answered, once files have changed."""

    grace: float
    _phase: _Phase = _Phase.PASSING
    _deadline: float = inf
    _server: int = 1
    """The number of the server."""
    _changed: str = ""
    """Which files have changed, for people."""
    _changed_again: bool = False
    """Whether they did while the server was replaced."""
    _failure: str = ""
    """Why there is no server."""
    _exit: ProcessExit | None = None
    """How the server ended that failed."""
    _ending: bool = False
    """Whether client or server end the session: nothing is restarted any more."""
    _over: bool = False
    _memory: SessionMemory = attrs.field(factory=SessionMemory)
    _revision: str | None = None
    _calls: Correlation = attrs.field(factory=Correlation)
    """The client's."""
    _kept: dict[bytes, bytes] = attrs.field(factory=dict)
    """The calls that a new server is asked as well, by id: handshakes and subscriptions."""
    _acknowledged: set[bytes] = attrs.field(factory=set)
    """The subscriptions that the client knows to be open."""
    _questions: InFlightCalls = attrs.field(factory=InFlightCalls)
    """Those of the servers, each under the number of its own."""
    _own: dict[bytes, ListProbe | None] = attrs.field(factory=dict)
    """The requests that the client knows nothing of, by id."""
    _held: HeldMessages = attrs.field(factory=HeldMessages)
    _input_end: Frame | None = None
    """What the client ended its input with, behind what is held."""
    _output_end: Frame | None = None
    _printed: bytes = b""
    """The end of what the server wrote to standard error."""
    _reassembly: Reassembly = attrs.field(factory=Reassembly)
    _piecewise: set[Direction] = attrs.field(factory=set)
    """From which sides a long message is coming whose pieces are passed on."""
    _to_client: list[Frame] = attrs.field(factory=list)
    _to_server: list[Frame] = attrs.field(factory=list)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        for frame in seen:
            if frame.direction is C2S:
                self._take_from_client(frame)
            else:
                self._take_from_server(frame, now)
        return self._take_actions()

    def wake(self, now: float) -> Iterable[Action]:
        if now >= self._deadline:
            if self._phase is _Phase.GRACE:
                self._replace()
            else:
                self._fail(f"did not answer the handshake within {HANDSHAKE_TIMEOUT_S:g} s")
        return self._take_actions()

    def _take_actions(self) -> list[Action]:
        if self._phase is _Phase.GRACE and not self._awaited():
            self._replace()
        actions: list[Action] = [Send(self._to_client), Send(self._to_server)]
        self._to_client, self._to_server = [], []
        if self._deadline < inf:
            actions.append(Wake(self._deadline))
        if self._over:
            actions.append(Hangup())
        return actions

    # From the client.

    def _take_from_client(self, frame: Frame) -> None:
        match frame.fact:
            case None:
                self._take_message(frame)
            case Fragment():
                passes = self._phase is _Phase.PASSING
                if (whole := self._joined(frame, self._to_server, passes)) is not None:
                    passed = C2S in self._piecewise
                    (self._note_message if passed else self._take_message)(whole)
            case StreamEnd():
                self._input_end = frame
                if self._phase in (_Phase.PASSING, _Phase.GRACE) and not self._held:
                    self._pass_input_end()
                elif self._phase is _Phase.FAILED:
                    self._end()
            case _:
                self._to_server.append(frame)

    def _joined(self, piece: Frame, out: list[Frame], passes: bool) -> Frame | None:
        """Pass a piece on if `passes` was true at the first one; return the message at the last."""
        side = piece.direction
        if not self._reassembly.has_begun(piece):
            (self._piecewise.add if passes else self._piecewise.discard)(side)
        if side in self._piecewise:
            out.append(piece)
        whole = self._reassembly.add(piece)
        return None if whole is None or whole.too_long else whole.frame

    def _is_coming(self, side: Direction) -> bool:
        """Return whether only some pieces of a message have been passed on."""
        return side in self._piecewise and self._reassembly.has_begun(Frame(side))

    def _take_message(self, frame: Frame) -> None:
        message = frame.content
        if isinstance(message, Response):
            self._take_answer(frame, message)
        elif self._phase is _Phase.PASSING:
            self._pass_message(frame)
        elif isinstance(message, Notification) and message.method in (CANCELLED, PROGRESS):
            self._take_call_note(frame, message)
        elif self._phase is _Phase.FAILED:
            self._refuse(frame.raw)
        else:
            self._hold(frame)

    def _take_answer(self, frame: Frame, answer: Response) -> None:
        """Drop the answer to a question of an old server: the client may still give it."""
        call = self._questions.of(answer, cancels=False)
        if call is not None:
            self._questions.forget(call)
        if self._phase in (_Phase.REPLACING, _Phase.FAILED):
            return
        if call is None or call.exchange == self._server:
            raw = frame.raw if call is None else self._questions.put_back(frame.raw, call)
            self._to_server.append(frame if raw == frame.raw else Frame(C2S, raw, frame.eol))

    def _take_call_note(self, frame: Frame, message: Notification) -> None:
        """Take a cancel or progress: it belongs to a call that the old server has, or that waits
        for the new one, or that neither has any more.
        """
        known = self._note_call(message)
        if self._phase is _Phase.GRACE and (known or message.method == PROGRESS):
            self._to_server.append(frame)
        elif not known and message.method == CANCELLED and self._phase is not _Phase.FAILED:
            self._hold(frame)

    def _hold(self, frame: Frame) -> None:
        if self._held.overfull:
            self._refuse(frame.raw, "too much is asked while the server is restarted")
        else:
            self._held.keep(frame.raw)

    def _pass_held(self) -> None:
        for raw in self._held.take():
            self._pass_message(Frame(C2S, raw))

    def _refuse(self, raw: bytes, why: str = "") -> None:
        """Answer the requests in a message with an error."""
        text = why or f"the server {self._failure}; it is started again when a file changes"
        for id_ in request_ids(parse_items(raw)):
            error = edit.error(id_, SERVER_RESTARTED, f"mcpmock: {text}")
            self._to_client.append(Frame(S2C, error))

    def _pass_message(self, frame: Frame) -> None:
        self._note_message(frame)
        self._to_server.append(frame)

    def _note_message(self, frame: Frame) -> None:
        for message in parse_items(frame.raw):
            self._note_call(message)
            if not isinstance(message, Request):
                continue
            self._forget_kept(message.id)  # it was another call's
            self._revision = version_of(message) or self._revision
            if message.method == "initialize":
                self._memory = SessionMemory()
            if message.method in (*_HANDSHAKES, LISTEN):
                self._kept[message.id] = frame.raw
        content = frame.content
        if isinstance(content, (Request, Notification)):
            self._memory.note_message(content, frame.raw)

    def _note_call(self, message: Message) -> bool:
        """Return whether a message of the client names a call. One that it cancels is not kept."""
        named = self._calls.note(C2S, message, 0)
        if named.call is not None and named.method == CANCELLED:
            self._forget_kept(named.call.request.id)
        return named.call is not None

    def _forget_kept(self, id_: bytes) -> bytes | None:
        self._acknowledged.discard(id_)
        return self._kept.pop(id_, None)

    def _pass_input_end(self) -> None:
        assert self._input_end is not None
        self._phase, self._deadline, self._ending = _Phase.PASSING, inf, True
        self._to_server.append(self._input_end)

    # From the server.

    def _take_from_server(self, frame: Frame, now: float) -> None:
        match frame.fact:
            case None | Fragment() if self._phase in (_Phase.REPLACING, _Phase.FAILED):
                pass  # it comes too late
            case None:
                self._take_server_message(frame)
            case Fragment():
                if (whole := self._joined(frame, self._to_client, not self._own)) is not None:
                    passed = S2C in self._piecewise
                    (self._note_server_message if passed else self._take_server_message)(whole)
            case RestartStep() as fact:
                self._take_step(fact, now)
            case Stderr():
                self._printed = (self._printed + frame.raw)[-4 * MAX_QUOTE_CHARS :]
                self._to_client.append(frame)
            case StopSignal():
                self._ending = True
                self._over = self._phase in (_Phase.REPLACING, _Phase.FAILED)
                if self._phase is _Phase.GRACE:
                    self._phase, self._deadline = _Phase.PASSING, inf
                    self._pass_held()
            case StreamEnd():
                if self._is_first():
                    self._ending = True
                    self._to_client.append(frame)
                else:
                    self._output_end = frame
            case ProcessExit() as exit_:
                self._take_exit(frame, exit_)
            case _:
                self._to_client.append(frame)

    def _is_first(self) -> bool:
        """Return whether no file has changed yet."""
        return self._server == 1 and self._phase is _Phase.PASSING

    def _take_step(self, fact: RestartStep, now: float) -> None:
        if fact.step == "due" and not self._ending:
            self._changed = fact.text
            if self._phase is _Phase.PASSING:
                self._phase, self._deadline = _Phase.GRACE, now + self.grace
            elif self._phase is _Phase.REPLACING:
                self._changed_again = True
            elif self._phase is not _Phase.GRACE:
                self._replace()
        elif fact.step == "started":
            self._output_end, self._printed = None, b""
            if self._changed_again:
                self._replace()
            else:
                self._greet(now)
        elif fact.step == "failed" and self._changed_again:
            self._replace()
        elif fact.step == "failed":
            self._fail(f"did not start: {fact.text}")

    def _take_server_message(self, frame: Frame) -> None:
        message = frame.content
        if isinstance(message, Response) and message.id is not None and self._own:
            id_ = plain_id(message.id)  # PHP writes "tools\/list"
            if id_ in self._own:
                self._take_own(id_, message, self._own.pop(id_))
                return
        if isinstance(message, Notification) and message.method == _ACKNOWLEDGED:
            subscription = member(message.params, *SUBSCRIPTION_PATH) or b""
            if subscription in self._acknowledged:
                return
            if subscription in self._kept:
                self._acknowledged.add(subscription)
        raw = self._note_server_message(frame)
        self._to_client.append(frame if raw == frame.raw else Frame(S2C, raw, frame.eol))

    def _note_server_message(self, frame: Frame) -> bytes:
        """Look at a message for the client. Gives it as the client gets it."""
        raw = frame.raw
        for message in parse_items(raw):
            call = self._calls.note(S2C, message, 0).call
            if call is None or not isinstance(message, Response):
                continue
            self._memory.note_answer(call.request, message)
            kept = self._forget_kept(call.request.id)
            if call.request.method in _HANDSHAKES and message.result is not None:
                self._memory.handshake = kept or self._memory.handshake
                self._revision = initialized_version(message.result) or self._revision
                raw = _with_list_changes(raw)
        content = frame.content
        if isinstance(content, Request):
            raw, _ = self._questions.ask(self._server, raw)
        elif isinstance(content, Notification) and content.method == CANCELLED:
            meant = self._questions.meant(member(content.params, "requestId") or b"")
            for question in meant:
                if question.exchange == self._server and question.sent != question.id:
                    raw = edit.with_member(raw, _CANCELLED_ID, question.sent)
        return raw

    def _take_exit(self, frame: Frame, exit_: ProcessExit) -> None:
        if self._ending or self._is_first():
            self._to_client += [frame] if self._output_end is None else [self._output_end, frame]
            self._over = True
        elif self._phase is _Phase.GRACE:
            self._replace()
        elif self._phase not in (_Phase.REPLACING, _Phase.FAILED):
            lines = self._printed.decode(errors="replace").split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "").strip()
            why = f": {printable(last[:MAX_QUOTE_CHARS])}" if last else ""
            self._fail(f"ended with status {exit_.status}{why}", exit_)

    # The restart.

    def _awaited(self) -> bool:
        """Return whether the old server still has something to answer."""
        if self._is_coming(C2S) or self._is_coming(S2C):
            return True
        return any(call.request.id not in self._kept for call in self._calls.open_calls(C2S))

    def _replace(self) -> None:
        self._phase, self._deadline, self._changed_again = _Phase.REPLACING, inf, False
        self._exit = None
        self._piecewise.discard(C2S)
        self._give_up(f"the server was restarted before it answered ({self._changed} changed)")
        self._to_server.append(Frame(C2S, b"", b"", RestartStep("begin")))

    def _give_up(self, why: str, *, kept: bool = True) -> None:
        """Give the client an error for each call that is open, and withdraw the questions."""
        if self._is_coming(S2C):  # its line ends, and no other message is glued to it
            self._to_client.append(Frame(S2C, b"", b"\n", Fragment(last=True)))
        self._reassembly.cut(S2C, None)
        for call in self._calls.open_calls(C2S):
            id_ = call.request.id
            if not (kept and id_ in self._kept):
                self._forget_kept(id_)
                error = edit.error(id_, SERVER_RESTARTED, f"mcpmock: {why}")
                self._calls.note(S2C, Response(id_), 0)
                self._to_client.append(Frame(S2C, error))
        for question in self._questions.of_exchange(self._server):
            self._to_client.append(Frame(S2C, edit.cancelled(question.sent)))
        self._server += 1
        self._own.clear()

    def _greet(self, now: float) -> None:
        self._phase = _Phase.GREETING
        if self._memory.handshake is None:
            self._go_on()
            return
        self._deadline = now + HANDSHAKE_TIMEOUT_S
        self._ask(edit.with_id(self._memory.handshake, _HANDSHAKE_ID), _HANDSHAKE_ID)

    def _take_own(self, id_: bytes, answer: Response, probe: ListProbe | None) -> None:
        if probe is not None:
            found = self._memory.compare(probe, answer)
            if isinstance(found, ListProbe):
                self._probe(found)
            elif found is not None:
                self._announce(found)
        elif id_ != _HANDSHAKE_ID:
            pass
        elif answer.result is None:
            text = decode(member(answer.error, "message") or b"null")
            self._fail(f"refused the handshake: {printable(str(text)[:MAX_QUOTE_CHARS])}")
        elif (spoken := self._other_revision(answer.result)) is not None:
            self._note(f"the new server speaks {spoken} and the session {self._revision}: it ends")
            self._failure = "speaks another revision of the protocol"
            self._give_up(f"the server {self._failure}", kept=False)
            self._end()
        else:
            if self._memory.initialized is not None:
                self._to_server.append(Frame(C2S, self._memory.initialized))
            self._go_on()

    def _other_revision(self, welcome: bytes) -> str | None:
        """Return what the new server speaks in the place of the session's revision, if anything."""
        offered = decode(member(welcome, "supportedVersions") or b"null")
        versions = offered if isinstance(offered, list) else [initialized_version(welcome)]
        if self._revision in versions:
            return None
        return printable(", ".join(map(str, versions))[:MAX_QUOTE_CHARS])

    def _go_on(self) -> None:
        self._phase, self._deadline = _Phase.PASSING, inf
        self._note("the server was restarted")
        for number, raw in enumerate(self._memory.settings):
            id_ = b'"mcpmock-setting-%d"' % number
            self._ask(edit.with_id(raw, id_), id_)
        for call in self._calls.open_calls(C2S):
            self._to_server.append(Frame(C2S, self._kept[call.request.id]))
        self._pass_held()
        if self._input_end is not None:
            self._pass_input_end()
            return
        for probe in self._memory.probes():
            self._probe(probe)

    def _ask(self, raw: bytes, id_: bytes, probe: ListProbe | None = None) -> None:
        self._own[id_] = probe
        self._to_server.append(Frame(C2S, raw))

    def _probe(self, probe: ListProbe) -> None:
        self._ask(probe.raw, member(probe.raw, "id") or b"", probe)

    def _announce(self, notification: bytes) -> None:
        """Tell the client that a list differs: since 2026-07-28 where it listens for that."""
        if not is_modern(self._revision):
            self._to_client.append(Frame(S2C, notification))
            return
        method = decode(member(notification, "method") or b"")
        wanted = f"{method.split('/')[1]}ListChanged"
        for call in self._calls.open_calls(C2S):
            if member(call.request.params, "notifications", wanted) == b"true":
                meta = {SUBSCRIPTION_PATH[1]: decode(call.request.id)}
                raw = edit.notification(method, {SUBSCRIPTION_PATH[0]: meta})
                self._to_client.append(Frame(S2C, raw))

    def _fail(self, why: str, exit_: ProcessExit | None = None) -> None:
        """Answer with errors from now on, until files change."""
        self._phase, self._deadline = _Phase.FAILED, inf
        self._failure, self._exit = why, exit_
        self._note(f"the new server {why}; it is started again at the next change")
        self._give_up(f"the server {why}; it is started again when a file changes", kept=False)
        for raw in self._held.take():
            self._refuse(raw)
        if self._input_end is not None:
            self._end()

    def _end(self) -> None:
        """End a session that has no server."""
        for raw in self._held.take():
            self._refuse(raw)
        exit_ = self._exit or ProcessExit(CannotReach.exit_code)
        self._to_client += [Frame(S2C, b"", b"", fact) for fact in (StreamEnd(), exit_)]
        self._over = True

    def _note(self, text: str) -> None:
        """Name the restart for people and in the recording: on the server's standard error."""
        line = f"mcpmock: {self._changed} changed; {text}\n"
        self._to_client.append(Frame(S2C, line.encode(), b"", Stderr()))


def _with_list_changes(welcome: bytes) -> bytes:
    """Return the answer to a handshake that declares `listChanged` for each list that it offers."""
    for kind in _LISTS:
        path = ["result", "capabilities", kind]
        if member(welcome, *path) is not None and member(welcome, *path, "listChanged") != b"true":
            welcome = edit.with_member(welcome, [*path, "listChanged"], b"true")
    return welcome
