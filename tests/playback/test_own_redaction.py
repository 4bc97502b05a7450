"""Recordings made with redaction rules of users: what they name is nowhere in them, and they replay
to the client that they were recorded with, and to one with other values.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from mcpmock.cassette.parser import read
from mcpmock.redaction.cassettes import redact_cassette, scan_cassette
from mcpmock.redaction.json_escapes import StringSpelling
from mcpmock.redaction.redaction_rules import NO_OWN_RULES, RedactionRules
from tests.support import INITIALIZE, WELCOME, c, call, cassette_bytes, replay, request, response, s
from tests.support.every import covering


def to_json(value: Any) -> str:
    """JSON as a replay writes it: without escapes that nobody needs."""
    return json.dumps(value, ensure_ascii=False)


SHAPES = {
    "words": "Ada Lovelace of Turin",
    "one word": "Lovelace-Byron",
    "ordinary words": "green tea",
    "an email address": "ada.lovelace+mcp@example.org",
    "digits": "4111111111111111",
    "a number with signs": "+44 20 7946 0958",
    "a path": "/home/ada/Documents/secret plan.txt",
    "a URL": "https://intranet.example/projects/analytical-engine",
    "not ASCII": "Zo\u00eb Sch\u00f6n\u00f6dinger \u2603",
    "quotes and backslashes": 'C:\\Users\\"Ada"\\n',
    "a UUID": "0d3b1f6e-2c4a-4f2b-9a37-5f1f8f0f6a11",
    "JSON": '{"who": ["Ada", 7]}',
    "lines": "Ada\nLovelace\nTurin",
}
"""Values of no built-in kind."""
NUMBERS = {"an integer": 4711123, "a fraction": -12.75, "a large one": 10**24}
SPELLINGS: dict[str, Callable[[str], Any]] = {
    "alone": lambda v: v,
    "in a sentence": lambda v: f"({v})",
    "JSON in a string": lambda v: to_json({"note": v}),
    "JSON twice in a string": lambda v: to_json({"a": to_json({"note": v})}),
    "percent": lambda v: f"https://h/?q={quote(v, safe='')}",
    "base64": lambda v: base64.b64encode(f"<{v}>".encode()).decode(),
    "in a list": lambda v: [{"x": [v]}],
}
RULES = {
    "key": RedactionRules.parse(key=["owner*"]),
    "path": RedactionRules.parse(path=["$.arguments.ownerName"]),
    "hashed": RedactionRules.parse(key=["owner*"]).with_hashes("k"),
}


def is_gone(data: bytes, value: str) -> bool:
    """Whether a value is in no spelling in the text of a cassette, four levels of JSON deep."""
    spelled, spellings = value, {value, quote(value, safe="")}
    for _ in range(4):
        spelled = json.dumps(spelled)[1:-1]
        spellings.add(spelled)
        spellings.add(json.dumps(spelled, ensure_ascii=False)[1:-1])
    spellings.add(json.dumps(value, ensure_ascii=False)[1:-1])
    return not any(one.encode() in data for one in spellings)


def conversation(value: str, spell: Callable[[str], Any]) -> list[bytes]:
    """What a client asks and what it is told, in turn; a value is said before it is named."""
    spelled = spell(value)
    return [
        INITIALIZE,
        WELCOME,
        call(2, "early", note=spelled),
        response(2, {"content": [{"type": "text", "text": "ok"}]}),
        call(3, "name", ownerName=value, limit=5),
        response(3, {"structuredContent": {"owner": value, "said": spelled}, "content": []}),
        call(4, "name", ownerName=value, limit=6),
        response(4, {"content": [{"type": "text", "text": to_json({"owner": value})}]}),
        request(5, "tools/list"),
        response(5, {"tools": [{"name": "ownerName", "inputSchema": {"type": "object"}}]}),
    ]


def recorded(said: list[bytes], rules: RedactionRules) -> bytes:
    events = [(c if n % 2 == 0 else s)(raw) for n, raw in enumerate(said)]
    return redact_cassette(cassette_bytes(*events), rules).data


def heard(data: bytes, said: list[bytes], rules: RedactionRules = NO_OWN_RULES) -> list[Any]:
    """What a client that says this is told."""
    hashes = rules.number_for if rules.hashed else None
    played = replay(read("a.jsonl", data), hash_of=hashes)
    return [json.loads(raw) for asked in said[::2] for raw in played.heard(asked)]


@pytest.mark.parametrize(
    ("shape", "spelling", "rule"), covering(3, SHAPES, SPELLINGS, [*RULES, "value"])
)
def test_values(shape: str, spelling: str, rule: str) -> None:
    """A value is in no spelling in the recording, a scan finds nothing more, and its client is told
    what it was told.
    """
    value = SHAPES[shape]
    rules = RULES[rule] if rule in RULES else RedactionRules.parse(value=[re.escape(value)])
    said = conversation(value, SPELLINGS[spelling])
    data = recorded(said, rules)

    assert is_gone(data, value)
    assert [] == scan_cassette(data, rules)
    assert [json.loads(raw) for raw in said[1::2]] == heard(data, said)
    assert [json.loads(raw) for raw in said[1::2]] == heard(data, said, rules)


@pytest.mark.parametrize("rule", ["key", "hashed"])
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(number: str, rule: str) -> None:
    """So it is with numbers, which come back as the numbers of the client."""
    rules, value = RULES[rule], NUMBERS[number]

    def told(number: float) -> dict[str, Any]:
        return {"ownerName": [number], "text": to_json({"ownerName": number, "n": 1})}

    said = [call(1, "t", ownerName=value), response(1, told(value))]
    data = recorded(said, rules)

    assert str(value).encode() not in data
    assert [] == scan_cassette(data, rules)
    assert [told(value)] == [one["result"] for one in heard(data, said)]
    assert [told(value)] == [one["result"] for one in heard(data, said, rules)]
    live = [call(1, "t", ownerName=8), b""]
    assert told(8) == heard(data, live)[0]["result"]


@pytest.mark.parametrize("spelling", [one for one in SPELLINGS if one != "alone"])
@pytest.mark.parametrize("rule", ["key", "hashed"])
def test_numbers_in_texts(spelling: str, rule: str) -> None:
    """From eight digits on they are found in texts too, and come back there."""
    rules, spell = RULES[rule], SPELLINGS[spelling]

    def told(number: int) -> dict[str, Any]:
        return {"text": spell(f"no. {number}, or"), "own": str(number), "quoted": f'"{number}"'}

    said = [call(1, "t", ownerName=471112345678), response(1, told(471112345678))]
    data = recorded(said, rules)
    found = heard(data, [call(1, "t", ownerName=8)])[0]["result"]

    assert b"471112345678" not in data
    assert [] == scan_cassette(data, rules)
    assert told(8)["text"] == found["text"]
    assert found["own"].startswith("mcpmock:secret:owner-name:")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_client_with_another_value(spelling: str) -> None:
    """It is told its own, in the spelling that the recorded one had."""
    said = conversation(SHAPES["words"], SPELLINGS[spelling])
    live = conversation("Grace Hopper of New York", SPELLINGS[spelling])
    assert [json.loads(raw) for raw in live[1::2]] == heard(recorded(said, RULES["key"]), live)


@pytest.mark.parametrize("number", [4711471147, 12345.678, -99887766, 10**24, 77])
@pytest.mark.parametrize("rule", ["key", "hashed"])
@pytest.mark.parametrize(
    "text",
    [
        "got {json}",
        "got {json}, ok?",
        'got {{"blob": {json!r}}}',
        "got {nested}",
        "got {twice}",
        "got [{json}, {json}]",
        "{python}",
        "got {python}, fine",
        'got {{"ownerName": {number},\n "z": 1}}',
        "owner_name: {number}",
        "https://h/?ownerName={number}&z=1",
        'got {{"ownerName": true, "owner": null, "owner-no": False}}',
    ],
)
def test_numbers_under_names_in_texts(text: str, rule: str, number: float) -> None:
    """The number alone is the value, not what closes the object behind it."""
    rules, one = RULES[rule], {"ownerName": number, "n": 1}
    nested = to_json({"blob": to_json(one)})
    told = text.format(
        json=to_json(one), nested=nested, twice=to_json({"a": nested}), python=one, number=number
    )
    said = [call(1, "t", ownerName=number), response(1, {"text": told})]
    data = recorded(said, rules)

    assert [] == scan_cassette(data, rules)
    assert [{"text": told}] == [one["result"] for one in heard(data, said, rules)]


WRITERS = {
    "Python": StringSpelling("x"),
    "PHP": StringSpelling("x", slashes=True),
    "Swift": StringSpelling(slashes=True),
    "Go": StringSpelling(html=True),
    ".NET": StringSpelling("X", html=True),
    "JavaScript": StringSpelling(),
}
ESCAPABLE = [
    "Zo\u00eb Sch\u00f6n\u00f6dinger \u2603",
    "Zo\u00eb \U0001f600, emoji \U0001f468\u200d\U0001f469",
    "https://h\u00fc.example/a?b=<c>&d",
    "plain <b> & 'x' + `y` \"q\"",
    "C:\\Users\\\u00fc/\n\tend\x7f",
    "\u2028 is a line, \u00fc",
]


def written_by(writer: str, value: Any) -> str:
    """JSON with the escapes of a writer."""
    if isinstance(value, dict):
        inside = (f"{written_by(writer, k)}: {written_by(writer, v)}" for k, v in value.items())
        return f"{{{', '.join(inside)}}}"
    return f'"{WRITERS[writer].spell(value)}"'


@pytest.mark.parametrize(
    ("writer", "value", "rule"),
    covering(3, WRITERS, ESCAPABLE, ["key", "hashed", "value", "built in"]),
)
def test_escapes_that_nobody_needs(writer: str, value: str, rule: str) -> None:
    """JSON inside of a text has the escapes that the server wrote, whatever the client escapes, in
    all that may hold it; the rest of the text stays as it was.
    """
    own = RedactionRules.parse(value=[re.escape(value)])
    rules = {**RULES, "value": own, "built in": NO_OWN_RULES}[rule]
    name = "password" if rule == "built in" else "owner"
    one, aside = {name: value, "said": "\u00e9</"}, {"aside": "\u00fc/<>"}
    texts = [
        written_by(writer, one),
        written_by(writer, {"a": written_by(writer, one)}),
        to_json({"a": written_by(writer, one), **aside}),
        written_by(writer, {"a": to_json(one), **aside}),
        f"got {written_by(writer, one)}, {to_json(one)}",
        base64.b64encode(written_by(writer, one).encode()).decode(),
    ]
    told = response(1, {"content": [{"type": "text", "text": text} for text in texts]})
    said = [call(1, "t", **{name: value}), told, *conversation(value, lambda v: to_json([v]))]
    escaped = [json.dumps(json.loads(raw)).encode() for raw in said[::2]]
    data = recorded(said, rules)

    assert [] == scan_cassette(data, rules)
    assert data == redact_cassette(data, rules).data
    assert texts == texts_of(heard(data, said, rules)[0])
    asking = [raw for pair in zip(escaped, said[1::2], strict=True) for raw in pair]
    assert texts == texts_of(heard(data, asking, rules)[0])


def texts_of(answer: Any) -> list[str]:
    return [one["text"] for one in answer["result"]["content"]]


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("text", ["got {0} ok", "{0}", "[{0}, {0}]x"])
@pytest.mark.parametrize("value", ESCAPABLE[:3])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_client_that_says_what_it_was_told(
    writer: str, value: str, text: str, *, is_known: bool
) -> None:
    """A text with escapes in a request is the recorded one, whether its secret was said before."""
    told = text.format(written_by(writer, {"password": value}))
    said = [
        *([call(1, "login", password=value), response(1, {})] if is_known else []),
        call(2, "say", text=told), response(2, {"text": told}),
        call(3, "say", password=value), response(3, {"text": told}),
    ]  # fmt: skip
    data = recorded(said, NO_OWN_RULES)
    assert [json.loads(raw) for raw in said[1::2]] == heard(data, said)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    "pattern", ["St\\S+e", "(?P<street>Str[^>\\\\]*)", "e</.*?>", "Gr.*>", "Z\\w+"]
)
def test_an_expression_that_matches_a_part_of_a_secret(pattern: str, writer: str) -> None:
    """What a name gives away goes as a whole, in JSON inside of a text too."""
    value = "Gr\u00fc\u00dfe</Stra\u00dfe>"
    text = written_by(writer, {"password": value, "a": "Zo\u00eb"})
    said = [call(1, "t", password=value, a="Zo\u00eb"), response(1, {"text": text})]
    rules = RedactionRules.parse(value=[pattern])
    data = recorded(said, rules)

    assert "e</" not in json.dumps(data.decode().replace("\\", ""), ensure_ascii=False)
    assert [] == scan_cassette(data, rules)
    assert [json.loads(said[1])] == heard(data, said)


def test_a_client_that_says_one_value_twice() -> None:
    """In two spellings, of which each is that of its place."""
    text = '{{"password": "{}"}} and {{"password": "{}"}}'
    said = [call(1, "t", text=text.format("Zo\\u00eb Sch", "Zo\u00eb Sch")), response(1, {})]
    data = recorded(said, NO_OWN_RULES)
    others = [("\\u00fcber it", "\u00fcber it", True), ("\\u00fcber it", "\u00e4ber it", False)]
    for one, other, answered in others:
        [found] = heard(data, [call(1, "t", text=text.format(one, other)), b""])
        assert answered is ("result" in found)


@pytest.mark.parametrize(
    "spelled",
    ["Zo\\u00eb Sch\u00f6nberg", "\u00eb\\u00Eb\\u00eB", "a\\/b/\u00fc", "\\u0041da \u00eb"],
)
def test_a_value_that_is_escaped_in_part(spelled: str) -> None:
    """It comes back as the same value to a reader of JSON."""
    text = f'{{"note": "{spelled}: it"}}'
    said = [call(1, "t", ownerName=json.loads(text)["note"]), response(1, {"text": text})]
    [told] = heard(recorded(said, RULES["key"]), said)
    assert json.loads(text) == json.loads(told["result"]["text"])


@pytest.mark.parametrize("rule", ["key", "hashed"])
@pytest.mark.parametrize(
    "number", ["1.5e300", "1.0", "-0.0", "1e16", "1E+20", "1.50", "2", "1" * 30]
)
def test_spellings_of_numbers(number: str, rule: str) -> None:
    """A number comes back as the client wrote it, in texts too."""
    rules = RULES[rule]
    text = f'{{"ownerName": {number}, "a": "{{\\"ownerName\\": {number}}}"}}'
    asked = call(1, "t", ownerName=0).replace(b'"ownerName":0', b'"ownerName":' + number.encode())
    data = recorded([asked, response(1, {"text": text})], rules)
    assert text == heard(data, [asked], rules)[0]["result"]["text"]


@pytest.mark.parametrize("rule", ["key", "hashed"])
@pytest.mark.parametrize(
    ("asked", "told"), [("1.5e300", "1.5e+300"), ("1.0", "1"), ("12", "12.0"), ("1e3", "1000")]
)
def test_a_server_that_spells_a_number_otherwise(asked: str, told: str, rule: str) -> None:
    """It is the same number."""
    question = call(1, "t", ownerName=0).replace(b'"ownerName":0', b'"ownerName":' + asked.encode())
    answer = response(1, {"text": f'{{"ownerName": {told}}}'})
    [found] = heard(recorded([question, answer], RULES[rule]), [question], RULES[rule])
    assert json.loads(told) == json.loads(found["result"]["text"])["ownerName"]


def test_a_number_that_nobody_said() -> None:
    """It is told as 0; never a text where a number was."""
    said = [request(1, "tools/list"), response(1, {"owner": 4711123, "of": "4711123"})]
    told = heard(recorded(said, RULES["key"]), said)
    assert {"owner": 0, "of": "4711123"} == told[0]["result"]


@pytest.mark.parametrize(("live", "answered"), [(7, True), (8, True), ("7", False), (True, False)])
def test_what_the_place_of_a_number_takes(live: Any, answered: bool) -> None:
    """Any number, and nothing else."""
    said = [call(1, "t", owner=7), response(1, {"a": 1})]
    [told] = heard(recorded(said, RULES["key"]), [call(1, "t", owner=live)])
    assert ("result" in told) is answered


def test_hashes_tell_customers_apart() -> None:
    """With the key each is told what was recorded of it, in any order; without it, in the recorded
    order.
    """
    rules = RULES["hashed"]
    said = [
        call(1, "t", owner="Ada Lovelace"), response(1, {"n": 1}),
        call(2, "t", owner="Grace Hopper"), response(2, {"n": 2}),
    ]  # fmt: skip
    data = recorded(said, rules)
    turned = [call(1, "t", owner="Grace Hopper"), b"", call(2, "t", owner="Ada Lovelace")]
    stranger = [call(1, "t", owner="Joan Clarke")]

    assert [2, 1] == [one["result"]["n"] for one in heard(data, turned, rules)]
    assert "error" in heard(data, stranger, rules)[0]
    assert [1] == [one["result"]["n"] for one in heard(data, stranger)]


def test_a_miss_hides_what_the_rules_name() -> None:
    """What is told of a request that was not recorded has none of the live values."""
    rules = RULES["key"]
    data = recorded([call(1, "t", owner="Ada Lovelace", n=1), response(1, {})], rules)
    played = replay(read("a.jsonl", data), redaction=rules)
    [told] = played.heard(call(1, "t", owner="Grace Hopper", n="by Grace Hopper"))

    assert b"Grace" not in told
    assert b"mcpmock:secret:owner:" in told
