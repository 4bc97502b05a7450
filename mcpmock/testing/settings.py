"""Which cassette a test has, and what is done with it: marker, options and file names."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from mcpmock.api.server import replay_options
from mcpmock.api.stub import Stub
from mcpmock.api.targets import command_words, parse_server
from mcpmock.errors import McpMockError
from mcpmock.faults.control import Given, check_seed, is_file, several
from mcpmock.faults.match import Match, to_match
from mcpmock.faults.races.grid import REACTIONS, Reaction

from .record_mode import MODES, config_mode, one_of
from .unused_cassettes import FAIL, IGNORE, UNUSED

_LONGEST = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_OURS = (
    "cassette",
    "server",
    "url",
    "record",
    "unused",
    "faults",
    "seed",
    "races",
    "reactions",
    "stub",
)
_SEED = "MCPMOCK_SEED"


def file_name(test: str) -> str:
    """The name of a test as that of a file, without a suffix; different tests get different ones.

    What no file name should hold becomes `-`, and a name that was changed or cut ends in eight
    digits of a hash.
    """
    safe = _UNSAFE.sub("-", test).strip("-.")
    if safe == test and len(test) <= _LONGEST:
        return test
    digest = hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[:_LONGEST]}-{digest}"


@attrs.frozen(kw_only=True)
class Settings:
    """What the marker of a test and the options of the run come to."""

    path: Path
    """The cassette, there or not."""
    mode: str = MODES[0]
    unused: str = IGNORE
    server: tuple[str, ...] | None = None
    """The command line of the real server, where one is named."""
    url: str | None = None
    playing: Mapping[str, Any] = attrs.field(factory=dict)
    """Options of `mcpmock replay`, by their names."""
    faults: tuple[Given, ...] = ()
    """What is to go wrong; files as they are to be read."""
    seed: int | None = None
    """What overrules the seeds of plans."""
    races: Match | None = None
    """The call whose cancellation races are wanted."""
    reactions: tuple[Reaction, ...] = REACTIONS
    born: bool = False
    """Whether this run began without the cassette."""
    stub: Stub | None = None
    """What answers before the recording. It takes no part while a real server is recorded."""
    named: bool = True
    """Whether the marker names a cassette."""

    @property
    def alone(self) -> bool:
        """Whether there is only a stub: no cassette is named, none is there, and no server."""
        real = self.named or self.server is not None or self.url is not None
        return self.stub is not None and not real and not self.path.exists()

    @property
    def records(self) -> bool:
        """Whether only the real server is asked. Never for a race, which breaks what it says."""
        if self.races is not None or self.mode == "none" or self.alone:
            return False
        return self.mode in ("all", "rewrite") or self.born or not self.path.exists()

    @property
    def may_be_born(self) -> bool:
        """Whether it matters if this run began without the cassette."""
        return self.mode in ("once", "new_episodes")

    def as_born(self, born: bool) -> Settings:
        """With that known."""
        return attrs.evolve(self, born=born)

    def with_stub(self, stub: Stub) -> Settings:
        """With the stub of a fixture."""
        return attrs.evolve(self, stub=stub)

    @property
    def extends(self) -> bool:
        """Whether the real server is asked what the cassette does not have."""
        named = self.server is not None or self.url is not None
        return self.mode == "new_episodes" and named and not self.records and self.races is None

    @property
    def rejected(self) -> Path:
        """Where the recording of a test that failed is kept."""
        suffix = "".join(self.path.suffixes[-2:]) if self.path.suffix == ".gz" else self.path.suffix
        return self.path.with_name(self.path.name.removesuffix(suffix) + f".rej{suffix}")

    @property
    def shown(self) -> str:
        """The cassette as a user would type it."""
        return os.path.relpath(self.path)


def settings_of(item: pytest.Item) -> Settings:
    """Raises UsageError for what makes no sense. A marker nearer to the test says more than one of
    its class or module.
    """
    try:
        return _settings_of(item)
    except (TypeError, ValueError, OSError, McpMockError) as error:
        raise pytest.UsageError(f"mcpmock: {item.nodeid}: {error}") from error


def _settings_of(item: pytest.Item) -> Settings:
    said: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("mcpmock"))):
        if len(marker.args) > 1:
            raise pytest.UsageError(f"mcpmock: {item.nodeid}: the marker takes one cassette")
        said.update(zip(("cassette",), marker.args, strict=False))
        said.update(marker.kwargs)
    config = item.config
    if said.get("server") is not None and said.get("url") is not None:
        raise pytest.UsageError(f"mcpmock: {item.nodeid}: server= and url= exclude each other")
    server = said.get("server")
    unused = said.get("unused") or str(config.getini("mcpmock_unused")) or IGNORE
    playing = {name: value for name, value in said.items() if name not in _OURS}
    if config.getoption("mcpmock_strict"):
        unused, playing["match"] = FAIL, "exact"
    replay_options(**playing)
    url, stub = said.get("url"), said.get("stub")
    if url is not None:
        parse_server(None, url)
    if stub is not None and not isinstance(stub, Stub):
        raise pytest.UsageError(f"mcpmock: {item.nodeid}: stub= takes a mcpmock.Stub")
    return Settings(
        path=_path(item, said.get("cassette"), races="races" in said),
        mode=config_mode(config, said.get("record")),
        unused=one_of(unused, UNUSED, "value of unused"),
        server=None if server is None else tuple(command_words(server)),
        url=said.get("url"),
        stub=stub,
        named=said.get("cassette") is not None,
        playing=playing,
        faults=tuple(_found(item, given) for given in several(said.get("faults"))),
        seed=_seed(config, said.get("seed")),
        races=None if said.get("races") is None else to_match(said["races"]),
        reactions=tuple(_reactions(said.get("reactions") or REACTIONS)),
    )


def _reactions(given: object) -> Iterator[Reaction]:
    """Raises UsageError for a word that is none."""
    words = [given] if isinstance(given, str) else given
    for word in words:  # type: ignore[attr-defined]
        yield one_of(word, REACTIONS, "reaction")  # type: ignore[misc]


def _seed(config: pytest.Config, marker: int | None) -> int | None:
    """Of the command line, then of the environment, then of the marker. Raises UsageError."""
    check_seed(marker)
    option, environment = config.getoption("mcpmock_seed"), os.environ.get(_SEED, "")
    try:
        return option if option is not None else int(environment) if environment else marker
    except ValueError:
        raise pytest.UsageError(f"mcpmock: {_SEED}={environment!r}: not a number") from None


def _found(item: pytest.Item, given: Given) -> Given:
    """A file with a plan is looked for where a cassette is."""
    return _place(item, given) if is_file(given) else given


def _path(item: pytest.Item, name: str | os.PathLike[str] | None, *, races: bool) -> Path:
    """A name is looked for in the folder of the ini, beside the test, and in `cassettes` there;
    where it is nowhere, that is where it will be (the first folder of the ini, or `cassettes`).
    """
    if name is not None:
        return _place(item, name)
    own = item.nodeid.partition("::")[2].replace("::", ".")
    own = own.partition("[")[0] if races else own  # one recording for all cells
    return _home(item) / file_name(item.path.stem) / f"{file_name(own)}.jsonl"


def _home(item: pytest.Item) -> Path:
    given = str(item.config.getini("mcpmock_dir"))
    return item.config.rootpath / given if given else item.path.parent / "cassettes"


def _place(item: pytest.Item, name: str | os.PathLike[str]) -> Path:
    folder, home = item.path.parent, _home(item)
    places = [home / name, folder / name, folder / "cassettes" / name]
    return next((place for place in places if place.exists()), home / name)
