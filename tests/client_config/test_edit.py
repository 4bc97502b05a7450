"""Wrap and unwrap in texts: what changes, what stays, what is refused."""

from __future__ import annotations

from random import Random

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from mcpmock.client_config import edit
from mcpmock.client_config.document import ConfigError, Document
from mcpmock.client_config.edit import parse_config, servers_of, unwrap, wrap
from tests.support.generated_configs import WORDS, broken_promises, generate_config

KEYS = ("mcpServers",)


def document(text: str, file: str = "c.json") -> Document:
    return parse_config(file, text)


def entry(command: str) -> str:
    return f'{{"mcpServers": {{"x": {command}}}}}'


@given(st.integers(0, 2**64))
def test_unwrap_undoes_wrap(seed: int) -> None:
    """In any file of either format (`tools/wrap_configs.py` tries more of them)."""
    assert [] == list(broken_promises(generate_config(Random(seed))))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"command": "npx", "args": ["-y"], "env": {}}',
            '{"command": "M", "args": [WORDS, "npx", "-y"], "env": {}}',
        ),
        ('{"command": "npx"}', '{"command": "M", "args": [WORDS, "npx"]}'),
        ('{"command":["npx"]}', '{"command":["M", WORDS, "npx"]}'),
        (
            '{"command": {"path": "npx", "args": []}}',
            '{"command": {"path": "M", "args": [WORDS, "npx"]}}',
        ),
        (
            '{\n "command": "n\\u0070x", // why\n "args": [ // which\n  "-y",\n ]}',
            '{\n "command": "M", // why\n "args": [ // which\n  WORDS,\n  "n\\u0070x",\n'
            '  "-y",\n ]}',
        ),
        (
            '{\r\n\t"command": "npx",\r\n\t"env": {}}',
            '{\r\n\t"command": "M",\r\n\t"args": [WORDS, "npx"],\r\n\t"env": {}}',
        ),
    ],
)
def test_how_json_is_written(before: str, after: str) -> None:
    """As what stands there is written: an argument on a line of its own if they are, spelled as it
    was, with its comments.
    """
    between = ",\n  " if ",\n  WORDS" in after or "\n  WORDS" in after else ", "
    words = between.join(f'"{word}"' for word in WORDS[1:])
    expected = after.replace('"M"', f'"{WORDS[0]}"').replace("WORDS", words)

    assert entry(expected) == wrap(document(entry(before)), KEYS, "x", WORDS).document.text


def test_what_somebody_else_changed() -> None:
    """An entry that was changed since keeps the change; only the recorder goes."""
    change = wrap(document(entry('{"command": "npx", "args": ["a"]}')), KEYS, "x", WORDS)
    edited = change.document.text.replace('"a"', '"b"').replace('"x": {', '"x": {"off": true, ')

    restored = unwrap(document(edited), KEYS, "x", change.pieces)
    assert entry('{"off": true, "command": "npx", "args": ["b"]}') == restored.text


def test_a_client_that_wrote_the_file_anew() -> None:
    """Sorted, indented, without comments: the command line is what it was."""
    change = wrap(document(entry('{"command": "npx" /* c */}')), KEYS, "x", WORDS)
    listed = ",\n".join(f'"{word}"' for word in [*WORDS[1:], "npx"])
    anew = entry(f'{{\n"args": [\n{listed}\n],\n"command": "{WORDS[0]}"\n}}')
    restored = unwrap(document(anew), KEYS, "x", change.pieces)

    assert ["npx"] == servers_of(restored, KEYS)["x"].words


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"mcpServers": {"x": {"command": "a"}, "x": {"command": "b"}}}', '"x" is there twice'),
        ('{"mcpServers": {}, "mcpServers": {"x": {"command": "a"}}}', "is there twice"),
        ('{"mcpServers": {"x": {"command": "a", "command": "b"}}}', "is there twice"),
        ('{"mcpServers": {"x": {"args": ["a"]}}}', "no command that can be recorded"),
        (
            '{"mcpServers": {"x": {"command": "a", "args": {}}}}',
            "no command that can be recorded",
        ),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    """What clients may understand otherwise than we do."""
    with pytest.raises(ConfigError, match=reason):
        wrap(document(text), KEYS if servers_of(document(text), KEYS) else (), "x", WORDS)


def test_a_comma_behind_the_last_word() -> None:
    """It goes with the words of the recorder."""
    text = entry('{"command": "mcpmock", "args": ["record", "-o", "f", "--", "npx" /* c */ ,]}')

    assert entry('{"command": "npx", "args": []}') == unwrap(document(text), KEYS, "x", None).text


def test_a_change_that_would_change_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be written is read again first."""
    monkeypatch.setattr(edit, "quote", lambda word: f'"{word}"' if word != "--" else '"--", "more"')

    with pytest.raises(ConfigError, match="the entry x has a form that cannot be changed safely"):
        wrap(document(entry('{"command": "npx"}')), KEYS, "x", WORDS)


def test_a_library_that_changes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tomlkit does not give every other byte back, nothing is changed."""
    monkeypatch.setattr(tomlkit, "dumps", lambda value: f"{value.as_string()}#")
    text = '[mcp_servers.x]\ncommand = "npx"\n'

    with pytest.raises(ConfigError, match="cannot be changed without changing other lines"):
        wrap(document(text, "c.toml"), ("mcp_servers",), "x", WORDS)


def test_a_recorder_without_the_mark_of_its_command() -> None:
    """Where the command begins is not guessed."""
    text = entry('{"command": "mcpmock", "args": ["record", "-o", "f", "npx"]}')

    with pytest.raises(ConfigError, match="cannot find the command of x"):
        unwrap(document(text), KEYS, "x", None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected a value"),
        ("{", "expected a value"),
        ('{"a": 1', "expected a comma or }"),
        ('{"a" 1}', 'expected "NAME": VALUE'),
        ("{a: 1}", "expected a value"),
        ("[1, 2", "expected a comma or ]"),
        ("[,]", "expected a value"),
        ("01", "expected a value"),
        ('"\n"', "expected a value"),
        ("{} x", "expected the end of the file"),
        ("{} /*", "expected the end of the file"),
        ("[" * 200, "nested deeper than 100 levels"),
    ],
)
def test_what_is_no_json(text: str, reason: str) -> None:
    """One line, with the place."""
    with pytest.raises(ConfigError, match=rf"^c\.json:\d+: {reason}; it was not changed$"):
        document(text)


def test_what_is_no_toml() -> None:
    """One line, with the place."""
    with pytest.raises(ConfigError, match=r"^c\.toml: not TOML: .*line 2.*; it was not changed$"):
        document("a = 1\nb\n", "c.toml")


@pytest.mark.parametrize("args", ["null", "[]"])
@pytest.mark.parametrize(
    "inside",
    ['{"command": "srv", "args": ARGS, "env": {}}', '{"command": {"path": "srv", "args": ARGS}}'],
)
def test_arguments_that_are_null(args: str, inside: str) -> None:
    """They are none, and come back as they were."""
    before = document(entry(inside.replace("ARGS", args)))
    change = wrap(before, KEYS, "x", ["mcpmock", "record", "-o", "f", "--"])
    found = servers_of(change.document, KEYS)["x"]

    assert ["srv"] == servers_of(before, KEYS)["x"].words
    assert ["mcpmock", "record", "-o", "f", "--", "srv"] == found.words
    assert before.text == unwrap(change.document, KEYS, "x", change.pieces).text
