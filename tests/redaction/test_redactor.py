"""Secrets out, and every other byte as it was."""

from __future__ import annotations

import json
import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpmock.protocol.messages import S2C, Frame, HttpBody, HttpRequest, Stderr
from mcpmock.redaction.placeholders import fill
from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.redaction.redactor import HOLE, Redactor
from tests.redaction.test_secret_names import ORDINARY_NAMES, SECRET_NAMES

GITHUB = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
RANDOM = "a1B2c3D4" * 3
PREFIXES = [
    *("AGE-SECRET-KEY-", "GOCSPX-", "SG.", "dckr_pat_", "dop_v1_", "figd_", "glsa_", "gsk_", "hf_"),
    *("hvs.", "lin_api_", "npm_", "ntn_", "pplx-", "pypi-", "r8_", "rk_live_", "sbp_", "shpat_"),
    *("sk_live_", "tvly-", "whsec_", "xai-", "xapp-1-A02BCDEF-123-", "ya29."),
]
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3\\n-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_values_of_secret_names_are_replaced(name: str) -> None:
    """The whole value under a secret's name goes, wherever it stands."""
    raw = json.dumps({"params": {"arguments": [{name: "hunter2"}, "x"]}}).encode()
    clean = Redactor().json(raw)

    assert b"hunter2" not in clean
    assert raw == HOLE.sub(b"hunter2", clean)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"password":123456,"token":null,"secret":true,"apiKey":{"a":1},"pwd":[1]}',
        b'{"password":""}',
        b'{"inputSchema":{"properties":{"password":{"description":"the password","default":"x"}}}}',
        b'{"outputSchema":{"token":"string","$defs":{"secret":"x"}}}',
        b'{"_meta":{"progressToken":"abc"},"cursor":"eyJwIjoyfQ==","nextCursor":"x","requestState":"opaque"}',
        b'{"maxTokens":100,"model":"sk-model","usage":"token"}',
        b'{"id":1,"result":{"text":"the token count is 5, see password policy"}}',
        b'{"uri":"https://example.com/a?page=2#key","data":"iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4"}',
        b"[]",
        b"",
        b"{",
        b"banner",
        b"\xff",
    ],
)
def test_what_is_no_secret_is_the_very_same_object(raw: bytes) -> None:
    """Without secrets the very same bytes come back."""
    redactor = Redactor()

    assert redactor.json(raw) is raw
    assert 0 == redactor.table.count


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"see {GITHUB} now", "see mcpmock:secret:github:1 now"),
        ("github_pat_" + "a" * 30, "mcpmock:secret:github:1"),
        ("glpat-" + "a" * 20, "mcpmock:secret:gitlab:1"),
        ("sk-" + "a" * 24, "mcpmock:secret:sk:1"),
        ("key AKIAIOSFODNN7EXAMPLE.", "key mcpmock:secret:aws:1."),
        ("xoxb-1234567890-abc", "mcpmock:secret:slack:1"),
        *((f"a {one}{RANDOM} b", "a mcpmock:secret:token:1 b") for one in PREFIXES),
        (f"ATATT3xF{RANDOM}_=12", "mcpmock:secret:atlassian:1"),
        (
            f"https://hooks.slack.com/services/T0/B0/{RANDOM}",
            "https://hooks.slack.com/services/mcpmock:secret:webhook:1",
        ),
        (
            f"https://discord.com/api/webhooks/123/{RANDOM}?wait=1",
            "https://discord.com/api/webhooks/mcpmock:secret:webhook:1?wait=1",
        ),
        (
            "https://h/o?X-Amz-Signature=0a1b&x=1",
            "https://h/o?X-Amz-Signature=mcpmock:secret:signature:1&x=1",
        ),
        ("AIza" + "a" * 35, "mcpmock:secret:google:1"),
        (f"token {JWT}", "token mcpmock:secret:jwt:1"),
        ("Authorization: Bearer abcdefghijkl.mn", "Authorization: Bearer mcpmock:secret:bearer:1"),
        ("postgres://u:p4ss@host/db", "postgres://u:mcpmock:secret:userinfo:1@host/db"),
        ("https://x/y?token=abc&page=2", "https://x/y?token=mcpmock:secret:token:1&page=2"),
    ],
)
def test_formats_keep_their_surroundings(text: str, shown: str) -> None:
    """What looks like a secret is replaced wherever it stands, in the name of a member too, and the
    text around it stays. It is worth a closer look, also with slashes as PHP escapes them.
    """
    for result in ({"text": text}, {text: 1}, {"inside": json.dumps({text: {text: text}})}):
        raw = json.dumps({"id": 1, "result": result}).encode()

        assert raw.replace(text.encode(), shown.encode()) == Redactor().json(raw)
        assert Redactor().suspicious(raw.replace(b"/", b"\\/"))
    assert HOLE.sub(b"", shown.encode()) == HOLE.sub(b"", Redactor().text(text.encode()))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("<36>token<0>=<35>c0rrect-horse<0>", "c0rrect-horse"),
        ('<35>token<39>: <36>"c0rrect-horse"<39>', "c0rrect-horse"),
        ("<1;31>pass<4>word<0>: c0rrect-horse1<0>", "c0rrect-horse1"),
        ('<34>"apiKey"<39>:<32>"c0rrect-horse"<39>', "c0rrect-horse"),
        (f"got <32>{GITHUB}<0>, ok", GITHUB),
        (f"<38;5;9>{JWT}<0>", JWT),
        ("<33>sk-abcdefghijklmnopqrstu<0>", "sk-abcdefghijklmnopqrstu"),
    ],
)
def test_colors_hide_no_secret(text: str, secret: str) -> None:
    """Those of a terminal may stand before a secret, or between its name and its value; they stay.
    In a line of a log, in one that is no message, and in a text of a message.
    """
    colored = text.replace("<", "\x1b[").replace(">", "m")
    for line in (f"{colored}\n", f"2026 {colored}\n", json.dumps({"data": colored})):
        redactor = Redactor()
        message = line.startswith("{")
        assert not message or redactor.suspicious(line.encode())
        clean = (redactor.json if message else redactor.text)(line.encode()).decode()

        before, _, behind = line.partition(json.dumps(secret)[1:-1])
        assert clean.startswith(before + "mcpmock:secret:")
        assert clean.endswith(behind)
        assert secret not in clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see c0rrect-horse now", "see {}:1 now"),
        ("see c0rrect-horse77 now", "see {}:2 now"),
        ("c0rrect-horse77, c0rrect-horse", "{}:2, {}:1"),
        ("c0rrect-horse-7", "{}:1-7"),
    ],
)
def test_digits_behind_a_known_value(text: str, shown: str) -> None:
    """They belong to another value: behind a placeholder they would be a part of its number."""
    redactor = Redactor()
    redactor.json(b'{"password":"c0rrect-horse"}')
    shown = shown.replace("{}", "mcpmock:secret:password")

    assert f'{{"a":"{shown}"}}'.encode() == redactor.json(b'{"a":"%b"}' % text.encode())


