"""Rules about what may differ, from the command line, the environment, the project file and the
cassette.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.channels.channel import MemoryChannel
from mcpmock.protocol.messages import C2S
from tests.cli.conftest import Run, heard
from tests.support import OPENING, c, c2s, call, cassette_bytes, errors, hangs_up, response, s
from tests.support.pages import data_of
from tests.support.sealed import sealed

HELLO = [raw for what, raw in OPENING if what == "c2s"]
MISSED = -31999
RULE = "tools/call find $.arguments.q"
TEXT = f"[match]\nignore = ['{RULE}']\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two calls with different answers, in a project of their own."""
    (tmp_path / ".git").mkdir()
    path = tmp_path / "cassettes/a.jsonl"
    path.parent.mkdir()
    calls = [(c(call(n, "find", q=q)), s(response(n, {"n": n}))) for n, q in ((1, "a"), (2, "b"))]
    path.write_bytes(sealed(cassette_bytes(*OPENING, *calls[0], *calls[1])))
    return path


def asks(client: MemoryChannel, *texts: str) -> None:
    """A client that finds these texts, and ends."""
    calls = [call(n, "find", q=text) for n, text in enumerate(texts, 1)]
    client.send_nowait([*map(c2s, (*HELLO, *calls)), hangs_up(C2S)])


@pytest.mark.parametrize(
    "options",
    [
        ["--ignore", RULE],
        ["--ignore", "$.nothing", "--ignore", RULE],
        ["--like", f"{RULE}=string"],
        ["--echo", RULE],
        ["--match", "tool"],
        ["--on-miss", "nearest"],
    ],
    ids=lambda options: options[0],
)
def test_options(run: Run, file: Path, client: MemoryChannel, options: list[str]) -> None:
    """Each lets another request be answered; without it the request is a miss."""
    asks(client, "x")

    assert 0 == run("replay", file, *options)[0]
    assert [(1, None)] == errors(heard(client))


def test_without_rules(run: Run, file: Path, client: MemoryChannel) -> None:
    """The request is a miss, and the report proposes the rule that allows it."""
    asks(client, "x")
    status, _, err = run("replay", file)

    assert 1 == status
    assert f"allow with --ignore '{RULE}'" in err


