"""`mcpmock proxy`: what it takes from its command line, and what it hands on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.sessions import run as run_module
from mcpmock.sessions.http_front import HttpFront
from mcpmock.sessions.restarts import RestartedCommand
from mcpmock.sessions.run import Front, Setup
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.stdio_front import StdioFront
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import TransportKind
from tests.cli.conftest import Run, said_of
from tests.support import INITIALIZE, request
from tests.support.record_modes import MODES, SERVER

URL = "http://127.0.0.1:9/mcp"
Given = list[tuple[Server, Front | None]]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """What the mode is called with; it ends with 7."""
    found: Given = []

    async def run_sessions(setup: Setup) -> int:
        assert setup.recording is None
        assert setup.back is not None
        found.append((setup.back, setup.front))
        return 7

    monkeypatch.setattr(run_module, "run_sessions", run_sessions)
    return found


def test_a_command(run: Run, given: Given) -> None:
    """Stdio in front of a process; its own options are its own, and the status is the mode's."""
    assert (7, "", "") == run("proxy", "--", "server", "--url", "x", "--json")
    assert (7, "", "") == run("proxy", "server", "--listen", "x")

    assert given == [
        (Command(("server", "--url", "x", "--json")), StdioFront()),
        (Command(("server", "--listen", "x")), StdioFront()),
    ]


def test_a_url(run: Run, given: Given) -> None:
    """Stdio in front of a URL, with the fields that were given."""
    fields = ["--header", "X-Key: a:b", "--header", "Authorization:Bearer x"]
    assert 7 == run("proxy", "--url", URL, *fields)[0]

    [(server, front)] = given
    assert isinstance(server, Url)
    assert (URL, TransportKind.STREAMABLE_HTTP) == (server.upstream.url, server.kind)
    assert [("X-Key", "a:b"), ("Authorization", "Bearer x")] == server.headers
    assert StdioFront() == front


