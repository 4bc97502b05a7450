"""The pytest plugin: a marker, fixtures and a record mode. It does nothing until a test uses it:
all that costs time is in `testing`, which is imported then.

    @pytest.mark.mcpmock("weather.jsonl")
    async def test_agent(mcpmock_server):
        async with Client(mcpmock_server.url) as client: ...

The fixtures are plain functions, so a test may be sync, or run on asyncio, anyio or trio.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcpmock.testing.plugin_session import (
    CASSETTE_USE,
    COVERAGE,
    EXPECTED,
    FOLDER,
    PluginSession,
    covers,
    without_traceback,
)
from mcpmock.testing.record_mode import MODES, config_mode

if TYPE_CHECKING:
    from mcpmock.api.thread_server import ThreadServer
    from mcpmock.faults.control import FaultControl
    from mcpmock.stubs.builder import Stub
    from mcpmock.testing.explored_body import ExploredBody
    from mcpmock.testing.races import Race
    from mcpmock.testing.server_uses import LastWord, ServerFactory, ServerUses
    from mcpmock.testing.servers import CassetteFile, Client, ServerUse
    from mcpmock.testing.settings import Settings

_MARKER = (
    "mcpmock(cassette=None, *, server=None, url=None, record=None, faults=None, seed=None, "
    "stub=None, auth=None, misses=None, unused=None, races=None, reactions=None, explore=None, "
    "redact_key=None, redact_value=None, redact_path=None, keep_key=None, redact_as=None, "
    "**replay): the cassette of the test, and how its server is played, recorded and broken; "
    "`mcpmock help pytest` has a table of all keywords, with those of `mcpmock replay`"
)
_CONTROLLER = "mcpmock-controller"
_using: pytest.StashKey[ServerUse] = pytest.StashKey()
_uses: pytest.StashKey[ServerUses] = pytest.StashKey()
_test: pytest.StashKey[str] = pytest.StashKey()
_settings: pytest.StashKey[Settings] = pytest.StashKey()
_last_word: pytest.StashKey[LastWord] = pytest.StashKey()
_body: pytest.StashKey[ExploredBody] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mcpmock")
    group.addoption(
        "--mcp-record",
        dest="mcpmock_record",
        choices=MODES,
        help="Record mode of MCP cassettes: none only replays (the default), once records missing "
        "cassettes, new_episodes also missing requests, all records every test again, rewrite also "
        "drops the takes of other tests. Also MCPMOCK_RECORD.",
    )
    group.addoption(
        "--mcp-strict",
        dest="mcpmock_strict",
        action="store_true",
        help="For all tests: match only the recorded client's own requests (match=exact), and fail "
        "on recorded requests that were not sent (unused=fail).",
    )
    group.addoption(
        "--mcp-seed",
        dest="mcpmock_seed",
        type=int,
        metavar="N",
        help="Random seed for all fault decisions; overrides plans. Also MCPMOCK_SEED.",
    )
    group.addoption(
        "--mcp-report",
        dest="mcpmock_report",
        metavar="DIR",
        help="Write an HTML page to DIR for each failed test with an MCP server: what its clients "
        "asked and got, beside what was recorded; and one of the coverage.",
    )
    group.addoption(
        "--mcp-coverage",
        dest="mcpmock_coverage",
        action="store_true",
        help="Say which of the tools, prompts, resources, parameters .. that MCP servers list the "
        "tests have used.",
    )
    group.addoption(
        "--mcp-coverage-min",
        dest="mcpmock_coverage_min",
        action="append",
        metavar="[KIND=]N%",
        help="The same, and fail if less than N percent is covered, of all or of a kind such as "
        "parameters (repeatable).",
    )
    for name in ("ignore", "like", "echo"):
        text = f"Rules about what may differ, as in {name}= of the marker: one a line."
        parser.addini(f"mcpmock_{name}", text, type="linelist", default=[])
    for name, what in (("key", "names"), ("value", "texts"), ("path", "places"), ("keep", "names")):
        does = "kept" if name == "keep" else "redacted"
        text = f"The {what} whose values are {does} in recordings and reports, one a line."
        parser.addini(f"mcpmock_redact_{name}", text, type="linelist", default=[])
    parser.addini("mcpmock_record", "Record mode, as in --mcp-record.", default="")
    parser.addini(
        "mcpmock_dir", "Folder of MCP cassettes, relative to the root folder.", default=""
    )
    parser.addini(
        "mcpmock_unused",
        "How to treat recorded requests that were not sent: ignore, warn, fail.",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    if covers(config):
        from mcpmock.testing.coverage import bounds_of

        bounds_of(config)  # a wrong one ends the run before its tests
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(PluginSession(config), _CONTROLLER)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (uses := config.stash.get(_uses, None)) is not None:
        uses.close()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Say what the tests have covered; an xdist worker gives it to the process that has all."""
    config = session.config
    uses = config.stash.get(_uses, None)
    tally = None if uses is None else uses.coverage
    controller = config.pluginmanager.get_plugin(_CONTROLLER)
    if controller is not None:
        controller.judge_coverage(session, tally)
    elif tally is not None:
        config.workeroutput[COVERAGE] = [*tally.lines()]  # type: ignore[attr-defined]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each cell of a race."""
    if "mcpmock_races" not in metafunc.fixturenames:
        return
    from mcpmock.testing.races import races_of

    try:
        races = races_of(metafunc.definition)
    except pytest.UsageError:
        return  # the fixture says it, as an error of this test alone
    ids = [race.id for race in races]
    metafunc.parametrize("mcpmock_races", races, ids=ids, indirect=True)


