"""Recording where it goes wrong: locked files, full disks, servers that do not start."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec import UNSET
from trio.testing import MockClock

from mcpmock.cassette.canonical import canonical
from mcpmock.cassette.file import TakeFile, find_siblings, load, open_take, part_of
from mcpmock.channels.channel import MemoryChannel
from mcpmock.errors import CannotStart, CassetteError, RecordingIncomplete
from mcpmock.protocol.messages import C2S, S2C, Frame
from mcpmock.protocol.skills import digest_of
from mcpmock.sessions import servers
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.servers import Command
from mcpmock.sessions.stdio_front import StdioFront
from mcpmock.sessions.take import LOCK_TIMEOUT_S, Recording, open_take_recording
from tests.sessions.test_stdio_front import COMMAND, Stage, cassette_file, files_in, recorded, stage
from tests.support import (
    INITIALIZE,
    WELCOME,
    c,
    c2s,
    call,
    exits,
    hangs_up,
    request,
    response,
    s,
    s2c,
)

__all__ = ["stage"]
FULL = OSError(errno.ENOSPC, "No space left on device")


async def test_a_file_that_stays_locked(
    autojump_clock: MockClock, stage: Stage, tmp_path: Path
) -> None:
    """After LOCK_TIMEOUT_S the session is recorded to a sibling, and one line says so. It stays
    until the file is free.
    """
    file, sibling = tmp_path / "a.jsonl", tmp_path / f"a.{os.getpid()}.jsonl"
    holder = open_take(file)
    assert holder is not None
    await stage.record(file)
    holder.close()

    assert [f"{file}: another mcpmock is recording to it; recording to {sibling}"] == stage.said
    assert trio.current_time() >= LOCK_TIMEOUT_S
    assert load(sibling).takes[0].sealed


async def record_take(file: Path, meanwhile: Callable[[], object] = int, **options: Any) -> None:
    """A take without events."""
    take = await open_take_recording(Recording(output=file, **options), lambda _line: None)
    async with take.recorded("stdio", ["server"]):
        meanwhile()


def lock(file: Path) -> TakeFile:
    """Another recorder opens the file."""
    holder = open_take(part_of(file) if file.suffix == ".gz" else file)
    assert holder is not None
    return holder


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("freed", ["meanwhile", "later"])
async def test_a_sibling_is_joined(
    autojump_clock: MockClock, tmp_path: Path, suffix: str, freed: str
) -> None:
    """By its own recorder if the cassette is free by then, else by the next one that closes."""
    file = tmp_path / f"a.jsonl{suffix}"
    await record_take(file)
    holder = lock(file)
    await record_take(file, holder.discard if freed == "meanwhile" else int)
    if freed == "later":
        assert 1 == len(find_siblings(file))
        assert 2 == len(load(file).takes)
        holder.discard()
        await record_take(file)

    assert [file] == files_in(tmp_path)
    joined = load(file).takes
    assert all(take.sealed for take in joined)
    assert 1 == [take.header.sibling_of for take in joined].count(file.name)


async def test_siblings_that_cannot_be_joined(
    monkeypatch: pytest.MonkeyPatch, stage: Stage, tmp_path: Path
) -> None:
    """It is said, and the session is recorded all the same."""

    def fail(_file: Path) -> None:
        raise FULL

    monkeypatch.setattr("mcpmock.sessions.take.join_siblings", fail)
    file = tmp_path / "a.jsonl"

    assert 3 == await stage.record(file)
    assert [f"{file}: its siblings are not joined: {FULL}"] == stage.said
    assert load(file).takes[0].sealed


async def test_two_takes_of_one_sibling(autojump_clock: MockClock, tmp_path: Path) -> None:
    """A further take of the same run, and a process with the same id, go into the same sibling."""
    file = tmp_path / "a.jsonl"
    await record_take(file)
    holder = lock(file)
    first = await open_take_recording(Recording(output=file), lambda _line: None)
    async with first.recorded("stdio", ["server"]):
        pass
    second = await open_take_recording(first.next_recording(), lambda _line: None)
    async with second.recorded("stdio", ["server"]):
        pass
    await record_take(file)
    assert 2 == len(files_in(tmp_path))
    holder.discard()
    await record_take(file)

    assert [file] == files_in(tmp_path)
    assert 5 == len(load(file).takes)


@pytest.mark.parametrize("suffix", ["", ".gz"])
async def test_overwriting_a_file_with_siblings(
    autojump_clock: MockClock, tmp_path: Path, suffix: str
) -> None:
    """They belong to what is overwritten."""
    file = tmp_path / f"a.jsonl{suffix}"
    await record_take(file)
    holder = lock(file)
    await record_take(file)
    holder.discard()
    assert 2 == len(load(file).takes)
    await record_take(file, overwrite=True)

    assert [file] == files_in(tmp_path)
    assert 1 == len(load(file).takes)


async def test_a_file_that_is_let_go_in_time(
    autojump_clock: MockClock, stage: Stage, tmp_path: Path
) -> None:
    """A lock that is gone within LOCK_TIMEOUT_S is waited for, without a word."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(cassette_file())
    holder = open_take(file)
    assert holder is not None

    async def let_go() -> None:
        await trio.sleep(LOCK_TIMEOUT_S / 2)
        holder.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(let_go)
        await stage.record(file)

    assert [] == stage.said
    assert [file] == files_in(tmp_path)


