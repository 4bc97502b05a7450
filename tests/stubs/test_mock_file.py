"""Mocks from a file: what each table does, and every mistake in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcpmock.protocol.messages import decode
from mcpmock.stubs.builder import Stub
from mcpmock.stubs.mock_file import MockFileError
from tests.support import OPENING, Script, c, notification, request, response, s

from .stub_support import asks, opened, result, session, texts

RAIN = {"content": [{"type": "text", "text": "rain"}]}


def load(folder: Path, text: str) -> Stub:
    file = folder / "mock.toml"
    file.write_text(text, "utf-8")
    return Stub.load(file)


def live(folder: Path, text: str, *recorded: Any) -> Script:
    return opened(load(folder, text), *recorded)


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


@pytest.mark.parametrize(
    ("answer", "arguments", "heard"),
    [
        ('reply = "sun"', {}, said("sun")),
        ('reply = "{{city}}!"', {"city": "Oslo"}, said("Oslo!")),
        ('reply = "{{ city }}"', {"city": 4}, said("4")),
        ('reply = "{{ one }}"', {"one": {"n": 4}}, said('{"n":4}', structuredContent={"n": 4})),
        ('reply = "{{a.b.0}}, {{n}}"', {"a": {"b": ["x"]}, "n": 1.5}, said("x, 1.5")),
        ('reply = "{{a.b}}"', {"a.b": "dotted"}, said("dotted")),
        ('reply = "\\\\{{city}}"', {}, said("{{city}}")),
        ('reply = "{{list}}: {{yes}}"', {"list": [1, "a"], "yes": True}, said('[1,"a"]: true')),
        ("reply = 2026-11-20", {}, said("2026-11-20")),
        ('fail = "no {{city}}"', {"city": "Oslo"}, said("no Oslo", isError=True)),
        ("reply = false", {}, said("false")),
        ('reply = ""', {}, said("")),
        ('fail = "{{one}}"', {"one": {"n": True}}, said('{"n":true}', isError=True)),
        ('fail = "{{one}}"', {"one": None}, said("null", isError=True)),
        (
            'reply = "{{city}}"',
            {},
            said("mcpmock: the mock repeats city, which the call does not have", isError=True),
        ),
        (
            'reply = "{{list.5}}"',
            {"list": []},
            said("mcpmock: the mock repeats list.5, which the call does not have", isError=True),
        ),
    ],
)
def test_answers(tmp_path: Path, answer: str, arguments: dict[str, Any], heard: Any) -> None:
    """A reply as it is written, with the arguments of the call in their places."""
    session = live(tmp_path, f'[[tool]]\nname = "a"\n{answer}\n')

    assert heard == result(session.heard(asks(1, "a", **arguments)))


def test_an_error_repeats_arguments(tmp_path: Path) -> None:
    """In its message and its data."""
    session = live(
        tmp_path,
        '[[tool]]\nname = "a"\n'
        'error = { code = -32602, message = "no {{city}}", data = { city = "{{city}}" } }\n',
    )

    [raw] = session.heard(asks(1, "a", city="Oslo"))
    told = {"code": -32602, "message": "no Oslo", "data": {"city": "Oslo"}}
    assert told == decode(raw)["error"]


def test_a_text_is_one_whatever_it_repeats(tmp_path: Path) -> None:
    """The messages of errors and of progress are texts, and an argument that is none is its
    JSON.
    """
    session = live(
        tmp_path,
        '[[tool]]\nname = "a"\nprogress = [{ amount = 1, message = "{{of}}" }]\n'
        'error = { code = 1, message = "{{of}}", data = "{{of}}" }\n',
    )

    progress, error = session.heard(asks(1, "a", token=7, of=[None]))
    assert "[null]" == decode(progress)["params"]["message"]
    assert {"code": 1, "message": "[null]", "data": [None]} == decode(error)["error"]


CONDITIONS = """
[[tool]]
name = "a"
[[tool.answer]]
reply = "any"
[[tool.answer]]
when = { city = "Oslo" }
reply = "first"
[[tool.answer]]
when = { city = "Oslo" }
reply = "second"
[[tool.answer]]
when = { day = 1, of = { a = 1, b = 2 } }
reply = "third"
[[tool.answer]]
when = { of = { b = 2.0, a = 1 }, day = 1.0 }
reply = "fourth"
[[tool.answer]]
like = { day = "date" }
reply = "a day"
"""


def test_conditions_and_sequences(tmp_path: Path) -> None:
    """Equal conditions are one sequence, and conditions come before none."""
    session = live(tmp_path, CONDITIONS)
    calls = [{"city": "Oslo"}, {}, {"city": "Oslo"}, {"city": "Oslo"}, {"day": "2026-02-28"}]

    heard = [texts(session.heard(asks(n, "a", **call)))[0] for n, call in enumerate(calls, 1)]
    assert ["first", "any", "second", "second", "a day"] == heard
    assert ["any"] == texts(session.heard(asks(9, "a", day="2026-02-30")))
    nested = {"day": 1, "of": {"a": 1, "b": 2}}
    heard = [texts(session.heard(asks(n, "a", **nested)))[0] for n in (10, 11)]
    assert ["third", "fourth"] == heard


def test_messages_before_an_answer(tmp_path: Path) -> None:
    """Progress and notifications with their delays, also where they repeat arguments."""
    session = live(
        tmp_path,
        '[[tool]]\nname = "a"\nreply = "{{city}}"\nafter = "1s"\n'
        'progress = [0.5, { amount = 1, total = 1, message = "{{city}}", after = "1s" }]\n'
        'notify = [{ method = "x/y", params = { of = "{{city}}" } }]\n',
    )

    def done(**more: Any) -> bytes:
        return notification("notifications/progress", {"progressToken": 7, **more})

    session.at(10, client=asks(1, "a", token=7, city="Oslo"), to_client=done(progress=0.5))
    session.at(
        11,
        to_client=[
            done(progress=1, total=1, message="Oslo"),
            notification("x/y", {"of": "Oslo"}),
        ],
    )
    session.at(12, to_client=response(1, said("Oslo")))
    session.nothing_more()


@pytest.mark.parametrize(
    ("method", "declared"),
    [
        ("x/y", {}),
        ("notifications/message", {"logging": {}}),
        ("notifications/tools/list_changed", {"tools": {"listChanged": True}}),
        ("notifications/resources/list_changed", {"resources": {"listChanged": True}}),
        ("notifications/resources/updated", {"resources": {"subscribe": True}}),
    ],
)
def test_messages_are_declared(tmp_path: Path, method: str, declared: dict[str, Any]) -> None:
    """The capability that a notification of an answer needs is declared."""
    stub = load(tmp_path, f'[[prompt]]\nname = "p"\nreply = ""\nnotify = [{{method = "{method}"}}]')

    hello = result(session(stub).heard(request(0, "initialize", {})))
    assert {"prompts": {}, **declared} == hello["capabilities"]


ENTRIES = """
[server]
name = "w"
version = "2"
instructions = "ask"
[[tool]]
name = "a"
title = "A"
outputSchema = { type = "object" }
schema = { required = ["x"] }
[[prompt]]
name = "p"
arguments = ["city", { name = "day", required = true }]
reply = "Weather in {{city}}"
[[resource]]
uri = "w://{city}"
mime_type = "text/plain"
reply = "{{city}}"
[[method]]
method = "x/y"
reply = { z = "{{q}}" }
"""


def test_entries(tmp_path: Path) -> None:
    """Each kind is listed and answered; what the file does not know goes to the list."""
    session = live(tmp_path, ENTRIES)

    assert [
        {
            "name": "a",
            "inputSchema": {"type": "object", "required": ["x"]},
            "title": "A",
            "outputSchema": {"type": "object"},
        }
    ] == result(session.heard(request(1, "tools/list")))["tools"]
    assert [{"name": "city"}, {"name": "day", "required": True}] == result(
        session.heard(request(2, "prompts/list"))
    )["prompts"][0]["arguments"]
    prompt = request(3, "prompts/get", {"name": "p", "arguments": {"city": "Oslo"}})
    assert "Weather in Oslo" == result(session.heard(prompt))["messages"][0]["content"]["text"]
    read = request(4, "resources/read", {"uri": "w://Oslo"})
    assert [{"uri": "w://Oslo", "mimeType": "text/plain", "text": "Oslo"}] == result(
        session.heard(read)
    )["contents"]
    assert {"z": 1} == result(session.heard(request(5, "x/y", {"q": 1})))


def test_the_recording_answers_the_rest(tmp_path: Path) -> None:
    """`recorded` leaves one call to it."""
    recorded = (*OPENING, c(asks(1, "a")), s(response(1, RAIN)))
    text = '[[tool]]\nname = "a"\n[[tool.answer]]\nrecorded = true\n[[tool.answer]]\nreply = "sun"'
    session = live(tmp_path, text, *recorded)

    assert ["rain", "sun"] == [texts(session.heard(asks(n, "a")))[0] for n in (1, 2)]


ANSWER = "say one of reply, fail, error, hang, recorded"


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("sevrer = 1", ["sevrer: unknown key; did you mean server?"]),
        ('[[tool]]\nname = 1\nreply = ""', ["tool[0].name: expected a text, not 1"]),
        ('[[tool]]\nreply = ""', ["tool[0].name: missing"]),
        ('[[tool]]\nname = "a"\ndescripton = "x"', ["tool[0].descripton: unknown key; did you"]),
        ('[[resource]]\nuri = "a:b"\nmimeType = "x"', ["resource[0].mimeType: unknown key; did"]),
        ('[[method]]\nmethod = "x"\ntitle = "y"', ["method[0].title: unknown key"]),
        ('[[tool]]\nname = "a"\nafter = "1s"', [f"tool[0]: {ANSWER}"]),
        ('[[tool]]\nname = "a"\nreply = 1\nfail = "x"', [f"tool[0]: {ANSWER}"]),
        ('[[tool]]\nname = "a"\n[[tool.answer]]\nhang = false', [f"tool[0].answer[0]: {ANSWER}"]),
        (
            '[[tool]]\nname = "a"\nreply = 1\n[[tool.answer]]\nreply = 2',
            ["tool[0].answer: put reply into one of the answers, too"],
        ),
        (
            '[[tool]]\nname = "a"\n[[tool.answer]]\nrecorded = true\nafter = 1',
            ["tool[0].answer[0].recorded: the recording has its own"],
        ),
        (
            '[[tool]]\nname = "a"\nreply = 1\nwhen = { d = 1 }\nlike = { d = "date", e = "dat" }',
            ["tool[0].like.e: no kind 'dat': choose any,"],
        ),
        ('[[tool]]\nname = "a"\nreply = 1\nlike = { d = "~1" }', ["tool[0].like.d: kind '~1' com"]),
        ('[[tool]]\nname = "a"\nreply = inf', ["tool[0].reply: JSON has no inf"]),
        (
            '[[tool]]\nname = "a"\nreply = { c = [1.5, -inf, { d = nan }] }',
            ["tool[0].reply.c[1]: JSON has no -inf", "tool[0].reply.c[2].d: JSON has no nan"],
        ),
        (
            '[[tool]]\nname = "a"\nreply = 1\nwhen = { x = inf }\nafter = "x"\n'
            "progress = [{ amount = inf }]",
            [
                "tool[0].when.x: JSON has no",
                "tool[0].progress[0].amount: JSON has",
                "tool[0].after: ",
            ],
        ),
        (
            '[[announce]]\nmethod = "a"\nparams = { a = nan }',
            ["announce[0].params.a: JSON has no nan"],
        ),
        (
            '[[tool]]\nname = "a"\nreply = 1\n[[tool]]\nname = "a"\nreply = 2',
            ["tool[1].name: 'a' is declared twice; write its answers as [[tool.answer]]"],
        ),
        (
            '[[resource]]\nuri = "a:{?q}"\n[[resource]]\nuri = 1',
            [
                "resource[0].uri: a variable is {name}, {+name} or {name*}, not '{?q}'",
                "resource[1].uri: expected a text, not 1",
            ],
        ),
        ('[server]\nrepeats = "never"', ["server.repeats: expected one of last, cycle, error"]),
        ('[server]\nrevision = "2020"', ["server.revision: expected one of 2024-11-05"]),
        ("[[announce]]", ["announce[0].method: missing"]),
        ("[[tool]", ["Expected ']]'"]),
    ],
)
def test_mistakes(tmp_path: Path, text: str, mistakes: list[str]) -> None:
    """Each has its place in the file."""
    with pytest.raises(MockFileError) as found:
        load(tmp_path, text)

    assert len(mistakes) == len(found.value.lines)
    for mistake, line in zip(mistakes, found.value.lines, strict=True):
        assert line.startswith(f"{tmp_path / 'mock.toml'}: {mistake}")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """A missing file and one that is no text."""
    with pytest.raises(MockFileError, match=r"no.toml: No such file"):
        Stub.load(tmp_path / "no.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff")
    with pytest.raises(MockFileError, match=r"b.toml: 'utf-8' codec"):
        Stub.load(tmp_path / "b.toml")