def test_private_keys_keep_their_markers() -> None:
    """Of a private key the markers stay."""
    clean = Redactor().json(b'{"text":"%b"}' % PEM.encode())

    hidden = b"mcpmock:secret:private-key:1"
    expected = b"-----BEGIN RSA PRIVATE KEY-----%b-----END RSA PRIVATE KEY-----" % hidden
    assert b'{"text":"%b"}' % expected == clean


@pytest.mark.parametrize("scheme", ["Bearer ", "Basic ", ""])
def test_the_scheme_of_an_authorization_stays(scheme: str) -> None:
    """Of an authorization only the credentials go."""
    clean = Redactor().json(json.dumps({"Authorization": scheme + "abc"}).encode())

    assert (
        json.dumps({"Authorization": scheme + "mcpmock:secret:authorization:1"}).encode() == clean
    )


def test_the_same_value_gets_the_same_placeholder() -> None:
    """Placeholders count up in order of appearance; the same value, however spelled or named, gets
    the same one.
    """
    redactor = Redactor()
    first = redactor.json(b'{"token":"a\\/b","password":"other"}')
    second = redactor.json(b'{"secret":"a/b","pwd":"\\u006fther"}')

    assert b'{"token":"mcpmock:secret:token:1","password":"mcpmock:secret:password:2"}' == first
    assert b'{"secret":"mcpmock:secret:token:1","pwd":"mcpmock:secret:password:2"}' == second
    assert 4 == redactor.table.count


