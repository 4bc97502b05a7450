"""Secrets in a cassette that is recorded already."""

from __future__ import annotations

import json

import pytest

from mcpmock.cassette.parser import read
from mcpmock.cassette.validate import inspect
from mcpmock.errors import Level
from mcpmock.redaction.cassettes import (
    LineReviser,
    SecretFound,
    redact_cassette,
    scan_cassette,
    with_rules,
)
from mcpmock.redaction.redaction_rules import NO_OWN_RULES, RedactionRules
from mcpmock.redaction.redactor import RULES, Redactor
from tests.support import c, call, cassette_bytes
from tests.support.sealed import sealed

HEADER = (
    b'{"mcpmock":1,"tool":"t","transport":"stdio","target":["srv","--token","hunter2hunter2"],'
    b'"redaction":"off","own":[1]}\n'
)
CLEAN_HEADER = b'{"mcpmock":1,"tool":"t","transport":"stdio","target":["srv"]}\n'
EARLY = b'{"n":1,"t":5,"d":"s2c","m":{"id":1,"result":{"a":["hunter2hunter2"]}},"own":2}\n'
NAMED = b'{"n":2,"t":6,"d":"c2s","m":{"id":1,"params":{"pwd":"pa55word-x"}},"eol":"\\r\\n"}\n'
HEAD = (
    b'{"n":3,"t":7,"x":1,"d":"c2s","http":{"method":"GET","target":"/?q=pa55word-x",'
    b'"headers":[["Authorization","Bearer abcdefgh12345"]]}}\n'
)
BINARY = b'{"n":4,"t":8,"d":"s2c","b64":"/3BhNTV3b3JkLXj+"}\n'
STDERR = b'{"n":5,"t":9,"stderr":"TOKEN=abcdefgh12345\\n"}\n'
CLEAN = b'{"n":6,"t":10,"d":"s2c","m":{"id":1,"result":{}}}\n'
DATA = sealed(HEADER + EARLY + NAMED + HEAD + BINARY + STDERR + CLEAN)


