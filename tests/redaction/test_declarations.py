"""What a server declares describes secrets and holds none: it is recorded as it is, but for what no
example looks like.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.protocol.messages import S2C, Frame
from mcpmock.redaction.redactor import Redactor
from tests.support import response

EXAMPLES = [
    'Send "Authorization": "Bearer token" with it.',
    '{"Authorization": "Bearer abcdef123456"}',
    'Returns {"headers": {"Authorization": "Bearer abcdef123456"}}, for example.',
    json.dumps({"curl": json.dumps({"password": "s3cr3t!", "client_secret": "abcdef123456"})}),
    "Set API_KEY=your-key-here first.",
    "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "API_KEY=abc123def456ghi789",
    "api_key: sk-1234567890abcdefghijklmnop",
    "Use https://user:password@host/path or https://host/?api_key=abc123def456&x=1",
    "Header: Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0"
    "IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "AKIAIOSFODNN7EXAMPLE",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQ...\n-----END PRIVATE KEY-----",
    "password: hunter2",
    "xoxb-your-token-here-123, AIzaSyD-EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE1",
    "glpat-xxxxxxxxxxxxxxxxxxxx",
    "ghp_qwqwqwqwqwqwqwqwqwqwqwqwqwqwqwqwqwqw",
    "Cookie: session=abc123; path=/",
]


def declared(text: str) -> dict[str, Any]:
    """A text in each place where a server describes itself."""
    secret = {"type": "string", "description": text, "default": text, "examples": [text]}
    schema = {
        "type": "object",
        "properties": {"password": {**secret, "enum": [text]}},
        "dependentRequired": {"password": [text]},
    }
    return {
        "a tool": {"tools": [{"name": "a", "description": text}]},
        "its schemas": {"tools": [{"name": "a", "inputSchema": schema, "outputSchema": schema}]},
        "its annotations": {"tools": [{"name": "a", "annotations": {"title": text}}]},
        "a prompt": {"prompts": [{"name": "p", "arguments": [{"name": "t", "description": text}]}]},
        "a resource": {"resources": [{"uri": "x:y", "name": text, "description": text}]},
        "a template": {"resourceTemplates": [{"uriTemplate": "x://{token}", "description": text}]},
        "itself": {"serverInfo": {"name": "s", "title": text}, "instructions": text},
        "a question": {"requestedSchema": schema},
    }


@pytest.mark.parametrize("place", declared(""))
@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_stay(text: str, place: str) -> None:
    """A list that is replayed is the list that was recorded, to the byte."""
    raw = response(1, declared(text)[place])
    assert raw == Redactor().json(raw) == Redactor().frame(Frame(S2C, raw)).raw


@pytest.mark.parametrize("place", declared(""))
@pytest.mark.parametrize(
    "secret",
    [
        "sk-Zq8RtY4nLw2VbX7mKc3P",
        "ghp_Zq8RtY4nLw2VbX7mKc3PZq8RtY4nLw2V",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiI5ODE3In0.Zq8RtY4nLw2VbX7mKc3P",
    ],
)
@pytest.mark.parametrize("text", ["use {}", '{{"key": "{}"}}'])
def test_what_no_example_looks_like_goes(text: str, secret: str, place: str) -> None:
    """Random letters behind the prefix of a token are one that somebody left there."""
    raw = response(1, declared(text.format(secret))[place])
    assert secret.encode() not in Redactor().json(raw)


def test_a_known_value_goes_from_a_declaration_too() -> None:
    """A value that is secret elsewhere is secret in a description."""
    redactor = Redactor()
    redactor.json(response(1, {"password": "open sesame 7"}))
    raw = redactor.json(response(2, declared("say open sesame 7")["a tool"]))
    assert b"say mcpmock:secret:password:1" in raw
