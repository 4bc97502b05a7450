"""Lines that allow violations: how they are read, what they cover, and which one is written."""

from __future__ import annotations

import attrs
import pytest

from mcpmock.errors import Level
from mcpmock.rules.allowances import (
    Allowance,
    BaselineError,
    allowance_for,
    baseline_of,
    read_baseline,
)
from mcpmock.rules.specification import Rule, Violation

ID_NULL = Rule("id-null", Level.ERROR, "either", "basic/index", "The ID MUST NOT be null.")
LISTED = Violation(7, ID_NULL, "2025-11-25", "odd", method="tools/list", call=("tools/list", ""))
CALLED = attrs.evolve(LISTED, method="tools/call", call=("tools/call", "get_weather"))
REPORTED = attrs.evolve(CALLED, method="notifications/progress")
AT_SCHEMA = attrs.evolve(LISTED, path="$.result.tools[1].inputSchema")
AT_ARGUMENT = attrs.evolve(CALLED, path="$.params.arguments['a/b'].c")


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("id-null", [LISTED, CALLED, REPORTED, AT_SCHEMA, AT_ARGUMENT]),
        ("  id-null  ", [LISTED, CALLED, REPORTED, AT_SCHEMA, AT_ARGUMENT]),
        ("id-*", [LISTED, CALLED, REPORTED, AT_SCHEMA, AT_ARGUMENT]),
        ("id-type", []),
        ("id-null tools/list", [LISTED, AT_SCHEMA]),
        ("id-null tools/*", [LISTED, CALLED, REPORTED, AT_SCHEMA, AT_ARGUMENT]),
        ("id-null tools/call get_*", [CALLED, REPORTED, AT_ARGUMENT]),
        ("id-null tools/call get_Weather", []),
        ("id-null * get_weather", [CALLED, REPORTED, AT_ARGUMENT]),
        ("id-null notifications/progress", [REPORTED]),
        ("id-null $", [LISTED, CALLED, REPORTED, AT_SCHEMA, AT_ARGUMENT]),
        ("id-null $.result.tools", [AT_SCHEMA]),
        ("id-null tools/list $.result.tools[*]", [AT_SCHEMA]),
        ("id-null $.result.tools[1].inputSchema", [AT_SCHEMA]),
        ("id-null $.result.tools[0]", []),
        ("id-null $.result.tools[1].inputSchema.type", []),
        ("id-null $..inputSchema", [AT_SCHEMA]),
        ("id-null $.result.*[*]", [AT_SCHEMA]),
        ("id-null tools/call $.arguments", [AT_ARGUMENT]),
        ("id-null $.params.arguments['a/b']", [AT_ARGUMENT]),
        ("id-null $.params.arguments['a']", []),
    ],
)
def test_what_a_line_covers(text: str, covered: list[Violation]) -> None:
    """Rule, method and name are globs; a path covers what is below it."""
    allowance = Allowance.parse(text)
    every = [LISTED, CALLED, REPORTED, AT_SCHEMA, AT_ARGUMENT]

    assert covered == [one for one in every if allowance.covers(one)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not of the form RULE"),
        ("$.result", "is not of the form RULE"),
        ("id-null a b c", "is not of the form RULE"),
        ("id-nul", "no rule 'id-nul'; did you mean id-null?"),
        ("ID-NULL", "no rule 'ID-NULL'"),
        ("wholly-unheard-of tools/call", "no rule 'wholly-unheard-of'"),
        ("zz*", "no rule 'zz*'"),
        ("id-null $.result[?@.a]", "a path of names, numbers and [*]"),
        ("id-null $.result[0:2]", "a path of names, numbers and [*]"),
        ("id-null $.result[-1]", "a path of names, numbers and [*]"),
        ("id-null $.result=uuid", "a path of names, numbers and [*]"),
        ("id-null $.result[", "no JSONPath: unexpected end"),
        ("id-null\x1b[2J", "no rule"),
    ],
)
def test_what_is_no_line(text: str, words: str) -> None:
    """It is refused, an unknown rule with the nearest."""
    with pytest.raises(ValueError, match=r"[a-z]") as raised:
        Allowance.parse(text)

    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("violation", "line"),
    [
        (LISTED, "id-null tools/list"),
        (CALLED, "id-null tools/call get_weather"),
        (REPORTED, "id-null notifications/progress get_weather"),
        (attrs.evolve(LISTED, method="", call=("", "")), "id-null"),
        (AT_SCHEMA, "id-null tools/list $.result.tools[*].inputSchema"),
        (AT_ARGUMENT, 'id-null tools/call get_weather $.params.arguments["a/b"].c'),
        (attrs.evolve(CALLED, path="$.odd"), "id-null tools/call get_weather"),
        (attrs.evolve(CALLED, path=r"$.result['a\u001b']"), "id-null tools/call get_weather"),
        (attrs.evolve(CALLED, path="$.result['a #b']"), None),
        (attrs.evolve(CALLED, path="$.result['it\\'s \"x\"']"), None),
        *(
            (attrs.evolve(CALLED, call=("tools/call", name)), None)
            for name in (
                "a b",
                "#1",
                "a #1",
                "$x",
                "[a]*?",
                "it's",
                '"',
                "a\nb",
                "\x1b[2J",
                "\u2028",
            )
        ),
        *(
            (attrs.evolve(CALLED, call=("tools/call", name)), None)
            for name in ("é", "\ud800", "::")
        ),
    ],
)
def test_the_line_of_a_violation(violation: Violation, line: str | None) -> None:
    """It has no event, id or number of an item, and read back from a baseline it covers the
    violation, whatever the names are.
    """
    written = allowance_for(violation)
    read = read_baseline("b", baseline_of([written]).encode())

    assert written == (line or written)
    assert [True] == [one.covers(violation) for one in read]


def test_a_baseline_has_comments() -> None:
    """Lines and ends of lines; a `#` in the quotes of a path is none. Sorted, each once."""
    text = (
        "\ufeff# known since May\r\n\r\n  # more\n"
        "id-null tools/call  # the vendor knows\r\n"
        'id-null $.params["a #b"] # this too\nid-type#x\n'
    )
    assert "id-null\nid-type\n" == baseline_of(["id-type", "id-null", "id-type"])
    with pytest.raises(BaselineError, match=r"^b:6: no rule 'id-type#x'; did you mean id-type\?"):
        read_baseline("b", text.encode())
    read = read_baseline("b", text.replace("id-type#x", "id-type #x").encode())

    assert ["id-null tools/call", 'id-null $.params["a #b"]', "id-type"] == [o.text for o in read]


def test_all_mistakes_of_a_baseline_are_said() -> None:
    """Each with its line, and no more than ten; bytes that are no text in one."""
    with pytest.raises(BaselineError) as raised:
        read_baseline("b", b"id-nul\nid-null\nnone of the form at all\n" + 20 * b"x\n")

    assert "b:1: no rule 'id-nul'; did you mean id-null?" == raised.value.lines[0]
    assert (11, "and 12 more") == (len(raised.value.lines), raised.value.lines[-1])
    with pytest.raises(BaselineError, match="is not UTF-8"):
        read_baseline("b", b"\xff")
    assert [] == read_baseline("b", b"")
