"""Files of skills that were redacted: which, and the digests of what is sent in their place."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mcpmock.cassette.model import Cassette, encode_cassette
from mcpmock.protocol.skills import digest_of
from mcpmock.redaction.cassettes import redact_cassette
from mcpmock.redaction.skill_files import (
    describe_redacted,
    redacted_files,
    redacted_files_in,
    with_true_digests,
)
from tests.support import Line, batch, c, cassette, request, response, s

ROOT = "skill://acme/refunds"
SKILL, NOTES, KEYS = f"{ROOT}/SKILL.md", f"{ROOT}/notes.md", f"{ROOT}/keys.bin"
PLAIN = "---\nname: refunds\n---\n"
SECRET = "token: mcpmock:secret:token:1\n"
BLOB = base64.b64encode(b"key mcpmock:secret:token:2").decode()


def file(uri: str, content: str, **more: Any) -> dict[str, Any]:
    raw = content.encode()
    return {"uri": uri, "digest": digest_of(raw), "size": len(raw), **more}


FILES = [file(SKILL, PLAIN), file(NOTES, "token: abc\n", mimeType="text/plain")]
ENTRY = {"uri": SKILL, "frontmatter": {"name": "refunds"}, "resources": FILES}


def read(id_: int, uri: str, **content: str) -> list[Line]:
    asks = c(request(id_, "resources/read", {"uri": uri}))
    return [asks, s(response(id_, {"contents": [{"uri": uri, **content}]}))]


def listed(id_: int = 1, entry: Any = ENTRY) -> list[Line]:
    return [c(request(id_, "skills/list")), s(response(id_, {"skills": [entry], "a": 1.0}))]


def got(id_: int = 2, entry: Any = ENTRY) -> list[Line]:
    return [c(request(id_, "skills/get", {"uri": SKILL})), s(response(id_, {"skill": entry}))]


def entries(found: Cassette) -> list[dict[str, Any]]:
    """The entries of a cassette as they are sent."""
    results = [
        json.loads(bytes(event.m)).get("result", {})  # type: ignore[arg-type]
        for take in found.takes
        for event in take.events
    ]
    return [
        one for result in results for one in [*result.get("skills", []), result.get("skill")] if one
    ]


def corrected(*files: Any) -> dict[str, Any]:
    return {**ENTRY, "resources": [*files]}


TRUE = corrected(FILES[0], file(NOTES, SECRET, mimeType="text/plain"))


@pytest.mark.parametrize("order", ["list first", "read first", "between"])
def test_entries_have_the_digests_of_what_is_sent(order: str) -> None:
    """Of the redacted file alone, in each entry, wherever it stands; every other byte stays."""
    reads = [*read(3, SKILL, text=PLAIN), *read(4, NOTES, text=SECRET)]
    events = {
        "list first": [*listed(), *got(), *reads],
        "read first": [*reads, *listed(), *got()],
        "between": [*listed(), *reads, *got()],
    }[order]
    found = cassette(*events)
    new = with_true_digests(found)

    assert [TRUE, TRUE] == entries(new)
    assert [NOTES] == redacted_files(found)
    assert [[NOTES]] == redacted_files_in(encode_cassette(found).splitlines())
    assert [ENTRY, ENTRY] == entries(found)
    assert b'"a":1.0' in encode_cassette(new)


def test_a_blob() -> None:
    """What is sent of it is what its Base64 stands for."""
    entry = corrected(file(KEYS, "key 123"))
    found = with_true_digests(cassette(*listed(entry=entry), *read(3, KEYS, blob=BLOB)))

    assert [corrected(file(KEYS, "key mcpmock:secret:token:2"))] == entries(found)


def test_a_batch() -> None:
    """Of 2025-03-26."""
    skills = response(1, {"skills": [ENTRY]})
    contents = response(2, {"contents": [{"uri": NOTES, "text": SECRET}]})
    found = with_true_digests(cassette(s(batch(skills, contents))))
    [event] = found.takes[0].events
    first = json.loads(bytes(event.m))[0]  # type: ignore[arg-type]

    assert TRUE == first["result"]["skills"][0]


def test_the_read_that_follows_an_entry_decides() -> None:
    """A file that changed was read after each entry."""
    other = "other mcpmock:secret:token:3\n"
    events = [
        *listed(),
        *read(3, NOTES, text=SECRET),
        *got(4),
        *read(5, NOTES, text=other),
    ]
    first, second = entries(with_true_digests(cassette(*events)))

    assert file(NOTES, SECRET, mimeType="text/plain") == first["resources"][1]
    assert file(NOTES, other, mimeType="text/plain") == second["resources"][1]


@pytest.mark.parametrize(
    "events",
    [
        [("stderr", "x"), *listed(), *read(3, SKILL, text=PLAIN)],
        [*read(3, NOTES, text=SECRET)],
        [*listed(), *read(3, "demo:1", text=SECRET)],
        [
            *listed(),
            s(response(3, {"contents": [None, 1, "x", [SECRET], {"uri": NOTES, "text": 1}]})),
        ],
        [*listed(entry={**ENTRY, "resources": "dynamic"}), *read(3, NOTES, text=SECRET)],
        [s(response(1, {"digest": "sha256:x", "contents": SECRET}))],
        [s(b'{"jsonrpc":"2.0","id":1,"result":["digest"]}')],
        [s(b'[1,null,"digest",{"jsonrpc":"2.0","id":1,"result":{}}]')],
    ],
)
def test_nothing_else_changes(events: list[Line]) -> None:
    """Files that were not redacted, files of no skill, and dynamic ones."""
    found = cassette(*events)

    assert with_true_digests(found) is found
    assert [] == redacted_files(found)


def test_takes_are_apart() -> None:
    """A file that was redacted in one take is none of another."""
    takes = cassette(*listed(), ("take", None), *listed(), *read(3, NOTES, text=SECRET))

    assert [[], [NOTES]] == redacted_files_in(encode_cassette(takes).splitlines())
    assert [ENTRY, TRUE] == entries(with_true_digests(takes))


@pytest.mark.parametrize(
    "line", [b'{"n":1,"t":0,"d":"s2c","end":{@:1}}', b'{"n":1,"t":0,"d":"s2c","m":@']
)
def test_lines_that_are_no_messages(line: bytes) -> None:
    """They name no file, and nothing does before a header."""
    line = line.replace(b"@", b'"digest"')

    assert [[]] == redacted_files_in([b'{"mcpmock":1}', line])
    assert [] == redacted_files_in([b'{"n":1,"t":0,"d":"s2c","m":{"digest":1}}'])


def test_an_entry_whose_files_are_no_list() -> None:
    """It stays; the others are corrected."""
    odd, mixed = {**ENTRY, "resources": 5}, {**ENTRY, "resources": [5, {"uri": []}, FILES[0]]}
    events = [*listed(), *got(entry=odd), *got(entry=mixed), *read(3, NOTES, text=SECRET)]

    assert [TRUE, odd, mixed] == entries(with_true_digests(cassette(*events)))


def test_what_redact_makes_of_a_cassette() -> None:
    """The manifest stays true; the file in it is redacted."""
    found = cassette(*listed(), *read(3, NOTES, text="password: hunter2hunter2\n"))
    data = redact_cassette(encode_cassette(found)).data

    assert [[NOTES]] == redacted_files_in(data.splitlines())
    assert FILES[1]["digest"].encode() in data


def test_the_line_names_a_few() -> None:
    """It is one line, whatever the URIs are."""
    line = describe_redacted([f"skill://a/{number}\x1b" for number in range(7)])

    assert line.endswith(r"skill://a/4\u001b and 2 more")
    assert "\x1b" not in line
