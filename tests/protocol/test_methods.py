"""The table of methods, walked row by row against the revisions' schemas as protocol.md counts
them.
"""

from __future__ import annotations

import pytest

from mcpmock.protocol.methods import (
    CACHEABLE,
    FIRST,
    LATEST,
    LISTS,
    NAMES,
    REVISIONS,
    ROWS,
    MessageKind,
    Method,
    Sender,
    methods,
)

COUNTS = {
    "2024-11-05": (13, 3, 4, 7),
    "2025-03-26": (13, 3, 4, 7),
    "2025-06-18": (13, 4, 4, 7),
    "2025-11-25": (17, 8, 5, 9),
    "2026-07-28": (10, 0, 1, 8),
}
LEGACY, TASKS = REVISIONS[:4], REVISIONS[3:4]
ALL, MODERN = REVISIONS, REVISIONS[4:]

# (method, kind, senders, the revisions whose core schema has it)
SENT = [
    ("initialize", "request", "C", LEGACY),
    ("notifications/initialized", "notification", "C", LEGACY),
    ("server/discover", "request", "C", MODERN),
    ("ping", "request", "CS", LEGACY),
    ("tools/list", "request", "C", ALL),
    ("tools/call", "request", "C", ALL),
    ("resources/list", "request", "C", ALL),
    ("resources/templates/list", "request", "C", ALL),
    ("resources/read", "request", "C", ALL),
    ("resources/subscribe", "request", "C", LEGACY),
    ("resources/unsubscribe", "request", "C", LEGACY),
    ("subscriptions/listen", "request", "C", MODERN),
    ("notifications/subscriptions/acknowledged", "notification", "S", MODERN),
    ("prompts/list", "request", "C", ALL),
    ("prompts/get", "request", "C", ALL),
    ("completion/complete", "request", "C", ALL),
    ("logging/setLevel", "request", "C", LEGACY),
    ("sampling/createMessage", "request", "S", LEGACY),
    ("roots/list", "request", "S", LEGACY),
    ("elicitation/create", "request", "S", REVISIONS[2:4]),
    ("tasks/get", "request", "CS", TASKS),
    ("tasks/result", "request", "CS", TASKS),
    ("tasks/cancel", "request", "CS", TASKS),
    ("tasks/list", "request", "CS", TASKS),
    ("notifications/tasks/status", "notification", "CS", TASKS),
    ("notifications/cancelled", "notification", "CS", ALL),
    ("notifications/progress", "notification", "S", ALL),
    ("notifications/progress", "notification", "C", LEGACY),
    ("notifications/roots/list_changed", "notification", "C", LEGACY),
    ("notifications/message", "notification", "S", ALL),
    ("notifications/tools/list_changed", "notification", "S", ALL),
    ("notifications/prompts/list_changed", "notification", "S", ALL),
    ("notifications/resources/list_changed", "notification", "S", ALL),
    ("notifications/resources/updated", "notification", "S", ALL),
    ("notifications/elicitation/complete", "notification", "S", TASKS),
]


def core(revision: str, sender: Sender) -> dict[str, Method]:
    return {name: row for name, row in methods(revision, sender).items() if row.extension is None}


@pytest.mark.parametrize("revision", REVISIONS)
def test_counts(revision: str) -> None:
    """Each revision has as many requests and notifications each way as its schema."""
    sets = [core(revision, sender).values() for sender in (Sender.CLIENT, Sender.SERVER)]
    counts = [sum(row.kind is kind for row in rows) for kind in MessageKind for rows in sets]

    assert COUNTS[revision] == tuple(counts)


def test_who_sends_what_since_and_until() -> None:
    """The table has the methods of the schemas and no others, one row for each case, with their
    kind, their sides and their revisions.
    """
    expected = sorted(
        (revision, letter, name, kind)
        for name, kind, senders, revisions in SENT
        for letter in senders
        for revision in revisions
    )

    assert expected == sorted(
        (revision, letter, row.name, row.kind.value)
        for row in ROWS
        for letter, sender in (("C", Sender.CLIENT), ("S", Sender.SERVER))
        for revision in REVISIONS
        if sender in row.sender and row.since <= revision <= row.until and row.extension is None
    )


def test_rows_are_sound() -> None:
    """Each row's bounds are revisions in order."""
    wrong = [
        row
        for row in ROWS
        if not FIRST <= row.since <= row.until <= LATEST
        or not {row.since, row.until} <= set(REVISIONS)
    ]

    assert [] == wrong


def test_the_tasks_extension() -> None:
    """The latest revision's tasks are an extension's, with their own methods."""
    rows = {**methods(LATEST, Sender.CLIENT), **methods(LATEST, Sender.SERVER)}
    extended = {
        row.name for row in rows.values() if row.extension == "io.modelcontextprotocol/tasks"
    }

    assert {"tasks/get", "tasks/update", "tasks/cancel", "notifications/tasks"} == extended


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_skills_extension(revision: str) -> None:
    """Its methods may be sent in every revision, by the client."""
    rows = methods(revision, Sender.CLIENT).values()
    extended = {row.name for row in rows if row.extension == "io.modelcontextprotocol/skills"}

    assert {"skills/list", "skills/get", "resources/directory/read"} == extended


def test_cacheable_results() -> None:
    """The operations whose results carry caching hints, as the specification lists them."""
    assert {
        "server/discover", "tools/list", "prompts/list", "resources/list",
        "resources/templates/list", "resources/read", "skills/list", "skills/get",
    } == CACHEABLE  # fmt: skip


def test_what_a_request_names() -> None:
    """A tool and a prompt by name, a resource by its URI; tasks are named in the extension only."""
    assert NAMES["tools/call"] == NAMES["prompts/get"] == "name"
    assert NAMES["resources/read"] == NAMES["resources/subscribe"] == "uri"
    assert "tasks/get" not in NAMES
    assert {
        "tools/list", "resources/list", "resources/templates/list", "prompts/list", "skills/list",
        "resources/directory/read",
    } == set(LISTS)  # fmt: skip
