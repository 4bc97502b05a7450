"""`mcpmock faults`: the kinds by theme, and each explained with examples that are plans."""

from __future__ import annotations

import json
from importlib.resources import files

import attrs
import pytest

from mcpmock.faults.fault import Fault, PlanError
from mcpmock.faults.fears import FEARS, table_of_fears
from mcpmock.faults.kind_help import help_of
from mcpmock.faults.plan import fault_of, read_plan
from mcpmock.faults.registry import KINDS, THEMES
from tests.cli.conftest import Run
from tests.support import c2s, s2c
from tests.support.faulty import ANSWER, CALL, faulty


def test_the_list(run: Run) -> None:
    """Every kind stands below its theme with its summary, in 80 columns."""
    status, out, err = run("faults")

    assert (0, "") == (status, err)
    text = "".join(out.split())  # a line may break behind a hyphen
    rows = {kind: f"{kind}{help_of(kind).summary}" for kind in KINDS}
    assert [] == [kind for kind, row in rows.items() if "".join(row.split()) not in text]
    assert list(THEMES) == [line[:-1] for line in out.splitlines() if line.endswith(":")]
    assert max(map(len, out.splitlines())) <= 80


def test_one_kind(run: Run) -> None:
    """The text, what it is for, its knobs with what they take and defaults, and both examples."""
    status, out, err = run("faults", "bandwidth")

    assert (0, "") == (status, err)
    words = " ".join(out.split())
    for part in (
        "The message arrives at `rate`, in a piece every tenth of a second.",
        "theme timing acts on every message toward client transports stdio, Streamable HTTP,",
        'rate a rate as "64KiB/s" or "1Mbps", or a number of bytes a second; default "1KB/s"',
        "--fault 'bandwidth:rate=1KiB/s,tool=get_*'",
        '[[fault]] kind = "bandwidth" rate = "1KiB/s" match = { tool = "get_*" }',
    ):
        assert part in words


@pytest.mark.parametrize(
    ("kind", "knob", "default"),
    [
        ("inject", "text", "none"),
        ("capability_lie", "hides", "none"),
        ("latency", "cassette", "none"),
        ("http_status", "status", "503"),
        ("sse_duplicate_id", "id", '"1"'),
    ],
)
def test_the_default_of_a_knob(kind: str, knob: str, default: str) -> None:
    """As a plan says it; an empty one is none."""
    assert [default] == [one.default for one in help_of(kind).knobs if one.name == knob]


@pytest.mark.parametrize(
    ("kind", "acts_on"),
    [
        ("latency", "every message"),
        ("cursor_loop", "responses of */list"),
        ("capability_lie", "responses of initialize, server/discover"),
    ],
)
def test_what_a_kind_acts_on(kind: str, acts_on: str) -> None:
    """Which messages, and of which methods."""
    assert acts_on == help_of(kind).acts_on


def test_json(run: Run) -> None:
    """A line for each kind, or for one."""
    status, out, _ = run("faults", "--json")
    lines = [json.loads(line) for line in out.splitlines()]

    assert (0, set(KINDS)) == (status, {line["kind"] for line in lines})
    status, out, _ = run("faults", "sse_retry", "--json")
    assert {
        "type": "kind",
        "kind": "sse_retry",
        "theme": "sse",
        "acts_on": "every message",
        "toward": "the client only",
        "transports": ["Streamable HTTP", "HTTP+SSE"],
        "knobs": [
            {
                "name": "retry",
                "takes": 'a time as "1500ms" or "2s", or a number of milliseconds',
                "default": '"1min"',
                "aliases": [],
            }
        ],
        "example": {
            "fault": "sse_retry:retry=2s",
            "toml": '[[fault]]\nkind = "sse_retry"\nretry = "2s"',
        },
    }.items() <= json.loads(out).items()


@pytest.mark.parametrize(
    ("kind", "hint"),
    [("latancy", "did you mean latency?"), ("q", "`mcpmock faults` lists them")],
)
def test_an_unknown_kind(run: Run, kind: str, hint: str) -> None:
    """The nearest names are suggested, with status 2."""
    assert (2, "", f"mcpmock: no fault kind {kind}; {hint}\n") == run("faults", kind)


FEARED = {
    "timeout": "never_respond",
    "hang": "never_respond",
    "hangs": "never_respond",
    "slow": "latency",
    "lag": "latency",
    "disconnect": "reset_peer",
    "connection reset": "reset_peer",
    "broken pipe": "reset_peer",
    "crash": "exit",
    "crashes": "exit",
    "killed": "exit",
    "500": "http_status",
    "503": "http_status",
    "outages": "outage",
    "rate limit": "quota",
    "429": "quota",
    "throttled": "quota",
    "too many requests": "quota",
    "dropped stream": "limit_data",
    "resume": "limit_data",
    "Last-Event-ID": "limit_data",
    "wrong id": "wrong_id",
    "cancel that crosses": "cancel_race",
    "cancellation": "cancel_race",
    "abort": "cancel_race",
    "race": "cancel_race",
    "garbage": "invalid_json",
    "malformed": "invalid_json",
    "invalid json": "invalid_json",
    "404": "session_expired",
    "401": "auth_expire_token",
    "unauthorized": "auth_expire_token",
    "isError": "tool_error",
    "exception": "tool_error",
    "unknown tool": "tool_vanishes",
    "pagination": "cursor_loop",
    "duplicates": "duplicate",
    "out of order": "reorder",
    "large": "huge",
    "html": "wrong_content_type",
    "handshake": "version_mismatch",
    "empty response": "empty",
    "zombie": "ignore_eof",
}


@pytest.mark.parametrize("word", FEARED)
def test_what_is_feared_finds_its_fault(run: Run, word: str) -> None:
    """By the command, by "did you mean" in a plan, and in the table of the manual."""
    status, out, err = run("faults", *word.split())
    with pytest.raises(PlanError) as caught:
        fault_of(word.replace(" ", "-"))

    assert (0, "") == (status, err)
    assert f"\n  {FEARED[word]} " in out
    assert FEARED[word] in str(caught.value).partition("did you mean ")[2].partition("?")[0]
    assert any(f"`{FEARED[word]}`" in row for row in table_of_fears())


def test_the_manual_has_the_table_of_fears() -> None:
    """Each kind stands in a row, and the page is up to date."""
    rows = "\n".join(table_of_fears())

    assert set(KINDS) == {kind for fear in FEARS for kind in fear.kinds}
    assert rows in (files("mcpmock") / "help" / "faults.md").read_text("utf-8"), rows


def test_kinds_are_found_by_what_they_say(run: Run) -> None:
    """A word that is in no row of the table; several, as JSON."""
    status, out, _ = run("faults", "RFC", "9207")
    assert (0, True) == (status, "kinds that speak of RFC 9207:\n  auth_wrong_iss " in out)
    _, out, _ = run("faults", "--json", "rate", "limit")
    assert ["quota", "http_status"] == [json.loads(line)["kind"] for line in out.splitlines()]


def test_every_example_runs() -> None:
    """The shorthand, the entry of a plan and the Python call mean the same fault, which a session
    takes.
    """
    for kind in KINDS:
        found = help_of(kind)
        fault = fault_of(found.shorthand)
        (of_plan,) = read_plan(found.toml, "plan.toml").faults

        assert fault == of_plan == KINDS[kind](**found.example), kind
        wire = faulty(attrs.evolve(fault, match=Fault().match))
        wire.pipeline.enter([c2s(CALL)], 0)
        wire.pipeline.enter([s2c(ANSWER)], 1)
        wire.abandon()
