"""Where secrets stand in text. That `suspicious` never misses what is found is in test_redactor."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

import pytest

from mcpmock.protocol.raw_json import Span
from mcpmock.redaction.redactor import Redactor
from mcpmock.redaction.secret_formats import (
    assignments,
    formats,
    settings,
    suspicious,
    without_scheme,
)
from mcpmock.redaction.secret_names import SECRET_ENDINGS, kind_of_name
from tests.support.every import covering


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"see ghp_" + b"a" * 36, [(b"ghp_" + b"a" * 36, "github")]),
        (b"https://u:pw@h/?token=abc", [(b"pw", "userinfo"), (b"abc", "token")]),
        (b"nothing", []),
    ],
)
def test_formats(text: bytes, found: list[tuple[bytes, str]]) -> None:
    """What looks like a secret is found with its kind, a part of a text alone being looked at."""
    whole = Span(0, len(text))

    assert found == [(text[span.start : span.end], kind) for span, kind in formats(text, whole)]
    assert [] == list(formats(text, Span(0, 3)))


@pytest.mark.parametrize("sign", ":=")
def test_a_name_behind_a_sign(sign: str) -> None:
    """It is the name of a secret whatever stands in front of the sign: `next` is another name."""
    text = f'x \\"next{sign}token\\": \\"hunter2hunter2\\"'
    raw = json.dumps({"a": text}).encode()

    assert suspicious(raw)
    assert b"hunter2" not in Redactor().json(raw)
    assert not suspicious(raw.replace(f"next{sign}".encode(), b"next_"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"API_KEY=abc max_tokens=5", [(b"abc", "api-key")]),
        (b'{"password": "a b"', [(b"a b", "password")]),
        (b"token='Bearer abc'", [(b"abc", "token")]),
        (rb"x \"token\": \"abc\", \"next\": \"a\"", [(b"abc", "token")]),
        (rb"x \'token\' = \'a b\'", [(b"a b", "token")]),
    ],
)
def test_assignments(text: bytes, found: list[tuple[bytes, str]]) -> None:
    """What is assigned to a secret's name is found without its quotes and its scheme."""
    assert found == [(text[span.start : span.end], kind) for span, kind in assignments(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"API_KEY=a;b # c", [b"a;b"]),
        (b'API_KEY="a #b" # c', [b"a #b"]),
        (b"x API_KEY=ab", []),
        (b"API_KEY=c0rrect-horse server --port 80", [b"c0rrect-horse"]),
        (b"--api-key=c0rrect-horse", [b"c0rrect-horse"]),
        (b"run --api-key c0rrect-horse now", [b"c0rrect-horse"]),
        (b"run --api-key='c0rrect-horse' now", [b"c0rrect-horse"]),
        (b"--token TOKEN  the token of the user", []),
        (b"the --password option", []),
        (b"cd /x && export API_KEY=Zq7mW3xKp9LtR2vB && run", [b"Zq7mW3xKp9LtR2vB"]),
        (b"curl -H 'X-Api-Key: Zq7mW3xKp9LtR2vB' url", [b"Zq7mW3xKp9LtR2vB"]),
        (b"invalid token: Zq7mW3xKp9LtR2vB", [b"Zq7mW3xKp9LtR2vB"]),
        (b"Server=h;Password=Zq7mW3xKp9LtR2vB;Database=d", [b"Zq7mW3xKp9LtR2vB"]),
        (b'const apiKey = "c0rrect-horse";', [b"c0rrect-horse"]),
        (b"login(user='u', password='c0rrect-horse')", [b"c0rrect-horse"]),
        (b"x token=accessToken2FromConfig", []),
        (b"f(token=self.token2, password=get_password_2())", []),
        (b'the label.password = "Your password"', []),
        (b"https://h/?access_key=abc&page=2", [b"abc"]),
        (b"https://h/?page_token=abc&key=def", []),
        (b'password: "of the house"', [b"of the house"]),
        (b"password = 'of the house'", [b"of the house"]),
        (b"db_password=correct-horse", [b"correct-horse"]),
        (b"db_password=the one you have", []),
        (b"DB_PASSWORD=the one you have", [b"the one you have"]),
        (b"password = correct-horse", []),
        (b"password: correct-horse", []),
        (b"password: c0rrect-horse", [b"c0rrect-horse"]),
        (b"Cookie: sid=a b; path=/", [b"sid=a b; path=/"]),
        (b"Cookie: of chocolate", []),
        (b"password: of n = 5 letters", []),
        *((b"API_KEY=" + value, []) for value in (b"${KEY}", b"None", b"API_KEY", b"null")),
    ],
)
def test_settings(text: bytes, found: list[bytes]) -> None:
    """What is assigned on a line of its own is found, unless it is code."""
    assert found == [*dict.fromkeys(text[slice(*span)] for span, _ in settings(text))]