def test_a_scan_says_where_and_of_which_kind() -> None:
    """Each place with its line, its take, its event and its path, and a value that is only known
    from elsewhere as well.
    """
    found = scan_cassette(DATA)

    assert [
        SecretFound(1, 1, 0, "", "token"),
        SecretFound(2, 1, 1, "$.result.a[0]", "token"),
        SecretFound(3, 1, 2, "$.params.pwd", "pwd"),
        SecretFound(4, 1, 3, "$.http.Authorization", "authorization"),
        SecretFound(4, 1, 3, "$.http.target", "pwd"),
        SecretFound(5, 1, 4, "", "pwd"),
        SecretFound(6, 1, 5, "", "token"),
    ] == sorted(found, key=lambda secret: (secret.line, secret.path))
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("params", "paths"),
    [
        ('{"%s":1}', [""]),
        ('{"%s":{"token":"c0rrect-horse"}}', ["$.params.mcpmock:secret:github:2.token", ""]),
        ('{"m":[{"a b %s":["%s"]}]}', ["$.params.m[0].a b mcpmock:secret:github:1[0]", ""]),
    ],
)
def test_a_scan_shows_no_secret_of_a_name(params: str, paths: list[str]) -> None:
    """The names on the way to a secret may be secrets themselves."""
    filled = params.replace("%s", "ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    line = f'{{"n":1,"t":0,"d":"c2s","m":{{"method":"x","params":{filled}}}}}\n'

    assert paths == [one.path for one in scan_cassette(CLEAN_HEADER + line.encode())]


def test_redacting_replaces_them_and_nothing_else() -> None:
    """Unknown keys, times, line ends and order stay; the take says how it is redacted and is
    sealed again.
    """
    done = redact_cassette(DATA)

    assert 5 == done.events
    assert [] == scan_cassette(done.data)
    lines = done.data.splitlines()
    assert b'"redaction":{"rules":%d},"own":[1]}' % RULES in lines[0]
    assert (
        b'{"n":1,"t":5,"d":"s2c","m":{"id":1,"result":{"a":["mcpmock:secret:token:1"]}},'
        b'"redacted":true,"own":2}'
    ) == lines[1]
    assert (
        b'{"n":2,"t":6,"d":"c2s","m":{"id":1,"params":{"pwd":"mcpmock:secret:pwd:2"}},'
        b'"eol":"\\r\\n","redacted":true}'
    ) == lines[2]
    assert CLEAN.rstrip() == lines[6]
    [take] = read("", done.data).takes
    assert (True, 5) == (take.sealed, take.footer and take.footer.redacted)
    assert [] == [f for f in inspect(done.data).findings if f.level is Level.ERROR]
    assert done.data == redact_cassette(done.data).data


def test_a_value_that_is_named_later() -> None:
    """It is found in front of its name too, and goes; a header has no mark of what went from it."""
    header = b'{"mcpmock":1,"target":["srv","correct horse battery"]}\n'
    lines = [
        b'{"n":1,"t":0,"d":"s2c","m":{"result":{"a":"correct horse battery"}}}\n',
        b'{"n":2,"t":0,"d":"c2s","m":{"token":"correct horse battery"}}\n',
    ]
    data = sealed(header + b"".join(lines))
    done = redact_cassette(data).data.splitlines()

    assert [1, 2, 3] == [found.line for found in scan_cassette(data)]
    assert done[0].startswith(b'{"mcpmock":1,"target":["srv","mcpmock:secret:token:1"],"redaction"')
    assert [False, True, True] == [b'"redacted":true' in line for line in done[:3]]


def test_placeholders_that_are_there_keep_their_numbers() -> None:
    """A new placeholder is none of those that the cassette has."""
    old = b'{"n":1,"d":"c2s","m":{"token":"mcpmock:secret:token:7"}}\n'
    new = b'{"n":2,"d":"c2s","m":{"token":"abcdefgh12345"}}\n'
    done = redact_cassette(sealed(b'{"mcpmock":1}\n' + old + new))

    tokens = [
        json.loads(event.payload or b"")["token"] for event in read("", done.data).takes[0].events
    ]
    assert ["mcpmock:secret:token:7", "mcpmock:secret:token:8"] == tokens


def test_a_secret_inside_a_text() -> None:
    """It is at the path of the text, a number too."""
    rules = RedactionRules.parse(["owner"])
    text = '{"owner":"Ada","a":{"owner":7},"token":"abcdefgh12345"}'
    found = scan_cassette(cassette_bytes(c(call(1, "t", note=text))), rules)

    assert {"$.params.arguments.note"} == {secret.path for secret in found}
    assert ["owner", "owner", "token"] == sorted(secret.kind for secret in found)


def test_a_value_that_a_later_line_tells() -> None:
    """It goes from lines before, whatever was redacted in them already, by rules of users too."""
    early = call(1, "t", password="pa55word-x", note="of abcdefgh12345 and Lovelace-7")
    late = call(2, "t", token="abcdefgh12345", owner="Lovelace-7")
    rules = RedactionRules.parse(["owner"])
    done = redact_cassette(cassette_bytes(c(early), c(late)), rules)

    assert 2 == done.data.count(b',"redacted":true}')
    assert 2 == done.data.count(b'"redacted"') - done.data.count(b'"footer"')
    assert [] == scan_cassette(done.data, rules)
    assert b"Lovelace" not in done.data


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        (f'"{name}":"of Lovelace-7"', f'"{name}":"of mcpmock:secret:owner:1"')
        for name in ("text", "stderr", "body")
    ]
    + [
        ('"m":{"result":{"a":"Lovelace-7"}}', '"m":{"result":{"a":"mcpmock:secret:owner:1"}}'),
        ('"m":{"method":"Lovelace-7"}', '"m":{"method":"Lovelace-7"}'),
        ('"sse":{"id":"Lovelace-7"}', '"sse":{"id":"Lovelace-7"}'),
    ],
)
@pytest.mark.parametrize("others", [0, 100])
def test_a_value_of_a_user_goes_from_content(members: str, kept: str, others: int) -> None:
    """What the protocol needs stays, although it has the same letters."""
    redactor = Redactor(RedactionRules.parse(["owner"]))
    redactor.json(call(1, "t", owner=[*(f"other-{n:04}" for n in range(others)), "Lovelace-7"]))
    kept = kept.replace("owner:1", f"owner:{others + 1}")
    revised = redactor.known_in_line(b'{"n":1,"t":0,%b}' % members.encode())

    assert b'{"n":1,"t":0,%b}' % kept.encode() == revised


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        ('"x":1,"d":"c2s","http":{"method":"GET","target":"/?q=Lovelace-7","headers":'
         '[["X-A","of Lovelace-7"],["Mcp-Name","Lovelace-7"]]}',
         '"x":1,"d":"c2s","http":{"method":"GET","target":"/?q=@","headers":'
         '[["X-A","of @"],["Mcp-Name","Lovelace-7"]]}'),
        ('"x":1,"d":"s2c","http":{"status":200,"reason":"","headers":[["X-A","Lovelace-7"]]}',
         '"x":1,"d":"s2c","http":{"status":200,"reason":"","headers":[["X-A","@"]]}'),
        ('"d":"s2c","b64":"/0xvdmVsYWNlLTc="',
         '"d":"s2c","b64":"/21jcG1vY2s6c2VjcmV0Om93bmVyOjE="'),
        ('"d":"s2c","fault":{"kind":"drop","raw":"x"}', None),
        ('"x":1,"d":"s2c","http":{"status":200,"reason":"","headers":[["X-A","Turing-7"]]}', None),
    ],
)  # fmt: skip
def test_a_value_of_a_user_goes_from_heads_and_bytes(event: str, kept: str | None) -> None:
    """Once it is known; the fields of the protocol stay."""
    redactor = Redactor(RedactionRules.parse(["owner"]))
    redactor.json(call(1, "t", owner="Lovelace-7"))
    line = f'{{"n":1,"t":0,{event}}}\n'.encode()
    revised = LineReviser(redactor).revise(line)

    if kept is None:
        assert line is revised
    else:
        kept = kept.replace("@", "mcpmock:secret:owner:1")
        assert f'{{"n":1,"t":0,{kept},"redacted":true}}\n'.encode() == revised


