"""The folder with the recordings of a project, found and made from any folder of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.cassette.project_folder import (
    find_recording,
    is_in_project_folder,
    is_project,
    make_project_folder,
    project_root,
)
from mcpmock.errors import CassetteError

OUTPUT = Path(".mcpmock/weather.jsonl")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a project, in which somebody works in a/b."""
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/a/b").mkdir(parents=True)
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("output", "inside"),
    [
        (".mcpmock/a.jsonl", True),
        ("./.mcpmock/a.jsonl", True),
        (".mcpmock", False),
        (".mcpmock/../a.jsonl", False),
        ("/tmp/.mcpmock/a.jsonl", False),
        ("rec/a.jsonl", False),
    ],
)
def test_what_is_in_it(output: str, inside: bool) -> None:
    """Only what `wrap` writes in a project is looked for in other folders."""
    assert inside is is_in_project_folder(output)


def test_the_root_of_a_project(tmp_path: Path) -> None:
    """The nearest repository, else the folder itself; never the home or the top."""
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    assert inner == project_root(inner, tmp_path)
    (tmp_path / "a/.git").touch()  # a file in a worktree
    (tmp_path / "link").symlink_to(inner)

    assert tmp_path / "a" == project_root(inner, tmp_path)
    assert [True, False, False, False] == [
        is_project(inner, tmp_path),
        is_project(inner, inner),
        is_project(inner, tmp_path / "link"),
        is_project(Path("/"), tmp_path),
    ]


def test_a_home_that_is_a_repository(root: Path) -> None:
    """A repository of settings is not the project of what lies below it."""
    assert root / "a" == project_root(root / "a", root)
    assert root / "a" / OUTPUT == find_recording(OUTPUT, root / "a", root)


def test_a_recorder_in_a_folder_below(root: Path) -> None:
    """It finds the folder of the root, or makes it; a nearer one is preferred."""
    home = root.parent
    assert root / OUTPUT == find_recording(OUTPUT, root / "a/b", home)
    assert "*\n!.gitignore\n" == (root / ".mcpmock/.gitignore").read_text("utf-8")
    (root / "a/.mcpmock").mkdir()

    assert root / "a" / OUTPUT == find_recording(OUTPUT, root / "a/b", home)
    assert root / OUTPUT == find_recording(OUTPUT, root, home)


def test_folders_above_the_project(root: Path) -> None:
    """They are not looked into: anybody may have put something there."""
    (root.parent / ".mcpmock").mkdir()

    assert root / OUTPUT == find_recording(OUTPUT, root, root.parent)


@pytest.mark.parametrize("linked", [".mcpmock", ".mcpmock/.gitignore"])
@pytest.mark.parametrize("dangling", [False, True])
def test_links(root: Path, linked: str, dangling: bool) -> None:
    """A cloned project leads nothing elsewhere."""
    elsewhere = root.parent / "elsewhere"
    if not dangling:
        elsewhere.mkdir()
    (root / linked).parent.mkdir(exist_ok=True)
    (root / linked).symlink_to(elsewhere)

    for use in (make_project_folder, lambda root: find_recording(OUTPUT, root, root.parent)):
        with pytest.raises(CassetteError, match=r"is a link; remove the link"):
            use(root)
    assert not elsewhere.exists() if dangling else [] == list(elsewhere.iterdir())


def test_where_no_project_is(root: Path) -> None:
    """Nothing is made in the home."""
    with pytest.raises(CassetteError, match="is no project"):
        find_recording(OUTPUT, root, root)
    assert not (root / ".mcpmock").exists()


@pytest.mark.parametrize("output", [".mcpmock/all", ".mcpmock/all/weather.jsonl"])
def test_a_link_on_the_way(root: Path, output: str) -> None:
    """No recording leaves the folder by a link in it."""
    make_project_folder(root)
    (root / ".mcpmock/all").symlink_to(root / "a")

    with pytest.raises(CassetteError, match=r"mcpmock/all: is a link"):
        find_recording(Path(output), root, root.parent)
