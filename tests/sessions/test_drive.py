"""Driving a server that is a process in memory: sessions in turn, recording, signals, statuses."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mcpmock.cassette.file import load, open_take
from mcpmock.cassette.model import Cassette, Oversize
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.channels.fd import borrow
from mcpmock.errors import CannotStart, CassetteError
from mcpmock.faults.control import run_of
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.client.script import STREAM_OPENING
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Timing
from mcpmock.protocol.messages import C2S, Frame, HttpRequest, Notification, Request
from mcpmock.runner import LiveSession, run
from mcpmock.semantic_diff.compare import compare
from mcpmock.sessions import drive as drive_module
from mcpmock.sessions import run as run_module
from mcpmock.sessions import servers
from mcpmock.sessions.drive import (
    client_scripts,
    drive_and_record,
    drive_front,
    session_number,
)
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.take import LOCK_TIMEOUT_S, Recording, Say
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import TransportKind
from tests.sessions.web import URL, Web, web
from tests.support import (
    HEADER,
    INITIALIZE,
    INITIALIZED,
    WELCOME,
    accepts,
    answers,
    bodiless,
    c,
    call,
    cassette,
    dump,
    get,
    hangs_up,
    in_session,
    notification,
    opens,
    over_http,
    post,
    response,
    s,
)
from tests.support.http_upstream import Asked, Reply, answers_all

__all__ = ["web"]

SERVER = Command([sys.executable])
OPENING = (c(INITIALIZE), s(WELCOME))
TWO = cassette(*OPENING, c(call(1, "a")), s(response(1)), ("take", None), *OPENING)
Plays = Callable[[Cassette], list[Sequence[str]]]


def drive(cassette: Cassette, say: Say, server: Server = SERVER, **parts: Any) -> Awaitable[int]:
    return run_sessions(Setup(front=drive_front(cassette), back=server, say=say, **parts))


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery) -> Plays:
    """Makes every process a replay of this cassette; gives the commands that are started."""

    def become(recorded: Cassette) -> list[Sequence[str]]:
        started: list[Sequence[str]] = []
        casting = SessionSelection(recorded, PlayerOptions())

        async def start(command: Sequence[str]) -> MemoryChannel:
            started.append(command)
            process, client = memory_pair()
            nursery.start_soon(run, LiveSession(Pipeline([SessionPlayer(casting)]), client, None))
            return process

        monkeypatch.setattr(servers, "start_process", start)
        return started

    return become


async def test_every_session_in_turn(plays: Plays, tmp_path: Path) -> None:
    """Each with a process and a take of its own; what was in the file is overwritten once."""
    started, told = plays(TWO), list[str]()
    output = tmp_path / "b.jsonl"
    output.write_bytes(b'{"mcpmock":1}\n')
    recording = Recording.to(str(output), overwrite=True)

    assert 0 == await drive(TWO, told.append, recording=recording)
    assert ([SERVER.command] * 2, []) == (started, told)
    takes = load(output).takes
    assert ["stdio", "stdio"] == [take.transport for take in takes]
    assert [[INITIALIZE, WELCOME, call(1, "a"), response(1)], [INITIALIZE, WELCOME]] == [
        [event.payload for event in take.events if event.payload] for take in takes
    ]


BARE = cassette(c(call(1, "a")), s(response(1)), ("take", None), c(call(1, "b")), s(response(1)))


@pytest.mark.parametrize(
    ("kind", "recorded", "numbers"),
    [
        (None, TWO, [1, 1]),
        (None, BARE, [1, 1]),
        (TransportKind.STREAMABLE_HTTP, TWO, [2, 3]),
        (TransportKind.STREAMABLE_HTTP, BARE, [1, 1]),
        (TransportKind.SSE, TWO, [2, 3]),
        (TransportKind.SSE, BARE, [2, 3]),
    ],
)
def test_numbers_of_sessions(
    kind: TransportKind | None, recorded: Cassette, numbers: list[int]
) -> None:
    """A process is the one session of its take; at a URL 1 is for calls without a session, which
    over HTTP+SSE there are not.
    """
    opened = count(2)

    scripts = client_scripts(recorded, kind)
    assert numbers == [session_number(script, kind, opened) for script in scripts]


def test_how_clients_are_played() -> None:
    """As said: with these pauses, these values and this report."""
    timing, values, said = Timing.parse("cap:5"), {"a": "b"}, list[str]()
    front = drive_front(TWO, timing, values=values, report=said.append)
    assert (timing, values, said.append) == (front.timing, front.values, front.report)

    plain = drive_front(TWO)
    assert (Timing(), {}, None) == (plain.timing, plain.values, plain.report)


async def test_driving_without_recording(plays: Plays) -> None:
    """It says nothing where all goes well."""
    plays(TWO)
    told: list[str] = []

    assert (0, []) == (await drive(TWO, told.append), told)


async def test_a_server_that_ends_too_soon(plays: Plays) -> None:
    """It is told, and the status is 1."""
    plays(cassette(*OPENING, ("end", {"exit": 3})))
    told: list[str] = []

    assert 1 == await drive(TWO, told.append)
    assert ["the server ended; recorded messages left to send: 1"] == told


@pytest.mark.parametrize(
    ("faults", "at"),
    [
        (["ignore_eof"], 0.0),
        (["black_hole:toward=server,method=notifications/x"], 0.0),
        (["ignore_eof", "hold:toward=server,method=notifications/x,time=5s"], 5.0),
    ],
)
async def test_an_end_that_a_fault_keeps_from_the_server(
    plays: Plays,
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    faults: list[str],
    at: float,
) -> None:
    """The server is stopped all the same, behind all that its client sent."""
    recorded = cassette(*OPENING, c(notification("notifications/x")))
    plays(recorded)
    began, abandoned = trio.current_time(), list[float]()

    def abandon(process: MemoryChannel) -> None:
        abandoned.append(trio.current_time() - began)
        process.send_nowait([hangs_up(C2S)])

    monkeypatch.setattr(MemoryChannel, "abandon", abandon)
    assert 0 == await drive(recorded, print, faults=run_of(faults))
    assert [at] == abandoned


async def test_told_to_stop(
    plays: Plays, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A signal ends it at once, with the status of that; no other session is begun, and what was
    recorded is whole.
    """
    started = plays(cassette(*OPENING))
    output = tmp_path / "b.jsonl"
    recording = Recording.to(str(output))

    async def hang(_session: LiveSession) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(run_module, "run", hang)
    async with trio.open_nursery() as nursery:

        async def stop() -> None:
            await trio.sleep(5)
            signal.raise_signal(signal.SIGINT)

        nursery.start_soon(stop)
        assert 130 == await drive(TWO, lambda _line: None, recording=recording)
    assert 1 == len(started)
    assert [True] == [take.sealed for take in load(output).takes]


