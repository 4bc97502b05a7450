"""What the markers of a test say together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# A run of pytest inside forgets what it has imported; then the errors of cattrs are of two kinds.
from mcpmock.options import converter as _converter  # noqa: F401
from mcpmock.testing.settings import Settings, settings_of
from tests.support.weather import write_weather

PLUGIN = ("-p", "mcpmock.pytest_plugin")
MODULE = """
import pytest
mark = pytest.mark.mcpmock
{}
"""


def settings(pytester: pytest.Pytester, source: str) -> Settings:
    """Those of the last test of a module."""
    items = pytester.genitems([pytester.getmodulecol(MODULE.format(source), configargs=PLUGIN)])
    return settings_of(items[-1])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("pytestmark = mark('m')\ndef test_it(): pass", {"cassette": "m"}),
        ("pytestmark = mark('m', order='any')\n@mark('t')\ndef test_it(): pass",
         {"cassette": "t", "order": "any"}),
        ("pytestmark = mark('m', seed=1)\n@mark('c', seed=2)\nclass TestA:\n @mark(seed=3)\n"
         " def test_it(self): pass",
         {"cassette": "c", "seed": 3}),
        ("@mark('a')\n@mark(order='any')\ndef test_it(): pass", {"cassette": "a", "order": "any"}),
        ("@mark('a', seed=1)\n@mark('a', seed=1)\ndef test_it(): pass",
         {"cassette": "a", "seed": 1}),
        ("@mark('t')\n@pytest.mark.parametrize('x', [pytest.param(1, marks=mark('p'))])\n"
         "def test_it(x): pass",
         {"cassette": "p"}),
        ("@mark('b', seed=1)\nclass Base: pass\n@mark('d')\nclass TestA(Base):\n"
         " def test_it(self): pass",
         {"cassette": "d", "seed": 1}),
        ("@mark(ignore=['$.c'])\nclass TestA:\n @mark(ignore=['$.a'])\n"
         " @mark(ignore=['$.b'], like=['$.d=date'])\n def test_it(self): pass",
         {"ignore": ("$.a", "$.b", "$.c"), "like": ("$.d=date",)}),
        ("pytestmark = [mark('m', misses='allow')]\n@mark(misses='fail')\ndef test_it(): pass",
         {"misses": "fail"}),
    ],
)  # fmt: skip
def test_the_nearest_counts(
    pytester: pytest.Pytester, source: str, expected: dict[str, Any]
) -> None:
    """Keyword by keyword; rules add up."""
    found = settings(pytester, source)
    said: dict[str, Any] = {
        "cassette": found.path.name, "seed": found.seed, "misses": found.misses, **found.playing,
    }  # fmt: skip
    for name in ("ignore", "like"):
        said[name] = tuple(sorted(said.get(name, ())))

    assert expected == {name: said[name] for name in expected}


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ("@mark('a')\n@mark('b')",
         "two markers on this test contradict each other: cassette='b' and cassette='a'; keep one, "
         "and start .* with mcpmock_serve|cassette='a' and cassette='b'; keep one"),
        ("@mark(faults='drop')\n@mark(faults='corrupt')", "keep one, with a list of all faults"),
        ("@mark(order='any')\n@mark(order='strict')", "order='.*' and order='.*'; keep one"),
        ("@mark(falts='drop')", r"no keyword falts=. Did you mean faults=\? It has .*unused"),
        ("@mark(casette='a')", r"no keyword casette=. Did you mean cassette=\?"),
        ("@mark(frobnicate=1)", "no keyword frobnicate=. It has cassette, server, url, "),
        ("@mark(['a.jsonl', 'b.jsonl'])", r"cassette=\['a.jsonl', 'b.jsonl'\]: give the name"),
        ("@mark('a', 'b')", "the marker takes one cassette; .* mcpmock_serve"),
        ("@mark('a', cassette='b')", "names its cassette twice"),
        ("@mark(7)", "cassette=7: give the name of one cassette"),
        ("@mark('')", "cassette='': give the name of one cassette"),
        ("@mark({'a'})", "cassette={'a'}: give the name of one cassette"),
        ("@mark(misses='maybe')", "misses 'maybe': choose fail or allow"),
        ("@mark(auth='oath')", "oath"),
        ("@mark(explore='many')", "explore='many': expected a number of schedules"),
        ("@mark(record='sometimes')", "no record mode 'sometimes'"),
        ("@mark(redact_keys=['a'])", r"no keyword redact_keys=. Did you mean redact_key=\?"),
        ("@mark(redact_key='a')", "redact_key='a': give a list of rules"),
        ("@mark(redact_value=[1])", r"redact_value=\(1,\): expected a list of texts"),
        ("@mark(redact_value=['('])", r"'\(' is no regular expression"),
        ("@mark(redact_path=['note'])", "'note' is not of the form"),
        ("@mark(keep_key=[''])", "an empty glob names nothing"),
        ("@mark(redact_as='mask')", "redact_as 'mask': choose number or hash"),
    ],
)  # fmt: skip
def test_a_wrong_marker(pytester: pytest.Pytester, marks: str, words: str) -> None:
    """It is an error of the test, in the words of the marker."""
    with pytest.raises(pytest.UsageError, match=f"test_it: .*({words})") as raised:
        settings(pytester, f"{marks}\ndef test_it(): pass")

    assert "--" not in str(raised.value)


@pytest.mark.parametrize(
    ("marks", "test", "failed"),
    [
        ("@mark('weather.jsonl')", "def test_it(): pass", 1),
        ("@mark('weather.jsonl')", "def test_it(mcpmock_serve): pass", 1),
        ("@pytest.mark.parametrize('x', [pytest.param(1, marks=mark('weather.jsonl'))])",
         "def test_it(x): pass", 1),
        ("@mark('weather.jsonl')", "def test_it(mcpmock_server): pass", 0),
        ("@mark('weather.jsonl')", "def test_it(mcpmock_cassette): pass", 0),
        ("@mark('weather.jsonl')",
         "def test_it(request): request.getfixturevalue('mcpmock_client')", 0),
        ("@mark('weather.jsonl')",
         "@pytest.mark.usefixtures('mcpmock_server')\ndef test_it(): pass", 0),
        ("pytestmark = mark('weather.jsonl')", "def test_it(): pass", 0),
        ("@mark('weather.jsonl')\nclass TestA:", " def test_it(self): pass", 0),
    ],
)  # fmt: skip
def test_a_marker_that_nobody_reads(
    pytester: pytest.Pytester, marks: str, test: str, failed: int
) -> None:
    """It is an error where it stands on the test itself."""
    write_weather(pytester.path / "cassettes" / "weather.jsonl")
    pytester.makepyfile(test_a=MODULE.format(f"{marks}\n{test}"))
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:pytester")

    result.assert_outcomes(passed=1 - failed, failed=failed)
    if failed:
        result.stdout.fnmatch_lines(["mcpmock: the test has the marker, but uses none of the *"])


@pytest.mark.parametrize(
    ("faults", "lines"),
    [
        ('"latncy"', ["mcpmock: faults='latncy': kind: unknown kind 'latncy'; did you mean *"]),
        ('["drop:nth=0", "corrupt:x"]', ["mcpmock: faults='drop:nth=0': match.nth: *",
                                          "mcpmock: faults='corrupt:x': 'x' has no value*"]),
        ('"none.toml"', ["mcpmock: *none.toml: No such file or directory"]),
        ("7", ["mcpmock: *: 7 is not a fault; expected a plan, *"]),
    ],
)  # fmt: skip
def test_wrong_faults(pytester: pytest.Pytester, faults: str, lines: list[str]) -> None:
    """All mistakes at once, in the words of the marker."""
    write_weather(pytester.path / "cassettes" / "weather.jsonl")
    marked = f"@mark('weather.jsonl', faults={faults})\ndef test_it(mcpmock_server): pass"
    pytester.makepyfile(test_a=MODULE.format(marked))
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:pytester")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(lines)
    result.stdout.no_fnmatch_line("*--fault*")


def test_a_folder_of_cassettes_is_one(pytester: pytest.Pytester) -> None:
    """Its name is that of a cassette."""
    Path(pytester.path / "cassettes" / "all").mkdir(parents=True)

    assert "all" == settings(pytester, "@mark('all')\ndef test_it(): pass").path.name
