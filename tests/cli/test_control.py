"""`mcpmock control`: a line for each request, a line for each answer, and an end with its input."""

from __future__ import annotations

import io
import json
import sys

import pytest

from mcpmock.cli.control import MAX_REQUEST_BYTES

from .conftest import Run


@pytest.fixture
def control(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command with this standard input."""

    def call(*lines: object) -> tuple[int, str, str]:
        data = b"".join(map(bytes, lines))  # type: ignore[arg-type]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return run("control")

    return call


def test_no_input(control: Run) -> None:
    """It ends with it."""
    assert (0, "", "") == control()


def test_an_error_is_an_answer(control: Run) -> None:
    """It names the request, and the next one is answered too."""
    status, out, err = control(
        b'{"id":"a","method":"no"}\n{"id":2,"method":"calls","params":{"server":7}}\n'
    )
    answers = {one["id"]: one["error"]["message"] for one in map(json.loads, out.splitlines())}

    assert (0, "") == (status, err)
    assert answers["a"].startswith("mcpmock: no method 'no': say one of start, stop")
    assert "mcpmock: this server is stopped: start another" == answers[2]


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"start\n",
        b"[]\n",
        b"7\n",
        b'{"method":"calls"}\n',
        b'{"id":1,"method":"calls","params":[]}\n',
        b'{"id":1,"method":"calls"}',
        b"\xff\n",
        b"[" * 10_000 + b"\n",
        b'{"id":1,"method":"calls","params":{"server":"' + b"x" * MAX_REQUEST_BYTES + b'"}}\n',
    ],
    ids=range(10),
)
def test_no_request(control: Run, line: bytes) -> None:
    """A line that is none ends it, with a word."""
    status, out, err = control(line)

    assert (2, "") == (status, out)
    assert "mcpmock: standard input has a line that is not a request" in err
