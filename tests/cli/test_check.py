"""`mcpmock check`: what it says and ends with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcpmock.cassette.model import event_line
from mcpmock.protocol.messages import Frame
from tests.cli.conftest import Run
from tests.rules.violations import opening
from tests.support import HEADER, c2s, call, cancelled, progress, request, response, s2c
from tests.support.sealed import DAMAGED, EVENTS, ONE, TWO, sealed

CASSETTES = Path(__file__).parents[2] / "cassettes"
WARNS = [c2s(call(1, "dig")), c2s(cancelled(1)), s2c(response(1, {"content": []}))]
FAILS = [c2s(request(None, "ping"))]
REPORTS = [c2s(request(2, "tools/call", {"name": "a"}, token=7)), c2s(cancelled(2))]
KNOWN = [*REPORTS, *(s2c(progress(7, number)) for number in range(1, 5))]


def record(path: Path, *frames: Frame) -> None:
    """A handshake and these, as a recorder keeps them."""
    numbered = enumerate([*opening(), *frames], 1)
    lines = [event_line(number, number, frame) for number, frame in numbered]
    path.write_bytes(sealed(HEADER + b"".join(lines)))


def test_a_whole_cassette_is_ok(run: Run, file: Path) -> None:
    """One line for the file, status 0; with `-q` nothing."""
    assert (0, f"{file}: 1 take, 2 events: ok\n", "") == run("check", file)
    assert (0, "", "") == run("check", "-q", file)


def test_notices_are_ok_too(run: Run, file: Path) -> None:
    """An incomplete take is told and does not fail."""
    file.write_bytes(sealed() + HEADER + EVENTS)
    status, out, _ = run("check", file)

    assert 0 == status
    assert out.startswith(f"{file}:5: notice: incomplete: ")
    assert out.endswith(f"{file}: 2 takes, 4 events: ok, 1 notice\n")


def test_a_damaged_file_exits_with_3(run: Run, file: Path) -> None:
    """A line that cannot be read is damage: the other commands refuse such a file with 3, too. Each
    finding has its line, and `-q` does not hide it.
    """
    file.write_bytes(DAMAGED)
    status, out, _ = run("check", "-q", file)

    assert 3 == status == run("show", file)[0]
    assert [
        f"{file}:3: error: not an event: not JSON at column 1: invalid character",
        f"{file}:5: error: the footer counts 3 events, there are 2",
        f"{file}: 1 take, 2 events: 2 errors",
    ] == out.splitlines()


def test_an_edited_file_exits_with_1(run: Run, file: Path) -> None:
    """A checksum that does not fit, a wrong count or a wrong order is an edit: the file loads."""
    for edited in (
        sealed().replace(b"ping", b"pong"),
        sealed(events=3),
        sealed(HEADER + TWO + ONE),
    ):
        file.write_bytes(edited)

        assert 1 == run("check", file)[0]
        assert 0 == run("show", file)[0]


def test_only_protocol_leaves_out_findings_but_not_damage(run: Run, file: Path) -> None:
    """`--only protocol` passes an edited file; a damaged one still exits with 3 and says why."""
    file.write_bytes(sealed().replace(b"tests", b"texts"))
    assert (0, f"{file}: 1 take, 2 events: ok\n", "") == run("check", "--only", "protocol", file)

    file.write_bytes(DAMAGED)
    status, out, _ = run("check", "--only", "protocol", file)
    assert (3, f"{file}:3: error: not an event: not JSON at column 1: invalid character") == (
        status,
        out.splitlines()[0],
    )


def test_only_integrity_checks_no_rules(run: Run, file: Path) -> None:
    """`--only integrity` passes a session that breaks a rule, and fails an edited file."""
    record(file, *FAILS)
    assert (0, 1) == (run("check", "--only", "integrity", file)[0], run("check", file)[0])

    file.write_bytes(file.read_bytes().replace(b"tests", b"texts"))
    assert 1 == run("check", "--only", "integrity", file)[0]


def test_damage_wins_over_a_broken_rule(run: Run, file: Path, tmp_path: Path) -> None:
    """Of several files the highest status counts, whatever their order."""
    record(file, *FAILS)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(DAMAGED)

    assert [3, 3] == [run("check", *files)[0] for files in ((file, bad), (bad, file))]


def test_what_cannot_be_read_does_not_stop_the_others(run: Run, file: Path, tmp_path: Path) -> None:
    """A missing file and what is no cassette make it 3; the others are checked."""
    text, bad = tmp_path / "notes.txt", tmp_path / "bad.jsonl"
    text.write_text("hello\n")
    bad.write_bytes(DAMAGED)
    status, out, err = run("check", bad, tmp_path / "none", text, file)

    assert 3 == status
    assert out.endswith(f"{file}: 1 take, 2 events: ok\n")
    assert 2 == len(err.splitlines())
    assert f"mcpmock: {text}: is not a cassette" in err


def test_check_json(run: Run, file: Path) -> None:
    """An object for each finding and one for each file."""
    file.write_bytes(DAMAGED)
    _, out, _ = run("check", "--json", file)
    found = [json.loads(line) for line in out.splitlines()]

    name = str(file)
    assert {
        "type": "finding",
        "file": name,
        "line": 3,
        "level": "error",
        "text": "not an event: not JSON at column 1: invalid character",
    } == found[0]
    counts = {"takes": 1, "events": 2, "errors": 2, "warnings": 0, "notices": 0, "damaged": True}
    assert {"type": "check", "file": name, **counts} == found[-1]


def test_a_newer_format_is_an_error(run: Run, file: Path) -> None:
    """A cassette of a format we do not know is told as such, not as no cassette."""
    file.write_bytes(HEADER.replace(b":1,", b":2,", 1) + EVENTS)

    status, out, _ = run("check", file)
    assert 3 == status
    assert out.startswith(f"{file}:1: error: has format 2, this mcpmock reads 1")


def test_a_violation_is_told_with_its_sentence(run: Run, file: Path) -> None:
    """Line, level, words, rule; under it the page and the sentence. It fails."""
    record(file, *FAILS)
    status, out, _ = run("check", file)

    assert 1 == status
    assert [
        f"{file}:5: error: ping with a null id [id-null]",
        '    2025-11-25 basic/index: "Unlike base JSON-RPC, the ID MUST NOT be null."',
        f"{file}: 1 take, 4 events: 1 error",
    ] == out.splitlines()


def test_warnings_and_what_is_known_do_not_fail(run: Run, file: Path) -> None:
    """A warning has its sentence, a notice says who does that and how often."""
    record(file, *WARNS, *KNOWN)
    status, out, _ = run("check", file)
    lines = out.splitlines()

    assert 0 == status
    told = "warning: an answer to tools/call #1, which was cancelled before [answer-after-cancel]"
    assert f"{file}:7: {told}" == lines[0]
    assert lines[1].startswith("    2025-11-25 basic/utilities/cancellation: ")
    notice = "notice: progress of tools/call #2, which was cancelled before, and 2 more like it"
    assert f"{file}:11: {notice} [progress-after-cancel]" == lines[2]
    assert lines[3].startswith("    known of the TypeScript SDK's servers: ")
    assert f"{file}: 1 take, 12 events: ok, 1 warning, 3 notices" == lines[4]
    assert (0, "", "") == run("check", "-q", file)


def test_of_what_comes_often_only_some_is_told(run: Run, file: Path) -> None:
    """The sentence once, ten of a kind, and how many there are besides; with `-v` all."""
    record(file, *12 * FAILS)
    _, out, _ = run("check", file)
    _, more, _ = run("check", "-v", file)

    assert 12 == len(out.splitlines())
    assert f"{file}:14: error: ping with a null id, and 2 more like it [id-null]" in out
    assert out.endswith(": 12 errors\n")
    assert 14 == len(more.splitlines())


def test_violations_in_json(run: Run, file: Path) -> None:
    """An object each, with all that is known of it."""
    record(file, *FAILS, *KNOWN)
    _, out, _ = run("check", "--json", file)
    first, second, *_, last = [json.loads(line) for line in out.splitlines()]

    assert {
        "type": "violation",
        "file": str(file),
        "line": 5,
        "take": 1,
        "event": 4,
        "level": "error",
        "rule": "id-null",
        "by": "client",
        "path": None,
        "text": "ping with a null id",
        "revision": "2025-11-25",
        "section": "basic/index",
        "sentence": "Unlike base JSON-RPC, the ID MUST NOT be null.",
        "known": None,
        "allowed": None,
    } == first
    assert ("notice", "progress-after-cancel") == (second["level"], second["rule"])
    assert second["known"].startswith("known of ")
    assert (1, 0, 3) == (last["errors"], last["warnings"], last["notices"])


def test_violations_stand_in_the_order_of_the_lines(run: Run, file: Path) -> None:
    """Among what is wrong with the file itself, each with the line of its own take."""
    record(file, *FAILS)
    taken = file.read_bytes()
    file.write_bytes(taken + taken.replace(b'"events":4', b'"events":5'))
    _, out, _ = run("check", "--color", "never", file)
    places = [line.split(":")[1:3] for line in out.splitlines() if line.startswith(f"{file}:")]

    assert [["5", " error"], ["11", " error"], ["12", " error"]] == places[:-1]


def test_on_a_terminal_findings_break_at_words(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the rule, the last word, is whole; the same text without line breaks is piped."""
    record(file, *opening("2025-11-25"), c2s(call(1, "add")), s2c(response(9)))
    _, piped, _ = run("check", file)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown, _ = run("check", file)

    assert len(shown.splitlines()) > len(piped.splitlines())
    assert piped.split() == shown.split()


