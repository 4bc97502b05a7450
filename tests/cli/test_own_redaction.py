"""Redaction rules of users on the command line, in the project file and in headers."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from tests.cli.conftest import Run
from tests.support.sealed import sealed

CUSTOMER = "Ada-Lovelace-1815"
BODY = b"".join((
    b'{"mcpmock":1,"transport":"stdio","redaction":{"rules":3}}\n',
    b'{"n":1,"d":"c2s","m":{"id":1,"method":"tools/call","params":{"name":"t","arguments":'
    b'{"customer":"Ada-Lovelace-1815","account":4711}}}}\n',
    b'{"n":2,"d":"s2c","m":{"id":1,"result":{"text":"dear Ada-Lovelace-1815"}}}\n',
))  # fmt: skip
RULES = ("--redact-key", "customer*", "--redact-path", "$.arguments.account")
CAT = ("--", sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read())")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(sealed(BODY))
    return path


def test_scan_and_redact_by_the_same_rules(run: Run, file: Path) -> None:
    """A scan finds what the rules name and says how to replace it; behind that it finds nothing."""
    assert 0 == run("scan", file)[0]
    status, out, err = run("scan", *RULES, file)

    assert 1 == status
    assert [
        f"{file}:2: event 1: customer at $.params.arguments.customer",
        f"{file}:2: event 1: account at $.params.arguments.account",
        f"{file}:3: event 2: customer at $.result.text",
        f"{file}: 3 secrets",
    ] == out.splitlines()
    assert CUSTOMER not in out + err
    command = err.partition("`")[2].partition("`")[0]
    assert shlex.split(command) == ["mcpmock", "redact", str(file), *RULES]
    assert 0 == run(*shlex.split(command)[1:])[0]
    assert 0 == run("scan", *RULES, file)[0]
    data = file.read_bytes()
    assert CUSTOMER.encode() not in data
    assert b'"mcpmock:secret:account-number:2"' in data
    own = {"keys": ["customer*"], "paths": ["$.params.arguments.account"]}
    assert {"rules": 4, "own": own} == load(file).takes[0].header.redaction
    assert load(file).takes[0].sealed
    assert "no secrets" in run("redact", *RULES, file)[2]
    assert data == file.read_bytes()


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        (["record", "-o", "a.jsonl"], CAT),
        (["proxy", "--record", "b.jsonl"], CAT),
        (["run"], ("--", "claude")),
        (["drive", "s.jsonl", "-o", "c.jsonl"], CAT),
        (["scan", "s.jsonl"], ()),
        (["redact", "s.jsonl"], ()),
        (["report", "s.jsonl"], ()),
    ],
    ids=lambda value: value[0] if value else "",
)
@pytest.mark.parametrize(
    ("option", "rule", "words"),
    [
        ("--redact-key", "", "an empty glob names nothing"),
        ("--keep-key", " ", "an empty glob names nothing"),
        ("--redact-value", "(", "'(' is no regular expression"),
        ("--redact-value", "x*", "'x*' matches the empty text"),
        ("--redact-path", "arguments", "'arguments' is not of the form"),
        ("--redact-path", "$[", "$["),
        ("--redact-as", "hash", "set MCPMOCK_HASH_KEY"),
        ("--redact-as", "md5", "md5"),
    ],
)
def test_bad_rules(
    run: Run,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    rest: tuple[str, ...],
    option: str,
    rule: str,
    words: str,
) -> None:
    """Every command that takes rules refuses a bad one with status 2, and does nothing."""
    monkeypatch.chdir(file.parent)
    monkeypatch.delenv("MCPMOCK_HASH_KEY", raising=False)
    before = file.read_bytes()
    status, _, err = run(*command, option, rule, *rest)

    assert (2, True) == (status, words in err)
    assert before == file.read_bytes()
    assert [file] == [*file.parent.iterdir()]


@pytest.mark.parametrize("rules", [RULES, ("--keep-key", "token"), ("--redact-as", "number")])
def test_rules_need_redaction(run: Run, tmp_path: Path, rules: tuple[str, ...]) -> None:
    """`--no-redact` with rules of one's own is a mistake."""
    status, _, err = run("record", "--no-redact", *rules, "-o", tmp_path / "a.jsonl", *CAT)
    assert (2, True) == (status, "mutually exclusive" in err)


