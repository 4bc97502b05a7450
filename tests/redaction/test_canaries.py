"""No canary is left in a recording: every layer, every spelling, every place."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpmock.cassette.file import open_take
from mcpmock.cassette.model import FORMAT, Header, event_line
from mcpmock.cassette.parser import read
from mcpmock.protocol.messages import C2S, S2C, Frame, HttpRequest, Stderr
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.cassettes import LineReviser, scan_cassette
from mcpmock.redaction.redactor import Redactor
from tests.redaction.canaries import CANARY, GIVEN_AWAY, PLACES, SPELLINGS, WORD, leaks

TELLS = Frame(C2S, json.dumps({"method": "login", "params": {"password": CANARY}}).encode())
CASES = [
    pytest.param(place, spelling, id=f"{place}, {spelling}")
    for place in PLACES
    for spelling in SPELLINGS
]


def recording(path: Path, frames: Sequence[Frame], redactor: Redactor | None = None) -> bytes:
    """The file of a take of these frames, each read by itself."""
    take = open_take(path)
    assert take is not None
    ledger = Ledger(take.append, redactor or Redactor())
    recorder = Recorder(ledger)
    take.begin(Header(mcpmock=FORMAT))
    for frame in frames:
        recorder.feed([frame], 0.0)
    assert ledger.redactor is not None
    take.revise(LineReviser(ledger.redactor).revise, ledger.revised_events)
    take.close()
    return path.read_bytes()


@pytest.mark.parametrize(("place", "spelling"), CASES)
def test_a_known_value_is_left_nowhere(place: str, spelling: str, tmp_path: Path) -> None:
    """A value that was judged secret once is replaced before and behind that, and the recording
    still loads.
    """
    frame = PLACES[place](SPELLINGS[spelling](CANARY))
    for order in ([TELLS, frame], [frame, TELLS]):
        path = tmp_path / f"{order[0] is TELLS}.jsonl"
        data = recording(path, order)

        assert not leaks(data, CANARY)
        cassette = read("", data)
        assert ([], 2) == (cassette.damage, len(cassette.takes[0].events))
        assert cassette.takes[0].sealed
        assert [] == scan_cassette(data)


WRAPPINGS = [
    "plain", "JSON in a string", "JSON in JSON in a string", "escaped letters", "escaped slashes",
    "percent", "base64", "base64 in a sentence", "URL-safe base64", "base64 in lines", "data URL",
]  # fmt: skip


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("given", GIVEN_AWAY)
def test_a_value_is_found_in_texts_inside_texts(given: str, wrapping: str, tmp_path: Path) -> None:
    """A name or a format gives a secret away wherever the text that has it stands, and a scan of
    the recording as it would be without redaction finds it too.
    """
    text = SPELLINGS[wrapping](GIVEN_AWAY[given])
    for place in ("arguments", "result", "pretty-printed", "standard error", "HTTP page"):
        frame = PLACES[place](text)
        data = recording(tmp_path / place, [frame])
        line = event_line(1, 0, frame)
        found = scan_cassette(b'{"mcpmock":1}\n' + line)

        assert not leaks(data, WORD), place
        assert found, place
        assert [] == scan_cassette(data), place


def test_a_private_key_that_comes_in_pieces(tmp_path: Path) -> None:
    """Standard error comes in lines; those of a key go, those behind it stay."""
    lines = GIVEN_AWAY["a key"].splitlines(keepends=True)
    frames = [Frame(S2C, f"{line}".encode(), b"", Stderr()) for line in [*lines, "ready\n"]]
    data = recording(tmp_path / "s.jsonl", frames)

    assert not leaks(data, WORD)
    assert b"-----END PRIVATE KEY-----" in data
    assert b"ready" in data


def test_the_credentials_of_basic_are_known(tmp_path: Path) -> None:
    """The password that a head sends in base64 is a secret in the answer too."""
    password = "pa55-w0rd-x"
    field = ("Authorization", f"Basic {base64.b64encode(b'user:' + password.encode()).decode()}")
    head = Frame(C2S, fact=HttpRequest("POST", "/mcp", [field]), exchange=1)
    data = recording(tmp_path / "s.jsonl", [head, PLACES["HTTP message"](f"hello, {password}")])

    assert not leaks(data, password)


def test_values_of_the_environment_are_known(tmp_path: Path) -> None:
    """The values of secret-named variables go wherever they appear; those of others stay."""
    redactor = Redactor()
    redactor.learn({"MY_API_KEY": WORD, "HOME": "/home/someone", "TOKEN_FILE": "/run/tok9/en"})
    frame = PLACES["result"](f"{WORD} /home/someone /run/tok9/en")
    data = recording(tmp_path / "s.jsonl", [frame], redactor)

    assert not leaks(data, WORD)
    assert b"mcpmock:secret:api-key:1 /home/someone /run/tok9/en" in data


@pytest.mark.parametrize(
    "value", ["undefined", "required", "read-only", "${GITHUB_TOKEN}", "<your token>", "********",
              "/etc/ssl/private.key", "https://example.com/callback", "password", "2026-11-22T10:00"]
)  # fmt: skip
def test_ordinary_values_are_not_known(value: str, tmp_path: Path) -> None:
    """What stands for a secret, or is a word, goes where its name says so and stays elsewhere."""
    tells = Frame(C2S, json.dumps({"params": {"token": value}}).encode())
    data = recording(tmp_path / "s.jsonl", [tells, PLACES["result"](f"see {value} here")])

    assert json.dumps(f"see {value} here").encode() in data
    assert 1 == data.count(b"mcpmock:secret:token:1")
