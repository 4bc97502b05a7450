"""What becomes of what tests record, in one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.errors import CassetteError
from mcpmock.testing.cassette_store import CassetteStore
from mcpmock.testing.settings import Settings
from tests.support.takes import said, take


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cassette with a take of each of two tests, and one of nobody."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(take("0") + take("1", "one") + take("2", "two"))
    return path


def run(keeping: CassetteStore, settings: Settings, test: str, *, passed: bool = True) -> None:
    """A test that records something named after it."""
    recorded = keeping.recording(settings, test)
    recorded.write_bytes(take(f"new-{test}", test))
    if passed:
        keeping.accept(settings, test, recorded)
    else:
        keeping.reject(settings, recorded)
    assert not recorded.exists()


@pytest.mark.parametrize(
    ("mode", "first", "both"),
    [
        ("all", "new-two 1", "new-two new-one"),
        ("rewrite", "new-two", "new-two new-one"),
        ("new_episodes", "0 1 2 new-two", "0 1 2 new-two new-one"),
    ],
)
def test_tests_that_share_a_cassette(
    tmp_path: Path, file: Path, mode: str, first: str, both: str
) -> None:
    """None throws away what another one of the run recorded, whichever worker it was on."""
    settings = Settings(path=file, mode=mode, server=("x",))

    run(CassetteStore(tmp_path), settings, "two")
    assert first.split() == said(file.read_bytes())
    run(CassetteStore(tmp_path), settings, "one")
    assert both.split() == said(file.read_bytes())


def test_a_cassette_that_cannot_be_read(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not missing; the error names it."""

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(CassetteError, match=r"a\.jsonl: permission denied; "):
        CassetteStore(tmp_path).is_born(file)


def test_a_test_that_runs_twice(tmp_path: Path) -> None:
    """The later take is the one that stays."""
    settings = Settings(path=tmp_path / "x" / "a.jsonl", mode="once")
    keeping = CassetteStore(tmp_path)
    assert keeping.is_born(settings.path)
    for test in ("one", "two", "one"):
        run(keeping, settings.as_born(True), test)

    assert ["new-one", "new-two"] == said(settings.path.read_bytes())
    assert CassetteStore(tmp_path).is_born(settings.path)


def test_those_that_fail(tmp_path: Path, file: Path) -> None:
    """They are all beside the cassette, which stays as it was; those of earlier runs are gone."""
    before, keeping = file.read_bytes(), CassetteStore(tmp_path)
    settings = Settings(path=file, mode="all")
    settings.rejected.write_text("of an earlier run")
    run(keeping, settings, "one", passed=False)
    run(keeping, settings, "two", passed=False)

    assert before == file.read_bytes()
    assert ["new-one", "new-two"] == said(settings.rejected.read_bytes())
    run(keeping, settings, "three")
    assert settings.rejected.exists()


def test_one_that_passes_now(tmp_path: Path, file: Path) -> None:
    """What failed before is not kept."""
    settings = Settings(path=file, mode="all")
    settings.rejected.write_text("of an earlier run")
    run(CassetteStore(tmp_path), settings, "one")

    assert not settings.rejected.exists()


def test_nothing_was_recorded(tmp_path: Path, file: Path) -> None:
    """Then nothing happens."""
    before, keeping = file.read_bytes(), CassetteStore(tmp_path)
    settings = Settings(path=file, mode="rewrite")
    keeping.accept(settings, "t", keeping.recording(settings, "t"))
    keeping.reject(settings, keeping.recording(settings, "t"))

    assert before == file.read_bytes()


def test_a_folder_of_its_own(tmp_path: Path) -> None:
    """It is made when it is needed, and removed."""
    keeping = CassetteStore()
    assert keeping.is_born(tmp_path / "a.jsonl")
    folder = keeping.folder
    assert folder is not None
    assert folder.exists()
    keeping.close()

    assert not folder.exists()
    CassetteStore(tmp_path).close()
    assert tmp_path.exists()


def test_packed(tmp_path: Path) -> None:
    """A `.gz` stays one."""
    settings = Settings(path=tmp_path / "a.jsonl.gz", mode="all")
    run(CassetteStore(tmp_path), settings, "t")

    assert b"\x1f\x8b" == settings.path.read_bytes()[:2]
