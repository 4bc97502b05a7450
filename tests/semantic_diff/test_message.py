"""One message: its document and its label; and lists in pages."""

from __future__ import annotations

from typing import Any

from mcpmock.semantic_diff.conversations import read_conversations
from mcpmock.semantic_diff.message import DiffMessage, join_pages
from tests.support import c, call, cassette, error, request, response, s


def calls(*raws: bytes) -> list[DiffMessage]:
    """Requests and their answers by turns."""
    lines = [(c, s)[place % 2](raw) for place, raw in enumerate(raws)]
    return read_conversations(cassette(*lines), one_session=False)[0].calls


def page(id_: int, names: str, cursor: str | None = None) -> bytes:
    more = {} if cursor is None else {"nextCursor": cursor}
    return response(id_, {"tools": [{"name": name} for name in names], **more})


def ask(id_: int, cursor: str | None = None) -> bytes:
    return request(id_, "tools/list", None if cursor is None else {"cursor": cursor})


def names(saying: DiffMessage) -> str:
    result: Any = saying.answers[0].document["result"]
    return "".join(tool["name"] for tool in result["tools"])


def test_labels() -> None:
    """The method, and the name of the tool, prompt or resource."""
    made = calls(
        call(1, "add"),
        response(1),
        request(2, "resources/read", {"uri": "a://b"}),
        response(2),
        request(3, "tools/call", {"name": 7}),
        response(3),
        request(4, "ping"),
        response(4),
    )

    labels = [saying.label for saying in made]
    assert [("tools/call", "add"), ("resources/read", "a://b")] == labels[:2]
    assert [("tools/call", ""), ("ping", "")] == labels[2:]


def test_pages_are_one_list() -> None:
    """However a list is broken; the next sweep is another."""
    made = calls(
        ask(1), page(1, "ab", "x"), ask(2, "x"), page(2, "c", "y"), ask(3, "y"), page(3, "d"),
        ask(4), page(4, "abcd"),
    )  # fmt: skip

    assert ["abcd", "abcd"] == [names(saying) for saying in made]
    assert made[0].answers[0].document == made[1].answers[0].document


def test_what_is_no_page_stays() -> None:
    """A call with an unknown cursor, or answered by an error, is no page."""
    made = calls(ask(1, "z"), page(1, "a"), ask(2), page(2, "b", "x"), ask(3, "x"), error(3))

    assert 3 == len(made)
    assert made == join_pages(made)