@pytest.mark.parametrize("command", [["proxy"], ["drive", "s.jsonl"]], ids=lambda words: words[0])
def test_rules_need_a_recording(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """So are rules where nothing is recorded."""
    monkeypatch.chdir(file.parent)
    status, _, err = run(*command, *RULES, *CAT)
    assert (2, True) == (status, "rules for redaction need" in err)


def project(folder: Path, text: str) -> None:
    (folder / "mcpmock.toml").write_text(text, "utf-8")


def test_the_project_file(run: Run, file: Path) -> None:
    """Its table [redact] holds rules for all cassettes below, and adds to what is given."""
    project(file.parent, '[redact]\nkey = ["customer*"]\npath = ["$.arguments.account"]\n')
    assert 1 == run("scan", file)[0]
    assert 0 == run("report", "--redact", file)[0]
    assert CUSTOMER.encode() not in file.with_suffix(".html").read_bytes()
    assert 0 == run("redact", "--redact-key", "text", file)[0]
    assert CUSTOMER.encode() not in file.read_bytes()
    assert b'"text":"mcpmock:secret:text:' in file.read_bytes()
    assert 0 == run("scan", file)[0]


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("redact = 1", ["redact: expected a table, not 1"]),
        (
            '[redact]\nkeys = ["a"]\nvalue = ["(", "x*"]\nas = "md5"\n',
            ["redact.keys: unknown key; did you mean key?", "redact.value[0]: ",
             "redact.value[1]: ", "redact.as: expected one of number, hash, not 'md5'"],
        ),
        ('[redact]\noutput = "x"\n', ["redact.output: unknown key; known: as, keep, "]),
        ("[redcat]\n", ["[redcat]: no command of mcpmock; did you mean redact?"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["scan", "redact", "replay"])
def test_mistakes_in_the_project_file(
    run: Run, file: Path, command: str, text: str, mistakes: list[str]
) -> None:
    """All are said at once, each with its place; the exit status is 3."""
    project(file.parent, text)
    status, out, err = run(command, file)

    if "[redcat]" in text and command == "redact":
        return  # it has no options that a file could set
    assert 3 == status
    assert [True] * len(mistakes) == [mistake in out + err for mistake in mistakes]


def test_a_recording_without_redaction_in_a_project_with_rules(run: Run, tmp_path: Path) -> None:
    """The rules of the project count as if they were given."""
    project(tmp_path, '[redact]\nkey = ["customer*"]\n')
    status, _, err = run("record", "--no-redact", "-o", tmp_path / "a.jsonl", *CAT)
    assert (2, True) == (status, "mutually exclusive" in err)


def test_hashes(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cassettes have one placeholder for one value, and a header says so; without the key the
    command stops.
    """
    other = file.with_name("t.jsonl")
    other.write_bytes(file.read_bytes())
    words = (*RULES, "--redact-as", "hash")
    monkeypatch.setenv("MCPMOCK_HASH_KEY", "k")
    assert [0, 0] == [run("redact", *words, one)[0] for one in (file, other)]

    one, two = (load(path).takes[0] for path in (file, other))
    assert [event.payload for event in one.events] == [event.payload for event in two.events]
    assert "hash" == one.header.redaction["own"]["as"]
    assert 0 == run("scan", *words, file)[0]
    monkeypatch.delenv("MCPMOCK_HASH_KEY")
    assert 2 == run("scan", *words, file)[0]
    assert 0 == run("scan", *RULES, file)[0]
