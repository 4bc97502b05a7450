"""Values whose name is a value beside them, and arguments behind an option."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest

from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.redaction.redactor import Redactor
from mcpmock.redaction.secret_formats import suspicious

SECRET = "hunter2 & co"
TOLD = {
    "a variable": {"env": [{"name": "API_KEY", "value": SECRET}]},
    "the value first": {"value": SECRET, "name": "API_KEY"},
    "of Docker": {"Name": "API_KEY", "Value": SECRET},
    "key and value": {"key": "password", "value": SECRET},
    "with others between": {
        "name": "DB_PASSWORD",
        "of": {"name": "a", "value": 5, "x": []},
        "isSecret": True,
        "value": SECRET,
    },
    "with a number": {"id": "17", "name": "API_KEY", "value": SECRET},
    "a header": [{"name": "Accept", "value": "*/*"}, {"name": "X-Api-Key", "value": SECRET}],
    "a field of a page": {"selector": 'input[name="password"]', "value": SECRET},
    "an option": ["--password", SECRET],
    "an option of Go": ["-a", "-api-key", SECRET, "x"],
    "options": {"args": ["--user", "u", "--token", SECRET, "--verbose"]},
}
ORDINARY = [
    {"name": "token_count", "value": "5"},
    {"name": "API_KEY", "value": 5},
    {"name": "API_KEY", "valueFrom": {"key": "password"}},
    {"name": "API_KEY"},
    {"value": "x"},
    [{"name": "API_KEY"}, {"value": "of another"}],
    {"a": {"x": {"name": "API_KEY"}}, "b": {"x": {"value": "of another"}}},
    {"name": "API_KEY", "x": {"value": "of another"}},
    {"name": ["API_KEY"], "value": "x"},
    ["--password", "--user", "u"],
    ["--password", ["x"], "y"],
    ["--password", 5],
    ["password", "user"],
    [["--password"], ["x"]],
    ["--max-tokens", "many"],
]


def message(value: Any) -> bytes:
    return json.dumps({"id": 1, "method": "m", "params": {"arguments": value}}).encode()


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("spell", [lambda v: v, json.dumps, lambda v: {"x": json.dumps([v])}])
def test_a_value_that_is_named_beside_it(told: str, spell: Any) -> None:
    """It is replaced as a member of that name is, in JSON in a string too."""
    raw, redactor = message(spell(TOLD[told])), Redactor()
    clean = redactor.json(raw)

    assert suspicious(raw)
    assert SECRET.encode() not in clean
    assert 1 == redactor.table.count
    assert clean == redactor.json(clean)


@pytest.mark.parametrize("value", ORDINARY)
def test_what_has_no_name_of_a_secret_beside_it(value: Any) -> None:
    """It is the very same object."""
    raw = message(value)

    assert raw is Redactor().json(raw)


def test_what_a_server_declares_is_no_value() -> None:
    """An example of a tool stays."""
    schema = {"default": {"name": "API_KEY", "value": "x"}, "examples": [["--password", "x"]]}
    raw = json.dumps({"result": {"tools": [{"name": "t", "inputSchema": schema}]}}).encode()

    assert raw is Redactor().json(raw)


def test_rules_of_the_user_and_names_beside_values() -> None:
    """They hold for a value beside its name as for a member; a kept name is none."""
    rules = RedactionRules.parse(key=["customer"], keep=["page_key", "api_key"])
    given = [
        {"name": "customer", "value": "Ada"},
        {"name": "customer", "value": 47},
        {"name": "api_key", "value": "x"},
        ["--customer", "Bob"],
    ]
    clean = json.loads(Redactor(rules).json(message(given)))["params"]["arguments"]

    assert [
        {"name": "customer", "value": "mcpmock:secret:customer:1"},
        {"name": "customer", "value": "mcpmock:secret:customer-number:2"},
        {"name": "api_key", "value": "x"},
        ["--customer", "mcpmock:secret:customer:3"],
    ] == clean


@pytest.mark.parametrize("begin", ['[{"name":"API_KEY","x":', "[", '[["--token"],'])
def test_deep_messages_take_time_in_proportion(begin: str) -> None:
    """Paths are not copied where they are long."""
    took = []
    for depth in (500, 2_000):
        raw = (begin * depth + '"x"').encode() + b',{"value":"y"}'
        start = process_time()
        Redactor().json(raw)
        took.append(process_time() - start)

    assert took[1] < 12 * took[0]