def test_a_known_value_goes_from_names() -> None:
    """As from texts."""
    redactor = Redactor()
    redactor.json(call(1, "t", token="hunter2-hunter2"))
    line = b'{"n":1,"t":0,"d":"c2s","m":{"result":{"hunter2-hunter2":1}}%b}\n'
    revised = LineReviser(redactor).revise(line % b"")

    shown = line.replace(b"hunter2-hunter2", b"mcpmock:secret:token:1")
    assert shown % b',"redacted":true' == revised


@pytest.mark.parametrize(
    ("message", "rule", "paths"),
    [
        (call(1, "t", a={"pin": 12345678}, b=[12345678]), {"key": ["pin"]},
         ["$.params.arguments.a.pin", "$.params.arguments.b[0]"]),
        (call(1, "t", a={"pin": 12345678}), {"path": ["$.arguments.a.pin"]},
         ["$.params.arguments.a.pin"]),
        (b'{"id":1,"result":{"pin":12345678}}', {"key": ["pin"]}, ["$.result.pin"]),
    ],
)  # fmt: skip
def test_where_a_number_stands(
    message: bytes, rule: dict[str, list[str]], paths: list[str]
) -> None:
    """One that a rule names, and the same again."""
    line = b'{"n":1,"t":0,"d":"c2s","m":%b}\n' % message
    found = scan_cassette(CLEAN_HEADER + line, RedactionRules.parse(**rule))

    assert paths == [one.path for one in found]


def test_what_is_recorded_of_a_fault() -> None:
    """It is redacted, although it is no message."""
    receipt = b'{"n":2,"t":6,"d":"c2s","fault":{"kind":"drop","drawn":{"token":"abcdefgh12345"}}}\n'

    assert [(2, "token")] == [
        (one.event, one.kind) for one in scan_cassette(CLEAN_HEADER + receipt)
    ]
    done = redact_cassette(CLEAN_HEADER + receipt)
    assert receipt.replace(b"abcdefgh12345", b"mcpmock:secret:token:1") in done.data


def test_which_lines_keep_a_known_value() -> None:
    """Those in which it is no string."""
    redactor = Redactor()
    redactor.json(call(1, "t", token="12345678"))
    reviser = LineReviser(redactor)
    for number, value in enumerate(("12345678", 12345678, "x"), 1):
        reviser.revise(b'{"n":%d,"t":0,"d":"c2s","m":%b}' % (number, call(1, "t", a=value)))

    assert {2} == reviser.suspects


def test_the_rules_in_a_header_add_up() -> None:
    """What was said stays; a header that says it already stays as it is."""
    once = with_rules(b'{"mcpmock": 1}', RedactionRules.parse(["a"], path=["$.x"]))
    twice = with_rules(once, RedactionRules.parse(["b", "a"]))

    own = json.loads(twice)["redaction"]["own"]
    assert (["a", "b"], ["$.params.x"]) == (own["keys"], own["paths"])
    odd = b'{"mcpmock": 1, "redaction": {"rules": %d}}' % RULES
    assert odd == with_rules(odd, NO_OWN_RULES)
    header = b'{"mcpmock":1,"redaction":{"rules":%d,"own":{"keys":["a"]}}}'
    assert header % RULES == with_rules(header % 1, NO_OWN_RULES)


def test_damage_is_scanned_as_text() -> None:
    """A line that no reader takes may hold a secret too."""
    data = b'{"mcpmock":1}\n{"n":1,"oops":"x","token":"abcdefgh12345"\n' + EARLY

    assert SecretFound(2, 0, 0, "", "token") in scan_cassette(data)
    clean = b'{"mcpmock":1}\n{"n":1,"oops":"token=abcdefgh12345"\n{"n":2,"oops"\n'
    assert [SecretFound(2, 0, 0, "", "token")] == scan_cassette(clean)


@pytest.mark.parametrize("before", [b"", b"\n", b'{"mcpmock":\n'])
def test_a_take_whose_header_is_lost(before: bytes) -> None:
    """Its events are scanned, and redacted, as those of any other."""
    [found] = scan_cassette(before + NAMED)

    assert (2 if before else 1, 1, 2, "$.params.pwd") == (
        found.line, found.take, found.event, found.path
    )  # fmt: skip
    assert b"pa55word-x" not in redact_cassette(before + NAMED).data


def test_the_url_of_a_header() -> None:
    """It loses its secrets as a URL does."""
    header = (
        b'{"mcpmock":1,"tool":"t","transport":"sse","target":"https://h.example/x?token=abc"}\n'
    )
    [line] = redact_cassette(header).data.splitlines()

    target = json.loads(line)["target"]
    assert "https://h.example/x?token=mcpmock:secret:token:1" == target