async def test_told_to_stop_behind_what_was_not_sent(
    plays: Plays, autojump_clock: MockClock
) -> None:
    """It is named: by then it was waited for in vain."""
    log = notification("notifications/message", {"level": "info", "data": "x"})
    plays(cassette(*OPENING, c(call(1, "a")), s(response(1)), c(call(2, "b"))))
    recorded = cassette(
        *OPENING, c(call(1, "a")), s(log), s(response(1)), c(call(2, "b")), s(response(2))
    )
    told: list[str] = []
    async with trio.open_nursery() as nursery:

        async def stop() -> None:
            await trio.sleep(5)
            signal.raise_signal(signal.SIGTERM)

        nursery.start_soon(stop)
        assert 143 == await drive(recorded, told.append)
    assert ["not sent by the server: notifications/message"] == told


async def test_told_to_stop_before_the_first_session(
    web: Web, autojump_clock: MockClock, tmp_path: Path
) -> None:
    """Nothing is sent or recorded: the file may have been waited for."""
    file = tmp_path / "b.jsonl"
    holder = open_take(file)
    assert holder is not None

    async def stop() -> None:
        await trio.sleep(LOCK_TIMEOUT_S / 2)
        signal.raise_signal(signal.SIGINT)
        await wait_all_tasks_blocked()
        holder.discard()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop)
        recording = Recording(output=file)
        assert 130 == await drive(TWO, lambda _line: None, Url.parse(URL), recording=recording)

    [take] = load(file).takes
    assert ([], True, []) == (take.events, take.sealed, web.server.asked)


async def test_all_sessions_at_a_url(web: Web, tmp_path: Path) -> None:
    """They are in one take."""
    recording = Recording(output=tmp_path / "b.jsonl")
    await drive(TWO, lambda _line: None, Url.parse(URL), recording=recording)

    [take] = load(recording.output).takes
    assert {2, 3} == {event.s for event in take.events}


async def test_a_folder(plays: Plays, tmp_path: Path) -> None:
    """All sessions of one drive are in one file of it."""
    plays(TWO)
    recording = Recording.to(f"{tmp_path}/")

    assert 0 == await drive(TWO, lambda _line: None, recording=recording)
    [file] = files(tmp_path)
    assert 2 == len(load(file).takes)