@pytest.mark.parametrize(
    "raw",
    [
        b'{"Authorization":"Bearer abcdefghijklmnop"}',
        b'{"token":"a","x":"https://u:p@h/?token=abc"}',
        b'{"text":"Bearer abcdefghijklmnop"}',
        b'{"text":"%b"}' % PEM.encode(),
    ],
)
def test_redacting_twice_changes_nothing(raw: bytes) -> None:
    """What is redacted already stays as it is."""
    redactor = Redactor()
    once = redactor.json(raw)

    assert once == redactor.json(once)
    assert once == Redactor().json(once)
    assert once == Redactor().text(once)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":"\\ud800","password":"hunter2"}',
        b'{"password":"hunter2","password":"hunter2"}',
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"token":"hunter2"}',
        b'{"a":NaN,"token":"hunter2"}',
        b'{"pass\\u0077ord":"hunter2"}',
        b'{"password" : "hunter2" , "x": 1 }',
        b'{"params":{"password":"hunter2","x',
        b'[{"token":["hunter2"]}]',
        b'{"token":"hunter2\\ud800"}',
        b'{"password"\t:"hunter2"}',
    ],
)
def test_odd_json(raw: bytes) -> None:
    """Secrets are found in JSON that parsers refuse, and in torn JSON up to the tear."""
    assert b"hunter2" not in Redactor().json(raw)


def test_a_torn_secret() -> None:
    """A line torn in the middle of a secret keeps no part of it, read as JSON and then as text."""
    redactor = Redactor()
    raw = b'{"params":{"password":"hunter2hunt'

    assert b"hunter" not in redactor.text(redactor.json(raw))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("API_KEY=abc rest", "API_KEY=mcpmock:secret:api-key:1 rest"),
        ('token: "abc" x', 'token: "mcpmock:secret:token:1" x'),
        ('PASSWORD="abc #d" x', 'PASSWORD="mcpmock:secret:password:1" x'),
        ('{"password": "abc"', '{"password": "mcpmock:secret:password:1"'),
        ("plain banner on port=3000", "plain banner on port=3000"),
        ("max_tokens=5", "max_tokens=5"),
        ("TOKEN=%ff%00abc x", "TOKEN=mcpmock:secret:token:1 x"),
        ("password=a password=b password=a", "password={p}:1 password={p}:2 password={p}:1"),
        ("url?token=abc", "url?token={t}"),
        ("https://u:token=abc12345@h/x", "https://u:token=mcpmock:secret:token:1"),
    ],
)
def test_text(text: str, shown: str) -> None:
    """In text that is no JSON, assignments to secret names are found too, each value once."""
    clean = Redactor().text(text.encode()).decode()
    shown = shown.replace("{p}", "mcpmock:secret:password")

    assert shown.replace("{t}", clean.rpartition("=")[2]) == clean
    assert "abc" not in clean


