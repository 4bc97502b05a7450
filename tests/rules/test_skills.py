"""Skills: their entries, the digests of their files, and who may ask for what."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.skills import digest_of
from mcpmock.rules import skills as module
from mcpmock.rules.conversation import ConversationChecker
from mcpmock.rules.skills import read_frontmatter
from mcpmock.rules.specification import Unjudged, Violation
from tests.rules.violations import (
    HINTS,
    HTTP,
    SERVER,
    Planted,
    ask,
    asked,
    done,
    modern,
    modern_http,
    names,
    opening,
    violations,
)
from tests.support import answers, c2s, error, request, response, s2c

ID = "io.modelcontextprotocol/skills"
ABLE: Any = {**SERVER, "extensions": {ID: {"directoryRead": True}}}
PLAIN: Any = {**SERVER, "extensions": {ID: {}}}
ROOT = "skill://acme/refunds"
SKILL = f"{ROOT}/SKILL.md"
TEXT = "---\nname: refunds\ndescription: How to refund\n---\nDo it.\n"
FRONT = {"name": "refunds", "description": "How to refund"}
SECRET = "mcpmock:secret:token:1"


def file(uri: str = SKILL, content: str = TEXT, **more: Any) -> dict[str, Any]:
    raw = content.encode()
    return {"uri": uri, "digest": digest_of(raw), "size": len(raw), **more}


def entry(*files: Any, **more: Any) -> dict[str, Any]:
    return {"uri": SKILL, "frontmatter": FRONT, "resources": [*files] or [file()], **more}


def listed(*entries: Any, id_: Any = "l", server: Any = ABLE) -> list[Any]:
    found = {"skills": [*entries], **HINTS}
    return [*modern(server), c2s(ask(id_, "skills/list")), s2c(done(id_, found))]


def got(skill: Any, id_: int = 1, uri: str = SKILL) -> list[Any]:
    """The entry of a skill, or an error."""
    asks = c2s(ask(id_, "skills/get", {"uri": uri}))
    return [asks, s2c(skill if isinstance(skill, bytes) else done(id_, {"skill": skill, **HINTS}))]


def read(uri: str = SKILL, id_: Any = 7, **found: Any) -> list[Any]:
    contents = [{"uri": uri, **(found or {"text": TEXT})}]
    asks = c2s(ask(id_, "resources/read", {"uri": uri}))
    return [asks, s2c(done(id_, {"contents": contents, **HINTS}))]


def directory(uri: str, *children: str, id_: int = 9) -> list[Any]:
    found = {"resources": [{"uri": child, "name": "a"} for child in children], **HINTS}
    asks = c2s(ask(id_, "resources/directory/read", {"uri": uri}))
    return [asks, s2c(done(id_, found))]


def named(name: str, uri: str) -> list[Any]:
    front = {**FRONT, "name": name}
    return listed({"uri": uri, "frontmatter": front, "resources": "dynamic"})


def legacy(*steps: Any, server: Any) -> list[Any]:
    return [*opening(server=server), *steps]


KNOWN = listed(entry(file(), file(f"{ROOT}/a.txt", "a")))
ASK_LIST = c2s(request(1, "skills/list"))
LEGACY_LIST = [ASK_LIST, s2c(response(1, {"skills": [entry()]}))]
LONG = "x" * 65

PLANTED = [
    Planted("skills-undeclared", [*modern(), c2s(ask(1, "skills/list"))]),
    Planted("skills-undeclared", [*modern(), c2s(ask(1, "skills/get", {"uri": SKILL}))]),
    Planted("skills-undeclared", legacy(ASK_LIST, server=SERVER)),
    Planted("directory-undeclared", [*modern(PLAIN), *directory(ROOT)[:1]]),
    Planted("directory-undeclared", [*modern(), *directory(ROOT)[:1]]),
    Planted("skills-missing", [*modern(PLAIN), c2s(ask(1, "skills/list")), s2c(error(1, -32601))]),
    Planted("skills-missing", [*modern(PLAIN), *got(error(1, -32601))]),
    Planted("skills-missing", [*modern(ABLE), *directory(ROOT)[:1], s2c(error(9, -32601))]),
    Planted("skills-missing", legacy(ASK_LIST, s2c(error(1, -32601)), server=PLAIN)),
    Planted(
        "skills-missing",
        [
            *modern_http()[:1],
            answers(1, modern(PLAIN)[1].raw),
            asked(2, ask(1, "skills/list"), "skills/list"),
            answers(2, error(1, -32601), 404),
        ],
        HTTP,
    ),
    Planted("skills-resources", modern({"extensions": {ID: {}}})),
    Planted("skills-resources", opening(server={"tools": {}, "experimental": {ID: {}}})),
    Planted("skill-name", named("refunds", "skill://acme/other/SKILL.md")),
    Planted("skill-name", named("refunds", "skill://acme/refunds/README.md")),
    Planted("skill-name", named("Refunds", "skill://acme/Refunds/SKILL.md")),
    Planted("skill-name", named("re--funds", "skill://re--funds/SKILL.md")),
    Planted("skill-name", named("-refunds", "github://x/y/-refunds/SKILL.md")),
    Planted("skill-name", named(LONG, f"skill://{LONG}/SKILL.md")),
    Planted("skill-manifest", listed(entry(file(f"{ROOT}/a.txt", "a")))),
    Planted("skill-manifest", listed(entry(file(), file()))),
    Planted("skill-manifest", listed(entry(file(), file("skill://acme/other/a.txt", "a")))),
    Planted("skill-manifest", listed(entry(file(), file(f"{ROOT}/../other/a.txt", "a")))),
    Planted("skill-manifest", listed(entry(file(digest="sha256:ABC")))),
    Planted("skill-manifest", [*modern(PLAIN), *got(entry(file(digest=digest_of(b"")[7:])))]),
    Planted("skill-manifest", listed(entry(file(digest=digest_of(b"").upper())))),
    Planted(
        "skill-limits",
        listed(entry(file(), *(file(f"{ROOT}/{number}", "a") for number in range(512)))),
    ),
    Planted("skill-limits", listed(entry(file(size=16_777_217)))),
    Planted("skill-digest", [*KNOWN, *read(f"{ROOT}/a.txt", text="b")]),
    Planted("skill-digest", [*KNOWN, *read(f"{ROOT}/a.txt", blob="Yg==")]),
    Planted("skill-digest", [*listed(entry(file(size=1))), *read()]),
    Planted("skill-digest", [*modern(PLAIN), *got(entry(file(content="old"))), *read()]),
    Planted("skill-digest", [*KNOWN, *got(entry(file(content="new"))), *read()]),
    Planted(
        "skill-digest",
        legacy(
            *LEGACY_LIST,
            c2s(request(2, "resources/read", {"uri": SKILL})),
            s2c(response(2, {"contents": [{"uri": SKILL, "text": f"{TEXT}\n"}]})),
            server={**SERVER, "experimental": {ID: {}}},
        ),
    ),
    *(
        Planted("skill-frontmatter", [*listed(entry(file(content=text))), *read(text=text)])
        for text in (
            "---\nname: other\ndescription: How to refund\n---\n",
            '---\ndescription: "How"\nname: refunds\n---\n',
            "---\nname: 'refunds'\n---\n",
            "# no frontmatter\n",
            "---\r\nname: refunds\r\ndescription: How to refund it # twice\r\n---\r\n",
        )
    ),
    Planted("skill-listed-refused", [*KNOWN, *got(error(1, -32602))]),
    Planted("skill-listed-refused", [*KNOWN, *got(error(1, -32603))]),
    Planted("skill-unlisted", [*KNOWN, *read(f"{ROOT}/b.txt", text="b")]),
    Planted("skill-unlisted", [*KNOWN, *read(f"{ROOT}/deep/in/it.txt", text="b")]),
    Planted("directory-children", [*KNOWN, *directory(ROOT, f"{ROOT}/deep/a.txt")]),
    Planted("directory-children", [*KNOWN, *directory(f"{ROOT}/", "skill://acme/other")]),
    Planted("directory-children", [*KNOWN, *directory(ROOT, f"{ROOT}/a.txt", ROOT)]),
    Planted("not-found-code", [*KNOWN, *got(error(1, -32603), uri="skill://acme/no/SKILL.md")]),
    Planted("not-found-code", [*KNOWN, *got(error(1, -32000 - 500), uri=f"{ROOT}/a.txt")]),
    Planted("not-found-code", [*KNOWN, *directory("skill://no")[:1], s2c(error(9, -32603))]),
    Planted("not-found-code", [*KNOWN, *directory(SKILL)[:1], s2c(error(9, -32603))]),
    Planted(
        "cache-hints", [*modern(PLAIN), c2s(ask(1, "skills/list")), s2c(done(1, {"skills": []}))]
    ),
]
FINE = {
    "a skill": [*KNOWN, *read(), *read(f"{ROOT}/a.txt", id_=8, text="a")],
    "a blob": [*KNOWN, *read(f"{ROOT}/a.txt", blob="YQ==")],
    "declared as experimental": legacy(*LEGACY_LIST, server={**SERVER, "experimental": {ID: {}}}),
    "declared in the legacy era": legacy(*LEGACY_LIST, server=PLAIN),
    "without a declaration in sight": [c2s(ask(1, "skills/list")), s2c(error(1, -32601))],
    "not declared and refused": [
        *modern({**SERVER, "extensions": {"other.example/x": {}}}),
        c2s(ask(1, "tools/list")),
        s2c(done(1, {"tools": [], **HINTS})),
    ],
    "dynamic": [
        *listed({"uri": SKILL, "frontmatter": FRONT, "resources": "dynamic"}),
        *read(),
        *read(f"{ROOT}/b.txt", id_=8, text="b"),
    ],
    "a newer entry": [*listed(entry(file(content="old"))), *got(entry()), *read()],
    "an entry that lists less": [*KNOWN, *got(entry()), *read()],
    "a file of no skill": [*KNOWN, *read("demo:1", text="b")],
    "a folder of another name": [*KNOWN, *read("skill://acme/refunds-2/b.txt", text="b")],
    "a nested skill": [
        *listed(
            entry(),
            {
                "uri": f"{ROOT}/inner/SKILL.md",
                "frontmatter": {"name": "inner"},
                "resources": "dynamic",
            },
        ),
        *read(f"{ROOT}/inner/x", text="b"),
    ],
    "a skill of 512 files": listed(
        entry(file(), *(file(f"{ROOT}/{number}", "a") for number in range(511)))
    ),
    "a name": named("a-1-b", "skill://x/a-1-b/SKILL.md"),
    "an error of a skill that nobody listed": [*modern(PLAIN), *got(error(1, -32603))],
    "no skill": [*KNOWN, *got(error(1, -32602), uri="skill://acme/no/SKILL.md")],
    "a directory": [*KNOWN, *directory(ROOT, f"{ROOT}/a.txt", f"{ROOT}/deep/", SKILL)],
    "no directory": [*KNOWN, *directory("skill://no")[:1], s2c(error(9, -32602))],
    "pages of a directory": [
        *KNOWN,
        *directory(ROOT, f"{ROOT}/a.txt"),
        *directory(ROOT, f"{ROOT}/a.txt", id_=10),
    ],
    **{
        f"frontmatter {text!r}": [*listed(entry(file(content=text))), *read(text=text)]
        for text in (
            "---\nname: 'refunds' # it is\ndescription: \"How to\\u0020refund\"\n---\n",
            "---\r\nname:   refunds\r\ndescription: How to refund # money\r\n---\r\nx",
            "---\nname: refunds\ndescription: >\n  How to\n  refund\n---\n",
            "---\nname: refunds\ndescription: How to\n  refund\n---\n",
            "---\nname: refunds\ndescription: |-\n  other\n---\n",
            "---\n{name: refunds, description: x}\n---\n",
            '---\n"name": other\n---\n',
            "\ufeff---\nname: refunds\ndescription: How to refund\nlicense: MIT\n---\n",
        )
    },
}


@pytest.mark.parametrize("steps", FINE.values(), ids=FINE)
def test_these_skills_are_right(steps: list[Any]) -> None:
    """Each is much like one that is wrong."""
    assert [] == names(*steps)


@pytest.mark.parametrize(
    "found", [{"text": f"{TEXT}{SECRET}"}, {"blob": "bWNwbW9jazpzZWNyZXQ6dG9rZW46MQ=="}]
)
def test_a_redacted_file_is_not_judged(found: dict[str, str]) -> None:
    """That is said, and is no violation."""
    conversation = ConversationChecker()
    steps = [*listed(entry()), *read(**found), *read(id_=8, **found)]
    told = [one for number, frame in enumerate(steps) for one in conversation.check(frame, number)]

    assert [Unjudged(f"the digest of {SKILL}", "it was redacted")] == [
        one for one in told if isinstance(one, Unjudged)
    ]
    assert [] == names(*steps)


MISFITS: list[tuple[Any, str, str]] = [
    ({"frontmatter": FRONT, "resources": "dynamic"}, "uri", "missing"),
    ({"uri": SKILL, "resources": "dynamic"}, "frontmatter", "missing"),
    ({"uri": SKILL, "frontmatter": [], "resources": "dynamic"}, "frontmatter", "not []"),
    (
        {"uri": SKILL, "frontmatter": {"name": "refunds"}, "resources": "dynamic"},
        "frontmatter.description",
        "missing",
    ),
    ({"uri": SKILL, "frontmatter": FRONT}, "resources", "missing"),
    ({"uri": SKILL, "frontmatter": FRONT, "resources": "static"}, "resources", "not static"),
    ({"uri": SKILL, "frontmatter": FRONT, "resources": None}, "resources", "not None"),
    (entry({"uri": SKILL, "digest": digest_of(b"")}), "resources[0].size", "missing"),
    (entry(file(size="7")), "resources[0].size", "not 7"),
    (entry(file(size=1.5)), "resources[0].size", "not 1.5"),
    (entry({"uri": SKILL, "size": 1}), "resources[0].digest", "missing"),
    (entry(file(), 7), "resources[1].uri", "missing"),
]


@pytest.mark.parametrize(("skill", "where", "problem"), MISFITS)
def test_entries_of_a_wrong_form(skill: Any, where: str, problem: str) -> None:
    """The rule is that of shapes, the page that of the extension."""
    for method, steps, path in (
        ("skills/list", listed(skill), f"$.result.skills[0].{where}"),
        ("skills/get", [*modern(PLAIN), *got(skill)], f"$.result.skill.{where}"),
    ):
        found = misfits(steps)
        assert ("ext-skills skills", path) == (found[0].cited, found[0].path)
        assert f"{method} result, {path}: {problem}" == found[0].text


def test_a_size_that_no_double_holds() -> None:
    """It is no number of bytes."""
    *before, last = listed(entry(file(size=1.5)))
    [found] = misfits([*before, s2c(last.raw.replace(b"1.5", b"1e999"))])
    assert "skills/list result, $.result.skills[0].resources[0].size: not inf" == found.text


def misfits(steps: list[Any]) -> list[Violation]:
    conversation = ConversationChecker()
    told = [one for number, frame in enumerate(steps) for one in conversation.check(frame, number)]
    return [one for one in told if isinstance(one, Violation) and one.rule.name == "shape"]


def test_entries_of_the_right_form() -> None:
    """Whole numbers may be spelled with a fraction, and other members are open."""
    for one in (entry(file(size=56.0, a=1), b=2), entry(file(size="mcpmock:secret:a-number:1"))):
        assert [] == misfits(listed(one))
    assert ["$.result.skills"] == [
        one.path
        for one in misfits([*modern(PLAIN), c2s(ask(1, "skills/list")), s2c(done(1, HINTS))])
    ]


def test_what_is_cited_and_who_is_to_blame() -> None:
    """The page of the extension; reads are the client's, files the server's."""
    [found] = violations(*KNOWN, *read(f"{ROOT}/a.txt", text="b"))
    assert ("ext-skills skills", "server") == (found.cited, found.by)
    assert ("$.result.contents[0]", "error") == (found.path, found.level.value)
    [found] = violations(*KNOWN, *read(f"{ROOT}/b.txt", text="b"))
    assert ("$.params.uri", "client", "warning") == (found.path, found.by, found.level.value)


def test_entries_are_the_servers_in_the_modern_era() -> None:
    """Over HTTP each exchange may be of another caller."""
    steps: list[Any] = [modern_http()[0], answers(1, modern(PLAIN)[1].raw)]
    asks, answer = KNOWN[2:]
    steps += [asked(2, asks.raw, "skills/list"), answers(2, answer.raw)]
    asks, answer = read(f"{ROOT}/a.txt", text="b")
    steps += [asked(3, asks.raw, "resources/read", f"{ROOT}/a.txt"), answers(3, answer.raw)]

    assert ["skill-digest"] == names(*steps, transport=HTTP, sessionless=True)


def test_frontmatter() -> None:
    """What is no plain or quoted scalar on one line is not read, what is not there is None."""
    assert {"name": None, "description": None} == read_frontmatter("name: x\n")
    assert {"name": "x: y", "description": "a 'b'"} == read_frontmatter(
        "---\nname: 'x: y'\ndescription: 'a ''b'''\nname2: z\n---\n"
    )
    for text in ("1", "true", "~", "[a]", "&a b", "a: b", "2026-01-01", "- a", '"a', "'a"):
        assert "name" not in read_frontmatter(f"---\nname: {text}\n---\n"), text
    assert {"description": "b"} == read_frontmatter("---\nname:\n  - a\ndescription: b\n---\n")


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u2029"])
@pytest.mark.parametrize("end", ["---", "..."])
@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_the_lines_of_frontmatter(space: str, end: str, eol: str) -> None:
    """They end, and its scalars are set off, as in YAML, by nothing else that Python takes for a
    line's end or for white space.
    """
    text = f"a{space}#1{space}"
    lines = ["---", "name : x \t# y", f"description: {text}", end, "name: z"]

    assert {"name": "x", "description": text} == read_frontmatter(eol.join(lines))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many skills the latest are remembered."""
    monkeypatch.setattr("mcpmock.rules.skill_entries.MAX_REMEMBERED", 2)
    others = [{"uri": f"skill://x{number}/SKILL.md", "resources": "dynamic"} for number in range(3)]

    assert "skill-digest" not in names(*listed(entry(), *others), *read(text="other"))
    assert module.MAX_FILES == 512
