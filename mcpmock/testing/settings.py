"""`Settings`: the cassette of a test and how it is used, from its marker and the run's options.

pytest is imported where it calls: `mcpmock control` has settings where there is none.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from mcpmock.api.server import read_authorization, replay_options, to_stub
from mcpmock.api.targets import command_words, parse_server
from mcpmock.api.verdict import check_misses
from mcpmock.batch.redaction_rules import redaction_rules_of
from mcpmock.batch.rule_tables import RULE_TABLES
from mcpmock.batch.sources import is_mock
from mcpmock.errors import McpMockError
from mcpmock.faults.control import Given, check_seed, is_file, several
from mcpmock.faults.match import Match
from mcpmock.faults.races.grid import REACTIONS, Reaction
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.options.option import (
    check_value,
    options_of,
    read_environment,
    read_options,
    replace,
)
from mcpmock.options.project_file import find_project_file, option_mistakes
from mcpmock.options.redaction import RedactionOptions
from mcpmock.options.replay import ReplayOptions
from mcpmock.playback.miss import THE_STUB
from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.stubs.builder import Stub

from .markers import MATCH_RULES, REDACTION_RULES, RULES, Markers, markers_of
from .record_mode import ENVIRONMENT, MODES, check_choice, resolve_mode
from .unused import FAIL, IGNORE, UNUSED

if TYPE_CHECKING:
    import pytest

MAX_FILE_NAME_LENGTH = 100
STUB_ALONE = "mcpmock_serve.jsonl"
"""The name of a cassette that a server of a stub alone does not have."""
_UNSAFE = lazy_pattern(r"[^A-Za-z0-9._-]+")
_REPLAY = {one.name for one in options_of(ReplayOptions)}
_SEED_VARIABLE = "MCPMOCK_SEED"
_REPLAY_PREFIX = "MCPMOCK_REPLAY_"
_INI = {"keep_key": "redact_keep"}
"""Keywords that the ini has under another name."""


def file_name(test: str) -> str:
    """Return a file name for a test, without suffix. Different tests get different names.

    Characters that do not belong in a file name become `-`, and a name that was changed or cut ends
    in eight digits of a hash.
    """
    safe = _UNSAFE.sub("-", test).strip("-.")
    if safe == test and len(test) <= MAX_FILE_NAME_LENGTH:
        return test
    digest = hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[:MAX_FILE_NAME_LENGTH]}-{digest}"


@attrs.frozen(kw_only=True)
class Settings:
    """The marker of a test together with the options of the run."""

    path: Path
    """The cassette, whether it exists or not."""
    mode: str = MODES[0]
    unused: str = IGNORE
    server: tuple[str, ...] | None = None
    """The command line of the real server, if the marker names one."""
    url: str | None = None
    playing: Mapping[str, Any] = attrs.field(factory=dict)
    """Options of `mcpmock replay`, by their names."""
    faults: tuple[Given, ...] = ()
    """The faults to inject; plan files as their paths."""
    seed: int | None = None
    """Overrides the seeds of plans."""
    races: Match | None = None
    """Selects the call whose cancellation races are run."""
    reactions: tuple[Reaction, ...] = REACTIONS
    born: bool = False
    """Whether this run began without the cassette."""
    stub: Stub | None = None
    """Answers before the recording. It is not used while a real server is recorded."""
    misses: str = FAIL
    """Whether a miss fails the test."""
    auth: str | None = None
    """The login that clients need, as for `serve`."""
    explore: int | tuple[int, ...] | None = None
    """How many schedules the body of the test is run in, or which ones, by number."""
    redaction: RedactionOptions = attrs.field(factory=RedactionOptions)
    """What is taken for secret in recordings and in the reports of failed tests."""
    find: Callable[[str], Path] = Path
    """Finds another cassette by its name."""
    named: bool = True
    """Whether the marker names a cassette."""
    how_to_record: str = "--mcp-record=once"
    """What makes the run record a cassette that is missing."""
    how_to_name_server: str = "in the marker, server=[COMMAND, ...] or url="

    @property
    def alone(self) -> bool:
        """Whether there is only a stub: no server, and no cassette named or found."""
        real = self.named or self.server is not None or self.url is not None
        return self.stub is not None and not real and not self.path.exists()

    @property
    def records(self) -> bool:
        """Whether the real server answers alone. Never for a race, which changes its messages."""
        if self.mode == "none" or self.alone:
            return False
        if self.races is not None or self.explore is not None:
            return False
        return self.mode in ("all", "rewrite") or self.born or not self.path.exists()

    @property
    def may_be_born(self) -> bool:
        """Whether `born` matters in this mode."""
        return self.mode in ("once", "new_episodes")

    def redaction_rules(self, *, shown: bool = False) -> RedactionRules:
        """Return the redaction rules of a recording; `shown`, of what is printed, which has no
        hashes. Raises McpMockError.
        """
        options = replace(self.redaction, redact_as="number") if shown else self.redaction
        return redaction_rules_of(options, self.path)

    def as_born(self, born: bool) -> Settings:
        """Return a copy with `born` set."""
        return attrs.evolve(self, born=born)

    def with_stub(self, stub: Stub) -> Settings:
        """Return a copy with the stub of a fixture."""
        return attrs.evolve(self, stub=stub)

    @property
    def extends(self) -> bool:
        """Whether the real server answers what the cassette lacks."""
        named = self.server is not None or self.url is not None
        return self.mode == "new_episodes" and named and not self.records and self.races is None

    @property
    def rejected(self) -> Path:
        """The file for the recording of a test that failed."""
        suffix = "".join(self.path.suffixes[-2:]) if self.path.suffix == ".gz" else self.path.suffix
        return self.path.with_name(self.path.name.removesuffix(suffix) + f".rej{suffix}")

    @property
    def shown(self) -> str:
        """The path of the cassette as a user types it."""
        return THE_STUB if self.alone else os.path.relpath(self.path)


def settings_of(item: pytest.Item) -> Settings:
    """Return what the markers of a test say (`markers`), with the options of the run. Raises
    UsageError for a wrong one.
    """
    import pytest

    try:
        markers = markers_of(item)
        own = item.nodeid.partition("::")[2].replace("::", ".")
        # All cells of a race share one recording.
        own = own.partition("[")[0] if "races" in markers.given else own
        place = place_of(
            item.config, item.path.parent, f"{file_name(item.path.stem)}/{file_name(own)}.jsonl"
        )
        return read_settings(place, markers, suite_options_of(item.config))
    except (TypeError, ValueError, OSError, McpMockError, pytest.UsageError) as error:
        text = str(error).removeprefix("mcpmock: ")
        raise pytest.UsageError(f"mcpmock: {item.nodeid}: {text}") from error


@attrs.frozen(kw_only=True)
class SuiteOptions:
    """What holds for all tests of a run: from its command line and its configuration."""

    record: str | None = None
    """The record mode of the command line."""
    usual_record: str = ""
    """The record mode where nothing names another."""
    strict: bool = False
    """Whether only the recorded client's own requests match, and all of them have to come."""
    seed: int | None = None
    unused: str = ""
    rules: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    how_to_record: str = "--mcp-record=once"
    how_to_name_server: str = "in the marker, server=[COMMAND, ...] or url="


