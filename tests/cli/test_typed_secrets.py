"""No message repeats a secret that was typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpmock.redaction.masks import MASK
from tests.cli.conftest import Run
from tests.support import INITIALIZE, WELCOME, cassette_bytes

KEY, QUERY, PASSWORD = SECRETS = "Zq7mW3xKp9LtR2vBn5Yd", "q8xwvt5r", "p4sswrd7"
URL = f"http://127.0.0.1:99999/s/{KEY}/mcp?api_key={QUERY}"
LOGIN = URL.replace("//", f"//user:{PASSWORD}@")
COMMANDS = [
    ("login", URL.replace("http", "ftp")),
    ("record", "-o", "b.jsonl", "--url", URL),
    ("proxy", "--url", URL, "--oauth"),
    ("drive", "a.jsonl", "--url", URL.replace("http", "htp")),
    ("verify", "a.jsonl", "--url", URL, "--json"),
    ("drive", "a.jsonl", "--url", "http://h", "--oauth", "--header", f"Authorization: {PASSWORD}"),
    *((command, LOGIN) for command in ("logout", "show", "check", "scan", "fmt")),
    ("logout", "--json", LOGIN),
    ("check", "--format", "github", LOGIN),
    ("diff", "a.jsonl", LOGIN),
    ("record", "-o", "b.jsonl", "--", LOGIN, "--password", PASSWORD),
    ("drive", "a.jsonl", "--", "./none", "--api-key", QUERY),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_messages_repeat_no_secret(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Neither of a URL nor of a command, whatever is wrong with it."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE), ("s2c", WELCOME)))
    status, out, err = run(*words)

    assert 0 != status
    assert not [one for one in SECRETS if one in out + err]
    if words[:2] == ("logout", "--json"):
        assert (
            f"http://user:{MASK}@127.0.0.1:99999/s/{MASK}/mcp?api_key={MASK}"
            == (json.loads(out)["url"])
        )


@pytest.mark.parametrize(
    "header",
    [
        ("--header", "Authorization: Bearer x"),
        ("--header", "authorization:Basic eDp5"),
        ("--header-env", "AUTHORIZATION: Bearer TOKEN"),
        ("--header", "X-A: 1", "--header", "Authorization : x"),
    ],
)
@pytest.mark.parametrize("command", ["drive", "verify", "proxy"])
def test_a_login_beside_an_authorization(run: Run, header: tuple[str, ...], command: str) -> None:
    """They exclude each other, other headers do not."""
    files = () if command == "proxy" else (__file__,)
    status, _, err = run(command, *files, "--url", "http://h", "--oauth", *header)

    assert 2 == status
    assert "--oauth sends an Authorization header of its own: remove --oauth or the header" in err