def test_the_shipped_recordings_pass(run: Run) -> None:
    """Real clients and servers break no rule but those that they are known to; a warning is a call
    that was recorded because a server refuses it.
    """
    status, out, _ = run("check", "--json", *sorted(CASSETTES.glob("*.jsonl")))
    found = [json.loads(line) for line in out.splitlines()]

    assert 0 == status
    warned = {one["rule"] for one in found if one.get("level") == "warning"}
    assert {"input-schema"} == warned
    assert {0} == {one["errors"] for one in found if one["type"] == "check"}


WEATHER = {"name": "weather", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}


def lists_weather(**more: object) -> list[Frame]:
    schema = {**WEATHER["outputSchema"], **more}  # type: ignore[dict-item]
    return [
        c2s(request(1, "tools/list")),
        s2c(response(1, {"tools": [{**WEATHER, "outputSchema": schema}]})),
    ]


def calls_weather(value: object) -> list[Frame]:
    text = {"type": "text", "text": "hi"}
    answer = {"content": [text], "structuredContent": value}
    return [c2s(call(2, "weather")), s2c(response(2, answer))]


def test_what_was_not_judged_is_said(run: Run, file: Path) -> None:
    """With the tool and the reason, and counted; it fails nothing."""
    record(file, *lists_weather(**{"$ref": "https://example.com/a"}), *calls_weather({}))
    status, out, _ = run("check", file)
    why = "it refers to https://example.com/a"

    assert 0 == status
    assert [
        f"{file}: not checked: the outputSchema of weather: {why}",
        f"{file}: 1 take, 7 events: ok, 1 not checked",
    ] == out.splitlines()

    _, out, _ = run("check", "--json", file)
    first = json.loads(out.splitlines()[0])
    assert {
        "type": "unchecked",
        "file": str(file),
        "line": 6,
        "take": 1,
        "event": 5,
        "what": "the outputSchema of weather",
        "why": why,
    } == first


