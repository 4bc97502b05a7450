"""What of a frame may be kept: heads and bodies of HTTP, beside messages."""

from __future__ import annotations

import re
from base64 import b64encode
from time import process_time

import pytest

from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Fact,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
    Stderr,
)
from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.redaction.redactor import Redactor

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("raw", "fact"),
    [
        (b"", HttpRequest("POST", "/mcp?a=1", [("Host", "h:1"), ("Accept", "*/*")])),
        (b"", HttpResponse(401, "", [("WWW-Authenticate", 'Bearer realm="a"')])),
        (b"<html>", HttpBody()),
        (b"", SseMeta(id="sk-" + "a" * 30, event="token", comment="still here")),
        (b"", ExchangeEnd()),
        (b"plain", Stderr()),
        (b'{"id":1,"result":{"code":"a","state":"b"}}', None),
        (b"/message", None),
    ],
)
def test_without_secrets_it_is_the_very_same_object(raw: bytes, fact: Fact | None) -> None:
    """A frame with nothing to hide is kept as it is."""
    redactor = Redactor()
    frame = Frame(S2C, raw, fact=fact, exchange=7)

    assert redactor.frame(frame) is frame
    assert 0 == redactor.table.count


@pytest.mark.parametrize(
    "result",
    [
        "{'a':None,'password':'hunter2'}",
        "{'password':\"hunter2\"}",
        '{"a":1,/*b*/"password":"hunter2"}',
        '{a:1,password:"hunter2"}',
        "{a:1, password: 'hunter2' }",
        '{"a":None,"password":"hunter2"}',
        '{"a":"\t","password":"hunter2"}',
        '{"a":1 "password":"hunter2"}',
    ],
)
@pytest.mark.parametrize("exchange", [None, 7])
def test_messages_that_are_not_json(result: str, exchange: int | None) -> None:
    """Servers print objects of Python and of JavaScript; these are read as text."""
    raw = b'{"jsonrpc":"2.0","id":1,"result":%b}' % result.encode()
    kept = Redactor().frame(Frame(S2C, raw, exchange=exchange))

    assert raw.replace(b"hunter2", b"mcpmock:secret:password:1") == kept.raw


def test_what_a_redacted_frame_keeps() -> None:
    """Its direction, end, exchange, and how its body was encoded."""
    frame = Frame(S2C, b'{"token":"abc"}', b"", exchange=7)
    frame.decoded = "gzip"
    kept = Redactor().frame(frame)

    assert b'{"token":"mcpmock:secret:token:1"}' == kept.raw
    assert (S2C, b"", 7, "gzip") == (kept.direction, kept.eol, kept.exchange, kept.decoded)


def test_a_head_loses_its_secrets_and_nothing_else() -> None:
    """Names, order and repetitions of the fields stay, and so does the frame that crosses."""
    headers = [("b", "1"), ("AUTHORIZATION", f"Bearer {JWT}"), ("b", "2"), ("X", f"see {JWT}")]
    head = HttpRequest("POST", "/mcp?key=abc", headers)
    frame = Frame(C2S, fact=head, exchange=7)
    redactor = Redactor()
    kept = redactor.frame(frame)

    hidden = "mcpmock:secret:authorization:1"
    expected = [
        ("b", "1"),
        ("AUTHORIZATION", f"Bearer {hidden}"),
        ("b", "2"),
        ("X", f"see {hidden}"),
    ]
    assert HttpRequest("POST", "/mcp?key=mcpmock:secret:key:2", expected) == kept.fact
    assert (C2S, b"\n", 7, head, 3) == (
        kept.direction,
        kept.eol,
        kept.exchange,
        frame.fact,
        redactor.table.count,
    )


