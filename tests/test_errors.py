"""Every error says whose fault it is and carries the exit code of `mcpmock help exit-status`."""

from __future__ import annotations

import pickle

import pytest

from mcpmock.errors import (
    CannotListen,
    CannotReach,
    CannotStart,
    CassetteError,
    McpMockError,
    MissingExtra,
    RecordingIncomplete,
    WrongUsage,
)

CASES = [
    (McpMockError("x"), 1),
    (WrongUsage("add --order any"), 2),
    (CassetteError("a.jsonl", "torn"), 3),
    (CannotStart("srv", "not found", found=False), 127),
    (CannotStart("srv", "permission denied", found=True), 126),
    (CannotReach("http://localhost/mcp", "Connection refused"), 4),
    (CannotListen("127.0.0.1:80", "Permission denied"), 4),
    (MissingExtra("reading a URL", "dask"), 2),
    (RecordingIncomplete("disk full"), 5),
]


@pytest.mark.parametrize(("error", "code"), CASES, ids=lambda value: type(value).__name__)
def test_exit_codes(error: McpMockError, code: int) -> None:
    """Each error ends the command line with the exit code of its kind."""
    assert code == error.exit_code


@pytest.mark.parametrize(("error", "code"), CASES, ids=lambda value: type(value).__name__)
def test_one_tree(error: McpMockError, code: int) -> None:
    """All that is raised on purpose is an McpMockError and one line of text."""
    assert isinstance(error, McpMockError)
    assert "\n" not in str(error)


@pytest.mark.parametrize(("error", "code"), CASES, ids=lambda value: type(value).__name__)
def test_errors_go_from_process_to_process(error: McpMockError, code: int) -> None:
    """Whole, as those of workers do."""
    other = pickle.loads(pickle.dumps(error))

    assert (type(error), str(error), code) == (type(other), str(other), other.exit_code)
    assert vars(error) == vars(other)


def test_cassette_error_names_the_place_and_the_next_command() -> None:
    """A cassette's error names the file as it was written, the line, the reason and what to do
    next.
    """
    error = CassetteError("c/weather.jsonl", "not JSON", line=12, hint="`mcpmock recover`")

    assert "c/weather.jsonl:12: not JSON; `mcpmock recover`" == str(error)
    assert ("c/weather.jsonl", 12) == (error.file, error.line)


def test_cassette_error_without_a_line() -> None:
    """An error of the file as a whole names no line."""
    assert "weather.jsonl: exists" == str(CassetteError("weather.jsonl", "exists"))


def test_cannot_start_names_the_command() -> None:
    """A command that does not start is named with the reason."""
    assert "cannot start npx: no such file" == str(CannotStart("npx", "no such file", found=False))


def test_a_command_in_quotes() -> None:
    """A command line given as one word does not exist; the error says how to write it."""
    advice = "; write the command as several words, without quotes around all of them"

    error = str(CannotStart("cat -u", "no such file", found=False))
    assert f"cannot start cat -u: no such file{advice}" == error
    assert advice not in str(CannotStart("/my files/server", "permission denied", found=True))


def test_cannot_listen_names_the_address() -> None:
    """An address that cannot be had is named with the reason and the way out."""
    error = CannotListen("[::1]:80", "Permission denied")

    assert str(error).startswith("cannot listen on [::1]:80: Permission denied; ")
    assert "port 0" in str(error)


def test_cannot_reach_names_the_server() -> None:
    """A server that takes no connection is named with the reason and what to do."""
    error = CannotReach("http://localhost/mcp", "Connection refused")

    assert str(error).startswith("cannot reach http://localhost/mcp: Connection refused; ")
    assert "--url" in str(error)