def suite_options_of(config: pytest.Config) -> SuiteOptions:
    """Return the options of a run of pytest."""
    return SuiteOptions(
        record=config.getoption("mcpmock_record"),
        usual_record=str(config.getini("mcpmock_record")),
        strict=config.getoption("mcpmock_strict"),
        seed=config.getoption("mcpmock_seed"),
        unused=str(config.getini("mcpmock_unused")),
        rules={name: tuple(config.getini(f"mcpmock_{_INI.get(name, name)}")) for name in RULES},
    )


def place_of(config: pytest.Config, folder: Path, unnamed: str | None) -> CassettePlace:
    """Return where the cassettes of a test in a folder are: a new one in that of the ini."""
    given = str(config.getini("mcpmock_dir"))
    home = config.rootpath / given if given else folder / "cassettes"
    return CassettePlace(home, folder, unnamed)


@attrs.frozen
class CassettePlace:
    """Where cassettes and plans are looked for: in `home`, in `folder`, and in `cassettes` there. A
    new one goes to `home`.
    """

    home: Path
    """The folder of new cassettes."""
    folder: Path
    """Where the test is."""
    unnamed: str | None = None
    """The name of a cassette that is not named, in the folder of new ones."""

    def find(self, name: str | os.PathLike[str]) -> Path:
        """Return the path of a file that is there, else that of a new one."""
        paths = [self.home / name, self.folder / name, self.folder / "cassettes" / name]
        return next((path for path in paths if path.exists()), paths[0])

    def cassette(self, name: object) -> Path:
        """Return the path of a cassette. Raises TypeError for anything but a name."""
        if name is None and self.unnamed is not None:
            return self.home / self.unnamed
        if not isinstance(name, str | os.PathLike) or not os.fspath(name):
            raise TypeError(
                f"cassette={name!r}: give the name of one cassette; for several servers use "
                "mcpmock_serve, and `mcpmock merge` joins cassettes"
            )
        return self.find(name)


