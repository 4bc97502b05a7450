"""Plans as people write them, all that is wrong with one at once, and what they draw from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mcpmock.faults.control import plan_of
from mcpmock.faults.fault import Fault, PlanError
from mcpmock.faults.kinds.content import Corrupt, Truncate
from mcpmock.faults.kinds.errors import Error, ToolError
from mcpmock.faults.kinds.http import HttpStatus
from mcpmock.faults.kinds.mcp import CapabilityLie, ToolVanishes
from mcpmock.faults.kinds.order import Duplicate
from mcpmock.faults.kinds.process import Exit
from mcpmock.faults.kinds.sse import SseCommentStorm, SseRetry
from mcpmock.faults.kinds.timing import Bandwidth, Delay, Hold, Latency, Slicer
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan, fault_of, load_plan, read_plan, table_of
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.registry import KINDS
from mcpmock.faults.shorthand import plan_text
from tests.support import c, call, cassette, response, s

LISTED = "`mcpmock faults` lists all kinds"
RECORDED = cassette(
    c(call(1, "slow")), s(response(1)), c(call(2, "quick")), (3.25, "s2c", response(2))
)
PLAN = """
seed = 7

[[fault]]
name    = "slow weather"
kind    = "latency"
toward  = "client"
match   = { method = "tools/call", tool = "get_*", nth = 2, between = ["2s", "5s"] }
latency = "250ms"
jitter  = "50ms"
distribution = "lognormal"
"""
BAD = """
sed = 7
seed = "x"
[[fault]]
kind = "latncy"
[[fault]]
latency = "1s"
[[fault]]
kind = "latency"
latency = "250"
toward = "clinet"
must_fire = 1
colour = "red"
match = { methd = "a", tool = 5, nth = 0, between = ["2s"], probability = 2 }
[[fault]]
kind = "latency"
distribution = "empirical"
"""


def mistakes(text: str, *shorthands: str) -> list[str]:
    with pytest.raises(PlanError) as caught:
        read_plan(text, "p.toml", shorthands)
    return caught.value.mistakes


def path(mistake: str) -> str:
    """Where it is, without what it is."""
    return re.match(r".*?(p.toml|'): [a-z0-9\[\]._]+", mistake)[0]  # type: ignore[index]


@pytest.mark.parametrize(
    "faults",
    [
        (),
        (Duplicate(), Exit(code=3)),
        (Latency(latency="250ms", jitter="9ms", distribution="lognormal", name='of "x"\n'),),
        (Delay(match={"tool": "get_*", "nth": 2, "between": ("2s", "5s"), "probability": 0.5}),),
        (Error(match={"path": "$.a['b']", "equals": {"c": [1, True]}}), CapabilityLie()),
        (Duplicate(match={"id": 5}), Duplicate(match={"id": "5"}, toward="server")),
    ],
    ids=len,
)
def test_a_plan_as_text(faults: tuple[Fault, ...]) -> None:
    """It is read as it was; what is as usual is left out."""
    plan = Plan(seed=7, faults=faults)
    text = plan_text(plan)

    assert plan == read_plan(text, "p.toml")
    assert "schedule" not in text
    assert text.count("match") == sum(fault.match != Match() for fault in faults)


@pytest.mark.parametrize("seed", [True, "7", 7.0])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    """Nothing that only looks like one."""
    with pytest.raises(TypeError, match=r"^seed .*: say a whole number$"):
        plan_of("drop", seed)
    assert 7 == plan_of("drop", 7).seed


def test_a_plan() -> None:
    """A file has the same values as Python."""
    match = Match(method="tools/call", tool="get_*", nth=2, between=(2.0, 5.0))
    slow = Latency(
        name="slow weather",
        toward="client",
        match=match,
        latency=0.25,
        jitter=0.05,
        distribution="lognormal",
    )

    assert Plan(faults=(slow,), seed=7) == read_plan(PLAN, "p.toml")


def test_the_command_line_comes_behind() -> None:
    """Shorthands add to a plan, and a seed overrules its own."""
    given = read_plan(PLAN, "p.toml")
    plan = read_plan(PLAN, "p.toml", ["latency:latency=1s"], seed=9)

    assert (7, 0) == (plan_of(given).seed, plan_of(given, 0).seed)
    with pytest.raises(TypeError, match="seed True"):
        plan_of(given, True)
    assert (9, [0.25, 1.0]) == (plan.seed, [fault.latency for fault in plan.faults])  # type: ignore[attr-defined]


def test_all_mistakes_at_once() -> None:
    """Each has its path, and nothing is left for the next try."""
    found = mistakes(BAD, "latency:latency=-1", "nothing", "drop:sed=1")

    assert [
        "p.toml: seed",
        "p.toml: fault[0].kind",
        "p.toml: fault[1].kind",
        "p.toml: fault[2].toward",
        "p.toml: fault[2].match.tool",
        "p.toml: fault[2].match.nth",
        "p.toml: fault[2].match.between",
        "p.toml: fault[2].match.probability",
        "p.toml: fault[2].match.methd",
        "p.toml: fault[2].must_fire",
        "p.toml: fault[2].latency",
        "p.toml: fault[2].colour",
        "p.toml: fault[3].distribution",
        "p.toml: sed",
        "--fault 'latency:latency=-1': latency",
        "--fault 'nothing': kind",
        "--fault 'drop:sed=1': sed",
    ] == [path(mistake) for mistake in found]


def test_neighbours() -> None:
    """An unknown kind or key is answered with the nearest names, never with all kinds."""
    unknown = mistakes('[[fault]]\nkind = "latncy"\n')[0]
    key = mistakes('[[fault]]\nkind = "drop"\nmatch = { methd = "a" }\n')[0]

    assert "unknown kind 'latncy'; did you mean latency" in unknown
    assert "; `mcpmock faults` lists all kinds" in mistakes("[[fault]]\n")[0]
    for typo in ("knd", "Kind", "KIND", "kinds", "kidn"):
        assert [f"p.toml: fault[0].{typo}: unknown key; did you mean kind? {LISTED}"] == mistakes(
            f'[[fault]]\nid = 1\n{typo} = "drop"\n'
        )
    for other in ("id", "inside", "window", "behind", "type"):
        assert [f"p.toml: fault[0].kind: missing; {LISTED}"] == mistakes(
            f'[[fault]]\n{other} = "drop"\n'
        )
    date = mistakes('[[fault]]\nkind = "drop"\nmatch = { era = 2026-07-28 }\n')[0]
    assert "expected a text, not 2026-07-28" in date
    assert len([kind for kind in KINDS if kind in unknown.split(";")[1]]) <= 3
    assert "did you mean method? known: after, between," in key


def test_a_plan_as_an_editor_saves_it(tmp_path: Path) -> None:
    """With a byte order mark and CR LF."""
    file = tmp_path / "p.toml"
    file.write_bytes(b'\xef\xbb\xbf[[fault]]\r\nkind = "duplicate"\r\n')

    assert (Duplicate(),) == load_plan(file).faults


@pytest.mark.parametrize("text", ["[[fault", "fault = 3", "[[fault]]\nkind = 3", "fault = [3]"])
def test_what_is_no_plan(text: str) -> None:
    """It is refused in words."""
    assert 1 == len(mistakes(text))


def test_shorthand() -> None:
    """Words of `match` go there; texts need no quotes; lists and quotes hold commas."""
    assert {
        "kind": "latency",
        "latency": "200ms",
        "name": "a,b",
        "match": {"tool": "get_*", "nth": 2, "between": ["1s", "2s"], "method": "x=y"},
    } == table_of(
        "latency:latency=200ms,tool=get_*,nth=2,between=['1s','2s'],name='a,b',match.method=x=y"
    )
    assert Latency(latency=0.2, match=Match(tool="get_*")) == fault_of(
        "latency:latency=200ms,tool=get_*"
    )


def test_a_shorthand_without_values() -> None:
    """Every word needs its value."""
    with pytest.raises(PlanError, match=r"'a' has no value"):
        fault_of("latency:a")
    with pytest.raises(PlanError, match=r"'please' has no value.*quote a value that has a comma"):
        fault_of("error:message=not now, please")
    assert "not now, please" == fault_of("error:message='not now, please'").message  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("slicer:size=16", Slicer(size=16)),
        ("bandwidth:rate=40000", Bandwidth(rate=40_000)),
        ("bandwidth:rate=1Mbps", Bandwidth(rate=125_000)),
        ("delay:delay=2", Delay(delay=2)),
        ("exit:signal=SIGKILL", Exit(signal=9)),
        ("exit:signal=term", Exit(signal=15)),
        ("http_status:status=429,retry_after=1500ms", HttpStatus(status=429, retry_after=1.5)),
        ("sse_retry:retry=1500ms", SseRetry(retry=1500)),
        ("sse_retry:retry=1500", SseRetry(retry=1500)),
        ("tool_vanishes:tool=odd", ToolVanishes(gone="odd")),
        ("latency:delay=1s", Latency(latency=1)),
        ("delay:latency=1s", Delay(delay=1)),
        ("hold:delay=1s", Hold(time=1)),
        ("duplicate:copies=3", Duplicate(count=3)),
        ("corrupt:bytes=3", Corrupt(count=3)),
        ("truncate:keep=3", Truncate(bytes=3)),
        ("sse_comment_storm:comment=x", SseCommentStorm(text="x")),
        ("error:text=no", Error(message="no")),
        ("tool_error:message=no", ToolError(text="no")),
        ("cancel_race:i=0,j=0,patience=1s", CancelRace(i=0, j=0, at_most=1)),
        ("duplicate:era=2026-07-28", Duplicate(match=Match(era="2026-07-28"))),
        ("error:message=2026-01-01 10:00:00", Error(message="2026-01-01 10:00:00")),
        ("error:message=10:30:00", Error(message="10:30:00")),
        ("capability_lie:method=init*", CapabilityLie(match=Match(method="init*"))),
    ],
)
def test_what_is_written_first_works(written: str, meant: Fault) -> None:
    """Bare numbers, units, names of signals, and the other names of knobs, in a plan as well."""
    assert meant == fault_of(written)
    entry = "".join(f"{name} = {value!r}\n" for name, value in table_of(written).items())
    if "{" not in entry:
        assert (meant,) == read_plan(f"[[fault]]\n{entry}", "p.toml").faults


@pytest.mark.parametrize(
    ("written", "mistake"),
    [
        ("exit:signal=99", "signal: expected a signal of this system as .*, not 99"),
        ("exit:signal=SIGNONE", "signal: expected a signal"),
        ("latency:=1s", "'=1s' has no value"),
        (
            "capability_lie:method=ping",
            r"^match\.method: never matches: .* on initialize and server/",
        ),
        ("latency", "latency: missing"),
        ("latency:tool=x", "latency: missing"),
        ("duplicate:copies=1,count=2", "copies: the same as count; say one of them"),
        ("drop:tool=a,nth=2,tool=b", "^tool: stands twice; say it once$"),
        ("drop:tool=a,match.tool=a", r"^match\.tool: stands twice"),
        ("delay:delay=1s,delay=2s", "^delay: stands twice"),
        ("duplicate:copies=0", "count: expected a whole number from 1"),
        ("latency:latency=1s,toll=x", "^toll: unknown key; did you mean tool. known: after, "),
        ("latency:toll=x", "^toll: unknown key; did you mean tool. .*; latency: missing"),
        ("drop:methd=x,evry=2", "^evry: .* did you mean every. .*; methd: .* did you mean method "),
        ("drop:match.toll=x", r"^match\.toll: unknown key; did you mean tool. "),
        ("drop:match.=x", r"^match\.: unknown key; did you mean "),
        ("latency:latncy=1s", "^latncy: unknown key; did you mean latency. .*; latency: missing"),
        ("latncy:toll=x", "^kind: unknown kind 'latncy'; did you mean latency.* all kinds$"),
    ],
)
def test_what_makes_no_sense(written: str, mistake: str) -> None:
    """It is refused with the plan."""
    with pytest.raises(PlanError, match=mistake):
        fault_of(written)


def test_other_names_of_knobs_in_python() -> None:
    """They are taken and read as before."""
    duplicate: Any = Duplicate
    fault = duplicate(copies=3)

    assert (3, 3) == (fault.count, fault.copies)
    assert not hasattr(fault, "keep")


def sampled(match: Match) -> tuple[float, ...]:
    slow = Latency(distribution="empirical", cassette="a.jsonl", match=match)
    fault = slow.with_samples({"a.jsonl": RECORDED}.__getitem__)
    return fault.samples


def test_latencies_of_the_calls_that_match() -> None:
    """Each fault draws from the calls that it is for."""
    assert (1.0, 0.25) == sampled(Match())
    assert (0.25,) == sampled(Match(tool="q*"))


def test_nothing_to_draw_from() -> None:
    """A recording without such a call is a mistake in the plan."""
    with pytest.raises(PlanError, match=r"a\.jsonl has no answered call"):
        sampled(Match(tool="x"))