async def test_no_file_and_no_sibling_to_record_to(
    autojump_clock: MockClock, stage: Stage, tmp_path: Path
) -> None:
    """Where the sibling is there too, nothing is started."""
    file = tmp_path / "a.jsonl"
    (tmp_path / f"a.{os.getpid()}.jsonl").touch()
    holder = open_take(file)
    assert holder is not None
    with pytest.raises(CassetteError, match="exists"):
        await recorded(Recording(output=file), stage.said.append)
    holder.close()


async def test_a_sibling_is_not_packed_into_a_file_of_another(
    autojump_clock: MockClock, stage: Stage, tmp_path: Path
) -> None:
    """What is recorded to a sibling stays in a sibling."""
    holder = open_take(tmp_path / "a.jsonl.gz.part")
    assert holder is not None
    try:
        await stage.record(tmp_path / "a.jsonl.gz", overwrite=True)
        assert not (tmp_path / "a.jsonl.gz").exists()
    finally:
        holder.close()


@pytest.mark.parametrize("before", [None, cassette_file()])
@pytest.mark.parametrize("overwrite", [False, True])
async def test_a_server_that_cannot_start(
    stage: Stage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: bytes | None,
    overwrite: bool,
) -> None:
    """No file is left that was not there, and one that was stays as it was."""
    file = tmp_path / "a.jsonl"
    if before is not None:
        file.write_bytes(before)

    async def start(_command: Sequence[str]) -> MemoryChannel:
        raise CannotStart("server", "no such file", found=False)

    monkeypatch.setattr(servers, "start_process", start)
    with pytest.raises(CannotStart):
        await recorded(Recording(output=file, overwrite=overwrite), print)
    with pytest.raises(CannotStart):
        await run_sessions(Setup(front=StdioFront(), back=Command(COMMAND), say=print))

    assert ([] if before is None else [file]) == files_in(tmp_path)
    assert before is None or before == file.read_bytes()


