"""`watch`: what is served to whom, and how a file is followed."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mcpmock.channels.http.addresses import ListenAddress
from mcpmock.errors import CassetteError, WrongUsage
from mcpmock.platforms import try_lock
from mcpmock.sessions import watch
from mcpmock.sessions.watch import FollowedFile, Watch, WatchedFiles, _send_growth
from mcpmock.view import live
from tests.support import HEADER, call, cassette_bytes
from tests.support.pages import data_of

RECORDING = cassette_bytes(("c2s", call(1, "add")))


@asynccontextmanager
async def watching(path: Path, *, beside: bool = False) -> AsyncIterator[tuple[int, str]]:
    """The port and the token of a page that is served."""
    told: list[str] = []
    stop, announced = trio.Event(), trio.Event()

    def announce(url: str) -> None:
        told.append(url)
        announced.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Watch(path, announce=announce, beside=beside).run, stop)
        await announced.wait()
        address, _, token = told[0].partition("/#token=")
        yield int(address.rpartition(":")[2]), token
        stop.set()


async def ask(port: int, target: str, *fields: str, host: str | None = None) -> trio.SocketStream:
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    lines = [f"GET {target} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", *fields, "", ""]
    await stream.send_all("\r\n".join(lines).encode())
    return stream


async def answer(port: int, target: str, *fields: str, host: str | None = None) -> bytes:
    async with await ask(port, target, *fields, host=host) as stream:
        return b"".join([part async for part in stream])


async def updates(
    stream: trio.SocketStream, *, files: bool = False
) -> AsyncGenerator[dict[str, Any], None]:
    """The events of a stream, those with rows or those that list `files`; its chunks are of no
    interest.
    """
    text = b""
    async for part in stream:
        text += part
        while b"data: " in text and b"\n\n" in text.partition(b"data: ")[2]:
            event, _, text = text.partition(b"data: ")[2].partition(b"\n\n")
            update = json.loads(event)
            if files is ("files" in update):
                yield update


async def test_the_page_holds_nothing_recorded(tmp_path: Path) -> None:
    """Without the token one gets the page's code and the file's name."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(RECORDING)
    async with watching(file) as (port, _):
        page = await answer(port, "/")

    assert page.startswith(b"HTTP/1.1 200")
    assert b"connect-src 'self'" in page


@pytest.mark.parametrize(
    ("beside", "ended"),
    [(False, "mcpmock watch has ended."), (True, "The recording has ended.")],
)
async def test_what_a_page_says_at_the_end(tmp_path: Path, beside: bool, ended: str) -> None:
    """Who has ended: the command, or the recorder that it ran beside."""
    async with watching(tmp_path / "a.jsonl", beside=beside) as (port, _):
        assert ended == data_of(await answer(port, "/"))["ended"]


async def test_who_may_follow(tmp_path: Path) -> None:
    """A foreign Host, a foreign Origin, no token and a wrong one get nothing, and neither does
    another method or path.
    """
    file = tmp_path / "a.jsonl"
    async with watching(file) as (port, token):
        key = f"Mcpmock-Token: {token}"
        for status, target, fields, host in (
            (401, "/events?file=0", [], None),
            (401, "/events?file=0", ["Mcpmock-Token: x"], None),
            (421, "/events?file=0", [key], "evil.example"),
            (421, "/", [], "evil.example"),
            (403, "/events?file=0", [key, "Origin: https://evil.example"], None),
            (404, "/events?file=7", [key], None),
            (404, "/etc/passwd", [key], None),
        ):
            got = await answer(port, target, *fields, host=host)
            assert got.startswith(b"HTTP/1.1 %d " % status), (target, fields, got[:60])
            assert b"initialize" not in got