def pytest_report_header(config: pytest.Config) -> str:
    return f"mcpmock: record mode {config_mode(config)}"


def pytest_collection_finish(session: pytest.Session) -> None:
    _expect(session.config, session.items)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    if items:
        _expect(items[0].config, items)


def _expect(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Note which test uses which cassette. An xdist worker reports it when it ends."""
    users = [
        item
        for item in items
        if item.get_closest_marker("mcpmock")
        and "mcpmock_server" in getattr(item, "fixturenames", ())
    ]
    if not users:
        return
    from mcpmock.testing.settings import settings_of

    controller = config.pluginmanager.get_plugin(_CONTROLLER)
    expected = {} if controller else config.workeroutput.setdefault(EXPECTED, {})  # type: ignore[attr-defined]
    ids = [arg for arg in config.args if "::" in arg]
    for item in users:
        try:
            cassette, tests = str(settings_of(item).path), [item.nodeid]
        except pytest.UsageError:
            continue  # the test itself fails with this error
        if ids:
            from mcpmock.testing.unused import siblings_of

            tests += siblings_of(item, items, ids)
        if controller:
            for test in tests:
                controller.unused.expect(cassette, test)
        else:
            expected.setdefault(cassette, []).extend(tests)


def server_uses(config: pytest.Config) -> ServerUses:
    """Return the servers of this run."""
    from mcpmock.testing.cassette_store import CassetteStore
    from mcpmock.testing.server_uses import ServerUses

    if _uses not in config.stash:
        folder = getattr(config, "workerinput", {}).get(FOLDER)
        coverage = None
        if covers(config):
            from mcpmock.testing.coverage import CoverageTally

            coverage = CoverageTally()
        pages = bool(config.option.mcpmock_report)
        uses = ServerUses(CassetteStore(folder and Path(folder)), coverage, pages=pages)
        config.stash[_uses] = uses
        uses.begin_test(config.stash.get(_test, ""))
    return config.stash[_uses]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin a test: a rerun is another one."""
    keys: tuple[pytest.StashKey[Any], ...] = (_using, _body, _last_word, _settings)
    for key in keys:
        if key in item.stash:
            del item.stash[key]
    item.config.stash[_test] = item.nodeid
    if (uses := item.config.stash.get(_uses, None)) is not None:
        uses.begin_test(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Call a test; one that passed still fails for misses, for faults that must fire, and for a
    marker that nothing reads. With `explore=` its body is then run in many schedules, each with a
    server of its own.
    """
    use, body = item.stash.get(_using, None), item.stash.get(_body, None)
    listening = None
    if use is not None and body is not None:
        from mcpmock.testing.explore import Listening

        listening = Listening.to(use)
    uses = item.config.stash.get(_uses, None)
    if uses is not None:
        uses.in_body = True
    result = yield
    if _settings not in item.stash and any(mark.name == "mcpmock" for mark in item.own_markers):
        from mcpmock.testing.servers import fail

        fail(
            "the test has the marker, but uses none of the fixtures that read it: mcpmock_server, "
            "mcpmock_client, mcpmock_cassette, ..; mcpmock_serve has keywords of its own"
        )
    if use is not None:
        use.judge()
    if uses is not None:
        uses.judge()
    if use is not None and body is not None and listening is not None:
        from mcpmock.testing.explore import ItemExplorer

        store = server_uses(item.config).store
        explorer = ItemExplorer(body.item, use, store, body)
        try:
            explorer.explore(listening.client_run())
        finally:
            item.stash[_using] = explorer.failing
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the fake servers saw to a failure, and unused requests to a pass; behind the
    teardown, keep or reject what was recorded. Outermost: the last word is pytest's.
    """
    report = yield
    uses = item.config.stash.get(_uses, None)
    if uses is None:
        return report
    from mcpmock.testing.server_uses import LastWord

    use, last_word = item.stash.get(_using, None), item.stash.setdefault(_last_word, LastWord())
    last_word.note(report)
    late = uses.missed() if call.when == "teardown" and last_word.is_pass else None
    if late is not None:
        _fail(report, last_word, late)
    if report.failed and (call.when != "teardown" or late is not None):
        _explain(item, report, [*([] if use is None else [use]), *uses.busy()])
    if call.when == "teardown":
        _end_test(uses, last_word, report)
        if use is not None and last_word.is_pass:
            setattr(report, CASSETTE_USE, use.cassette_use())
    return report


def _end_test(uses: ServerUses, last_word: LastWord, report: pytest.TestReport) -> None:
    """Keep or reject the recordings of a test; what fails then fails its teardown."""
    from mcpmock.errors import McpMockError

    if report.failed:
        report.sections += [("mcpmock", line) for line in uses.rejected()]
    try:
        uses.end_test(passed=last_word.is_pass)
    except (McpMockError, OSError) as error:
        _fail(report, last_word, str(error))


def _fail(report: pytest.TestReport, last_word: LastWord, text: str) -> None:
    """Let the teardown of a test fail."""
    from mcpmock.printable import printable

    last_word.failed = True
    report.outcome = "failed"
    report.longrepr = printable(f"mcpmock: {text}")


def _explain(item: pytest.Item, report: pytest.TestReport, used: Sequence[ServerUse]) -> None:
    """Say in the summary of a failed test what was missed; add a section for each of its servers,
    and the page, where --mcp-report asks for it.
    """
    from mcpmock.testing.failure import name_miss, write_failure_page

    crash = getattr(report.longrepr, "reprcrash", None)
    error = report.longreprtext if crash is None else str(crash.message)
    missed = [miss for use in used if use.settings.misses == "fail" for miss in use.misses]
    if crash is not None and missed:
        error = crash.message = name_miss(error, missed)
    folder, pages = item.config.invocation_params.dir, 0
    for use in used:
        if use.live is None:
            report.sections.append(("mcpmock", use.describe()))
            continue
        pages += 1
        made = write_failure_page(
            *(folder / item.config.option.mcpmock_report, item.nodeid, pages, use.settings),
            *(use.live, error, partial(use.describe, messages=False)),
        )
        report.sections.append(("mcpmock", f"{use.describe(made.session)}\n{made.line}"))
        html = item.config.pluginmanager.getplugin("html")  # pytest-html, if it is installed
        if made.page is not None and html is not None:
            link = html.extras.url(made.page.as_uri(), name="mcpmock")
            report.extras = [*getattr(report, "extras", []), link]  # type: ignore[attr-defined]


@pytest.fixture
def _mcpmock_settings(request: pytest.FixtureRequest) -> Settings:
    from mcpmock.testing.settings import settings_of

    with without_traceback():
        settings = settings_of(request.node)
        if settings.may_be_born:
            settings = settings.as_born(server_uses(request.config).store.is_born(settings.path))
    request.node.stash[_settings] = settings
    return settings


@pytest.fixture
def mcpmock_stub(_mcpmock_settings: Settings) -> Stub:
    """Give the stub that answers before the recording: that of the marker, or an empty one to fill,
    also while clients are connected. Without a cassette it is a server of its own. Define a fixture
    of this name to share a stub between tests.

        def test_agent(mcpmock_server, mcpmock_stub):
            mcpmock_stub.tool("get_weather").reply({"temp": 21})
    """
    from mcpmock.stubs.builder import Stub

    return Stub() if _mcpmock_settings.stub is None else _mcpmock_settings.stub


@pytest.fixture
def mcpmock_cassette(_mcpmock_settings: Settings) -> CassetteFile:
    """Give the cassette of the test: `path`, `mode`, `records`, `load()`.

    @pytest.mark.mcpmock("weather.jsonl")
    def test_it(mcpmock_cassette):
        assert "none" == mcpmock_cassette.mode
        assert 1 == len(mcpmock_cassette.load().takes)
    """
    from mcpmock.testing.servers import CassetteFile

    return CassetteFile(_mcpmock_settings)


@pytest.fixture
def mcpmock_client(request: pytest.FixtureRequest, _mcpmock_settings: Settings) -> Client:
    """Give a fake client that plays the client of the cassette: `drive(command)`, `drive(url=...)`.

    @pytest.mark.mcpmock("weather.jsonl")
    def test_my_server(mcpmock_client):
        driven = mcpmock_client.drive(["mcpmock", "replay", "snow.jsonl"])
        assert "risky" == driven.diff().worst.word  # another text in the result
    """
    from mcpmock.testing.servers import Client

    tally = server_uses(request.config).coverage if covers(request.config) else None
    return Client(_mcpmock_settings, tally)


@pytest.fixture
def mcpmock_faults(mcpmock_server: ThreadServer) -> FaultControl:
    """Give the faults of the test's server. Change them while the test runs with `add(fault)`,
    `remove` and `clear`; `fired` and `receipts` report what happened.

        @pytest.mark.mcpmock("weather.jsonl")
        def test_it(mcpmock_server, mcpmock_faults):
            mcpmock_faults.add("error:message=no luck,method=initialize")
            hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
            done = subprocess.run(mcpmock_server.command, input=hello, capture_output=True)
            assert b"no luck" in done.stdout
            assert 1 == mcpmock_faults.fired("error")
    """
    return mcpmock_server.faults


@pytest.fixture
def mcpmock_races(
    request: pytest.FixtureRequest, mcpmock_server: ThreadServer, _mcpmock_settings: Settings
) -> Race:
    r"""Give one cancellation race of the call that `races=` in the marker selects: the test runs
    once for each cell of the grid and each reaction of the server. `.i`, `.j`, `.k`, `.name` and
    `.reaction` identify the race; `await .moment()` (or `.wait()`) returns when the client has to
    cancel, and `.reached` is the cell that was reached.

        @pytest.mark.mcpmock("slow.jsonl", races={"tool": "slow"}, reactions=["late_result"])
        def test_agent(mcpmock_server, mcpmock_races):
            call = (
                b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow",'
                b'"arguments":{},"_meta":{"progressToken":1}}}\n'
            )
            cancel = (
                b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
            )
            with subprocess.Popen(mcpmock_server.command, stdin=-1, stdout=-1) as agent:
                agent.stdin.write(call)
                agent.stdin.flush()
                mcpmock_races.wait()
                output, _ = agent.communicate(cancel, timeout=20)
            assert mcpmock_races.cell == mcpmock_races.reached
            assert (b"done" in output) == (b"result" in output)
    """
    from mcpmock.testing.races import Race, races_of

    match = _mcpmock_settings.races
    if match is None or not hasattr(request, "param"):
        with without_traceback():
            races_of(request.node)
    assert match is not None
    return Race(request.param, match, mcpmock_server)


@pytest.fixture
def mcpmock_server(
    request: pytest.FixtureRequest, _mcpmock_settings: Settings
) -> Iterator[ThreadServer]:
    """Start the fake server of the test, or the real one while it is recorded.

    Connect to it by `.stdio` (parameters of the official SDK), `.command`, `.url` or
    `.transport()`; inspect it with `.requests()`, `.assert_called()`, `.assert_order()` and
    `.misses`. A request that matches nothing recorded fails the test.

        from mcp import Client

        @pytest.mark.anyio
        @pytest.mark.mcpmock("weather.jsonl")
        async def test_agent(mcpmock_server):
            async with Client(mcpmock_server.transport(), mode="legacy") as client:
                await client.call_tool("get_weather", {"city": "Oslo"})
            mcpmock_server.assert_called("tools/call", times=1, tool="get_weather")
    """
    from mcpmock.testing.servers import using

    uses, settings = server_uses(request.config), _mcpmock_settings
    if "mcpmock_stub" in request.fixturenames:
        settings = settings.with_stub(request.getfixturevalue("mcpmock_stub"))
    with without_traceback(), using(settings, request.node.nodeid, uses.store) as use:
        request.node.stash[_using] = use
        uses.own.append(use)
        uses.watch(use)
        if settings.explore is not None and isinstance(request.node, pytest.Function):
            from mcpmock.testing.explored_body import ExploredBody

            request.node.stash[_body] = ExploredBody(request.node, use.server.close)
        yield use.server


@pytest.fixture(scope="session")
def mcpmock_serve(request: pytest.FixtureRequest) -> Iterator[ServerFactory]:
    """Start servers beside that of the marker: several in one test, or one that a fixture of class,
    module or session scope shares between tests. `mcpmock_serve(cassette, server=.., record=..)`
    takes the keywords of the marker that are about one server, and gives what `mcpmock_server` is.
    A miss fails the test that sent it.

        @pytest.fixture(scope="session")
        def weather(mcpmock_serve):
            return mcpmock_serve("weather.jsonl")

        def test_agent(weather, mcpmock_serve):
            snow = mcpmock_serve("snow.jsonl", faults="latency:latency=10ms")
            hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
            for server in (weather, snow):
                subprocess.run(server.command, input=hello, check=True)
                server.assert_called("initialize", times=1)
    """
    from mcpmock.testing.server_uses import ServerFactory

    uses = server_uses(request.config)
    yield ServerFactory(request.config, uses)
    with without_traceback():
        uses.close_shared()
