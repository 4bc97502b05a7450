"""`--mcp-report DIR`: a page for each failed test."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.test_pytest_plugin import PLUGIN

SUITE = """
import subprocess

import pytest

from tests.support import call, request

ASKED = [
    request(0, "initialize", {"protocolVersion": "2025-11-25"}),
    call(1, "add", a=7, password="hunter2-hunter2"),
]

def ask(server):
    lines = b"".join(raw + b"\\n" for raw in ASKED)
    subprocess.run(server.command, input=lines, capture_output=True, timeout=20)

@pytest.mark.mcpmock("good.jsonl")
@pytest.mark.parametrize("n", [1, 2])
def test_misses(mcpmock_server, n):
    ask(mcpmock_server)

@pytest.mark.mcpmock("good.jsonl")
def test_passes(mcpmock_server):
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    from tests.support.hostile import plain

    pytester.makepyfile(SUITE)
    (pytester.path / "cassettes").mkdir()
    (pytester.path / "cassettes" / "good.jsonl").write_bytes(plain())
    return pytester


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(rb'id="data">([^<]*)<', page.read_bytes())
    assert found is not None
    data: dict[str, Any] = msgspec.json.decode(zlib.decompress(base64.b64decode(found[1])))
    return data


def test_a_page_for_each_failed_test(suite: pytest.Pytester) -> None:
    """The page has the recording, what the client asked and got, the miss with its near misses, and
    no secret; the failure names it.
    """
    result = suite.runpytest_subprocess(*PLUGIN, "--mcp-report", "pages")
    pages = sorted((suite.path / "pages").iterdir())

    assert ["misses-1", "misses-2"] == [re.findall(r"misses-\d", page.name)[0] for page in pages]
    result.stdout.fnmatch_lines([f"report: {pages[0]}"])
    recorded, live = data_of(pages[0])["recordings"]
    assert "good.jsonl" == recorded["file"]
    assert live["rows"]["n"] == [1, 2, 3, 4]
    answer = live["rows"]["raw"][3]
    assert "nothing recorded answers" in answer
    assert '"near"' in answer
    assert "hunter2" not in str(live)


def test_the_page_opens_on_the_test(suite: pytest.Pytester) -> None:
    """It is named by the test, says what it failed with, shows what its clients got, and is not
    called incomplete.
    """
    suite.makepyfile(SUITE + "    assert 1 == 2, 'password=hunter2-hunter2'\n")
    suite.runpytest_subprocess(*PLUGIN, "--mcp-report", "pages")
    page = next(path for path in (suite.path / "pages").iterdir() if "passes" in path.name)
    data = data_of(page)

    assert data["title"].endswith("::test_passes")
    assert data["title"].encode() in page.read_bytes()
    assert data["error"].startswith("AssertionError: password=mcpmock:secret:")
    assert len(data["recordings"]) - 1 == data["opens"]
    assert "incomplete" not in [text for text, *_ in data["recordings"][1]["chips"]]


def test_none_without_the_option(suite: pytest.Pytester) -> None:
    """Nothing is written, nothing is said."""
    result = suite.runpytest_subprocess(*PLUGIN)

    assert not (suite.path / "pages").exists()
    result.stdout.no_fnmatch_line("report: *")


def test_what_cannot_be_written(suite: pytest.Pytester) -> None:
    """The failure says why there is no page."""
    (suite.path / "pages").write_text("a file")
    result = suite.runpytest_subprocess(*PLUGIN, "--mcp-report", "pages")

    result.stdout.fnmatch_lines(["report: none, because *pages*"])
    result.assert_outcomes(failed=2, passed=1)


def test_beside_pytest_html(suite: pytest.Pytester) -> None:
    """Its report links the page."""
    result = suite.runpytest_subprocess(*PLUGIN, "--mcp-report", "pages", "--html", "all.html")

    result.assert_outcomes(failed=2, passed=1)
    assert "misses-1" in (suite.path / "all.html").read_text()
