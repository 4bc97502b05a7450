"""Wrong usage of each command, told in a line."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mcpmock.sessions import drive
from mcpmock.sessions import run as run_module
from mcpmock.sessions.run import Setup
from tests.cli.conftest import Run, said_of
from tests.support import INITIALIZE, WELCOME, call, cassette_bytes

NO_SERVER = "name the server: either --url URL or -- COMMAND"
NO_HEADER = "NAME: VALUE"
NO_VALUE = "expected 'mcpmock:secret:KIND:N=env:NAME'"
NO_LIMIT = "expected, for example, 200ms or tool=weather,200ms"
NO_TIMING = "none, recorded, scale:X, fixed:MS or cap:MS"
NO_URL = "not an http:// or https:// URL"
NO_PORT = "is not a host and port"
PLACEHOLDER = "mcpmock:secret:token:1"
LISTENERS = ("record -o b --url http://a", "proxy --url http://a", "replay a.jsonl")
NO_ADDRESSES = (
    "", "x", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:99999",
    "1:2:3", "::1:80", "[::1]", "http://127.0.0.1:80", "127.0.0.1:80/mcp", "a b:1", "user@host:1",
    "\x1b[2J:1",
)  # fmt: skip
WRITERS = (
    "check a.jsonl --junit", "check a.jsonl --sarif", "check a.jsonl --write-baseline",
    "convert a.jsonl -o", "demo -o", "drive a.jsonl -o", "explore a.jsonl -o",
    "explore a.jsonl --junit", "merge a.jsonl a.jsonl -o", "proxy --cassette", "proxy --record",
    "record -o", "recover a.jsonl -o", "redact a.jsonl -o", "replay a.jsonl --log",
    "replay a.jsonl --record", "report a.jsonl -o", "stats a.jsonl --html", "wrap a -o",
)  # fmt: skip
READERS = ("convert", "diff a.jsonl", "drive", "replay", "report", "review", "show", "watch")
LISTS = ("check", "fmt", "redact", "scan", "stats", "check a.jsonl", "replay a.jsonl")
LISTENING = ("--transport sse", "--dangerously-bind", "--allow-host a", "--allow-origin http://a")
USAGE = [
    ("convert a.jsonl -o x.har --no-redact", "only for recordings of other tools"),
    ("diff a.jsonl none --ignore '\x1b[2J'", "is not of the form"),
    ("diff a.jsonl none --unordered '\x1b[2J'", "is not of the form"),
    ("diff a.jsonl none --tolerance '\x1b[2J'", "is not a tolerance"),
    ("diff . a.jsonl", "give two files, or two folders"),
    ("drive", "Missing argument"),
    ("drive a.jsonl", NO_SERVER),
    ("drive a.jsonl --timing slow -- server", "Invalid value for --timing"),
    ("drive a.jsonl --max-p99 tool=wether,1s -- s", "'tool=wether,1s': no such call is recorded"),
    ("drive a.jsonl --max-p99 weather,1s -- server", NO_LIMIT),
    ("drive a.jsonl --max-p99 tool=,1s -- server", NO_LIMIT),
    ("drive a.jsonl --max-p99 tool=weather,fast -- server", "expected a duration"),
    ("drive a.jsonl --max-errors 1 -- server", "expected a share such as 0.5%"),
    ("drive a.jsonl --max-errors 101% -- server", "expected a share such as 0.5%"),
    ("drive a.jsonl --for ever -- server", "expected a duration"),
    ("drive a.jsonl --sessions 0 -- server", "0 is not in the range"),
    ("drive a.jsonl --rate 0 -- server", "0.0 is not in the range"),
    ("drive a.jsonl --rate nan -- server", "'nan' is not a number"),
    ("drive a.jsonl --rate 1e400 -- server", "'1e400' is not a number"),
    *[
        (f"{command} {time}", f"{command.rpartition(' ')[2]}': expected a time above 0, not")
        for command in (
            "drive a.jsonl --for",
            "explore a.jsonl --for",
            "explore a.jsonl --timeout",
            "record -o b --timeout",
            "replay a.jsonl --session-timeout",
        )
        for time in ("0", "0s", "0.0ms")
    ],
    ("drive a.jsonl --sessions 2 -o b -- server", "--output with a load needs --url"),
    ("merge a.jsonl -o b", "name two or more cassettes"),
    ("check a.jsonl --junit b --sarif ./b", "each report needs a file of its own"),
    ("check a.jsonl --sarif c/../b --write-baseline b", "each report needs a file of its own"),
    ("proxy", NO_SERVER),
    ("proxy --listen 127.0.0.1:0", NO_SERVER),
    ("proxy --url http://a -- server", NO_SERVER),
    ("proxy --url http://a --url-transport stdio", "Invalid value for '--url-transport'"),
    ("proxy --url http://a --header 'Authorization Bearer hunter2'", NO_HEADER),
    ("proxy --url http://a --header ': no name'", NO_HEADER),
    ("proxy --url http://a --header 'X-A: 1\r\nX-B: 2'", NO_HEADER),
    ("proxy --url http://a --header 'X-A: \x1b[2J'", NO_HEADER),
    ("proxy --url http://a --header 'X-A: \u2028'", NO_HEADER),
    ("proxy --url http://a --header 'content-length: 7'", "content-length is set by mcpmock"),
    ("proxy --url http://a --header 'Transfer-Encoding: chunked'", "is set by mcpmock"),
    ("proxy --header 'X-A: 1' -- server", "Error: --header needs --url;"),
    ("proxy --header-env 'X: X_SET' -- server", "Error: --header-env needs --url;"),
    ("proxy --oauth -- server", "Error: --oauth needs --url;"),
    ("drive a.jsonl --header-env 'X: Y' -- server", "Error: --header-env needs --url;"),
    ("verify a.jsonl --oauth -- server", "Error: --oauth needs --url;"),
    (
        "proxy --header-env 'X: Y' --header 'X-A: 1' -- server",
        "Error: --header and --header-env need --url;",
    ),
    ("proxy --url http://a --header-env 'X: X_UNSET'", "X_UNSET is not set"),
    ("proxy --url http://a --header-env 'X: X_SET'", "a header cannot hold the value of X_SET"),
    ("proxy --url http://a --header-env hunter2", "--header-env: expected 'NAME: VARIABLE'"),
    ("proxy --url http://a --url-env X_SET", "--url and --url-env are mutually exclusive"),
    ("proxy --url-env X_UNSET", "X_UNSET is not set"),
    ("proxy --url-transport sse -- server", "Error: --url-transport needs --url;"),
    ("proxy --what server", "No such option"),
    ("proxy '--\x1b[2J\n\u202e' server", "No such option"),
    ("proxy --mode once -- server", "--mode needs --cassette"),
    ("proxy --mode twice -- server", "is not one of"),
    ("proxy --cassette a.jsonl --record x -- server", "are mutually exclusive"),
    ("record -o b", "name the server: either -- COMMAND or --url URL"),
    ("record server", "Missing option '-o' / '--output'"),
    ("record -o b --what server", "No such option"),
    ("record -o b --new --overwrite server", "mutually exclusive"),
    ("record -o b --color sometimes server", "Invalid value for '--color'"),
    ("record -o b/ --watch -- server", "--watch follows one FILE"),
    ("replay", "Missing argument"),
    ("replay a.jsonl --what", "No such option"),
    ("replay a.jsonl -- server", "a server (COMMAND) needs --on-miss live"),
    ("replay a.jsonl --url http://a", "a server (--url) needs --on-miss live"),
    ("replay a.jsonl --header-env 'X: Y'", "a server (--header-env) needs --on-miss live"),
    ("replay a.jsonl --on-miss live", NO_SERVER),
    ("replay a.jsonl --on-miss live --record x -- server", "--mode new_episodes"),
    ("replay a.jsonl --on-miss cry", "is not one of"),
    ("replay a.jsonl --order odd", "is not one of"),
    ("replay a.jsonl --repeats 0", "is not one of"),
    ("replay a.jsonl --overlap-grace -1", "-1 is not in the range"),
    ("replay a.jsonl --timing odd", NO_TIMING),
    ("replay a.jsonl --timing scale", NO_TIMING),
    ("replay a.jsonl --timing cap:x", NO_TIMING),
    ("replay a.jsonl --timing none:1", NO_TIMING),
    ("replay a.jsonl --timing fixed:-1", NO_TIMING),
    ("replay a.jsonl --auth oauth", "--auth needs --listen"),
    ("replay a.jsonl --auth x --listen 127.0.0.1:0", "'x': expected oauth"),
    ("replay a.jsonl --workers 2", "--workers needs --listen"),
    *[
        (f"replay none --workers 2 --listen 0 {option}", f"{option.rpartition(' ')[0]} needs one")
        for option in ("--fault drop", "--auth oauth", "--record b")
    ],
    ("replay none --workers 2 --listen 0 --repeats cycle", "--repeats cycle needs one process"),
    ("show a.jsonl --json --mermaid", "mutually exclusive"),
    ("show a.jsonl --follow --mermaid", "--follow shows single events"),
    ("show a.jsonl --follow --id 7", "--follow shows single events"),
    (
        "show a.jsonl --filter bogus=1",
        "known terms: method=, tool=, kind=, dir=, id=, take=, s=, x=",
    ),
    ("verify a.jsonl", NO_SERVER),
    ("verify a.jsonl --ignore '$[' -- server", "no JSONPath"),
    ("watch a.jsonl --listen nowhere:x", "Invalid value for --listen"),
    *[
        (f"{command} --url '{url}'", words)
        for command in ("record -o b", "proxy")
        for url, words in (
            ("", NO_URL),
            ("localhost:80", NO_URL),
            ("ftp://localhost", NO_URL),
            ("http://", NO_URL),
            ("http://:80/mcp", NO_PORT),
            ("http://a:b/mcp", NO_PORT),
            ("http://a:99999/mcp", NO_PORT),
            ("http://[zz]/mcp", NO_PORT),
            ("http://a b/mcp", "not a URL"),
            ("http://a/\x1b[2J", "not a URL"),
            ("http://user:hunter2@a/mcp", "user name or password"),
            ("http://hunter2@a/mcp", "user name or password"),
        )
    ],
    *[
        (f"{command} --listen '{address}'", "127.0.0.1:8080")
        for command in LISTENERS
        for address in NO_ADDRESSES
    ],
    *[
        (f"{command} --listen 127.0.0.1:0 {option} '{value}'", option)
        for command in LISTENERS
        for option, values in (
            ("--transport", ("stdio",)),
            ("--session-timeout", ("soon", "-1", "1 day")),
            ("--allow-host", ("*", "", "http://a", "a/b", "a\x1b[2J")),
            ("--allow-origin", ("*", "", "a.example", "http://a/b", "http://*.a", "http://a\x1b")),
        )
        for value in values
    ],
    *[
        (f"{command} {option}", f"{option.partition(' ')[0]} needs --listen")
        for command in LISTENERS[1:]
        for option in LISTENING
    ],
    *[
        (
            f"record -o b {option} sse -- server",
            f"{option} needs --url; to serve a COMMAND over HTTP, use `mcpmock proxy`",
        )
        for option in ("--listen", "--transport", "--allow-host", "--allow-origin")
    ],
    *[
        (f"{command} a.jsonl --value {value} -- server", words)
        for command in ("drive", "verify")
        for value, words in (
            (f"{PLACEHOLDER}=env:UNSET_TOKEN", "UNSET_TOKEN is not set in the environment"),
            (f"{PLACEHOLDER}=hunter2", NO_VALUE),
            (f"{PLACEHOLDER}=file:hunter2", NO_VALUE),
            ("hunter2=env:PATH", NO_VALUE),
            ("hunter2", NO_VALUE),
        )
    ],
    *[(f"{command} -", "'-' stands for no file here; './-' is") for command in WRITERS + READERS],
    *[(f"{command} ''", "the name is empty") for command in WRITERS + READERS + LISTS],
]


@pytest.mark.parametrize(("words", "told"), USAGE, ids=lambda words: ascii(words)[1:60])
def test_wrong_usage(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, told: str
) -> None:
    """The mistake is named, what may be a secret is not, and nothing is started or written."""

    async def run_sessions(_setup: Setup) -> int:
        raise AssertionError

    monkeypatch.setenv("X_SET", "hunter2\n")
    for module in (run_module, drive):
        monkeypatch.setattr(module, "run_sessions", run_sessions)
    monkeypatch.chdir(tmp_path)
    recorded = (("c2s", INITIALIZE), ("s2c", WELCOME), ("c2s", call(1, "weather")))
    Path("a.jsonl").write_bytes(cassette_bytes(*recorded))
    line = said_of(run(*shlex.split(words)))

    assert told in line
    assert "hunter2" not in line
    assert [Path("a.jsonl")] == [path.relative_to(tmp_path) for path in tmp_path.iterdir()]


def test_an_option_without_a_value(run: Run) -> None:
    """It is said in one line; what it belongs to is not known by then."""
    assert (2, "", "Error: Option '--listen' requires an argument.\n") == run("replay", "--listen")