def test_calls_that_no_list_names_are_shown_with_v(run: Run, file: Path) -> None:
    """They are usual."""
    record(file, c2s(call(2, "weather")))

    assert f"{file}: 1 take, 4 events: ok\n" == run("check", file)[1]
    assert f"{file}: not checked: calls of weather: no list names it" in run("check", "-v", file)[1]


def test_a_broken_schema_and_a_broken_shape_fail(run: Run, file: Path) -> None:
    """Each with its sentence, its side and its path."""
    wrong = [c2s(request(3, "tools/call", {}))]
    record(file, *lists_weather(required=["n"]), *calls_weather({}), *wrong)
    status, out, _ = run("check", file)
    where = "$.result.structuredContent"

    assert 1 == status
    assert [
        f'{file}:8: error: a result of weather, {where}: "n" is a required property'
        " [output-schema]",
        '    2025-11-25 server/tools: "Servers MUST provide structured results that conform to this'
        ' schema."',
        f"{file}:9: error: tools/call request, $.params.name: missing [shape]",
        '    2025-11-25 schema: "CallToolRequest.params requires name."',
    ] == out.splitlines()[:4]
    found = [json.loads(line) for line in run("check", "--json", file)[1].splitlines()]
    assert [(where, "server"), ("$.params.name", "client")] == [
        (one["path"], one["by"]) for one in found if one["type"] == "violation"
    ]
