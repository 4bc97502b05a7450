"""Requests of the command line to a server that is a process in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.playback.client.requests import ClientRequest
from mcpmock.protocol import messages as m
from mcpmock.sessions.requests import RequestFront
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from tests.sessions.test_drive import OPENING, SERVER, Plays, plays
from tests.sessions.web import URL, Web, web
from tests.support import c, cassette, error, request, response, s
from tests.support.http_upstream import Asked, Reply

__all__ = ["plays", "web"]

PINGS = [ClientRequest("ping")]
ENDS: Any = ("end", {"exit": 3})
REFUSED = "the server refused both `initialize` and `server/discover`"


@pytest.mark.parametrize(
    ("played", "status", "answers", "said"),
    [
        ([*OPENING, c(request(2, "ping")), s(response(2))], 0, [""], []),
        ([*OPENING, c(request(2, "ping")), s(error(2))], 1, [""], []),
        ([*OPENING, c(request(2, "ping")), ENDS], 1, ["no answer: the server ended"], []),
        ([c(request(1, "initialize")), ENDS], 1, ["not sent: the server ended"],
         ["`initialize`: no answer: the server ended"]),
    ],
)  # fmt: skip
async def test_what_becomes_of_requests(
    plays: Plays, played: list[Any], status: int, answers: list[str], said: list[str]
) -> None:
    """Each is reported; a handshake without an answer is said."""
    plays(cassette(*played))
    told, reasons = list[str](), list[str]()

    def report(_request: ClientRequest, _answer: m.Response | None, why: str) -> None:
        reasons.append(why)

    front = RequestFront(requests=PINGS, on_answer=report)
    assert status == await run_sessions(Setup(front=front, back=SERVER, say=told.append))
    assert (answers, said) == (reasons, told)


async def test_a_server_that_refuses_both_handshakes(web: Web) -> None:
    """It is asked in both ways, and said once."""
    asked = list[str]()

    async def refuse(what: Asked, reply: Reply) -> None:
        if what.method != "POST":
            await reply.whole(status=405)
            return
        asked.append(what.message["method"])
        await reply.whole(error(what.message["id"]))

    web.server.script = refuse
    front = RequestFront(requests=PINGS, on_answer=lambda *_: None)
    setup = Setup(front=front, back=Url.parse(URL), say=web.said.append)

    assert 1 == await run_sessions(setup)
    assert ["initialize", "server/discover"] == asked
    assert [REFUSED] == web.said


def sessions_of(recorded: Cassette) -> set[int]:
    return {event.s for take in recorded.takes for event in take.events}


async def test_the_number_of_the_session(plays: Plays, web: Web, tmp_path: Path) -> None:
    """1 for a process; at a URL that is for exchanges without a session."""
    plays(cassette(*OPENING, c(request(2, "ping")), s(response(2))))
    for number, back in ((1, SERVER), (2, Url.parse(URL))):
        recording = Recording(output=tmp_path / f"{number}.jsonl")
        front = RequestFront(requests=PINGS, on_answer=lambda *_: None)
        setup = Setup(front=front, back=back, recording=recording, say=print)

        assert 0 == await run_sessions(setup)
        assert {number} == sessions_of(load(recording.output))