async def test_another_method(tmp_path: Path) -> None:
    """Nothing can be sent to a page."""
    async with (
        watching(tmp_path / "a.jsonl") as (port, _),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        asked = b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 0\r\n\r\n"
        await stream.send_all(asked % port)
        got = b"".join([part async for part in stream])

    assert got.startswith(b"HTTP/1.1 405 ")


async def test_a_request_without_a_body(tmp_path: Path) -> None:
    """HEAD may have no body in its answer; the page goes on."""
    async with watching(tmp_path / "a.jsonl") as (port, _):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
            async for _part in stream:
                pass
        page = await answer(port, "/")

    assert page.startswith(b"HTTP/1.1 200")


async def test_following(tmp_path: Path) -> None:
    """What is there comes first, and then what is appended; the file may come later."""
    file = tmp_path / "a.jsonl"
    async with (
        watching(file) as (port, token),
        await ask(port, "/events?file=0", f"Mcpmock-Token: {token}") as stream,
        aclosing(updates(stream)) as events,
    ):
        first = await anext(events)
        file.write_bytes(HEADER)
        await anext(events)
        with file.open("ab") as growing:
            growing.write(RECORDING.removeprefix(HEADER))
        second = await anext(events)

    assert first["anew"] is True
    assert "anew" not in second
    assert 1 == len(second["rows"]["n"])


async def test_a_recorder_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says that it records for as long as the file is locked."""
    monkeypatch.setattr(watch, "LIST_S", 0.0)
    file = tmp_path / "a.jsonl"
    async with (
        watching(file) as (port, token),
        await ask(port, "/events?file=0", f"Mcpmock-Token: {token}") as stream,
        aclosing(updates(stream)) as events,
    ):
        with file.open("wb", buffering=0) as recorder:
            try_lock(recorder.fileno())
            await anext(events)
            for written in (HEADER, RECORDING.removeprefix(HEADER)):
                recorder.write(written)
                assert (await anext(events))["open"]
        killed = await anext(events)

    assert (False, []) == (killed["open"], killed["rows"]["n"])


async def test_a_folder_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be empty, or not there yet; each new cassette is listed first and keeps its number,
    other files are not, and neither is one that is gone.
    """
    monkeypatch.setattr(watch, "LIST_S", 0.0)
    folder = tmp_path / "recordings"
    async with (
        watching(folder) as (port, token),
        await ask(port, "/events?file=0", f"Mcpmock-Token: {token}") as stream,
        aclosing(updates(stream, files=True)) as events,
    ):
        assert [] == (await anext(events))["files"]
        folder.mkdir()
        (folder / "notes.txt").write_text("no cassette")
        (folder / "a.jsonl").write_bytes(RECORDING)
        assert [[0, "a.jsonl"]] == (await anext(events))["files"]
        (folder / "b.jsonl.gz").write_bytes(b"")
        assert [[1, "b.jsonl.gz"], [0, "a.jsonl"]] == (await anext(events))["files"]
        (folder / "a.jsonl").unlink()
        assert [[1, "b.jsonl.gz"]] == (await anext(events))["files"]


async def test_a_folder_that_was_empty(tmp_path: Path) -> None:
    """The page follows the first cassette that comes."""
    async with (
        watching(tmp_path) as (port, token),
        await ask(port, "/events?file=0", f"Mcpmock-Token: {token}") as stream,
        aclosing(updates(stream)) as events,
    ):
        (tmp_path / "a.jsonl").write_bytes(RECORDING)
        assert "a.jsonl" == (await anext(events))["file"]


@pytest.mark.parametrize("full", [False, True])
async def test_a_file_that_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock, full: bool
) -> None:
    """Its page begins when it comes, and anew where it has more rows than a page shows."""
    if full:
        monkeypatch.setattr(live, "MAX_ROWS", 0)
    sent: list[Any] = []

    async def send(update: object) -> None:
        sent.append(update)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send_growth, send, WatchedFiles(tmp_path), 0)
        await wait_all_tasks_blocked()
        assert [{"files": []}] == sent
        (tmp_path / "a.jsonl").write_bytes(RECORDING)
        await trio.sleep(3)
        nursery.cancel_scope.cancel()

    assert full is (sum("anew" in update for update in sent) > 2)


def test_the_newest_is_first(tmp_path: Path) -> None:
    """Of a folder, by when each was written; of a file, with its siblings."""
    for n, name in enumerate(("c", "a", "b")):
        (tmp_path / f"{name}.jsonl").write_bytes(RECORDING)
        os.utime(tmp_path / f"{name}.jsonl", (n, n))
    own = RECORDING.replace(b'{"mcpmock":1', b'{"mcpmock":1,"sibling_of":"a.jsonl"', 1)
    (tmp_path / "a.77.jsonl").write_bytes(own)

    names = [name for _, name in WatchedFiles(tmp_path).listing()]
    assert ["a.77.jsonl", "b.jsonl", "a.jsonl", "c.jsonl"] == names
    names = [name for _, name in WatchedFiles(tmp_path / "a.jsonl").listing()]
    assert ["a.77.jsonl", "a.jsonl"] == names


def test_a_file_that_grows(tmp_path: Path) -> None:
    """Only what is new is read."""
    file = tmp_path / "a.jsonl"
    followed = FollowedFile(file)
    assert (b"", False) == followed.read()
    file.write_bytes(b"one")
    assert (b"one", True) == followed.read()
    assert (b"", False) == followed.read()
    file.write_bytes(b"onetwo")
    assert (b"two", False) == followed.read()


def test_a_file_that_is_another_one(tmp_path: Path) -> None:
    """Replaced by a rename (`fmt`), cut, or overwritten in place: it is read anew."""
    file, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    followed = FollowedFile(file)
    for way, text in (
        ("first", b"first"),
        ("rename", b"first, renamed"),
        ("rename", b"FIRST, RENAMED"),
        ("cut", b"fi"),
        ("longer", b"something longer"),
    ):
        if way == "rename":
            other.write_bytes(text)
            other.rename(file)
        else:
            file.write_bytes(text)
        assert (file.read_bytes(), True) == followed.read(), way


def test_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in pieces, and how much is left is known."""
    monkeypatch.setattr(watch, "MAX_READ_BYTES", 4)
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"0123456789")
    followed = FollowedFile(file)
    found = [(*followed.read(), followed.unread) for _ in range(4)]

    assert [(b"0123", True, 6), (b"4567", False, 2), (b"89", False, 0), (b"", False, 0)] == found


def test_a_compressed_file(tmp_path: Path) -> None:
    """It is read whole, whenever it has changed; one that is not whole yet is an error."""
    file = tmp_path / "a.jsonl.gz"
    followed = FollowedFile(file)
    assert (b"", False) == followed.read()
    for data in (b"one", b"one, two"):
        file.write_bytes(gzip.compress(data))
        assert [(data, True), (b"", False)] == [followed.read(), followed.read()]
    file.write_bytes(gzip.compress(b"one, two, three")[:-9])
    with pytest.raises(CassetteError):
        followed.read()


async def test_what_is_no_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It gets nothing, nobody reads of it, and the page goes on."""
    async with watching(tmp_path / "a.jsonl") as (port, _):
        for said in (b"no HTTP\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x"):
            async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                await stream.send_all(said)
                await stream.send_eof()
                assert b"" == b"".join([part async for part in stream])
        page = await answer(port, "/")

    assert page.startswith(b"HTTP/1.1 200")
    assert "" == capsys.readouterr().err


async def test_loopback_only(tmp_path: Path) -> None:
    """Another address is refused."""
    with pytest.raises(WrongUsage, match="loopback only"):
        await Watch(tmp_path / "a", address=ListenAddress("0.0.0.0")).run(trio.Event())