@pytest.mark.parametrize(
    ("raw", "fact"),
    [
        (b"", SseMeta(event="mcpmock:secret:token:7")),
        (b"", SseMeta(id="mcpmock:secret:token:7")),
        (b"", SseMeta(comment="mcpmock:secret:token:7")),
        (b"", HttpRequest("GET", "/?token=mcpmock:secret:token:7", [])),
        (b"", HttpResponse(200, "", [("Authorization", "mcpmock:secret:token:7")])),
        (b"mcpmock:secret:token:7", HttpBody()),
        (b"mcpmock:secret:token:7", Stderr()),
        (b'{"token":"mcpmock:secret:token:7"}', None),
        (b'{"a":"to mcpmock:secret:token:7"}', None),
        (rb'{"a":"to \u006dcpmock:secret:token:7"}', None),
        (b'{"a":"?b=mcpmock%3Asecret%3Atoken%3A7"}', None),
        *(
            (b'{"a":"%b"}' % b64encode(text), None)
            for text in (
                b"to mcpmock:secret:token:7.",
                b'{"token":"mcpmock:secret:token:7"}',
                b'{"mcpmock:secret:token:7":"abcdefgh"}',
            )
        ),
    ],
)
def test_placeholders_that_come_over_the_wire_keep_their_numbers(
    raw: bytes, fact: Fact | None
) -> None:
    """A new secret gets another one."""
    redactor = Redactor()
    frame = Frame(S2C, raw, fact=fact, exchange=7)

    assert redactor.frame(frame) is frame
    assert b'{"token":"mcpmock:secret:token:8"}' == redactor.json(b'{"token":"abc"}')


@pytest.mark.parametrize("text", [b"%s a%20b", b"a%20b %s", rb"a\nb %s", b'{"a":"b"} %s %20'])
def test_base64_beside_another_encoding(text: bytes) -> None:
    """It is replaced once."""
    raw, shown = (
        text.replace(b"%s", b64encode(b'{"token":"%b"}' % token))
        for token in (b"hunter2hunter2", b"mcpmock:secret:token:1")
    )

    assert shown == Redactor().text(raw)


def test_a_secret_that_is_named_behind_a_place_where_it_stands() -> None:
    """It goes from both."""
    raw = b'{"a":"for c0rrect-horse","token":"c0rrect-horse","b":["c0rrect-horse!"]}'

    assert raw.replace(b"c0rrect-horse", b"mcpmock:secret:token:1") == Redactor().json(raw)


def test_a_placeholder_behind_a_new_secret_keeps_its_number() -> None:
    """The new one gets a higher one."""
    raw = b'{"token":"abc","b":["to mcpmock:secret:token:1",{"token":"mcpmock:secret:token:2"}]}'

    assert raw.replace(b"abc", b"mcpmock:secret:token:3") == Redactor().json(raw)
    assert b"token=mcpmock:secret:token:8 mcpmock:secret:a:7" == Redactor().text(
        b"token=abc mcpmock:secret:a:7"
    )


def test_a_placeholder_in_what_is_encoded_keeps_its_number() -> None:
    """Beside a value that a rule of the user names, too."""
    redactor = Redactor(RedactionRules.parse(["owner"]))
    hole = b"mcpmock:secret:owner:"
    texts = (b'{"owner":"%b7 %b"}' % (hole, name) for name in (b"Ada", hole + b"8"))
    raw, shown = (b'{"a":"%b"}' % b64encode(text) for text in texts)

    assert shown == redactor.json(raw)


@pytest.mark.parametrize(
    "text",
    [rb"said h\u00fcnter2/x9.", rb'said "h\u00FCnter2\/x9".', rb"a\\nb said h\u00fcnter2\u002fx9"],
)
def test_a_known_value_with_the_escapes_of_json(text: bytes) -> None:
    """It is found in text that is not JSON, too."""
    redactor = Redactor()
    redactor.json('{"token":"h\u00fcnter2/x9"}'.encode())

    clean = redactor.frame(Frame(S2C, text, b"", Stderr())).raw
    assert re.sub(rb"h\\u.*x9", b"mcpmock:secret:token:1", text) == clean