def test_in_an_environment_variable_they_stand_one_a_line(
    run: Run, file: Path, client: MemoryChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Because rules have spaces."""
    monkeypatch.setenv("MCPMOCK_REPLAY_IGNORE", f"tools/call other $.a\n\n{RULE}\n")
    asks(client, "x")

    assert 0 == run("replay", file)[0]


@pytest.mark.parametrize("folder", ["", "cassettes"])
def test_the_project_file(run: Run, file: Path, client: MemoryChannel, folder: str) -> None:
    """The nearest one in the folder of the cassette or above it, for every command; `--no-rules`
    leaves it out.
    """
    (file.parents[1] / folder / "mcpmock.toml").write_text(TEXT, "utf-8")
    asks(client, "x")
    assert 0 == run("replay", file)[0]
    heard(client)

    other = file.with_name("b.jsonl")
    other.write_bytes(file.read_bytes().replace(b'"q":"a"', b'"q":"c"'))
    assert 0 == run("diff", file, other)[0]
    assert 1 == run("diff", "--no-rules", file, other)[0]
    assert 0 == run("report", file, other)[0]
    assert 1 == data_of(file.with_suffix(".html").read_bytes())["diff"]["ignored"]
    other.rename(file.with_name("a.rej.jsonl"))
    assert "same" == json.loads(run("review", "--list", "--json", file)[1])["verdict"]


def test_no_rules(run: Run, file: Path, client: MemoryChannel) -> None:
    """Those of the command line stay."""
    (file.parent / "mcpmock.toml").write_text("[match]\nignore = ['$.arguments']", "utf-8")
    asks(client, "x")

    assert 1 == run("replay", "--no-rules", "--ignore", "$.arguments.z", file)[0]


def test_mistakes_in_the_project_file(run: Run, file: Path) -> None:
    """Exit status 3, all at once, each with its path."""
    text = "[match]\nignore = ['$.a=uuid', '$.b', 'x']\nlike = '$.a'\nlikes = []\n"
    path = file.parent / "mcpmock.toml"
    path.write_text(text, "utf-8")
    status, _, err = run("replay", file)

    assert 3 == status
    assert [
        f"mcpmock: {path}: match.ignore[0]: '$.a=uuid' has a kind: write it as --like (like=)",
        f"mcpmock: {path}: match.ignore[2]: 'x' is not of the form [METHOD [NAME]] $.JSON.PATH: "
        "write $.x",
        f"mcpmock: {path}: match.like: expected a list of texts, not '$.a'",
        f"mcpmock: {path}: match.likes: unknown key; did you mean like? known: echo, ignore, like",
    ] == err.splitlines()


@pytest.mark.parametrize("command", ["replay", "diff", "verify", "fmt"])
def test_a_bad_rule_of_an_option(run: Run, file: Path, command: str) -> None:
    """Exit status 2, with the rule and what is wrong."""
    files = [file, file] if command == "diff" else [file]
    status, _, err = run(command, "--like", "$.a=uid", *files, *(["x"] * (command == "verify")))

    assert 2 == status
    assert "'$.a=uid': no kind 'uid': choose any, string" in err
    assert "did you mean uuid?" in err


def test_the_header(run: Run, file: Path, client: MemoryChannel) -> None:
    """`fmt` writes rules into it and takes them out; each once, and the take stays sealed."""
    for _ in range(2):
        assert 0 == run("fmt", "--ignore", RULE, "--like", "$.at=date", file)[0]
    [take] = load(file).takes
    assert {"ignore": [RULE], "like": ["$.at=date"]} == take.header.match
    assert take.sealed
    assert 0 == run("check", "--only", "integrity", file)[0]

    asks(client, "x")
    assert 0 == run("replay", file)[0]
    assert 0 == run("fmt", "--no-rules", file)[0]
    assert None is load(file).takes[0].header.match
    assert 2 == run("fmt", "--no-rules", "--ignore", RULE, file)[0]


def test_a_bad_rule_of_a_header_is_left_out(run: Run, file: Path, client: MemoryChannel) -> None:
    """With one line: a newer version may know it. `check` reports it too."""
    header, _, rest = file.read_bytes().partition(b"\n")
    rules = json.dumps({"like": ["$.arguments.q=uuid9"], "ignore": [RULE]}).encode()
    file.write_bytes(header[:-1] + b',"match":' + rules + b"}\n" + rest.rpartition(b'{"footer"')[0])
    asks(client, "x")
    status, _, err = run("replay", file)
    said = "a rule of the header is left out: match.like[0]: '$.arguments.q=uuid9': no kind 'uuid9'"

    assert 0 == status
    assert 1 == err.count(said)
    assert said in run("check", file)[1]


AMBIGUOUS = (
    "a rule makes events 4 and 6 equal although their answers differ: event 4 is taken, the nearest"
)


def test_a_rule_that_makes_different_answers_equal(
    run: Run, file: Path, client: MemoryChannel
) -> None:
    """Is said without `-v`."""
    asks(client, "x")
    _, _, err = run("replay", "--ignore", RULE, file)

    assert f"mcpmock: tools/call find: {AMBIGUOUS}\n" == err


def test_the_same_as_json(run: Run, file: Path, client: MemoryChannel) -> None:
    """With the numbers of the events."""
    asks(client, "x")
    _, _, err = run("replay", "--json", "--ignore", RULE, file)

    assert {
        "type": "ambiguous",
        "method": "tools/call",
        "name": "find",
        "events": [4, 6],
        "taken": 4,
        "text": AMBIGUOUS,
    } == json.loads(err)


def test_verbose_says_each_match(run: Run, file: Path, client: MemoryChannel) -> None:
    """The event, the path, and both values."""
    asks(client, "x")
    _, _, err = run("replay", "-v", "--ignore", RULE, file)

    assert (
        'mcpmock: tools/call: event 4 answers it by a rule; $.arguments.q: recorded "a", asked "x"'
    ) in err.splitlines()


def test_the_nearest(run: Run, file: Path, client: MemoryChannel) -> None:
    """Is said with `-q` too, with the rules that would allow it."""
    asks(client, "x")
    status, _, err = run("replay", "-q", "--on-miss", "nearest", file)
    assert (0, 1) == (status, len(err.splitlines()))
    assert "event 4 answers it, the nearest; $.arguments.q: recorded" in err
    assert f"allow with --ignore '{RULE}'" in err


def test_the_nearest_as_json(run: Run, file: Path, client: MemoryChannel) -> None:
    """With the event and the rules."""
    asks(client, "x")
    _, _, err = run("replay", "--json", "--on-miss", "nearest", file)
    told = json.loads(err)
    assert ("nearest", "find", 4, [RULE]) == (
        *(told[name] for name in ("type", "name", "event", "rules")),
    )


def test_a_proxy_replays_under_rules(run: Run, file: Path, client: MemoryChannel) -> None:
    """With a cassette; without one they have no effect, and are refused."""
    asks(client, "x")
    assert 0 == run("proxy", "--cassette", file, "--ignore", RULE, "--", "no-server")[0]
    status, _, err = run("proxy", "--ignore", RULE, "--", "no-server")

    assert 2 == status
    assert "need --cassette" in err


@pytest.mark.parametrize(
    ("options", "live", "told"),
    [([], "x", True), (["-v"], "a", True), ([], "a", False), (["--ignore", RULE], "x", False)],
)
def test_a_rule_that_applied_to_nothing(
    run: Run, file: Path, client: MemoryChannel, options: list[str], live: str, told: bool
) -> None:
    """One line where the run ends with a miss, and with `-v`."""
    asks(client, live)
    wrong = RULE.replace("tools/call", "tools/cal")
    _, _, err = run("replay", *options, "--ignore", wrong, file)

    why = "no request is 'tools/cal'; did you mean tools/call?"
    assert told is (f"mcpmock: the rule {wrong!r} applied to nothing: {why}" in err.splitlines())
