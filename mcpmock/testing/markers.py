"""What the markers `mcpmock` of a test say together: those of the test, of its class, its module
and its packages.

The nearest one wins, keyword by keyword; rules (`RULES`) add up. Two markers in one place are one:
they may not contradict each other. `settings` stands above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import attrs

from mcpmock.options.testing import MarkerOptions, keywords_of

if TYPE_CHECKING:
    import pytest

NAME = "mcpmock"
MATCH_RULES = ("ignore", "like", "echo")
REDACTION_RULES = ("redact_key", "redact_value", "redact_path", "keep_key")
RULES = (*MATCH_RULES, *REDACTION_RULES)


@attrs.frozen
class Markers:
    """The keywords of all markers of a test."""

    given: Mapping[str, Any]
    """By keyword what the nearest marker says; without the rules."""
    rules: Sequence[Mapping[str, Any]]
    """The keywords of each marker, the nearest last, for the rules in them."""


def markers_of(item: pytest.Item) -> Markers:
    """Return the markers of a test as one. Raises TypeError for an unknown keyword and for markers
    that contradict each other.
    """
    given: dict[str, Any] = {}
    rules: list[Mapping[str, Any]] = []
    for where, marks in reversed(list(_places(item))):
        said: dict[str, Any] = {}
        for mark in reversed(marks):
            words = _words_of(mark)
            for name, value in words.items():
                if name not in RULES and name in said and said[name] != value:
                    raise TypeError(
                        f"two markers on {where} contradict each other: {name}={said[name]!r} and "
                        f"{name}={value!r}; keep one{_ADVICE.get(name, '')}"
                    )
            said.update(words)
            rules.append(words)
        given.update(said)
    return Markers({name: given[name] for name in given if name not in RULES}, rules)


_ADVICE = {
    "cassette": ", and start further servers with mcpmock_serve",
    "faults": ", with a list of all faults",
}


def check_keywords(given: Mapping[str, Any], table: type, owner: str) -> None:
    """Raise TypeError for a keyword that the table does not have: with the nearest, and all."""
    check_known(given, [one.name for one in keywords_of(table)], owner, "keyword {}=")


def check_known(given: Mapping[str, Any], known: list[str], owner: str, spelled: str) -> None:
    """Raise TypeError for a name that is not known, `spelled` as the owner's users do."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.65)
            question = f" Did you mean {spelled.partition(' ')[2].format(near[0])}?" if near else ""
            raise TypeError(
                f"{owner} has no {spelled.format(name)}.{question} It has {', '.join(known)}"
            )


def _words_of(mark: pytest.Mark) -> dict[str, Any]:
    """Return the keywords of a marker, the cassette among them."""
    if len(mark.args) > 1:
        raise TypeError(
            "the marker takes one cassette; start a server for each with mcpmock_serve, or join "
            "them with `mcpmock merge`"
        )
    if mark.args and "cassette" in mark.kwargs:
        raise TypeError("the marker names its cassette twice, with cassette= and without")
    words = {**dict(zip(("cassette",), mark.args, strict=False)), **mark.kwargs}
    check_keywords(words, MarkerOptions, "the marker")
    return words


def _places(item: pytest.Item) -> Iterator[tuple[str, list[pytest.Mark]]]:
    """Yield the places, the nearest first, and their markers, the last written one first."""
    import pytest

    of_parameter = list(getattr(getattr(item, "callspec", None), "marks", ()))
    for node in reversed(item.listchain()):
        marks = [mark for mark in node.own_markers if mark.name == NAME]
        if node is item:
            chosen = [mark for mark in marks if any(mark is one for one in of_parameter)]
            marks = [mark for mark in marks if not any(mark is one for one in of_parameter)]
            yield "this parameter", chosen
            yield "this test", marks
        elif isinstance(node, pytest.Class):
            # pytest adds up the markers of a class and of its bases.
            for cls in node.obj.__mro__:
                own = cls.__dict__.get("pytestmark", [])
                written = own if isinstance(own, list) else [own]
                of_class = [getattr(one, "mark", one) for one in written]
                here = [mark for mark in marks if any(mark is one for one in of_class)]
                yield f"the class {cls.__name__}", here
                marks = [mark for mark in marks if not any(mark is one for one in here)]
            yield f"the class {node.name}", marks
        else:
            yield f"{node.name}", marks
