"""What is shown of URLs and command lines."""

from __future__ import annotations

from time import process_time

import pytest

from mcpmock.redaction.masks import masked_command, masked_text, masked_url, masked_urls

KEY = "Zq7mW3xKp9LtR2vBn5Yd"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:pass1@h:9/mcp", "http://user:***@h:9/mcp"),
        ("http://pass1@h/mcp", "http://***@h/mcp"),
        ("https://h/mcp?api_key=x&page=2", "https://h/mcp?api_key=***&page=2"),
        (f"https://h/s/{KEY}/mcp", "https://h/s/***/mcp"),
        (f"htps://h/s/{KEY}/mcp", "htps://h/s/***/mcp"),
        ("h/mcp?token=x", "h/mcp?token=***"),
        ("http://u:p1@[::z]:99999/é", "http://u:***@[::z]:99999/é"),
        ("http://h/mcp?a=b\ud800", "http://h/mcp?a=b\\ud800"),
        ("http://127.0.0.1:3000/mcp", "http://127.0.0.1:3000/mcp"),
        ("", ""),
    ],
)
def test_a_url(url: str, shown: str) -> None:
    """Userinfo, secrets of the query and keys in the path are masked, of an invalid one too."""
    assert shown == masked_url(url)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"cannot reach http://h/s/{KEY}: refused", "cannot reach http://h/s/***: refused"),
        ("'http:/u:p1@h/a' is no file", "'http:/u:***@h/a' is no file"),
        ("run `login https://h/?token=x`, then", "run `login https://h/?token=***`, then"),
        ("http://a:b1@h/ and s3://c:d1@h/.", "http://a:***@h/ and s3://c:***@h/."),
        ("write it like http://127.0.0.1:3000/mcp", "write it like http://127.0.0.1:3000/mcp"),
        (f"C:/files/{KEY}/a.jsonl: token=x", f"C:/files/{KEY}/a.jsonl: token=x"),
        ("a: b", "a: b"),
    ],
)
def test_urls_in_a_text(text: str, shown: str) -> None:
    """What is around them stays."""
    assert shown == masked_urls(text)


def test_a_text_without_urls_takes_little_time() -> None:
    """Each word of it could be the beginning of a scheme."""
    began = process_time()
    masked_urls("a-" * 20_000 + ":/")

    assert process_time() - began < 0.5


def test_a_command_line_and_a_text() -> None:
    """Secrets of options, variables and headers are masked; names of variables are none."""
    words = ["a b", "--api-key", "x y", "-H", "X-Api-Key: x y", "--header-env", "Token: TOKEN_1"]

    shown = "'a b' --api-key *** -H 'X-Api-Key: '*** --header-env 'Token: TOKEN_1'"
    assert shown == masked_command(words)
    assert "failed: TOKEN=***" == masked_text("failed: TOKEN=x1")
