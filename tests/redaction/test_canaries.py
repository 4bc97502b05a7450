"""No canary is left in a recording: every layer, every spelling, every place."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mcpmock.cassette import FORMAT
from mcpmock.cassette.file import open_take
from mcpmock.cassette.model import Header, event_line
from mcpmock.cassette.parser import read
from mcpmock.protocol.messages import C2S, S2C, Frame, HttpRequest, Stderr
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.cassettes import LineReviser, scan_cassette
from mcpmock.redaction.redactor import Redactor
from tests.redaction.canaries import CANARY, GIVEN_AWAY, PLACES, SPELLINGS, WORD, leaks
from tests.support import call, response
from tests.support.every import covering

TELLS = Frame(C2S, json.dumps({"method": "login", "params": {"password": CANARY}}).encode())


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


def problems(data: bytes, secret: str, events: int) -> list[object]:
    """What is wrong with a recording that must not hold a secret."""
    cassette = read("", data)
    [take] = cassette.takes
    whole = (cassette.damage, len(take.events), take.sealed) == ([], events, True)
    return [*scan_cassette(data), *["leaks"] * leaks(data, secret), *["damaged"] * (not whole)]


@pytest.mark.parametrize("place", PLACES)
def test_a_known_value_is_left_nowhere(place: str, tmp_path: Path) -> None:
    """A value that was judged secret once is replaced before and behind that, in every spelling,
    and the recording still loads.
    """
    found = {}
    for spelling, spell in SPELLINGS.items():
        frame = PLACES[place](spell(CANARY))
        for order in ([TELLS, frame], [frame, TELLS]):
            path = tmp_path / f"{spelling}, {order[0] is TELLS}.jsonl"
            found[path.name] = problems(recording(path, order), CANARY, events=2)

    assert {} == {name: wrong for name, wrong in found.items() if wrong}


WRAPPINGS = [
    "plain", "JSON in a string", "JSON in JSON in a string", "escaped letters", "escaped slashes",
    "percent", "base64", "base64 in a sentence", "URL-safe base64", "base64 in lines", "data URL",
]  # fmt: skip


@pytest.mark.parametrize("given", GIVEN_AWAY)
def test_a_value_is_found_in_texts_inside_texts(given: str, tmp_path: Path) -> None:
    """A name or a format gives a secret away wherever the text that has it stands, and a scan of
    a recording without redaction finds it too.
    """
    found: dict[str, list[object]] = {}
    places = ("arguments", "result", "pretty-printed", "standard error", "HTTP page")
    for one, wrapping, place in covering(2, GIVEN_AWAY, WRAPPINGS, places):
        if one != given:
            continue
        frame = PLACES[place](SPELLINGS[wrapping](GIVEN_AWAY[given]))
        name = f"{wrapping}, {place}"
        found[name] = problems(recording(tmp_path / name, [frame]), WORD, events=1)
        if not scan_cassette(b'{"mcpmock":1}\n' + event_line(1, 0, frame)):
            found[name].append("not found by a scan")

    assert {} == {name: wrong for name, wrong in found.items() if wrong}


@pytest.mark.parametrize("encoded", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_known_value_in_either_alphabet_of_base64(encoded: Callable[[bytes], bytes]) -> None:
    """It is found there, whatever stands in front of it."""
    redactor = Redactor()
    redactor.json(call(1, "t", password="pass>>>w0rd???"))
    for before in ("", "a", "ab"):
        raw = response(1, {"a": encoded(f"{before}pass>>>w0rd???".encode()).decode()})
        assert raw != redactor.json(raw)


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
    redactor.learn({"TOKEN": "~~~>>>???~~~abc"})  # in base64 it has signs that URLs do not
    for signs in (b"+/", b"-_"):
        assert not leaks(redactor.text(base64.b64encode(b"~~~>>>???~~~abc", signs)), "~~~>>>???")
    assert b"mcpmock:secret:api-key:1 /home/someone /run/tok9/en" in data


@pytest.mark.parametrize(
    "value", ["undefined", "required", "read-only", "${GITHUB_TOKEN}", "<your token>", "********",
              "/etc/ssl/private.key", "https://example.com/back", "password", "2026-11-22T10:00"]
)  # fmt: skip
def test_ordinary_values_are_not_known(value: str, tmp_path: Path) -> None:
    """What stands for a secret, or is a word, goes where its name says so and stays elsewhere."""
    tells = Frame(C2S, json.dumps({"params": {"token": value}}).encode())
    data = recording(tmp_path / "s.jsonl", [tells, PLACES["result"](f"see {value} here")])

    assert json.dumps(f"see {value} here").encode() in data
    assert 1 == data.count(b"mcpmock:secret:token:1")