@pytest.mark.parametrize(
    "raw",
    [
        '[[["T"]]]', '[[[7,"T"]]]', '[[],[["T"]]]', '[[["T"', '[{"a":1},[["T"]]]',
        '[[[[[["T"]]]]]]', '{"a":"[[[\\"T\\"]]]"}', '{"a":"x [[[\\"T\\"]]]"}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("rules", [{}, {"key": ["a"]}, {"path": ["$..a"]}])
def test_lists_in_lists(raw: str, rules: dict[str, list[str]]) -> None:
    """No member names what stands in them."""
    redactor = Redactor(RedactionRules.parse(**rules))
    assert GITHUB.encode() not in redactor.frame(Frame(S2C, raw.replace("T", GITHUB).encode())).raw


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["srv", "--api-key", "abc", "x"], ["srv", "--api-key", "mcpmock:secret:api-key:1", "x"]),
        (["--api-key=abc"], ["--api-key=mcpmock:secret:api-key:1"]),
        (["env", "API_KEY=abc", "srv"], ["env", "API_KEY=mcpmock:secret:api-key:1", "srv"]),
        (
            ["docker", "-e", "GITHUB_TOKEN=abc"],
            ["docker", "-e", "GITHUB_TOKEN=mcpmock:secret:token:1"],
        ),
        (["--env=API_KEY=abc"], ["--env=API_KEY=mcpmock:secret:api-key:1"]),
        (["--token", "--verbose", "x"], ["--token", "--verbose", "x"]),
        (["--auth=token", "x"], ["--auth=token", "x"]),
        (["postgres://u:abc@h/db"], ["postgres://u:mcpmock:secret:userinfo:1@h/db"]),
        (["https://h/?token=abc&b=c"], ["https://h/?token=mcpmock:secret:token:1&b=c"]),
        (
            ["--url=http://h:80/?b=c&token=abc"],
            ["--url=http://h:80/?b=c&token=mcpmock:secret:token:1"],
        ),
        (
            ["redis://h:6379?password=abc&b=c"],
            ["redis://h:6379?password=mcpmock:secret:password:1&b=c"],
        ),
        (["jdbc:x://h;password=abc"], ["jdbc:x://h;password=mcpmock:secret:password:1"]),
        (["--token=https://h/?b=c"], ["--token=mcpmock:secret:token:1"]),
        (["--token:https://h/?b=c"], ["--token:mcpmock:secret:token:1"]),
        (["--b=//h/?token=abc"], ["--b=//h/?token=mcpmock:secret:token:1"]),
        (["--header", f"X: {GITHUB}"], ["--header", "X: mcpmock:secret:github:1"]),
        (['{"token":"abc"}'], ['{"token":"mcpmock:secret:token:1"}']),
        (["--credentials", '{"pin":"abc"}'], ["--credentials", "mcpmock:secret:credentials:1"]),
        (["--api-key", '["abc"]'], ["--api-key", "mcpmock:secret:api-key:1"]),
        ([r'[{"to\u006ben":"abc"}]'], [r'[{"to\u006ben":"mcpmock:secret:token:1"}]']),
        (['{"a":{"token":"abc"'], ['{"a":{"token":mcpmock:secret:token:1']),
        (
            ["--x=mcpmock:secret:token:4", "--token=abc"],
            ["--x=mcpmock:secret:token:4", "--token=mcpmock:secret:token:5"],
        ),
        *(
            (["sh", "-c", line.replace("?", "abc")], ["sh", "-c", line.replace("?", "HOLE:1")])
            for line in (
                "srv --password ? -v",
                "srv --password=?",
                "cd x && srv --password '?'; ls",
                'srv --db-password "?" http://h/',
                "srv -password ?\nls",
            )
        ),
        (
            ["sh", "-c", "srv --password --max-tokens 5"],
            ["sh", "-c", "srv --password --max-tokens 5"],
        ),
        (["sh", "-c", "my-password x"], ["sh", "-c", "my-password x"]),
        (["npx", "-y", "srv", "--max-tokens", "5"], ["npx", "-y", "srv", "--max-tokens", "5"]),
        ([], []),
    ],
)
def test_argv(argv: list[str], shown: list[str]) -> None:
    """Of a command line the values of secret options and variables go, and nothing else; also of
    one that is a word of another.
    """
    hidden = [word.replace("HOLE", "mcpmock:secret:password") for word in shown]
    assert hidden == Redactor().argv(argv)


SECRET_VALUES = [
    "hunter2", "", "plain", GITHUB, f"x {JWT}", "https://u:p@h/", "h?token=abc",
    "Bearer " + "a" * 20, "é\n", "AKIAIOSFODNN7EXAMPLE",
    "glpat-" + "z" * 20, "AIza" + "z" * 35, "xoxp-1234567890",
    "sk-" + "z" * 20,
]  # fmt: skip
COLONS = [":", ": ", " :", " : ", "\t:", " \t:"]


@st.composite
def json_strings(draw: st.DrawFn, values: list[str]) -> str:
    """A JSON string in one of its spellings."""
    text = draw(st.sampled_from(values))
    escaped = draw(st.sets(st.integers(0, max(len(text) - 1, 0)), max_size=3))
    spelled = [
        f"\\u{ord(character):04x}" if place in escaped else json.dumps(character)[1:-1]
        for place, character in enumerate(text)
    ]
    return '"' + "".join(spelled) + '"'