async def test_nothing_to_play(tmp_path: Path) -> None:
    """Nothing is started, and no file is left."""
    recording = Recording.to(str(tmp_path / "b.jsonl"))

    with pytest.raises(CassetteError, match="it contains no client messages"):
        await drive(cassette(s(WELCOME)), print, recording=recording)
    with pytest.raises(CannotStart):
        await drive(TWO, print, Command(["/no/such"]), recording=recording)
    assert [] == files(tmp_path)


async def test_a_line_that_was_not_recorded_whole(plays: Plays) -> None:
    """It is told that it is not played."""
    plays(TWO)
    recorded = cassette(*OPENING, c(b'{"jsonrpc":'))
    recorded.takes[0].events = events = list(recorded.takes[0].events)
    events[2].oversize = Oversize(1 << 30, "")
    told: list[str] = []

    assert 0 == await drive(recorded, told.append)
    assert ["event 3 is not played: it was too long to be recorded whole"] == told


GET = get(9, session="s")
REFUSED = [bodiless(9, "GET", accept="text/event-stream"), accepts(9, 405)]
STREAM = [GET, opens(9)]
WELCOMED = [post(2, INITIALIZE), answers(2, WELCOME, mcp_session_id="s")]
CONFIRMED = [post(3, INITIALIZED, session="s"), accepts(3)]
LISTED = [post(4, call(1, "a"), session="s"), answers(4, response(1))]
AGAIN = [post(5, call(2, "b"), session="s"), answers(5, response(2))]


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ([*CONFIRMED, *LISTED, *AGAIN], "initialized call call"),
        ([*STREAM, *CONFIRMED, *LISTED, *AGAIN], "GET initialized call call"),
        ([*CONFIRMED, *STREAM, *LISTED, *AGAIN], "initialized GET call call"),
        ([*CONFIRMED, *LISTED, *STREAM, *AGAIN], "initialized call GET call"),
        ([*CONFIRMED, *LISTED, *REFUSED, *AGAIN], "initialized call GET call"),
    ],
)
async def test_the_stream_is_opened_as_recorded(
    web: Web, tmp_path: Path, steps: list[list[Frame]], asked: str
) -> None:
    """Before or after `initialized`, later, or not at all; also where the server refused it."""

    async def script(what: Asked, reply: Reply) -> None:
        if what.method != "POST":
            await reply.whole(status=405)
        elif what.message.get("method") == "initialize":
            await reply.whole(WELCOME, mcp_session_id="live")
        else:
            await answers_all(what, reply)

    web.server.script = script
    server = Url.parse(URL)
    front = drive_front(over_http(in_session(2, *WELCOMED, *steps)), kind=server.kind)
    setup = Setup(
        front=front,
        back=server,
        faults=run_of("drop:method=x"),
        recording=Recording(output=tmp_path / "b.jsonl"),
        say=web.said.append,
    )
    assert (0, []) == (await run_sessions(setup), web.said)

    frames = [event.frame for event in load(tmp_path / "b.jsonl").takes[0].events]
    sent = [frame for frame in frames if frame is not None and frame.direction is C2S]
    heads = [one.fact.method for one in sent if isinstance(one.fact, HttpRequest)]
    methods = [
        one.content.method.rpartition("/")[2]
        for one in sent
        if isinstance(one.content, Request | Notification)
    ]
    posts = iter(methods)
    assert ["initialize", *asked.split(), "DELETE"] == [
        next(posts) if head == "POST" else head for head in heads
    ]


async def test_a_recording_over_stdio_over_http(web: Web) -> None:
    """The transport opens the stream as an SDK does. The other way round no stream is opened."""
    [bare] = client_scripts(cassette(*OPENING), TransportKind.STREAMABLE_HTTP)
    over = over_http(in_session(2, *WELCOMED, *STREAM, *CONFIRMED))
    [plain] = client_scripts(over)
    [streaming] = client_scripts(over, TransportKind.STREAMABLE_HTTP)

    [events] = client_scripts(
        over_http(
            in_session(2, post(2, INITIALIZE), answers(2, WELCOME)),
            header=HEADER.replace(b'"stdio"', b'"sse"'),
        ),
        TransportKind.SSE,
    )

    assert not bare.opens_streams
    assert not plain.opens_streams
    assert not events.opens_streams
    assert STREAM_OPENING not in [line.frame for line in plain.lines]
    assert STREAM_OPENING == streaming.lines[1].frame


TOKEN, KEY, MINTED = (f"mcpmock:secret:{name}" for name in ("token:1", "api-key:2", "token:3"))
SECRETS = cassette(
    *OPENING,
    c(call(1, "login", token=TOKEN)),
    s(response(1, {"token": MINTED})),
    c(call(2, "use", token=MINTED, key=f"{KEY} {TOKEN}")),
    s(response(2)),
)