@pytest.mark.parametrize(
    ("spelled", "kept"),
    [
        ("p/wrd9", "mcpmock:secret:token:1"),
        ("p%2Fwrd9", "mcpmock%3Asecret%3Atoken%3A1"),
        ("p%2fw%72d9", "mcpmock%3Asecret%3Atoken%3A1"),
        ("p/wrd%00", "mcpmock:secret:token:2"),
        ("p/wrd%FF", "mcpmock:secret:token:2"),
    ],
)
def test_a_secret_in_percent_encoding(spelled: str, kept: str) -> None:
    """It has the placeholder that it has elsewhere, encoded too; what is no text has its own."""
    redactor = Redactor()
    redactor.json(b'{"token":"p/wrd9"}')
    asked, clean = (HttpRequest("GET", f"/m?token={token}", []) for token in (spelled, kept))

    assert clean == redactor.head(asked)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer chooses heads, and the names in them."""
    monkeypatch.setattr("mcpmock.redaction.redactor._MAX_CACHED", 8)
    monkeypatch.setattr("mcpmock.redaction.redaction_rules._MAX_CACHED_NAMES", 8)
    redactor = Redactor(RedactionRules.parse(["owner"]))
    for number in range(50):
        redactor.head(HttpRequest("GET", f"/{number}", [(f"X-{number}", "x")]))
        redactor.json(b'{"name-%d":"x"}' % number)

    assert len(redactor._cache) <= 8
    assert len(redactor.rules._kinds) <= 8


def test_a_session_id_is_the_same_everywhere() -> None:
    """In the field that gives it, in those that use it, in queries and in the event that tells the
    endpoint; another id is another one.
    """
    redactor = Redactor()
    given = redactor.head(HttpResponse(200, "OK", [("Mcp-Session-Id", "abc")]))
    used = redactor.head(HttpRequest("POST", "/m?sessionId=abc", [("mcp-session-id", "abc")]))
    told = redactor.frame(Frame(S2C, b"/m?sessionId=abc", exchange=7))
    other = redactor.head(HttpResponse(200, "OK", [("Mcp-Session-Id", "abcd")]))

    one, two = "mcpmock:secret:session-id:1", "mcpmock:secret:session-id:2"
    assert HttpResponse(200, "OK", [("Mcp-Session-Id", one)]) == given
    assert HttpRequest("POST", f"/m?sessionId={one}", [("mcp-session-id", one)]) == used
    assert f"/m?sessionId={one}".encode() == told.raw
    assert HttpResponse(200, "OK", [("Mcp-Session-Id", two)]) == other


@pytest.mark.parametrize("others", [0, 30])
def test_a_known_session_id_goes_wherever_it_is_mentioned(others: int) -> None:
    """Servers write the id of the session into results and messages; as a word of its own it goes
    there too, however many other sessions there are. Before it is known, and where it is a part of
    a word, nothing gives it away.
    """
    id_, redactor = b"79ca9325-8ca5-4bdc-a919-d19c03dee049", Redactor()
    message = Frame(S2C, b'{"text":"for session %b at x%b"}' % (id_, id_), exchange=7)
    page = Frame(S2C, b"<p>%b, short</p>" % id_, fact=HttpBody(), exchange=7)
    assert redactor.frame(message) is message
    for value in (id_.decode(), "short", *(f"session-{n:04}" for n in range(others))):
        redactor.head(HttpResponse(200, "OK", [("Mcp-Session-Id", value)]))

    hidden = b"mcpmock:secret:session-id:1"
    assert message.raw.replace(b" " + id_, b" " + hidden) == redactor.frame(message).raw
    assert page.raw.replace(id_, hidden) == redactor.frame(page).raw


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        ([b"key ghp_1234567", b"a" * 30 + b" ok\n"], [b"key ghp_1234567", b"@github:1@ ok\n"]),
        ([b"at ws://u:hunter2hunt", b"@h/\n"], [b"at ws://u:hunter2hunt", b"@h/\n"]),
        ([b"TOKEN=", b"abc\nTOKEN=x\n"], [b"TOKEN=", b"@token:1@\nTOKEN=@token:2@\n"]),
        ([b"token=abcd", b"efgh 1"], [b"token=@token:1@", b"@token:2@ 1"]),
        ([b"token=abcd", b" ok"], [b"token=@token:1@", b" ok"]),
        ([b"token=abcd ok", b"efgh"], [b"token=@token:1@ ok", b"efgh"]),
        ([b"TOKEN:\n", b"abc\n"], [b"TOKEN:\n", b"abc\n"]),
        (
            [b"token=abcd1234 rest of it", b" ok\n", b"abcd1234 rest of it\n"],
            [b"token=@token:1@ rest of it", b" ok\n", b"@token:1@ rest of it\n"],
        ),
        ([b"token=ab", b"cd", b"ef\n"], [b"token=@token:1@", b"@token:2@", b"@token:3@\n"]),
        ([b"token=abcd TOK", b"EN", b"=x9\n"], [b"token=@token:1@ TOK", b"EN", b"=@token:2@\n"]),
        (
            [
                b"-----BEGIN RSA PRIVATE KEY-----\n",
                b"MIIEow\n",
                b"\n",
                b"-----END RSA PRI",
                b"VATE\n",
            ],
            [
                b"-----BEGIN RSA PRIVATE KEY-----\n",
                b"@private-key:1@",
                b"\n",
                b"-----END RSA PRI",
                b"VATE\n",
            ],
        ),
        (
            [b"-----BEGIN CERTIFICATE-----\n", b"MIIEow\n", b"-----END CERTIFICATE-----\n"],
            [b"-----BEGIN CERTIFICATE-----\n", b"MIIEow\n", b"-----END CERTIFICATE-----\n"],
        ),
    ],
)
def test_a_secret_in_two_pieces_of_standard_error(pieces: list[bytes], kept: list[bytes]) -> None:
    """Its rest is replaced, and its beginning is known from then on."""
    redactor = Redactor()
    clean = [redactor.frame(Frame(S2C, piece, b"", Stderr())).raw for piece in pieces]

    assert [re.sub(rb"@(.+?)@", rb"mcpmock:secret:\1", piece) for piece in kept] == clean
    for begin in (b"ghp_", b"hunter2hunt"):
        assert begin not in redactor.known_in_line(b'{"stderr":"%b"}' % kept[0])
    for unfinished in (b"TOKEN=", b"-----BEGIN RSA PRIVATE KEY-----\nMII"):
        redactor.frame(Frame(S2C, unfinished, b"", Stderr()))
        redactor.read_again()
        last = Frame(S2C, b"zzzz", b"", Stderr())
        assert last is redactor.frame(last)


KEY_LINES = [b64encode(bytes(range(n, n + 48))) for n in (7, 55, 103)]
KEY = b"\n".join(
    [b"-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, b"-----END RSA PRIVATE KEY-----", b""]
)


@pytest.mark.parametrize("size", [5, len(KEY)])
def test_a_private_key_in_pieces_of_standard_error(size: int) -> None:
    """Wherever it is cut, also within its marks: it goes, and what is behind it stays."""
    for cut in range(1, len(KEY)):
        redactor = Redactor()
        pieces = [KEY[:cut], KEY[cut : cut + size], KEY[cut + size :], b"now ready\n"]
        clean = [redactor.frame(Frame(S2C, one, b"", Stderr())).raw for one in pieces if one]

        assert b"now ready\n" == clean[-1]
        assert not [one for one in KEY_LINES for n in (0, 24) if one[n : n + 24] in b"".join(clean)]


def test_a_mirrored_argument_is_the_same_in_the_header_and_in_the_body() -> None:
    """Also where the header has to wrap it."""
    redactor = Redactor()
    body = redactor.json('{"arguments":{"apiKey":"p\xe4","token":"abc"}}'.encode())
    fields = [("Mcp-Param-ApiKey", "=?base64?cMOk?="), ("Mcp-Param-Token", "abc")]
    head = redactor.head(HttpRequest("POST", "/mcp", fields))

    one, two = "mcpmock:secret:api-key:1", "mcpmock:secret:token:2"
    assert f'{{"arguments":{{"apiKey":"{one}","token":"{two}"}}}}'.encode() == body
    assert [("Mcp-Param-ApiKey", one), ("Mcp-Param-Token", two)] == head.headers


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b'{"access_token":"a","expires_in":5}', b'{"access_token":"@token:1@","expires_in":5}'),
        (b'{ "code": "a",\n"state": "b" }', b'{ "code": "@code:1@",\n"state": "@state:2@" }'),
        (b'{"error":{"code":"a"}}', b'{"error":{"code":"a"}}'),
        (
            b'{"password":["a"],"x":{"token":["b"]}}',
            b'{"password":["@password:1@"],"x":{"token":["@token:2@"]}}',
        ),
        (b"code=a&client_secret=b&x=c", b"code=@code:1@&client_secret=@secret:2@&x=c"),
        (rb'{"pass\u0077ord":"a"}', rb'{"pass\u0077ord":"@password:1@"}'),
        (rb'[{"pass\u0077ord":"a"}]', rb'[{"pass\u0077ord":"@password:1@"}]'),
        (b"denied: password=abc \xff", b"denied: password=@password:1@ \xff"),
        (b'<a href="/cb?code=a">', b'<a href="/cb?code=@code:1@">'),
    ],
)
def test_bodies(body: bytes, kept: bytes) -> None:
    """Bodies that are no messages lose what OAuth and forms name, and stay what they are."""
    redactor = Redactor()
    clean = redactor.frame(Frame(S2C, body, fact=HttpBody(), exchange=7)).raw

    assert re.sub(rb"@(.+?)@", rb"mcpmock:secret:\1", kept) == clean
    assert clean == redactor.frame(Frame(S2C, clean, fact=HttpBody(), exchange=7)).raw


def test_a_comment_may_say_anything() -> None:
    """A comment in an event stream is text; the id beside it stays."""
    kept = Redactor().frame(Frame(S2C, fact=SseMeta(id="1", comment="token=abc"), exchange=7))

    assert SseMeta(id="1", comment="token=mcpmock:secret:token:1") == kept.fact


def test_a_head_that_comes_again() -> None:
    """It is what it was, and its secrets are counted each time. What became known since goes from
    it, too.
    """
    redactor, fields = Redactor(), [("X-A", "see 79ca9325"), ("Authorization", "Bearer 79ca9325")]
    first, *others = (redactor.head(HttpRequest("GET", "/", [*fields])) for _ in range(3))

    token = ("Authorization", "Bearer mcpmock:secret:authorization:1")
    assert [fields[0], token] == first.headers
    assert [[("X-A", "see mcpmock:secret:authorization:1"), token]] * 2 == [
        head.headers for head in others
    ]
    assert 5 == redactor.table.count


def test_redacting_a_head_twice_changes_nothing() -> None:
    """What is redacted already stays as it is."""
    fields = [
        ("Authorization", "Bearer abc"),
        ("Cookie", "a=b; c=d"),
        ("Mcp-Session-Id", "abc-def"),
        ("Location", "http://u:p@h/?code=1"),
    ]
    once = Redactor().head(HttpRequest("GET", "/?token=abc&sid=1", fields))

    assert once is Redactor().head(once)


@pytest.mark.parametrize(
    "value", ["a=" * 10_000, "//a:" * 10_000, "?code=x&" * 3_000, 'nonce="' * 10_000, ";" * 50_000]
)
def test_rules_cost_linear_time(value: str) -> None:
    """Adversarial fields of some 50 kB are looked through in far less than a second."""
    began = process_time()
    for name in ("Cookie", "Location", "WWW-Authenticate", "X"):
        Redactor().head(HttpRequest("GET", value, [(name, value)]))
    Redactor().body(value.encode())

    assert process_time() - began < 0.5