def test_a_scheme_is_no_secret() -> None:
    """Of an authorization the scheme is left out, unless nothing follows."""
    assert Span(7, 10) == without_scheme(b"Bearer abc", Span(0, 10))
    assert Span(0, 7) == without_scheme(b"Bearer ", Span(0, 7))


@pytest.mark.parametrize(
    ("data", "worth"),
    [
        (b'{"password":"x"}', True),
        (b'{"password":1}', False),
        (b'{"API_KEY"  : "x"}', True),
        (b'{"text":"{\\\\\\"apiKey_\\\\\\":\\\\\\"x\\\\\\"}"}', True),
        (b'{"progressToken":1}', False),
        (b'{"progressToken":1,"token":["x"]}', True),
        (b'{"text":"in progress, the token: x"}', True),
        (b'{"a":"' + b"x" * (1 << 20) + b'","password":"x"}', True),
        (b'{"text":"the password"}', False),
    ],
)
def test_what_is_worth_a_closer_look(data: bytes, worth: bool) -> None:
    """Names of secrets with strings behind them are, wherever they stand in a long text."""
    assert worth is suspicious(data)


SUFFIXES = [
    "",
    "_",
    " ",
    "/",
    ":",
    "=",
    "[]",
    "()",
    "!",
    "?",
    "\u00e9",
    "\u2028",
    "\u00df/",
    "\\n",
    "\\t",
]
"""What is no part of the words of a name and may end it."""


@pytest.mark.parametrize("suffix", SUFFIXES, ids=ascii)
def test_every_name_of_a_secret_is_worth_a_closer_look(suffix: str) -> None:
    """Whatever joins its words and ends it, and in each notation."""
    joined: list[Callable[[str], str]] = [str, str.upper, lambda name: f"my_{name}"]
    joins = ["_", " ", "-", ".", "/", "@", "\u00b7"]
    for words, join, end, write in covering(3, sorted(SECRET_ENDINGS), joins, SUFFIXES, joined):
        if end != suffix:
            continue
        name = write(join.join(words))
        if kind_of_name(f"{name}{suffix}") is None:
            continue
        named = {f"{name}{suffix}": "hunter22"}
        line, escaped = json.dumps(named, ensure_ascii=False), json.dumps(named)
        for text in (line, escaped, json.dumps({"text": line}), json.dumps({"text": escaped})):
            assert suspicious(text.encode()), text
            assert b"hunter22" not in Redactor().json(text.encode()), text


@pytest.mark.parametrize(
    "name",
    [
        *("location", "description", "version", "action", "session", "permission", "monkey"),
        *(
            "key",
            "keyword",
            "my_key",
            "turkey",
            "tokens",
            "maxTokens",
            "tokenizer",
            "nextPageToken",
        ),
        *("page_token", "progressToken", "designToken", "string", "substring", "assertion"),
        *("secretary", "cookies", "bearers", "otpauth", "laptop", "code", "qrcode"),
    ],
)
def test_names_that_end_like_one_are_not(name: str) -> None:
    """Messages full of them cost no closer look; that of `key` and of tokens that give no access
    ends at the name.
    """
    for line in (
        f'{{"{name}":"x"}}',
        f'{{"a":"{{\\"{name}\\": \\"x\\"}}"}}',
        f"{name}=x\n{name}: x",
    ):
        assert not suspicious(line.encode()), line


def test_names_decide() -> None:
    """A string is worth a closer look if and only if its name is that of a secret, whatever the
    words of the name, their case, and what joins them.
    """
    dice = random.Random(37)
    words = [
        *sorted({word for words in SECRET_ENDINGS for word in words}),
        "next",
        "page",
        "progress",
    ]
    words += ["location", "description", "version", "x", "monkey", "design"]
    for _ in range(3000):
        name = ""
        for _ in range(dice.randint(1, 3)):
            word = dice.choice(words)
            spellings = [word, word, word.upper(), word.title(), word[:2].upper() + word[2:]]
            name += dice.choice(spellings) + dice.choice(["", "", "_", "-", ".", "/", "\u00e9"])
        if re.search("eyJ|[0-9A-Za-z]{20}", name):
            continue  # may be a token, or base64
        secret = kind_of_name(name) is not None
        for line in (f'{{"{name}":"x"}}', f'{{"a":1,"{name}" : ["x"]}}', f"{name}='x'"):
            assert secret is suspicious(line.encode()), line