MEMBERS = st.builds(
    "{}{}{}".format,
    json_strings([*SECRET_NAMES, *ORDINARY_NAMES]),
    st.sampled_from(COLONS),
    json_strings(SECRET_VALUES),
)
MESSAGES = st.lists(MEMBERS, min_size=1, max_size=3).map(
    lambda members: ("{" + ",".join(members) + "}").encode()
)


@given(MESSAGES)
def test_suspicious_never_misses_what_the_rules_find(raw: bytes) -> None:
    """Whatever the rules would replace, in whatever spelling, is worth a closer look."""
    redactor = Redactor()

    assert redactor.json(raw) == raw or redactor.suspicious(raw)


PIECES = st.sampled_from([
    b"{", b"}", b"[", b"]", b'"', b"'", b"\\", b"\\u", b"\\u00", b"\\ud83d", b"%", b"%2", b"%7B",
    b"=", b":", b",", b" ", b"\n", b"\xff", b"\xc3", b"a", b"password", b"token",
    b"hunter2-hunter2", b"-----BEGIN PRIVATE KEY-----", b"-----END", b"eyJwYXNzd29yZCI6ImEifQ==",
    b"QVBJX0tFWT1hYmNkZWZnaA", b"Basic ", b"Bearer ", b"//u:p@h", b"mcpmock:secret:token:1",
    b"ghp_",
])  # fmt: skip


@given(st.lists(PIECES, max_size=24).map(b"".join))
def test_nothing_that_a_peer_sends_breaks_it(raw: bytes) -> None:
    """Whatever the bytes are, they can be redacted as each kind of frame, and again."""
    redactor = Redactor()
    redactor.learn({"token": "hunter2-hunter2"})
    once = redactor.json(raw)
    redactor.frame(Frame(S2C, once, b"", Stderr()))
    redactor.frame(Frame(S2C, once, fact=HttpBody(), exchange=1))
    redactor.head(HttpRequest("GET", raw.decode("utf-8", "surrogateescape"), []))
    redactor.argv([raw.decode("utf-8", "surrogateescape")])
    clean = redactor.text(once)

    assert b"hunter2-hunter2" not in clean
    fill(clean, {"mcpmock:secret:token:1": "x"})


@given(MESSAGES)
def test_every_other_byte_stays(raw: bytes) -> None:
    """Only values change: with them put back, the message is the one it was, and still the same
    structure.
    """
    clean = Redactor().json(raw)
    pattern = b"(.+?)".join(re.escape(part) for part in HOLE.split(clean))

    assert re.fullmatch(pattern, raw, re.S)
    assert list(json.loads(raw)) == list(json.loads(clean))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"text":"' + b"eyJ-" * 10_000 + b'"}',
        b'{"text":"' + b"eyJaaaaaaaa." * 4_000 + b'"}',
        b'{"text":"' + b"-----BEGIN PRIVATE KEY-----" * 2_000 + b'"}',
        b'{"text":"' + b"a://b:" * 8_000 + b'"}',
        b'{"text":"' + b"?token=" * 8_000 + b'"}',
        b'{"text":"' + b"sk-" * 15_000 + b'"}',
        b'{"text":"' + b"-ATATT3" * 7_000 + b'"}',
        b'{"a":"x","token":' * 5_000 + b'"hunter2"' + b"}" * 5_000,
        b'{"text":"' + b'\\"token\\":\\"a\\",' * 4_000,
        b"key=" * 10_000,
        b'abc="' * 10_000,
    ],
    ids=lambda raw: raw[:24].decode(),
)
def test_rules_cost_linear_time(raw: bytes) -> None:
    """Adversarial text of some 50 kB is looked through in far less than a second."""
    began = process_time()
    redactor = Redactor()
    redactor.suspicious(raw)
    redactor.text(redactor.json(raw))

    assert process_time() - began < 0.5


def test_values_of_placeholders() -> None:
    """They are secrets of that kind; a number is one only where its name is."""
    redactor = Redactor()
    redactor.learn_bindings(
        {"mcpmock:secret:api-key:7": "of 9f8e7d6c", "mcpmock:secret:pin-number:2": "4081792263"}
    )

    said = redactor.text(b"said of 9f8e7d6c to 4081792263")
    assert b"said mcpmock:secret:api-key:1 to 4081792263" == said
