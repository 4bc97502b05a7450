"""Rules about what may differ, in markers, the ini file and the project file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.playback.player import InexactAnswer
from mcpmock.testing.cassette_store import CassetteStore
from mcpmock.testing.servers import using
from mcpmock.testing.settings import Settings, settings_of
from tests.support.weather import write_weather

PLUGIN = ("-p", "mcpmock.pytest_plugin")


def playing(pytester: pytest.Pytester, source: str, *arguments: str) -> dict[str, object]:
    """The options of replay that the only test of a module has."""
    items = pytester.genitems([pytester.getmodulecol(source, configargs=(*PLUGIN, *arguments))])
    [item] = items
    return dict(settings_of(item).playing)


def test_rules_of_all_places_add_up(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the project file's table for replay, the ini, markers on module, class and test, and the
    environment.
    """
    (pytester.path / "mcpmock.toml").write_text("[replay]\nignore = ['$.p']", "utf-8")
    pytester.makeini(
        "[pytest]\nmcpmock_ignore =\n  $.i\n  tools/call $.j\nmcpmock_like = $.k=uuid\n"
    )
    monkeypatch.setenv("MCPMOCK_REPLAY_IGNORE", "$.e\n\n$.f\n")
    source = """
import pytest
pytestmark = pytest.mark.mcpmock(ignore=["$.m"])
@pytest.mark.mcpmock(ignore=["$.c"], like=["$.d=date"])
class TestIt:
    @pytest.mark.mcpmock("a", ignore=["$.t"], echo=["$.u"])
    def test_it(self): pass
"""
    found = playing(pytester, source)

    assert ("$.p", "$.i", "tools/call $.j", "$.m", "$.c", "$.t", "$.e", "$.f") == found["ignore"]
    assert ("$.k=uuid", "$.d=date") == found["like"]
    assert ("$.u",) == found["echo"]


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ('ignore="$.a"', "give a list of rules"),
        ("like=[1]", "expected a list of texts"),
        ('like=["$.a=uid"]', "did you mean uuid"),
        ('match="tools"', "choose relaxed, exact or tool"),
    ],
)
def test_a_bad_rule_is_an_error_of_the_test(
    pytester: pytest.Pytester, marker: str, said: str
) -> None:
    """With its place."""
    source = f"import pytest\n@pytest.mark.mcpmock({marker})\ndef test_it(): pass"

    with pytest.raises(pytest.UsageError, match=f"test_it: .*{said}"):
        playing(pytester, source)


def test_an_answer_that_may_be_the_wrong_one_is_a_warning(tmp_path: Path) -> None:
    """Of a test that passes; one for all that were the nearest, with the keywords to paste."""
    settings = Settings(path=write_weather(tmp_path / "weather.jsonl"))
    rules = {tool: ("ignore", f"tools/call {tool} $.a") for tool in "fg"}
    with using(settings, "t", CassetteStore()) as use:
        use.server.log.report(InexactAnswer("tools/call", "y", "ambiguous", "f", 4))
        for tool in "fgf":
            found = InexactAnswer("tools/call", "x", "nearest", tool, 4, rules=(rules[tool],))
            use.server.log.report(found)
        with pytest.warns(pytest.PytestWarning) as told:
            use.judge()

    assert [
        "mcpmock: tools/call f: y",
        "mcpmock: 3 answers of the nearest request\n  tools/call f: x\n  tools/call g: x\n"
        "  tools/call f: x\n  allow with ignore=['tools/call f $.a', 'tools/call g $.a']",
    ] == [str(one.message) for one in told]


def test_the_rules_beside_a_cassette(tmp_path: Path) -> None:
    """The `[match]` table above it holds for its tests, unless they say no."""
    path = write_weather(tmp_path / "weather.jsonl")
    (tmp_path / "mcpmock.toml").write_text("[match]\nignore = ['$.arguments']\n", "utf-8")

    def rules(**options: bool) -> list[str]:
        with using(Settings(path=path, playing=options), "t", CassetteStore()) as use:
            played = use.server._replay  # type: ignore[attr-defined]
            rules = played.options.rules
            return [] if rules is None else [rule.text for rule in rules.rules]

    assert ["$.arguments"] == rules()
    assert [] == rules(no_rules=True)


def test_the_report_of_a_failure_has_the_rules_as_keywords(tmp_path: Path) -> None:
    """As a marker takes them."""
    from mcpmock.playback.miss import Miss, NearMiss

    settings = Settings(path=write_weather(tmp_path / "weather.jsonl"))
    rules = ("ignore", "tools/call f $.a"), ("like", "tools/call f $.b=uuid")
    with using(settings, "t", CassetteStore()) as use:
        use.server.log.report(Miss("tools/call", (NearMiss(4, "different", (), rules),)))

        line = "  allow with ignore=['tools/call f $.a'], like=['tools/call f $.b=uuid']"
        assert line in use.describe().splitlines()
