"""The browser of the user."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from mcpmock.channels import browser

URL = "https://login.example/?a=1"


@pytest.mark.parametrize(
    ("platform", "given", "there", "url", "started"),
    [
        ("linux", "", True, URL, [["xdg-open", URL]]),
        ("darwin", "", True, URL, [["open", URL]]),
        ("darwin", "firefox", True, URL, [["firefox", URL]]),
        ("linux", "firefox --new '%s' x", True, URL, [["firefox", "--new", URL, "x"]]),
        ("linux", "", True, "http://h/", [["xdg-open", "http://h/"]]),
        ("linux", "", False, URL, []),
        ("linux", "", True, "file:///etc/passwd", []),
        ("linux", "", True, "--help", []),
    ],
)
def test_what_is_started(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    given: str,
    there: bool,
    url: str,
    started: list[list[str]],
) -> None:
    """That of the variable, else the system's; nothing where there is none, and for no address of
    another kind.
    """
    found: list[list[str]] = []

    def start(words: list[str], **_how: Any) -> None:
        found.append(words)

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("BROWSER", given)
    monkeypatch.setattr(browser, "which", lambda _program: "/bin/x" if there else None)
    monkeypatch.setattr(subprocess, "Popen", start)
    browser.open_page(url)

    assert started == found