def read_settings(place: CassettePlace, markers: Markers, run: SuiteOptions) -> Settings:
    """Return the settings of what was `given`. Raises TypeError, McpMockError."""
    given = markers.given
    server, url = given.get("server"), given.get("url")
    cassette, stub = given.get("cassette"), given.get("stub")
    if is_mock(cassette):
        if stub is not None:
            raise TypeError(f"{cassette} is a stub, and stub= names another one")
        cassette, stub = None, cassette
    if stub is not None:
        stub = to_stub(place.find(stub) if is_mock(stub) else stub)
    if server is not None and url is not None:
        raise TypeError("server= and url= are mutually exclusive")
    path = place.cassette(cassette)
    project = _project_options(path.parent)
    environment = read_environment(ReplayOptions, _REPLAY_PREFIX, os.environ)
    rules = _rules_of([project, run.rules, *markers.rules, environment])
    playing = {
        **project,
        **{name: value for name, value in given.items() if name in _REPLAY},
        **environment,
        **{name: rules[name] for name in MATCH_RULES if name in rules},
    }
    unused = given.get("unused") or run.unused or IGNORE
    if run.strict:
        unused, playing["match"], playing["on_miss"] = FAIL, "exact", "error"
    replay_options(**playing)
    redaction = read_options(
        RedactionOptions,
        {name: rules[name] for name in REDACTION_RULES if name in rules}
        | {name: value for name, value in given.items() if name == "redact_as"},
    )
    redaction_rules_of(redaction, None)
    read_authorization(given.get("auth"))
    if url is not None:
        parse_server(None, url)
    faults = tuple(place.find(one) if is_file(one) else one for one in several(given.get("faults")))
    return Settings(
        path=path,
        mode=resolve_mode(
            run.record, os.environ.get(ENVIRONMENT, ""), given.get("record"), run.usual_record
        ),
        unused=check_choice(unused, UNUSED, "value of unused"),
        misses=check_misses(given.get("misses", FAIL)),
        server=None if server is None else tuple(command_words(server)),
        url=url,
        stub=stub,
        auth=given.get("auth"),
        explore=_schedules(given.get("explore")),
        redaction=redaction,
        find=place.find,
        named=cassette is not None,
        playing=playing,
        faults=faults,
        seed=_seed(run.seed, given.get("seed")),
        races=None if given.get("races") is None else _race_match(given["races"]),
        reactions=tuple(_reactions(given.get("reactions") or REACTIONS)),
        how_to_record=run.how_to_record,
        how_to_name_server=run.how_to_name_server,
    )


def _race_match(value: Match | Mapping[str, Any]) -> Match:
    """Return the match of `races`. Raises TypeError, PlanError for one with mistakes."""
    from mcpmock.faults.races.fault import CancelRace  # few tests race

    return CancelRace(i=0, j=0, match=value).match


def _rules_of(sources: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the rules of all sources: they add up. Raises TypeError if one is not a list."""
    found: dict[str, tuple[str, ...]] = {}
    for source in sources:
        for name in RULES:
            texts = source.get(name, ())
            if isinstance(texts, str) or not isinstance(texts, Iterable):
                raise TypeError(f"{name}={texts!r}: give a list of rules")
            if texts := tuple(texts):
                found[name] = (*found.get(name, ()), *texts)
    return found


def _project_options(folder: Path) -> dict[str, Any]:
    """Return what the project file above a cassette sets for `mcpmock replay` and tests have."""
    file = find_project_file(folder)
    if file is None:
        return {}
    known = {one.word: one for one in options_of(ReplayOptions)}
    checks = dict.fromkeys(_command_words(), _leave_unchecked)
    checks |= {word: partial(check_value, one) for word, one in known.items()}
    replay = partial(option_mistakes, checks=checks)
    file.check({"replay": replay, **RULE_TABLES}, others=True)
    found = file.table("replay")
    return {known[word].name: value for word, value in found.items() if word in known}


def _command_words() -> Iterator[str]:
    """Yield the options that a project file may set for `mcpmock replay`: tests have some."""
    from mcpmock.options.console import ConsoleOptions
    from mcpmock.options.endpoints import ListenOptions, ServerOptions
    from mcpmock.options.faults import FaultOptions
    from mcpmock.options.replay import ReplayCommandOptions

    tables = (ReplayCommandOptions, ServerOptions, FaultOptions, ListenOptions, ConsoleOptions)
    for table in tables:
        yield from (one.word for one in options_of(table) if not one.private)


def _leave_unchecked(_value: object) -> None:
    """Take what only the command reads."""


def _schedules(given: Any) -> int | tuple[int, ...] | None:
    """Raise TypeError for anything but a number or a list of them."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    if isinstance(given, list | tuple) and all(isinstance(one, int) for one in given):
        return tuple(given)
    raise TypeError(f"explore={given!r}: expected a number of schedules, or [N] for number N")


def _reactions(given: object) -> Iterator[Reaction]:
    """Raise McpMockError for an unknown reaction."""
    words = [given] if isinstance(given, str) else given
    for word in words:  # type: ignore[attr-defined]
        yield check_choice(word, REACTIONS, "reaction")  # type: ignore[misc]


def _seed(option: int | None, marker: int | None) -> int | None:
    """Prefer the command line, then the environment, then the marker. Raises McpMockError."""
    check_seed(marker)
    environment = os.environ.get(_SEED_VARIABLE, "")
    try:
        return option if option is not None else int(environment) if environment else marker
    except ValueError:
        raise McpMockError(f"{_SEED_VARIABLE}={environment!r}: not a number") from None