def test_a_server_that_is_restarted(run: Run, given: Given, tmp_path: Path) -> None:
    """The patterns and the grace go with the command."""
    (tmp_path / "a.py").touch()
    pattern = str(tmp_path / "*.py")
    assert 7 == run("proxy", "--restart-on", pattern, "--", "server")[0]
    more = ["--restart-on", str(tmp_path / "**"), "--restart-grace", "500ms"]
    assert 7 == run("proxy", "--restart-on", pattern, *more, "--", "server")[0]

    assert [server for server, _ in given] == [
        RestartedCommand(("server",), [], (pattern,)),
        RestartedCommand(("server",), [], (pattern, str(tmp_path / "**")), 0.5),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--restart-on no*.py -- x", "no file matches no*.py"),
        ("--restart-on a.py --restart-on b.py -- x", "no file matches b.py"),
        ("--restart-on src -- x", "no file matches src; for all files in it, write 'src/**'"),
        ("--restart-on **/deep -- x", "no file matches **/deep"),
        ("--restart-on a.py", "name the server"),
        (f"--restart-on a.py --url {URL}", "mcpmock does not start the server at a URL"),
        ("--restart-on a.py --cassette c.jsonl -- x", "needs a --mode that starts the server"),
        ("--restart-on a.py --cassette c.jsonl --mode none -- x", "needs a --mode that starts"),
        ("--restart-grace 1s -- x", "--restart-grace needs --restart-on"),
        ("--restart-on a.py --restart-grace soon -- x", "Invalid value for '--restart-grace'"),
    ],
)
def test_restarts_that_cannot_be(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    """Nothing matched, a server at a URL: refused before anything starts."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "a.py").touch()
    monkeypatch.chdir(tmp_path)
    status, out, err = run("proxy", *words.split())
    assert (2, "") == (status, out)
    assert said in " ".join(err.split())


def test_what_a_recording_hides(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The secrets of headers, wherever a server repeats them."""
    hidden: list[str] = []

    async def run_sessions(setup: Setup) -> int:
        assert setup.recording is not None
        hidden.extend(setup.recording.values.values())
        return 0

    monkeypatch.setattr(run_module, "run_sessions", run_sessions)
    monkeypatch.setenv("X_TOKEN", "Bearer sesame")
    fields = ["--header-env", "Authorization: X_TOKEN", "--header", "X-Org: acme"]

    assert 0 == run("proxy", "--record", "x.jsonl", "--url", URL, *fields)[0]
    assert ["sesame"] == hidden


@pytest.mark.parametrize(
    ("options", "front", "back"),
    [
        (["--transport", "sse"], TransportKind.SSE, TransportKind.STREAMABLE_HTTP),
        (["--url-transport", "sse"], None, TransportKind.SSE),
        (
            ["--transport", "streamable-http", "--url-transport", "sse"],
            TransportKind.STREAMABLE_HTTP,
            TransportKind.SSE,
        ),
    ],
)
def test_transports(
    run: Run, given: Given, options: list[str], front: TransportKind | None, back: TransportKind
) -> None:
    """`--transport` is that of the clients, `--url-transport` that of the server."""
    assert 7 == run("proxy", "--listen", "127.0.0.1:0", "--url", URL, *options)[0]

    [(server, listens)] = given
    assert isinstance(server, Url)
    assert isinstance(listens, HttpFront)
    assert (front, back) == (listens.kind, server.kind)


@pytest.mark.parametrize(
    ("url", "more", "said"),
    [
        (URL, "--header X:x", "Error: --header has no effect"),
        (URL, "--header-env X:HOME", "Error: --header-env has no effect"),
        (
            URL,
            "--header-env X:HOME --header Y:y",
            "Error: --header and --header-env have no effect",
        ),
        (URL, "--header X:x --transport streamable-http", "Error: --header has no effect"),
        ("http://127.0.0.1:9/sse", "--header-env X:HOME", "Error: --header-env has no effect"),
    ],
)
def test_a_header_for_clients_that_send_their_own(
    run: Run, given: Given, url: str, more: str, said: str
) -> None:
    """Where exchanges pass as they are nothing is added to them, and that is said."""
    listen = ["--listen", "127.0.0.1:0"]
    line = said_of(run("proxy", "--url", url, *listen, *more.split()))

    assert said in line
    assert [] == given
    assert 7 == run("proxy", "--url", URL, *listen, "--transport", "sse", "--header", "X: y")[0]


class Recording:
    """A cassette and the command of a server that leaves a file when it is started."""

    def __init__(self, folder: Path) -> None:
        self.file, self._started = folder / "a.jsonl", folder / "started"
        script = folder / "server.py"
        script.write_text(SERVER.format(started=str(self._started)))
        self.server = ["--", sys.executable, "-I", "-S", str(script)]

    @property
    def started(self) -> int:
        """How often, since this was asked."""
        count = len(self._started.read_text()) if self._started.exists() else 0
        self._started.unlink(missing_ok=True)
        return count


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


ASKS = [INITIALIZE, request(1, "tools/list")]
MORE = request(2, "tools/call", {"name": "new"})


def said(
    recording: Recording, mode: str, *asks: bytes, options: Sequence[str] = ()
) -> tuple[int, int, str]:
    """The status, how many answers came, and what was told of a client that asks all this."""
    words = [sys.executable, "-m", "mcpmock", "proxy", "--cassette", str(recording.file)]
    done = subprocess.run(
        [*words, "--mode", mode, *options, *recording.server],
        input=b"".join(raw + b"\n" for raw in (*ASKS, *asks)),
        capture_output=True,
        timeout=30,
        check=False,
    )
    return done.returncode, done.stdout.count(b'"result"'), done.stderr.decode()


@pytest.mark.e2e
@pytest.mark.parametrize("mode", MODES)
def test_no_cassette(recording: Recording, mode: str) -> None:
    """`none` starts nothing and says what records; the others record."""
    status, answers, told = said(recording, mode)

    if mode == "none":
        words = (
            f"mcpmock: {recording.file}: no such file or folder; to record it, use --mode once\n"
        )
        assert (3, 0, words, 0) == (status, answers, told, recording.started)
        assert not recording.file.exists()
    else:
        assert (0, 2, "", 1) == (status, answers, told, recording.started)
        assert load(recording.file).takes[0].sealed


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("empty", "mode"), [*((b"", mode) for mode in MODES), (b"\n\n", "none"), (b"\n\n", "once")]
)
def test_an_empty_cassette(recording: Recording, mode: str, empty: bytes) -> None:
    """It holds no recording: all modes but `none` record it."""
    recording.file.write_bytes(empty)
    status, answers, told = said(recording, mode)

    if mode == "none":
        assert (1, 0, 0) == (status, answers, recording.started)
        assert told.startswith(f"mcpmock: {recording.file}: is empty: it holds no recording\n")
    else:
        assert (0, 2, "", 1) == (status, answers, told, recording.started)
        assert [] == load(recording.file).notices


