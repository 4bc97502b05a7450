"""Redaction rules of users: what they find, what they leave, and what a bad one says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mcpmock
from mcpmock.protocol.messages import S2C, Frame, HttpBody, HttpRequest, HttpResponse, Stderr
from mcpmock.redaction.redaction_rules import (
    NO_OWN_RULES,
    RedactionRuleError,
    RedactionRules,
    is_hashed,
    rules_of_header,
)
from mcpmock.redaction.redactor import Redactor, redaction_of
from mcpmock.redaction.rule_table import read_redaction_rules
from tests.support import INITIALIZE, batch, c, call, cassette_bytes, request, response

HOLE = "mcpmock:secret"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def redactor(**rules: list[str]) -> Redactor:
    return Redactor(RedactionRules.parse(**rules))


def arguments(redacted: Redactor, **given: Any) -> Any:
    """The arguments of a call as they are recorded."""
    return json.loads(redacted.json(call(1, "t", **given)))["params"]["arguments"]


@pytest.mark.parametrize(
    ("glob", "name", "kind"),
    [
        ("customer_id", "customer_id", "customer-id"),
        ("customer_id", "customerId", "customer-id"),
        ("customer-id", "CUSTOMER_ID", "customer-id"),
        ("customer*", "customerName", "customer-name"),
        ("CUSTOMER*", "customer_name", "customer-name"),
        ("*_no", "account_no", "account-no"),
        ("person?", "person7", "person"),
        ("[ab]x", "bx", "bx"),
        ("customer id", "customerId", "customer-id"),
        ("stra\u00dfe", "STRASSE", "strasse"),
        ("account_number", "accountNumber", "account"),
        ("4?", "42", "value"),
    ],
)
def test_names(glob: str, name: str, kind: str) -> None:
    """A glob names members in any case, however words are joined; the kind is its words."""
    assert {name: f"{HOLE}:{kind}:1"} == arguments(redactor(key=[glob]), **{name: "Ada"})


@pytest.mark.parametrize("name", ["customers", "my_customer", "custom", "c.d", "c d"])
def test_names_that_do_not_fit(name: str) -> None:
    """A glob fits all of a name; in brackets stands what is meant."""
    assert {name: "Ada"} == arguments(redactor(key=["customer", "c[_-]d"]), **{name: "Ada"})


@pytest.mark.parametrize(
    ("regex", "text", "shown"),
    [
        (r"\d{16}", "card 4111111111111111.", "card <value:1>."),
        (r"(?P<card>\d{16})", "card 4111111111111111.", "card <card:1>."),
        (
            r"order (?P<order_no>\w+)",
            "order A77, order B1",
            "order <order-no:1>, order <order-no:2>",
        ),
        (r"id=(\w+)", "id=abc", "id=<value:1>"),
        (r"(?:a(\d+)|b(\d+))x", "a1x b2x", "a<value:1>x b<value:2>x"),
        (r"(?i)acme", "ACME or acme", "<value:1> or <value:2>"),
        (r"ab", "abab", "<value:1>"),
        (r"\bAda\b|Lovelace", "Ada Lovelace", "<value:1> <value:2>"),
        (r"caf\u00e9", "a caf\u00e9, please", "a <value:1>, please"),
        (r"x\d", "x123", "<value:1>"),
        (r'"pin": "(\d+)"', '{"pin": "12", "n": "12"}', '{"pin": "<value:1>", "n": "12"}'),
        (r"\{.*\}", '{"pin": "12"}', "<value:1>"),
        (r"12", '{"pin": 12, "n": "12"}', '{"pin": 12, "n": "<value:1>"}'),
        (r'"pin": "\d+"', '{"pin": "12", "n": 123}', '{<value:1>, "n": 123}'),
        (r"42", "42", "<value:1>"),
        (r'"person": "\w+"', '{"person": "b", "token": "c"}', '{<value:2>, "token": "<token:1>"}'),
        (r'"person": "\w+"', '{"token": "c", "person": "b"}', '{"token": "<token:1>", <value:2>}'),
        (r'"token": "c", "a', '{"token": "c", "a": "b"}', '{<value:2>": "b"}'),
        (r"secret-7", '{"token": "abc secret-7 x"}', '{"token": "<token:1>"}'),
        (r'(?<="who": ")\w+', '{"n": 1, "who": "Ada"}', '{"n": 1, "who": "<value:1>"}'),
        (r'Ada", "b": "L', '{"n": 1, "a": "Ada", "b": "L"}', '{"n": 1, "a": "<value:1>"}'),
        (r"(?P<a>x\d)|(?P<b>y\d)", "x1 y2", "<a:1> <b:2>"),
        (r"\s{3}", "a   b", "a   b"),
        (
            "of .* here",
            f"of a {TOKEN} b sk-{'a' * 24} here",
            "<value:3><github:1><value:4><sk:2><value:5>",
        ),
        (r".+", f"a {HOLE}:token:7 b", f"<value:8> {HOLE}:token:7 <value:9>"),
    ],
)
def test_values(regex: str, text: str, shown: str) -> None:
    """The first group or all of the match goes; what touches is one; placeholders stay."""
    given = arguments(redactor(value=[regex]), text=text)["text"]
    shown = shown.replace("<", f"{HOLE}:").replace(">", "")
    assert shown == given


@pytest.mark.parametrize(
    ("path", "message", "place", "kind"),
    [
        ("$.arguments.who", call(1, "t", who="Ada"), "params.arguments.who", "who"),
        ("$.params.arguments.who", call(1, "t", who="Ada"), "params.arguments.who", "who"),
        ("$..name", call(1, "t", a={"name": "Ada"}), "params.arguments.a.name", "name"),
        ("$.arguments.*", call(1, "t", who="Ada"), "params.arguments.who", "who"),
        ("$.arguments", call(1, "t", who="Ada"), "params.arguments.who", "arguments"),
        ("$.arguments.all[0]", call(1, "t", all=["Ada"]), "params.arguments.all.0", "all"),
        ("$.result.who", response(1, {"who": "Ada"}), "result.who", "who"),
        (
            "$.error.data",
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":"Ada"}}',
            "error.data",
            "data",
        ),
        (
            "$.params.message",
            b'{"method":"notifications/progress","params":{"progressToken":1,"message":"Ada"}}',
            "params.message",
            "message",
        ),
    ],
)
def test_paths(path: str, message: bytes, place: str, kind: str) -> None:
    """A path is one into the message, or short for one inside `params`; all inside of it goes."""
    for spelled, inner in ((message, ()), (batch(message), (0,))):
        value = json.loads(redactor(path=[path]).json(spelled))
        for step in (*inner, *place.split(".")):
            value = value[int(step) if isinstance(value, list) else step]
        assert f"{HOLE}:{kind}:1" == value


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.arguments.who", True),
        ("$.arguments['WHO'][0]", True),
        ("$.arguments.*", False),
        ("$..*", False),
        ("$.arguments[?@.who]", False),
        ("$.who.arguments", False),
    ],
)
def test_a_message_that_cannot_be_decoded(path: str, found: bool) -> None:
    """Its values are judged by the last name of a path."""
    torn = b'{"id":1,"params":{"arguments":{"who":"Ada","other":"Bob"'
    kept = redactor(path=[path]).json(torn)
    assert kept == (torn.replace(b'"Ada"', b'"mcpmock:secret:who:1"') if found else torn)


def test_a_path_leads_to_no_other_place() -> None:
    """Not into a text that has a member of the same name."""
    note = '{"who":"Ada"}'
    assert {"note": note} == arguments(redactor(path=["$.arguments.who"]), note=note)


def test_matches_of_several_expressions() -> None:
    """What overlaps is one."""
    found = arguments(redactor(value=["a.*d", "bc", "d.f"]), text="xabcd-fy")
    assert {"text": f"x{HOLE}:value:1y"} == found


@pytest.mark.parametrize("value", [7, -1.5, 1e21, 10**30])
def test_numbers(value: float) -> None:
    """A number becomes the placeholder of a number, and never that of the text with its digits."""
    redacted = redactor(key=["account"])
    found = arguments(redacted, account=value, accounts={"account": [value, str(value)]})

    assert found["account"] == f"{HOLE}:account-number:1"
    assert found["accounts"]["account"] == [f"{HOLE}:account-number:1", f"{HOLE}:account:2"]


@pytest.mark.parametrize("spelled", [b"100", b"1e2", b"100.0"])
def test_equal_numbers(spelled: bytes) -> None:
    """They have one placeholder, however they are written."""
    redacted = redactor(key=["account"])
    assert {"account": f"{HOLE}:account-number:1"} == arguments(redacted, account=100)
    assert b"account-number:1" in redacted.json(call(1, "t", account=100).replace(b"100", spelled))


def test_numbers_that_no_parser_takes() -> None:
    """They are two, too."""
    clean = redactor(key=["account"]).json(b'{"account":[01,02,01]}')
    one, two = (b'"mcpmock:secret:account-number:%d"' % number for number in (1, 2))
    assert b'{"account":[%b,%b,%b]}' % (one, two, one) == clean


def test_a_known_number() -> None:
    """It goes wherever it is repeated, in a text too, unless the same digits are a text."""
    redacted = redactor(key=["account"])
    arguments(redacted, account=12345678)
    number = f"{HOLE}:account-number:1"

    assert {"n": number, "t": f"see {number}"} == arguments(redacted, n=12345678, t="see 12345678")
    arguments(redacted, account="12345678")
    assert {"t": f"see {HOLE}:account:2"} == arguments(redacted, t="see 12345678")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("12345678", "<account:2>"),
        ("see 12345678", "see <account-number:1>"),
        ("12345678 it is", "<account-number:1> it is"),
        ('"12345678" it is', '"<account:2>" it is'),
        ('see "12345678"', 'see "<account:2>"'),
        ("see 123456789", "see <account:2>"),
    ],
)
def test_a_known_number_in_a_text(text: str, shown: str) -> None:
    """It is the number where its digits are a part of the text, and a text of its own in quotes."""
    redacted = redactor(key=["account"])
    arguments(redacted, account=12345678)
    shown = shown.replace("<", f"{HOLE}:").replace(">", "")
    assert {"t": shown} == arguments(redacted, t=text)


@pytest.mark.parametrize("others", [0, 100])
@pytest.mark.parametrize("field", ["X-Api-Key", "Mcp-Session-Id"])
def test_a_secret_that_a_rule_names_too(field: str, others: int) -> None:
    """It goes from everything, as it did before the rule found it."""
    redacted, value = redactor(key=["owner"]), "Lovelace-77"
    redacted.learn({"token": "x"})
    for n in range(others):
        redacted.json(call(1, "t", token=f"t0ken-{n:04}"))
    redacted.head(HttpRequest("GET", "/", [(field, value)]))
    arguments(redacted, owner=value)

    line = b'{"n":1,"t":0,"d":"c2s","m":{"id":1,"method":"%b"}}' % value.encode()
    assert value.encode() not in redacted.known_in_line(line)


@pytest.mark.parametrize("secrets", [{}, {"token": "hunter2hunter2"}])
def test_a_word_is_not_decoded(secrets: dict[str, str]) -> None:
    """Whatever it would be in base64: ids are such words. A longer one is a text."""
    redacted = redactor(value=["abab"])
    redacted.learn(secrets)
    assert {"text": "of YWJhYmFi"} == arguments(redacted, text="of YWJhYmFi")
    assert b"YWJhYmFi" not in redacted.json(call(1, "t", text="YWJhYmFiIGlzIGEgdGV4dA=="))


def test_a_value_that_a_rule_names_first() -> None:
    """It goes from what the protocol needs as soon as a built-in rule finds it."""
    redacted, location = redactor(key=["owner"]), [("Location", "/x/abcdefgh12345")]
    arguments(redacted, owner="abcdefgh12345")
    assert location == redacted.head(HttpResponse(200, "", location)).headers
    arguments(redacted, token="abcdefgh12345")

    hole = f"{HOLE}:owner:1"
    assert [("Location", f"/x/{hole}")] == redacted.head(HttpResponse(200, "", location)).headers
    cursor = response(1, {"nextCursor": "abcdefgh12345"})
    assert response(1, {"nextCursor": hole}) == redacted.json(cursor)


NAMED: list[Callable[[Redactor, str], object]] = [
    lambda redacted, name: redacted.head(HttpRequest("GET", f"/x?{name}=Lovelace-77", [])),
    lambda redacted, name: redacted.head(HttpRequest("GET", "/", [(name, "Lovelace-77")])),
    lambda redacted, name: redacted.head(
        HttpRequest("GET", "/", [(f"Mcp-Param-{name}", "Lovelace-77")])
    ),
    lambda redacted, name: redacted.head(
        HttpRequest("GET", "/", [("X-From", f"http://h/x?a=b&{name}=Lovelace-77")])
    ),
    lambda redacted, name: redacted.body(f"a=b&{name}=Lovelace-77".encode()),
    lambda redacted, name: redacted.argv([f"--{name}", "Lovelace-77"]),
    lambda redacted, name: redacted.argv([f"--{name}=Lovelace-77"]),
    lambda redacted, name: redacted.argv([f"http://h/x?{name}=Lovelace-77"]),
    lambda redacted, name: redacted.learn({name: "Lovelace-77"}),
    lambda redacted, name: arguments(redacted, **{name: "Lovelace-77"}),
]


@pytest.mark.parametrize("find", NAMED)
@pytest.mark.parametrize(
    ("rules", "name", "stays"),
    [
        ({"key": ["owner"]}, "owner", True),
        ({"key": ["owner", "token"]}, "owner", True),
        ({"key": ["token"]}, "token", False),
        ({"key": ["token"]}, "my-token", False),
        ({"key": ["*token*"]}, "my-token", False),
        ({"key": ["page-token"]}, "page-token", True),
        ({"key": ["token"], "keep": ["token"]}, "token", True),
    ],
)
def test_who_named_a_value(
    find: Callable[[Redactor, str], object], rules: dict[str, list[str]], name: str, stays: bool
) -> None:
    """What only a rule of the user names stays where the protocol needs it, whatever else has
    such a name.
    """
    redacted = redactor(**rules)
    arguments(redacted, **{one.strip("*"): [7] for one in rules["key"]})
    find(redacted, name)

    page = {"nextCursor": "Lovelace-77", "a": "of Lovelace-77"}
    found = json.loads(redacted.json(response(1, page)))["result"]
    assert [stays, False] == ["Lovelace-77" in found[name] for name in page]


@pytest.mark.parametrize(
    "again",
    [
        {"x": "Lovelace-77"}, {"x": "of Lovelace-77"}, {"owner": "Lovelace-77"},
        {"x": '{"a":"Lovelace-77"}'}, {"x": '["\\u004covelace-77"]'}, {"x": "TG92ZWxhY2UtNzc="},
        {"x": "Lovelace%2D77"}, {"x": "the owner=Lovelace-77"}, {"Lovelace-77": 7}, {"x": TOKEN},
    ],
)  # fmt: skip
@pytest.mark.parametrize("others", [0, 100])
def test_a_value_that_a_rule_names_again(again: dict[str, Any], others: int) -> None:
    """It stays where the protocol needs it, wherever it is found again."""
    redacted, cursor = redactor(key=["owner"]), response(1, {"nextCursor": "Lovelace-77"})
    arguments(redacted, owner=[*(f"other-{n:04}" for n in range(others)), "Lovelace-77"])
    arguments(redacted, **again)
    assert cursor == redacted.json(cursor)


@pytest.mark.parametrize("value", ["Lovelace-77", "lovelaces"])
def test_a_header_that_repeats_what_a_path_names(value: str) -> None:
    """Its value is known in front of the message, even if it is a word."""
    redacted = redactor(path=["$.arguments.who"])
    redacted.head(HttpRequest("GET", "/", [("Mcp-Param-Who", value)]))
    page = response(1, {"nextCursor": value, "a": f"of {value}"})
    assert response(1, {"nextCursor": value, "a": f"of {HOLE}:who:1"}) == redacted.json(page)


def test_a_word_that_a_built_in_rule_finds_too() -> None:
    """An ordinary word stays where the protocol needs it, and in longer words."""
    redacted = redactor(key=["owner"])
    arguments(redacted, owner="lovelaces", token="lovelaces")
    cursor = response(1, {"nextCursor": "lovelaces", "a": "sublovelaces"})
    assert cursor == redacted.json(cursor)


@pytest.mark.parametrize("name", ["Mcp-Note", "Link", "last-event-id"])
@pytest.mark.parametrize(
    "value",
    [
        '{"owner":"Ada Lovelace"}',
        'see {"owner":"Ada Lovelace"}',
        "%7B%22owner%22%3A%22Ada%20Lovelace%22%7D",
        "eyJvd25lciI6IkFkYSBMb3ZlbGFjZSJ9",
    ],
)
def test_fields_of_the_protocol_stay(name: str, value: str) -> None:
    """Whatever is encoded in them; other fields lose what a rule names."""
    rules = redactor(key=["owner"], path=["$..owner"])
    head = HttpResponse(200, "", [(name, value), ("X-Note", value)])
    (_, kept), (_, other) = rules.head(head).headers
    assert kept == value
    assert other != value


@pytest.mark.parametrize("value", [True, False, None])
def test_booleans_and_null_stay(value: bool | None) -> None:
    """They tell nothing."""
    assert {"who": value} == arguments(redactor(key=["who"], path=["$..who"]), who=value)


EVERYTHING: dict[str, list[str]] = {"key": ["*"], "value": [r"[\s\S]+"], "path": ["$..*", "$"]}


@pytest.mark.parametrize(
    "message",
    [
        request("abc-1", "tools/list", {"cursor": "next-1"}),
        b'{"jsonrpc":"2.0","id":"x","method":"ping"}',
        rb'{"jsonrpc":"2.0","id":"{\"who\":\"Ada\"}","method":"ping"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x1"}}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":'
        b'{"progressToken":"tok","progress":1,"total":2}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}],"isError":true}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"find","inputSchema":{"type":"object",'
        b'"properties":{"who":{"type":"string","description":"Ada","default":"Ada"}}}}],'
        b'"nextCursor":"c2"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":""}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{}}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"requestedSchema":'
        b'{"type":"object","properties":{"who":{"type":"string","title":"Who"}}}}}',
        rb'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"find","inputSchema":{"properties":'
        rb'{"who":{"default":"{\"who\":\"Ada\"}","title":"as {\"who\":\"Ada\"}"}}}}]}}',
    ],
)
def test_what_the_protocol_needs_stays(message: bytes) -> None:
    """Methods, ids, tokens, cursors, names, schemas, roles and types stay, whatever a rule says."""
    assert message == redactor(**EVERYTHING).json(message)


@pytest.mark.parametrize("text", ['{"token":"T","who":"Ada"}', 'as {"token":"T","who":"Ada"}'])
def test_a_secret_in_what_the_protocol_needs(text: str) -> None:
    """The built-in rules alone look into it."""
    redacted = redactor(**EVERYTHING).json(request(text, "ping"))
    assert text.replace('"T"', f'"{HOLE}:token:1"') == json.loads(redacted)["id"]


def test_a_rule_for_everything_leaves_a_handshake_readable() -> None:
    """The revision that was asked for, and who asked in which capabilities, can still be read."""
    redacted = json.loads(redactor(**EVERYTHING).json(INITIALIZE))
    assert (
        json.loads(INITIALIZE)["params"]["protocolVersion"]
        == (redacted["params"]["protocolVersion"])
    )


@pytest.mark.parametrize(
    "raw",
    [
        b'{"level":"info","msg":"Ada"}', b'{"msg":"of Ada"}', b'{"params":"Ada"}', b'["Ada"]',
        b'[["Ada"]]', b'[[["Ada"]]]', b'[1,{"msg":"Ada"}]', b'{"who":"Ada"}', b'{"who":["Ada"]}',
        b'{"jsonrpc":"2.0","id":1,"error":"Ada"}',
    ],
)  # fmt: skip
def test_json_that_is_no_message(raw: bytes) -> None:
    """A server that logs to its output does not speak the protocol there: all is content."""
    redacted = redactor(key=["who"], value=["Ada"])
    assert b"Ada" not in redacted.frame(Frame(S2C, raw)).raw
    assert b"Ada" not in redacted.frame(Frame(S2C, raw, exchange=1)).raw


def test_names_that_are_kept() -> None:
    """They are none for the built-in rules; formats are secret still, and what a key names."""
    redacted = redactor(keep=["*_token", "password"], key=["password"])
    found = arguments(redacted, page_token="plain", my_token=TOKEN, password="open sesame")

    assert "plain" == found["page_token"]
    assert f"{HOLE}:github:1" == found["my_token"]
    assert f"{HOLE}:password:2" == found["password"]
    assert {"api_key": "plain"} == arguments(redactor(keep=["api_key"]), api_key="plain")


def test_a_value_is_known_from_eight_characters_on() -> None:
    """It goes wherever it is repeated; a shorter one, and a part of a word, stay."""
    redacted = redactor(key=["who", "org"])
    arguments(redacted, who="Ada", org="lovelaces")
    text = "Ada of lovelaces, sublovelaces, at /home/lovelaces?"
    found = json.loads(redacted.json(response(1, {"content": [{"text": text}]})))
    hole = f"{HOLE}:org:2"

    assert f"Ada of {hole}, sublovelaces, at /home/{hole}?" == found["result"]["content"][0]["text"]
    tools = response(1, {"tools": [{"name": "t", "inputSchema": {"title": "of lovelaces"}}]})
    assert tools == redacted.json(tools)
    given = {"who": '{"a":"Ada"}'}
    assert {"who": f"{HOLE}:who:3"} == arguments(redacted, **given)
    assert {"t": f"{HOLE}:who:3"} == arguments(redacted, t=given["who"])


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["--customer-id", "C7"], ["--customer-id", "<customer-id:1>"]),
        (["--customer-id=C7"], ["--customer-id=<customer-id:1>"]),
        (["-e", "CUSTOMER_ID=C7"], ["-e", "CUSTOMER_ID=<customer-id:1>"]),
        (["--env=CUSTOMER_ID=C7"], ["--env=CUSTOMER_ID=<customer-id:1>"]),
        (["https://h/?customer_id=C7"], ["https://h/?customer_id=<customer-id:1>"]),
        (["-H", "Customer-Id: C7"], ["-H", "Customer-Id: <customer-id:1>"]),
        (["find", "acme-1"], ["find", "<value:1>"]),
        (['{"customer_id":"C7"}'], ['{"customer_id":"<customer-id:1>"}']),
    ],
)
def test_command_lines(argv: list[str], shown: list[str]) -> None:
    """Options, variables, headers, queries and JSON of a command line have names too."""
    found = redactor(key=["customer*"], value=["acme-[0-9]"]).argv(argv)
    assert [one.replace("<", f"{HOLE}:").replace(">", "") for one in shown] == found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("customer_id=C7 done\n", "customer_id=<customer-id:1>\n"),
        ("at 12:00 customer_id=C7, done\n", "at 12:00 customer_id=<customer-id:1>, done\n"),
        ('{"customer_id": "C7"}\n', '{"customer_id": "<customer-id:1>"}\n'),
        ("Customer-Id: C7\n", "Customer-Id: <customer-id:1>\n"),
        ("export CUSTOMER_ID='C 7'\n", "export CUSTOMER_ID='<customer-id:1>'\n"),
        ("acme-1 said so\n", "<value:1> said so\n"),
        ("nothing here: C7\n", "nothing here: C7\n"),
    ],
)
def test_lines_of_standard_error(text: str, shown: str) -> None:
    """So have the lines of a log."""
    rules = redactor(key=["customer*"], value=["acme-[0-9]"])
    found = rules.frame(Frame(S2C, text.encode(), b"", Stderr())).raw.decode()
    assert shown.replace("<", f"{HOLE}:").replace(">", "") == found


def test_heads() -> None:
    """Fields, queries and repeated arguments are replaced; what HTTP and MCP need is not."""
    names = ["x-customer", "customer", "host", "accept"]
    rules = redactor(key=names, path=["$.arguments.who"], value=["Ada"])
    fields = [
        ("X-Customer", "C7"), ("Mcp-Param-Who", "Ada"), ("Host", "Ada.example"),
        ("Mcp-Method", "Ada"), ("Accept", "Ada"), ("X-Note", "by Ada"),
        ("Mcp-Name", 'as {"customer":"C7"}'), ("X-Name", 'as {"customer":"C7"}'),
    ]  # fmt: skip
    head = rules.head(HttpRequest("POST", "/mcp?customer=C7", fields))

    assert [
        f"{HOLE}:x-customer:1", f"{HOLE}:who:2", "Ada.example", "Ada", "Ada", f"by {HOLE}:who:2",
        'as {"customer":"C7"}', f'as {{"customer":"{HOLE}:x-customer:1"}}',
    ] == [value for _, value in head.headers]  # fmt: skip
    assert isinstance(head, HttpRequest)
    assert f"/mcp?customer={HOLE}:x-customer:1" == head.target
    assert HttpResponse(200, "", fields[2:5]) == rules.head(HttpResponse(200, "", fields[2:5]))


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"key": [""]}, "empty glob"),
        ({"key": ["  "]}, "empty glob"),
        ({"keep": [""]}, "empty glob"),
        ({"value": ["("]}, "no regular expression"),
        ({"value": [""]}, "matches the empty text"),
        ({"value": ["a*"]}, "matches the empty text"),
        ({"path": ["arguments.x"]}, "not of the form $.JSON.PATH"),
        ({"path": ["$["]}, "$["),
        ({"path": [""]}, "not of the form"),
    ],
)
def test_bad_rules(rules: dict[str, list[str]], words: str) -> None:
    """The error says what is wrong; in a file, all at once with their places."""
    with pytest.raises(ValueError) as raised:
        RedactionRules.parse(**rules)
    assert words in str(raised.value)
    [(name, texts)] = rules.items()
    _, mistakes = read_redaction_rules({name: ["$.good", *texts]})
    assert [True] == [mistake.startswith(f".{name}[1]: ") for mistake in mistakes]


@pytest.mark.parametrize(
    ("table", "mistake"),
    [
        ([], ": expected a table, not []"),
        (
            {"keys": ["a"]},
            ".keys: unknown key; did you mean key? known: as, keep, key, path, value",
        ),
        ({"zzz": ["a"]}, ".zzz: unknown key; known: as, keep, key, path, value"),
        ({"key": "a"}, ".key: expected a list of texts, not 'a'"),
        ({"key": [1]}, ".key[0]: expected a text, not 1"),
        ({"as": "hsah"}, ".as: expected one of number, hash, not 'hsah'"),
    ],
)
def test_bad_tables(table: Any, mistake: str) -> None:
    """An unknown list is named with the nearest."""
    assert [mistake] == read_redaction_rules(table)[1]


def test_hashes() -> None:
    """Equal values have one placeholder in all recordings made with a key, and another without."""
    rules = RedactionRules.parse(key=["who"])
    [one, again, other] = [
        arguments(Redactor(rules.with_hashes(key)), who="Ada", list={"who": 7})
        for key in ("k", "k", "other")
    ]
    assert one == again
    assert one != other
    number = one["who"].rpartition(":")[2]
    assert (12, True) == (len(number), number.isdigit())
    assert one["list"]["who"].startswith(f"{HOLE}:who-number:")
    hashed = rules.with_hashes("k")
    assert [True, True, False] == [
        (one + other).hashed for one, other in ((hashed, rules), (rules, hashed), (rules, rules))
    ]
    assert b"k" == (rules + hashed).hash_key == (hashed + rules).hash_key
    for missing in (None, ""):
        with pytest.raises(RedactionRuleError, match="set MCPMOCK_HASH_KEY"):
            rules.with_hashes(missing)


def test_what_a_header_says() -> None:
    """Names and places, and of regular expressions their number: one may hold the secret."""
    rules = RedactionRules.parse(["who"], ["s3cret"], ["$.arguments.x"], ["page"]).with_hashes("k")
    said = redaction_of(rules)

    assert {
        "keys": ["who"], "paths": ["$.params.arguments.x"], "values": 1, "keep": ["page"],
        "as": "hash",
    } == said["own"]  # fmt: skip
    assert "s3cret" not in json.dumps(said)
    assert RedactionRules.parse(["who"], (), ["$.arguments.x"], ["page"]) == rules_of_header(said)
    assert not rules_of_header("off")
    assert not rules_of_header({"rules": 3})
    plain = redaction_of(RedactionRules.parse(["who"]))
    assert [False, False, True] == [*map(is_hashed, ("off", plain, said))]
    assert not rules_of_header({"own": {"keys": "who", "paths": 7}})
    assert "as" not in redaction_of(RedactionRules.parse(["who"]))["own"]
    assert "own" not in redaction_of(NO_OWN_RULES)
    assert {"keep": ["page"]} == redaction_of(RedactionRules.parse(keep=["page"]))["own"]
    assert {"as": "hash"} == redaction_of(NO_OWN_RULES.with_hashes("k"))["own"]


def test_rules_of_programs(tmp_path: Path) -> None:
    """`mcpmock.redact` and `mcpmock.scan` take the rules of the command line, and those beside a
    file.
    """
    file = tmp_path / "a.jsonl"
    file.write_bytes(cassette_bytes(c(call(1, "t", owner="Ada Lovelace", city="Turin"))))
    assert b"Ada" not in mcpmock.redact(call(1, "t", owner="Ada"), redact_key=["owner"])
    assert ["owner"] == [one.kind for one in mcpmock.scan(file, redact_key=["owner"])]
    (tmp_path / "mcpmock.toml").write_text('[redact]\nvalue = ["(?P<city>Turin)"]\n')
    assert ["city"] == [one.kind for one in mcpmock.scan(file)]
    clean = mcpmock.redact(file, redact_path=["$.arguments.owner"])
    assert b"mcpmock:secret:city:" in (clean.takes[0].events[0].payload or b"")
    assert [] == mcpmock.scan(clean, redact_key=["owner"], redact_value=["Turin"])
    for rules, error in (({"redact_value": ["("]}, RedactionRuleError), ({"keep": []}, TypeError)):
        with pytest.raises(error):
            mcpmock.scan(file, **rules)


def test_a_field_with_the_digits_of_a_number() -> None:
    """It is a text: a number has no place there."""
    own = redactor(key=["pin"])
    own.json(b'{"pin":12345678}')
    head = own.head(HttpRequest("GET", "/", [("X-A", "12345678"), ("X-B", "of 12345678")]))

    one = "mcpmock:secret:pin"
    assert [("X-A", f"{one}:2"), ("X-B", f"of {one}:2")] == head.headers


def test_names_in_a_message_that_cannot_be_decoded() -> None:
    """Those of rules, and of what `paths` end in, whatever other rules there are."""
    torn = b'{"owner":"Ada","x":["Bob",{"y":"Cid"}],"o'
    kept = redactor(key=["owner"], path=["$.arguments.x"]).json(torn)

    shown = torn.replace(b"Ada", b"mcpmock:secret:owner:1").replace(b"Bob", b"mcpmock:secret:x:2")
    assert shown == kept


def test_a_number_and_a_text_of_the_same_digits() -> None:
    """Each has its placeholder: all of a string is a text, also where its digits are a number
    elsewhere.
    """
    raw = b'{"pin":12345678,"a":"12345678","b":"of 12345678","c":[12345678]}'
    number, text = b'"mcpmock:secret:pin-number:1"', b"mcpmock:secret:pin:2"

    shown = b'{"pin":%b,"a":"%b","b":"of %b","c":[%b]}' % (number, text, text, number)
    assert shown == redactor(key=["pin"]).json(raw)


@pytest.mark.parametrize(
    "body", [b'{"owner":"Ada","n":7}', b'[{"owner":"Ada"}]', b'{"a":{"owner":7}}']
)
def test_bodies_that_are_no_messages(body: bytes) -> None:
    """All in them is content."""
    clean = redactor(key=["owner"]).frame(Frame(S2C, body, fact=HttpBody(), exchange=1)).raw

    shown = body.replace(b"Ada", b"mcpmock:secret:owner:1")
    assert shown.replace(b'r":7', b'r":"mcpmock:secret:owner-number:1"') == clean


def test_a_field_that_repeats_an_argument() -> None:
    """It has the name of the argument behind the prefix; the end of another name is none."""
    asked, shown = (
        HttpRequest("POST", "/", [("Mcp-Param-Id", id_), ("X-Request-Id", "7-seven")])
        for id_ in ("7-seven-x", "mcpmock:secret:id:1")
    )

    assert shown == redactor(path=["$.arguments.id"]).head(asked)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"x owner=Ada, by", b"x owner=@1, by"),
        (b'"owner": true, "owner": "Ada"', b'"owner": true, "owner": "@1"'),
        (b'x "owner": null, "owner": "Ada"', b'x "owner": null, "owner": "@1"'),
        (b"owner: Ada of Turin", b"owner: @1"),
        (b"", b""),
    ],
)  # fmt: skip
def test_what_is_assigned_in_text(text: bytes, shown: bytes) -> None:
    """By any sign, on a line of its own all of it; not what no secret is."""
    clean = redactor(key=["owner"]).frame(Frame(S2C, text, b"", Stderr())).raw

    assert shown.replace(b"@", b"mcpmock:secret:owner:") == clean
