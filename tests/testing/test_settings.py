"""Which cassette a test has."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from mcpmock.cli.replay import replay
from mcpmock.stubs.builder import Stub
from mcpmock.testing.settings import Settings, _command_words, file_name, settings_of

PLUGIN = ("-p", "mcpmock.pytest_plugin")


def item_of(pytester: pytest.Pytester, marker: str) -> pytest.Item:
    """A test with this marker."""
    source = f"import pytest\n@pytest.mark.mcpmock({marker})\ndef test_it(): pass"
    [item] = pytester.genitems([pytester.getmodulecol(source, configargs=PLUGIN)])
    return item


def test_what_a_project_sets(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment wins over the marker, the marker over the project file. What a test has no
    option for is left to the commands.
    """
    text = '[replay]\norder = "any"\ntiming = "recorded"\nrepeats = "last"\nworkers = 2\n'
    (pytester.path / "mcpmock.toml").write_text(text, "utf-8")
    monkeypatch.setenv("MCPMOCK_REPLAY_REPEATS", "cycle")
    monkeypatch.setenv("MCPMOCK_REPLAY_OVERLAP_GRACE", "5")
    playing = settings_of(item_of(pytester, "timing='none'")).playing

    assert {"order": "any", "timing": "none", "repeats": "cycle", "overlap_grace": 5} == playing


def test_a_mistake_in_the_project_file(pytester: pytest.Pytester) -> None:
    """Is an error of the test that names the file."""
    (pytester.path / "mcpmock.toml").write_text('[replay]\norder = "all"\n', "utf-8")

    with pytest.raises(pytest.UsageError, match=r"mcpmock.toml: replay.order: .*choose causal"):
        settings_of(item_of(pytester, ""))


def test_all_tables_that_a_test_reads(pytester: pytest.Pytester) -> None:
    """Mistakes in the tables of rules are said with those of the options."""
    text = '[replay]\norder = "all"\n[match]\nlikes = []\n[redact]\nas = 1\n[diff]\nx = 1\n'
    (pytester.path / "mcpmock.toml").write_text(text, "utf-8")

    with pytest.raises(pytest.UsageError) as raised:
        settings_of(item_of(pytester, ""))
    found = [f"mcpmock.toml: {place}" in str(raised.value) for place in ("replay.order: ",
             "match.likes: unknown key; did you mean like?", "redact.as: ", "diff")]  # fmt: skip
    assert [True, True, True, False] == found


def test_file_names() -> None:
    """What may be in one stays; all else is told apart by a hash."""
    assert "test_a.b-1" == file_name("test_a.b-1")
    assert file_name("a/b") != file_name("a:b")
    assert file_name("a/b").startswith("a-b-")
    assert len(file_name("x" * 300)) < 120


@pytest.mark.parametrize(
    ("mode", "there", "records"),
    [("none", True, False), ("none", False, False), ("once", True, False), ("once", False, True),
     ("new_episodes", True, False), ("new_episodes", False, True),
     ("all", True, True), ("all", False, True), ("rewrite", True, True)],
)  # fmt: skip
def test_what_is_recorded(tmp_path: Path, mode: str, there: bool, records: bool) -> None:
    """By the mode, and by whether there is a cassette."""
    path = tmp_path / "a.jsonl"
    if there:
        path.touch()

    assert records is Settings(path=path, mode=mode).records


@pytest.mark.parametrize(
    ("mode", "records"),
    [("none", False), ("once", True), ("new_episodes", True), ("all", True)],
)
def test_a_cassette_of_this_run(tmp_path: Path, mode: str, records: bool) -> None:
    """What the run began without is recorded by each test, also once it is there."""
    settings = Settings(path=tmp_path / "a.jsonl", mode=mode, url="http://x.test/")
    settings.path.touch()

    assert records is settings.as_born(True).records
    assert (mode in ("once", "new_episodes")) is settings.may_be_born


def test_a_stub_alone(tmp_path: Path) -> None:
    """Where no cassette is named or there, and no server: then nothing is recorded either."""
    alone = Settings(path=tmp_path / "a.jsonl", mode="once", named=False).with_stub(Stub())

    assert (True, False) == (alone.alone, alone.records)
    assert not attrs.evolve(alone, named=True).alone
    assert not attrs.evolve(alone, url="http://x.test/").alone
    alone.path.touch()
    assert not alone.alone


def test_the_stub_of_a_marker(pytester: pytest.Pytester) -> None:
    """It answers before the recording."""
    assert Stub is type(settings_of(item_of(pytester, "stub=__import__('mcpmock').Stub()")).stub)


