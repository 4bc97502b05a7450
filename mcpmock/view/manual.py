"""The manual as values: its topics, and their sections. `mcpmock help` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_HEADING = re.compile(r"^#+ (?=[A-Z`])", re.MULTILINE)  # not `# plan.toml` in a block


def topics() -> dict[str, str]:
    """Return the topics of the manual, each with the sentence that it opens with."""
    openings = {name: page.read_text("utf-8").split("\n\n")[1] for name, page in pages().items()}
    return {name: " ".join(text.split()) for name, text in openings.items()}


def pages() -> dict[str, Traversable]:
    """Return the file of each topic."""
    found = (page for page in files("mcpmock").joinpath("help").iterdir())
    named = {page.name.removesuffix(".md"): page for page in found if page.name.endswith(".md")}
    return dict(sorted(named.items()))


@attrs.frozen
class ManualSection:
    """A part of a topic, from one heading to the next."""

    topic: str
    heading: str
    text: str

    def first_line(self, word: str) -> str | None:
        """Return the first line with this word in it, in whatever case."""
        lines = [self.heading, *self.text.splitlines()]
        return next((line.strip() for line in lines if word in line.lower()), None)


def sections() -> Iterator[ManualSection]:
    """Yield the parts of all topics."""
    for topic, page in pages().items():
        for part in _HEADING.split(page.read_text("utf-8"))[1:]:
            heading, _, text = part.partition("\n")
            yield ManualSection(topic, heading, text)