async def test_placeholders_without_a_value(plays: Plays) -> None:
    """They are named before the start, with the option that gives them a value; those that the
    server gives a value are not.
    """
    plays(SECRETS)
    said: list[str] = []
    assert 0 == await drive(SECRETS, said.append)

    [line] = said
    assert (
        f"placeholders that are sent without a value: {TOKEN} (event 3), {KEY} (event 5); " in line
    )
    assert line.endswith(f"name one with --value '{TOKEN}=env:NAME'")


async def test_values_of_placeholders(plays: Plays, tmp_path: Path) -> None:
    """They are sent in place of the placeholders; one that is not needed is named."""
    plays(SECRETS)
    said: list[str] = []
    values = {TOKEN: 'a"b', KEY: "k", "mcpmock:secret:x:9": "y"}
    front = drive_front(SECRETS, values=values)
    recording = Recording(output=tmp_path / "b.jsonl", redact=False)
    setup = Setup(front=front, back=SERVER, recording=recording, say=said.append)
    assert 0 == await run_sessions(setup)

    assert ["mcpmock:secret:x:9: its value is not used, because no message needs it"] == said
    sent = [
        event.payload for event in load(tmp_path / "b.jsonl").takes[0].events if event.d == "c2s"
    ]
    assert call(1, "login", token='a"b') == sent[1]
    assert call(2, "use", token=MINTED, key='k a"b') == sent[2]


async def test_values_are_secrets(plays: Plays) -> None:
    """The live recording has placeholders in their places, under whatever name they stand."""
    recorded = cassette(*OPENING, c(call(1, "a", text=TOKEN)), s(response(1)))
    plays(recorded)
    outcome = await drive_and_record(
        recorded, SERVER, lambda _line: None, values={TOKEN: "correct horse battery"}
    )

    assert b"battery" not in outcome.data
    assert not compare(recorded, outcome.live)


async def test_secrets_that_only_the_live_server_has(plays: Plays) -> None:
    """Their placeholders have numbers that the recorded ones do not have."""
    recorded = cassette(*OPENING, c(call(1, "a")), s(response(1, {"token": TOKEN})))
    plays(cassette(*OPENING, c(call(1, "a")), s(response(1, {"token": "correct horse battery"}))))
    outcome = await drive_and_record(recorded, SERVER, lambda _line: None)

    assert b'"token":"mcpmock:secret:token:2"' in outcome.data


async def test_the_rules_of_a_cassette_stay(plays: Plays) -> None:
    """The live recording may take its place."""
    rules = {"ignore": ["$.result.a"]}
    header = dump({"mcpmock": 1, "match": rules}) + b"\n"
    recorded = cassette(*OPENING, c(call(1, "a")), s(response(1)), header=header)
    plays(recorded)
    outcome = await drive_and_record(recorded, SERVER, lambda _line: None)

    assert [rules] == [take.header.match for take in outcome.live.takes]


async def test_what_servers_print(plays: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes to standard error whole, also where that is read slowly."""
    reads, writes = os.pipe()
    printed = "x" * 200_000
    plays(cassette(*OPENING, ("stderr", printed)))
    monkeypatch.setattr(drive_module, "borrow", lambda _fd, mode: borrow(writes, mode))
    got = bytearray()

    def read() -> None:
        while len(got) < len(printed):
            got.extend(os.read(reads, 4096))

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, read)
            assert 0 == await drive(cassette(*OPENING), lambda _line: None)

    assert printed.encode() == got
    os.close(reads)
    os.close(writes)


class LoggedIn(Command, frozen=True):
    """A server whose requests are authorized."""

    def watch_authorization(self, watcher: Callable[[dict[str, Any]], None]) -> None:
        watcher({"how": "oauth"})


async def test_the_login_is_recorded(plays: Plays, tmp_path: Path) -> None:
    """A take says how requests to its server were authorized."""
    plays(TWO)
    recording = Recording(output=tmp_path / "a.jsonl")
    assert 0 == await drive(TWO, print, LoggedIn([sys.executable]), recording=recording)

    takes = load(tmp_path / "a.jsonl").takes
    assert [{"how": "oauth"}] * 2 == [take.events[0].auth for take in takes]


def test_parts_over_http() -> None:
    """What clients did over HTTP is driven as bare messages; an exchange without any is no part."""
    recorded = over_http(
        in_session(1, bodiless(1, "GET", to="/favicon.ico"), accepts(1, 404)),
        in_session(2, post(2, INITIALIZE), answers(2, WELCOME)),
    )
    [part] = client_scripts(recorded)

    assert [INITIALIZE, b""] == [line.frame.raw for line in part.lines]
    assert part.opens