def test_what_is_extended(tmp_path: Path) -> None:
    """A cassette that is there, where a server is named that can be asked."""
    settings = Settings(path=tmp_path / "a.jsonl", mode="new_episodes", server=("x",))
    assert [False] == [settings.extends]
    settings.path.touch()

    assert settings.extends
    assert not attrs.evolve(settings, server=None).extends


def test_strictly(pytester: pytest.Pytester) -> None:
    """The command line comes before markers."""
    source = """
import pytest
@pytest.mark.mcpmock("a", unused="ignore", match="relaxed")
def test_it(): pass
"""
    args = (*PLUGIN, "--mcp-strict")
    [item] = pytester.genitems([pytester.getmodulecol(source, configargs=args)])
    settings = settings_of(item)

    assert "fail" == settings.unused
    assert {"match": "exact", "on_miss": "error"} == settings.playing


def test_where_a_recording_waits(tmp_path: Path) -> None:
    """Beside its cassette."""
    assert "a.rej.jsonl" == Settings(path=tmp_path / "a.jsonl").rejected.name
    assert "a.rej.jsonl.gz" == Settings(path=tmp_path / "a.jsonl.gz").rejected.name


def test_the_marker(pytester: pytest.Pytester) -> None:
    """What is not ours is an option of replay."""
    marker = '"a.jsonl", server=["x", 1], unused="fail", record="once", order="any"'
    settings = settings_of(item_of(pytester, marker))

    assert (("x", "1"), "fail", "once") == (settings.server, settings.unused, settings.mode)
    assert {"order": "any"} == settings.playing
    assert pytester.path / "cassettes" / "a.jsonl" == settings.path


def test_without_a_name(pytester: pytest.Pytester) -> None:
    """The module and the test name it."""
    item = item_of(pytester, "")

    folder = pytester.path / "cassettes" / item.path.stem
    assert folder / "test_it.jsonl" == settings_of(item).path


@pytest.mark.parametrize("place", [".", "cassettes", "kept"])
def test_where_it_is_looked_for(pytester: pytest.Pytester, place: str) -> None:
    """Beside the test, in `cassettes`, and in the folder of the ini."""
    pytester.makeini("[pytest]\nmcpmock_dir = kept\n")
    (pytester.path / place).mkdir(exist_ok=True)
    (pytester.path / place / "a.jsonl").touch()
    settings = settings_of(item_of(pytester, '"a.jsonl"'))

    assert (pytester.path / place / "a.jsonl").samefile(settings.path)


@pytest.mark.parametrize("name", ["ordr", "record", "allow-host"])
def test_an_option_of_a_project_file_that_the_command_has_not(
    pytester: pytest.Pytester, name: str
) -> None:
    """A test says so as the command does; what only the command has is no mistake."""
    (pytester.path / "mcpmock.toml").write_text(f'[replay]\nworkers = 2\n{name} = "any"\n', "utf-8")
    wanted = rf"mcpmock.toml: replay\.{name}: no option that can be set here"
    with pytest.raises(pytest.UsageError, match=wanted) as raised:
        settings_of(item_of(pytester, '"a.jsonl"'))

    assert "workers" not in str(raised.value)


def test_the_options_of_a_project_file_are_those_of_the_command() -> None:
    """So that tests refuse what the command refuses."""
    assert set(_command_words()) == set(replay._settable)


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ('"a", "b"', "one cassette"),
        ('server=["x"], url="http://x"', "mutually exclusive"),
        ('unused="maybe"', "no value of unused"),
        (
            'ordr="any"',
            r"test_it: the marker has no keyword ordr=. Did you mean order=\? It has ",
        ),
        ('order="casual"', "test_it: order 'casual': choose causal, strict or any"),
        ('on_miss="live"', "on_miss 'live': choose error, nearest, hang or close"),
        ('overlap_grace="x"', "overlap_grace 'x': give a number"),
        ("timing=5", "timing 5: say none, recorded"),
        ('server="python server.py"', "give the words of a command"),
        ("url=7", "url=7: give a URL"),
        ('url="ftp://x"', "not an http:// or https:// URL"),
        ("faults=7", "7 is not a fault; expected a plan"),
        ('seed="x"', "seed 'x': say a whole number"),
        ('races="slow"', "no match 'slow': say which messages"),
        ('races={"tol": "slow"}', "no key 'tol' of a match: say one of method, "),
        ('reactions="late"', "no reaction 'late'"),
        ("stub='weather'", "give a mcpmock.Stub, or the path of a mock"),
    ],
)
def test_what_makes_no_sense(pytester: pytest.Pytester, marker: str, words: str) -> None:
    """It is said."""
    with pytest.raises(pytest.UsageError, match=words):
        settings_of(item_of(pytester, marker))
