"""`main`: the one place where errors become exit statuses."""

from __future__ import annotations

from typing import NoReturn

import pytest

from mcpmock.cli import commands
from mcpmock.errors import CannotListen, McpMockError
from tests.cli.conftest import CONTROLS, Run


def test_no_command(run: Run) -> None:
    """What there is is said, line by line, and the status is that of wrong usage."""
    status, out, err = run()

    assert (2, "") == (status, out)
    assert err.startswith("Usage: mcpmock [OPTIONS] COMMAND [ARGS]...\n\n")
    assert "\n  record   " in err


@pytest.mark.parametrize("name", ["nosuch", "Record", "\x1b[2J\n\u202e"])
def test_no_such_command(run: Run, name: str) -> None:
    """It is said in one line behind the usage, and does nothing to the terminal."""
    status, out, err = run(name)

    assert (2, "", 4) == (status, out, err.count("\n"))
    assert err.splitlines()[-1].startswith("Error: No such command ")
    assert not CONTROLS.search(err)


@pytest.mark.parametrize(
    ("name", "hint"), [("recrod", "Did you mean record or"), ("x", "--help lists the commands.")]
)
def test_the_nearest_commands_are_suggested(run: Run, name: str, hint: str) -> None:
    """An unknown command is answered with at most three names."""
    assert f"No such command '{name}'. {hint}" in run(name)[2]


def test_version(run: Run) -> None:
    """The result is on standard output."""
    status, out, err = run("--version")

    assert (0, "") == (status, err)
    assert out.startswith("mcpmock ")


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (McpMockError("a\x1b[2J\nb"), 1, "mcpmock: a\\u001b[2J\\u000ab\n"),
        (CannotListen("localhost:80", "why"), 4, "mcpmock: cannot listen on localhost:80: why"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_errors(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    said: str,
    depth: int,
) -> None:
    """Ours are one line and carry their status, however many nurseries they came through."""
    for _ in range(depth):
        error = BaseExceptionGroup("nursery", [error])

    def fails(**_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(commands, "cli", fails)
    found, out, err = run("show")

    assert (status, "", said.count("mcpmock:")) == (found, out, err.count("\n"))
    assert err.startswith(said)


def test_a_mistake_of_ours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows itself whole: nobody could find it otherwise."""

    def fails(**_: object) -> NoReturn:
        raise BaseExceptionGroup("nursery", [ValueError("wrong")])

    monkeypatch.setattr(commands, "cli", fails)
    with pytest.raises(ValueError, match=r"^wrong$"):
        run("show")
