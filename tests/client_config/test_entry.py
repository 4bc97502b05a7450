"""What an entry starts, and the recorder in front of it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.client_config.entry import RecordCommand, ServerEntry, find_recorder


@pytest.mark.parametrize(
    ("value", "words", "transport"),
    [
        ({"command": "npx", "args": ["-y"]}, ["npx", "-y"], "stdio"),
        ({"command": "npx"}, ["npx"], "stdio"),
        ({"command": ["npx", "-y"]}, ["npx", "-y"], "stdio"),
        ({"command": {"path": "npx", "args": ["-y"]}}, ["npx", "-y"], "stdio"),
        ({"command": "npx", "url": "https://a"}, ["npx"], "stdio"),
        ({"url": "https://a"}, [], "remote"),
        ({"serverUrl": "https://a"}, [], "remote"),
        ({"httpUrl": "https://a"}, [], "remote"),
        ({"source": "extension", "settings": {}}, [], "other"),
        ({"command": []}, [], "other"),
        ({"command": 5}, [], "other"),
        ({"command": "npx", "args": "-y"}, [], "other"),
        ({"command": "npx", "args": [5]}, [], "other"),
    ],
)
def test_what_it_starts(value: dict[str, Any], words: list[str], transport: str) -> None:
    """In each form that clients have, and in mistaken ones."""
    entry = ServerEntry("a", value)

    assert (words, transport) == (entry.words, entry.transport)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("/opt/my-tools/mcpmock record -q -o f -- npx -y", RecordCommand("f", 6)),
        (r"C:\Tools\mcpmock.exe record --output f -- npx", RecordCommand("f", 5)),
        ("uvx mcpmock record -o f -- npx -- x", RecordCommand("f", 6)),
        ("/usr/bin/python3.12 -m mcpmock record -o f -- npx", RecordCommand("f", 7)),
        ("mcpmock record -o f npx", RecordCommand("f", None)),
        ("mcpmock record -o f --", RecordCommand("f", None)),
        ("mcpmock replay f", None),
        ("mcpmock", None),
        ("npx mcpmock record -o f -- x", None),
        ("python -m server record -- x", None),
        ("", None),
    ],
)
def test_the_recorder_in_front(words: str, found: RecordCommand | None) -> None:
    """However it was called; not what only has such words in it."""
    assert found == find_recorder(words.split())