def break_at(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise FULL

    monkeypatch.setattr(TakeFile, step, broken)


@pytest.mark.parametrize("step", ["begin", "append", "sync", "_write"])
async def test_a_disk_that_is_full(
    autojump_clock: MockClock,
    stage: Stage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    """The session goes on, one line tells of it at once, and the end is RecordingIncomplete."""
    file = tmp_path / "a.jsonl"
    break_at(monkeypatch, step)
    with pytest.RaisesGroup(RecordingIncomplete, flatten_subgroups=True) as told:
        await stage.record(file)

    why = "No space left on device"
    assert [WELCOME] == stage.heard
    assert [f"{file}: cannot record: {why}; the session goes on"] == stage.said
    all_lost = step in ("append", "_write")
    said = "6 of 6 events were not recorded" if all_lost else "recording incomplete"
    assert f"{file}: {said}: {why}" == str(told.value.exceptions[0])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project in which the recorder starts."""
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


OUTPUT = Path(".mcpmock/a.jsonl")


async def test_a_project_that_is_gone(stage: Stage, project: Path) -> None:
    """The client has its server all the same, unrecorded."""
    shutil.rmtree(project)
    with pytest.RaisesGroup(RecordingIncomplete, flatten_subgroups=True):
        await stage.record(OUTPUT, in_project=True)

    why = f"not recorded: {OUTPUT}: no such file or folder"
    assert [f"{why}; the session goes on"] == stage.said
    assert [WELCOME] == stage.heard


async def test_a_user_without_a_home(
    stage: Stage, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may run as a user that it does not know; projects are recorded there too."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)

    assert 3 == await stage.record(OUTPUT, in_project=True)
    assert 1 == len(load(project / OUTPUT).takes)


async def test_a_recording_elsewhere(
    stage: Stage, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `wrap` did not name stays where it was asked for, in a project too."""
    (project / ".mcpmock").mkdir()
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")

    assert 3 == await stage.record(Path("a.jsonl"))
    assert 1 == len(load(project / "src/a.jsonl").takes)


@pytest.mark.parametrize("option", ["new", "strict"])
async def test_a_project_that_must_be_recorded(stage: Stage, project: Path, option: str) -> None:
    """No session goes on unrecorded where an option says so."""
    (project / OUTPUT).mkdir(parents=True)
    new = option == "new"
    recording = Recording(output=OUTPUT, in_project=True, new=new, strict=not new)

    with pytest.raises(CassetteError, match=r"a\.jsonl: "):
        await recorded(recording, stage.said.append)
    assert [] == stage.said


async def test_a_conversation_that_an_internal_error_ends(tmp_path: Path) -> None:
    """It counts as a gap: the recording is not whole, and says so."""
    taking = await open_take_recording(Recording.to(str(tmp_path / "a.jsonl")), lambda _line: None)
    mistake = ValueError("ours")

    async def converse() -> None:
        async with taking.recorded("streamable-http", "http://127.0.0.1/mcp"):
            with pytest.raises(ExceptionGroup) as raised, taking.conversation(3):
                raise mistake
            assert (mistake,) == raised.value.exceptions

    with pytest.raises(RecordingIncomplete, match=r"ended by ValueError\('ours'\)"):
        await converse()
    [event] = load(tmp_path / "a.jsonl").takes[0].events
    assert (3, True) == (event.s, event.gap is not UNSET)


@pytest.mark.parametrize("redact", [True, False])
@pytest.mark.parametrize(
    "target", ["http://h/mcp?token=correct-horse-battery", ["s", "--token=correct-horse-battery"]]
)
async def test_secrets_of_a_target(tmp_path: Path, target: str | list[str], redact: bool) -> None:
    """The header names the server without them, unless redaction is off."""
    file = tmp_path / "a.jsonl"
    take = await open_take_recording(Recording(output=file, redact=redact), lambda _line: None)
    async with take.recorded("any", target):
        pass

    assert redact is (b"battery" not in file.read_bytes())
    assert redact is (target != load(file).takes[0].header.target)


async def test_one_event_that_is_lost(tmp_path: Path) -> None:
    """It is counted, and said in the singular."""
    file = tmp_path / "a.jsonl"
    take = await open_take_recording(Recording(output=file), lambda _line: None)

    async def lose_one() -> None:
        async with take.recorded("stdio", ["server"]):
            take.recorder().feed([c2s(call(1, "say"))], trio.current_time())
            take.ledger.lose(1, 1, 0, "why")

    with pytest.raises(RecordingIncomplete) as told:
        await lose_one()
    assert f"{file}: 1 of 2 events was not recorded: why" == str(told.value)


async def test_a_value_that_is_known_to_be_secret_later(tmp_path: Path) -> None:
    """At the end of the take it is replaced in what was recorded before, too."""
    file, secret = tmp_path / "a.jsonl", "correct horse battery"
    take = await open_take_recording(Recording(output=file), lambda _line: None)
    async with take.recorded("stdio", ["server"]):
        take.recorder().feed([c2s(call(1, "say", text=secret))], trio.current_time())
        take.recorder().feed([s2c(response(1, {"token": secret}))], trio.current_time())

    assert b"battery" not in file.read_bytes()


SKILL, NOTES = "skill://acme/refunds/SKILL.md", "skill://acme/refunds/notes.md"


@pytest.mark.parametrize("redacted", [False, True])
async def test_a_file_of_a_skill(tmp_path: Path, redacted: bool) -> None:
    """Where it is redacted its digest no longer fits, and the user is told of which."""
    file, said = tmp_path / "a.jsonl", list[str]()
    text = "correct horse battery\n" if redacted else "notes\n"
    files = [{"uri": NOTES, "digest": digest_of(text.encode()), "size": len(text)}]
    entry = {"uri": SKILL, "frontmatter": {"name": "refunds"}, "resources": files}
    take = await open_take_recording(Recording(output=file), said.append)
    async with take.recorded("stdio", ["server"]):
        lines = [
            c(request(1, "skills/list")),
            s(response(1, {"skills": [entry]})),
            c(request(2, "resources/read", {"uri": NOTES})),
            s(response(2, {"contents": [{"uri": NOTES, "text": text}]})),
            s(response(3, {"token": "correct horse battery"})),
        ]
        for way, raw in lines:
            frame = c2s(raw) if way == "c2s" else s2c(raw)
            take.recorder().feed([frame], trio.current_time())

    told = f"{file}: redacted in skills, so that their digests no longer fit: {NOTES}"
    assert [told] * redacted == said


@pytest.mark.parametrize("full", [False, True])
async def test_a_value_that_cannot_be_replaced_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    """The user hears where it is left: in a number, or anywhere if the disk is full."""
    file, said = tmp_path / "a.jsonl", list[str]()
    if full:
        break_at(monkeypatch, "revise")
    take = await open_take_recording(Recording(output=file), said.append)
    async with take.recorded("stdio", ["server"]):
        take.recorder().feed([c2s(call(1, "say", pin=12345678))], trio.current_time())
        take.recorder().feed([s2c(response(1, {"token": "12345678"}))], trio.current_time())

    number = "the value of a secret is left in event 1: numbers and split values are not replaced"
    names = f"`mcpmock scan {file}` names the places"
    any_ = f"secrets may be left in it: No space left on device; {names}"
    assert [f"{file}: {any_ if full else number}"] == said


async def test_strict_ends_the_session(
    autojump_clock: MockClock, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `strict` nothing passes that could not be recorded."""
    break_at(monkeypatch, "append")
    with pytest.RaisesGroup(RecordingIncomplete, flatten_subgroups=True):
        await stage.record(tmp_path / "a.jsonl", strict=True)

    assert [] == stage.heard
    assert stage.said[0].endswith("; the session ends here")


async def test_syncing_fails_once(
    autojump_clock: MockClock, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a session lives it is synced; where that fails, it is told and never tried again."""
    tried: list[int] = []
    told = trio.Event()

    def sync(_file: TakeFile) -> None:
        tried.append(1)
        raise OSError(errno.EIO, "Input/output error")

    async def ask() -> None:
        stage.client.send_nowait([c2s(INITIALIZE)])
        await told.wait()
        stage.client.send_nowait([hangs_up(C2S)])

    monkeypatch.setattr(TakeFile, "sync", sync)
    with pytest.RaisesGroup(RecordingIncomplete, flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(stage.answer)
            await recorded(Recording(output=tmp_path / "a.jsonl"), lambda _line: told.set())

    assert [1, 1] == tried  # and once at the close


async def test_overwriting_keeps_the_old_file_until_the_end(stage: Stage, tmp_path: Path) -> None:
    """With `overwrite` the old file stands beside the new one until that is whole. The rules in its
    headers stay.
    """
    file, backup = tmp_path / "a.jsonl", tmp_path / "a.jsonl.bak"
    rules = {"ignore": ["$.a"]}
    old = canonical(cassette_file(), rules=rules).data
    file.write_bytes(old)
    kept: list[bytes] = []
    stage.meanwhile = lambda: kept.append(backup.read_bytes())
    await stage.record(file, overwrite=True)

    assert [old] == kept
    assert [file] == files_in(tmp_path)
    [take] = load(file).takes
    assert rules == take.header.match


async def test_new_refuses_a_packed_file_too(stage: Stage, tmp_path: Path) -> None:
    """`new` looks at the file that was named, not at the one that is recorded to."""
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(cassette_file()))
    recording = Recording(output=tmp_path / "a.jsonl.gz", new=True)

    with pytest.raises(CassetteError, match=r"a\.jsonl\.gz: exists; leave out --new"):
        await recorded(recording, stage.said.append)


async def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """It is made, and the line at the end names the file in it and how much that holds."""
    folder, said = tmp_path / "runs/today", list[str]()
    recording = Recording(output=folder, folder=True, says_end=True)
    take = await open_take_recording(recording, said.append)
    async with take.recorded("stdio", ["server"]):
        take.recorder().feed([c2s(call(1, "say"))], trio.current_time())

    assert [f"{file}: 1 event recorded" for file in folder.iterdir()] == said


async def test_another_take_of_a_packed_file(tmp_path: Path) -> None:
    """It goes into the same file."""
    file = tmp_path / "a.jsonl.gz"
    recording = Recording(output=file)
    for _ in range(2):
        take = await open_take_recording(recording, lambda _line: None)
        async with take.recorded("stdio", ["server"]):
            pass
        recording = take.next_recording()

    assert [file] == files_in(tmp_path)
    assert 2 == len(load(file).takes)


async def test_a_new_packed_file(tmp_path: Path) -> None:
    """With `new` it is made where there is none."""
    file = tmp_path / "a.jsonl.gz"
    await record_take(file, new=True)

    assert 1 == len(load(file).takes)


async def test_a_folder_may_have_any_name(stage: Stage, tmp_path: Path) -> None:
    """A folder whose name ends in `.gz` is a folder."""
    (tmp_path / "a.gz").mkdir()

    assert 3 == await stage.record(tmp_path / "a.gz", folder=True)


@pytest.mark.parametrize(("said_at", "sealed"), [((1.0, 2.0), True), ((0.1, 0.3, 0.5, 0.7), None)])
async def test_a_take_is_whole_before_its_recorder_is_killed(
    autojump_clock: MockClock,
    stage: Stage,
    tmp_path: Path,
    said_at: tuple[float, ...],
    sealed: bool | None,
) -> None:
    """From the end of the client's input on, whenever nothing came for a moment."""
    file, whole = tmp_path / "a.jsonl", list[bool | None]()

    async def answer() -> None:
        frames: list[Frame] = []
        while not frames or frames[-1] != hangs_up(C2S):
            frames = await stage.server.receive()
            whole.append(load(file).takes[0].sealed)
        for at in said_at:
            await trio.sleep_until(start + at)
            whole.append(load(file).takes[0].sealed)
            stage.server.send_nowait([s2c(WELCOME)])
        stage.server.send_nowait([hangs_up(S2C), exits(0)])

    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        stage.client.send_nowait([c2s(INITIALIZE), hangs_up(C2S)])
        nursery.start_soon(stage.listen)
        await recorded(Recording(output=file), print)

    assert [None, *(sealed for _ in said_at)] == whole[-len(said_at) - 1 :]
    [take] = load(file).takes
    assert (True, 4 + len(said_at)) == (take.sealed, len(take.events))