@pytest.mark.e2e
@pytest.mark.parametrize("mode", MODES)
def test_a_cassette(recording: Recording, mode: str) -> None:
    """What is in it is played; `new_episodes` records what is not, `all` and `rewrite` all."""
    said(recording, "once")
    assert 1 == recording.started
    anew = mode in ("all", "rewrite")

    assert (0, 2) == said(recording, mode)[:2]
    assert int(anew) == recording.started
    assert 1 == len(load(recording.file).takes)
    status, answers, _ = said(recording, mode, MORE)
    asked = anew or mode == "new_episodes"
    assert ((0, 3) if asked else (1, 2), int(asked)) == ((status, answers), recording.started)
    assert (2 if mode == "new_episodes" else 1) == len(load(recording.file).takes)
    assert [recording.file.name] == [one.name for one in recording.file.parent.glob("*.jsonl*")]


@pytest.mark.e2e
def test_nothing_to_restart(recording: Recording) -> None:
    """With `once` the server may be restarted while it is recorded; a replay has none."""
    watched = ["--restart-on", str(recording.file.parent / "*.py")]
    (recording.file.parent / "a.py").touch()

    assert (0, 2, "") == said(recording, "once", options=watched)
    status, answers, told = said(recording, "once", options=watched)
    why = f"{recording.file} exists and is replayed, so there is no server to restart"
    assert (0, 2, f"mcpmock: --restart-on: {why}\n") == (status, answers, told)


@pytest.mark.e2e
@pytest.mark.parametrize("name", ["a.jsonl", "runs/"])
def test_record(recording: Recording, name: str) -> None:
    """Every run adds a take or, in a folder, a file."""
    output = str(recording.file.with_name(name.strip("/"))) + "/" * name.endswith("/")
    words = [sys.executable, "-m", "mcpmock", "proxy", "--record", output, *recording.server]
    for _ in range(2):
        says = b"".join(raw + b"\n" for raw in ASKS)
        done = subprocess.run(words, input=says, capture_output=True, timeout=30)
        assert (0, b"") == (done.returncode, done.stderr)

    files = [*Path(output).iterdir()] if name.endswith("/") else [recording.file]
    takes = [len(load(file).takes) for file in files]
    assert ([1, 1] if name.endswith("/") else [2]) == takes


@pytest.mark.e2e
def test_on_miss_live(recording: Recording) -> None:
    """`replay` asks the server as well, and records nothing."""
    said(recording, "once")
    before = recording.file.read_bytes()
    words = [sys.executable, "-m", "mcpmock", "replay", str(recording.file), "--on-miss", "live"]
    says = b"".join(raw + b"\n" for raw in (*ASKS, MORE))
    done = subprocess.run([*words, *recording.server], input=says, capture_output=True, timeout=30)

    assert (0, 3, b"") == (done.returncode, done.stdout.count(b'"result"'), done.stderr)
    assert (2, before) == (recording.started, recording.file.read_bytes())
