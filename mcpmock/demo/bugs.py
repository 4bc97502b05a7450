"""Bugs for the demo server, `python -m mcpmock.demo.server --bug NAME`: each a mistake that real
servers made, to be seen only in some orders of messages. `mcpmock explore` finds them.

Each is the server with one method done wrong. `server` imports this only when a bug is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mcpmock.pipeline.stage import PASS, Action, Hangup, Send, Stage
from mcpmock.protocol import messages as m
from mcpmock.protocol.transport_facts import LAST_EVENT_ID_HEADER
from mcpmock.stubs.call import Question, StubCall

from .routes import DemoServer


class AnswersAfterCancel(DemoServer):
    """A cancelled call goes on, and its progress and its answer are sent all the same."""

    def cancel(self, id_: bytes) -> bool:
        return self.session.listening.pop(id_, None) is not None


class LosesOverlappingAnswer(DemoServer):
    """What runs is kept by tool instead of by request: a second call of a tool takes the place of
    the first, which is never answered.
    """

    def wait_for(self, call: StubCall, step: float | Question) -> None:
        tool = call.params.get("name")
        for id_ in [i for i, other in self.running.items() if other.params.get("name") == tool]:
            if id_ != call.id:
                del self.running[id_]
        super().wait_for(call, step)


class CrashesOnEarlyCancel(DemoServer):
    """A cancel looks up how far the call is, which is written down with its first report only."""

    def __init__(self) -> None:
        super().__init__()
        self._reports: dict[bytes, int] = {}

    def run(self, call: StubCall, work: Callable[[], float | Question]) -> None:
        if self.running.get(call.id) is call:
            self._reports[call.id] = self._reports.get(call.id, 0) + 1
        super().run(call, work)

    def cancel(self, id_: bytes) -> bool:
        if id_ in self.running:
            self._reports.pop(id_)
        return super().cancel(id_)


class SwapsProgressTokens(DemoServer):
    """The progress token is kept in the session instead of in the call: of two calls at once, the
    second gets the progress of both.
    """

    _latest_token: bytes | None = None

    def run(self, call: StubCall, work: Callable[[], float | Question]) -> None:
        if call.token is not None:
            if self.running.get(call.id) is not call:  # it begins
                self._latest_token = call.token
            call.token = self._latest_token
        super().run(call, work)


class DeadlocksWhenAsking(DemoServer):
    """One lock is held while the client is asked and taken again for its answer: when a second call
    asks meanwhile, neither goes on, and nothing that needs the lock does.
    """

    _stuck = False

    def wait_for(self, call: StubCall, step: float | Question) -> None:
        if isinstance(step, Question):
            asking = (self.running.get(other.id) is other for other in self.questions.values())
            self._stuck = self._stuck or any(asking)
        super().wait_for(call, step)

    def resume(self, answer: m.Response) -> bool:
        return self._stuck or super().resume(answer)


class LeaksTaskPerCancel(DemoServer):
    """The task of a cancelled call never ends, and the end of the server waits for its tasks."""

    _leaked = False

    def cancel(self, id_: bytes) -> bool:
        self._leaked = self._leaked or id_ in self.running
        return super().cancel(id_)

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:
        for action in super().feed(seen, now):
            if not (isinstance(action, Hangup) and self._leaked):
                yield action


class ForgetsSessionOnResume(Stage):
    """A client that resumes an event stream is taken for a new one, and its session for one that is
    over: from then on every request of it is answered with 404.

    It stands in front of the session, next to the client.
    """

    def __init__(self) -> None:
        self._forgot = False
        self._refused: set[int | None] = set()

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        if seen[0].direction is m.S2C:
            return PASS
        passed, back = list[m.Frame](), list[m.Frame]()
        for frame in seen:
            head = frame.fact
            if isinstance(head, m.HttpRequest):
                self._forgot = self._forgot or head.header(LAST_EVENT_ID_HEADER) is not None
                if self._forgot:
                    self._refused.add(frame.exchange)
                    x = frame.exchange
                    back.append(
                        m.Frame(m.S2C, fact=m.HttpResponse(404, "Not Found", []), exchange=x)
                    )
                    back.append(m.Frame(m.S2C, fact=m.ExchangeEnd(), exchange=x))
            if frame.exchange is None or frame.exchange not in self._refused:
                passed.append(frame)
        return Send(back), Send(passed)


BUGS: dict[str, type[DemoServer]] = {
    "answers-after-cancel": AnswersAfterCancel,
    "loses-overlapping-answer": LosesOverlappingAnswer,
    "crashes-on-early-cancel": CrashesOnEarlyCancel,
    "swaps-progress-tokens": SwapsProgressTokens,
    "deadlocks-when-asking": DeadlocksWhenAsking,
    "leaks-task-per-cancel": LeaksTaskPerCancel,
}
"""By the names that `--bug` takes."""
HTTP_BUGS: dict[str, type[Stage]] = {"forgets-session-on-resume": ForgetsSessionOnResume}
"""Bugs of a server over HTTP: each a stage in front of a session."""
