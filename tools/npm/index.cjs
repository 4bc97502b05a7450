'use strict';
/**
 * Fake MCP servers for tests, played from recordings. All servers of a process are in one
 * `mcpmock control`, which gets requests as lines of JSON and ends with its input, so nothing
 * outlives the test run.
 */

const { spawn, spawnSync } = require('node:child_process');
const { accessSync, constants, existsSync } = require('node:fs');
const path = require('node:path');
// The global ones may be those of a test's fake clock.
const { clearTimeout, setInterval, setTimeout } = require('node:timers');
const { fileURLToPath } = require('node:url');
const { isMainThread } = require('node:worker_threads');

// The global object of a jest environment has none under Node 20; compilers look for it there.
Symbol.asyncDispose ??= Symbol('Symbol.asyncDispose');

const IDLE_MS = 5000;
const RUNNER_POLL_MS = 250;
const NO_ANSWER = 'does not answer as mcpmock does';
const HOW_TO_GET_IT =
  'install it with `pip install mcpmock`, `pipx install mcpmock` or `uv tool install mcpmock`, ' +
  'or set MCPMOCK to its path';

/** What a test fails for: a miss, a recorded request that was not sent, a wrong option. */
class McpmockError extends Error {
  constructor(message, misses = []) {
    super(message);
    this.name = 'McpmockError';
    this.misses = misses;
  }
}

/** The path of a program in the PATH; undefined if there is none. */
function which(program) {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  for (const folder of (process.env.PATH ?? '').split(path.delimiter).filter(Boolean)) {
    for (const ending of endings) {
      const file = path.join(folder, program + ending);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // not here
      }
    }
  }
}

const WAYS = [
  ['uvx', 'mcpmock'],
  ['pipx', 'run', 'mcpmock'],
  ['python3', '-m', 'mcpmock'],
  ['python', '-m', 'mcpmock'],
];
let found;

/** The words of the command `mcpmock`. */
function command() {
  const given = process.env.MCPMOCK;
  if (given) return existsSync(given) ? [given] : given.trim().split(/\s+/);
  const program = which('mcpmock');
  if (program) return [program];
  found ??= WAYS.find(([first, ...rest]) => {
    if (!which(first)) return false;
    const ran = spawnSync(first, [...rest, '--version'], { encoding: 'utf8' });
    return ran.status === 0 && ran.stdout.startsWith('mcpmock ');
  });
  if (!found) throw new McpmockError(`mcpmock: there is no program mcpmock: ${HOW_TO_GET_IT}`);
  return found;
}

/** The error of a program that does not do as mcpmock does. */
function unusable(program, why) {
  const given = process.env.MCPMOCK;
  const named = given ? `MCPMOCK is ${given}; ` : '';
  return new McpmockError(`mcpmock: ${program}: ${why}; ${named}${HOW_TO_GET_IT}`);
}

/** How a process ended. */
function ending(status, signal) {
  return `ended (${signal ?? `exit status ${status}`})`;
}

/** The answer in a line of `mcpmock control`; undefined if the line is none. */
function answerIn(line) {
  try {
    const answer = JSON.parse(line);
    return answer && 'id' in answer ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** The result in an answer, or the error in it. */
function resultOf(answer) {
  if (answer.error) throw new McpmockError(answer.error.message, answer.error.misses);
  return answer.result;
}

/** The process `mcpmock control`. Node waits for it only while it owes an answer. */
class Control {
  #program;
  #child;
  #waiting = new Map();
  #next = 1;
  #open = 0;
  #idle;
  #rest = '';
  #answered = false;
  #ended;

  constructor() {
    const [program, ...words] = command();
    this.#program = program;
    this.#child = spawn(program, [...words, 'control'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdin.on('error', () => {}); // the exit says why
    this.#child.stdout.setEncoding('utf8').on('data', (text) => this.#read(text));
    this.#child.on('error', (error) => this.#end(unusable(program, error.message)));
    this.#child.on('close', (status, signal) => {
      const how = ending(status, signal);
      const late = new McpmockError(`mcpmock: mcpmock control ${how}`);
      this.#end(this.#answered ? late : unusable(program, how));
    });
    this.#hold(false);
  }

  /** Send a request, and wait for its result. */
  async ask(method, params) {
    if (this.#ended) throw this.#ended;
    const id = this.#next++;
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#hold(true);
    this.#child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    try {
      return resultOf(await answered);
    } finally {
      this.#waiting.delete(id);
      if (!this.#waiting.size) this.#hold(false);
    }
  }

  /** Count the servers. Without any for a while, it is ended: the next one starts another. */
  count(change) {
    this.#open += change;
    clearTimeout(this.#idle);
    if (this.#open) return;
    this.#idle = setTimeout(() => {
      if (control === this) control = undefined;
      this.#child.stdin.end();
    }, IDLE_MS);
    this.#idle.unref();
  }

  #read(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) {
      const answer = answerIn(line);
      if (!answer) {
        this.#end(unusable(this.#program, NO_ANSWER));
        this.#child.kill();
        return;
      }
      this.#answered = true;
      this.#waiting.get(answer.id)?.resolve(answer);
    }
  }

  #end(error) {
    if (control === this) control = undefined;
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
  }

  #hold(on) {
    for (const one of [this.#child, this.#child.stdin, this.#child.stdout]) {
      on ? one.ref?.() : one.unref?.();
    }
  }
}

let control;

const inRunner = Boolean(
  process.env.VITEST || process.env.JEST_WORKER_ID || process.env.NODE_TEST_CONTEXT,
);

/** Let a worker end when its runner was killed: vitest and node leave it alone then, for ever. */
function endWithRunner() {
  if (!isMainThread || !(process.send || process.env.NODE_TEST_CONTEXT)) return;
  const runner = process.ppid;
  setInterval(() => {
    if (process.ppid !== runner) process.kill(process.pid, 'SIGKILL');
  }, RUNNER_POLL_MS).unref();
}

/** A fake server, or the real one while it is recorded. */
class Server {
  #control;
  #number;
  #records;
  #stopped;
  #told = false;

  constructor(running, started, race) {
    this.#control = running;
    this.#number = started.server;
    this.#records = started.records;
    this.url = started.url;
    this.stdio = started.stdio ?? undefined;
    this.race = race;
    this.faults = Object.freeze({
      add: (fault) => this.#ask('faults.add', { fault }),
      remove: (added) => this.#ask('faults.remove', { fault: added.fault }),
      fired: (name) => this.#ask('faults.fired', { name }),
    });
  }

  calls(method, { tool } = {}) {
    return this.#ask('calls', { method, tool });
  }

  misses() {
    return this.#ask('misses');
  }

  moment({ patience } = {}) {
    return this.#ask('moment', { patience });
  }

  /** End it. What it recorded is kept if the test passes: a runner says so, else this call. */
  stop({ passed } = {}) {
    this.#stopped ??= this.#stop(passed ?? (this.#told ? null : true));
    return this.#stopped;
  }

  async [Symbol.asyncDispose]() {
    if (this.#stopped) return; // what was wrong was said then
    if (this.#records && !this.#told) {
      process.emitWarning(
        'mcpmock: it is not known whether the test passed, so its recording stays beside the ' +
          'cassette; call stop() at the end of the test',
      );
    }
    await this.stop({ passed: this.#told ? null : false });
  }

  /** Let the runner say how the test ends: only then is a recording kept. */
  watch(onTestEnd) {
    if (!this.#records || !onTestEnd) return;
    this.#told = true;
    onTestEnd(async (passed) => {
      try {
        if (!this.#stopped) await this.stop();
      } finally {
        await this.#ask('settle', { passed });
      }
    });
  }

  async #stop(passed) {
    try {
      await this.#ask('stop', { passed });
    } finally {
      this.#control.count(-1);
    }
  }

  #ask(method, params) {
    return this.#control.ask(method, { server: this.#number, ...params });
  }
}

/** Start the fake server of a cassette. */
async function mcpmock(cassette, { race, test, ...options } = {}) {
  const runner = await currentTest(test);
  control ??= new Control();
  const running = control;
  running.count(1);
  try {
    const started = await running.ask('start', {
      cassette: file(cassette),
      options: withFiles(options),
      folder: process.cwd(),
      test: runner.name,
      mode: process.env.MCPMOCK_RECORD || undefined,
      race,
    });
    const server = new Server(running, started, race);
    server.watch(runner.onEnd);
    return server;
  } catch (error) {
    running.count(-1);
    throw error;
  }
}

/** The cancellation races of a recorded call: at once, so that a file can have one test for each. */
function races(cassette, match, { reactions } = {}) {
  const [program, ...words] = command();
  const params = { cassette: file(cassette), match, reactions, folder: process.cwd() };
  const ran = spawnSync(program, [...words, 'control'], {
    input: `${JSON.stringify({ id: 1, method: 'races', params })}\n`,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (ran.error && ran.status === null) throw unusable(program, ran.error.message);
  if (!ran.stdout) throw unusable(program, ending(ran.status, ran.signal));
  const answer = answerIn(ran.stdout);
  if (!answer) throw unusable(program, NO_ANSWER);
  return resultOf(answer);
}

/** A path, of a string or of a `file:` URL. */
function file(given) {
  return given instanceof URL || String(given).startsWith('file:') ? fileURLToPath(given) : given ?? null;
}

/** The options, with paths for the URLs in them. */
function withFiles(options) {
  const turned = Object.entries(options).map(([name, value]) => [
    name,
    value instanceof URL && name !== 'serverUrl' ? fileURLToPath(value) : value,
  ]);
  return Object.fromEntries(turned);
}

/** The name of the test that runs, and how to hear of its end, as far as the runner tells. */
async function currentTest(given) {
  if (typeof given === 'string') return { ...(await ambientTest()), name: given };
  if (given?.task) {
    return {
      name: nameOf(given.task.file?.name, given.task.fullTestName ?? given.task.name),
      onEnd: (end) =>
        given.onTestFinished(({ task }) => end((task ?? given.task).result?.state !== 'fail')),
    };
  }
  if (typeof given?.after === 'function') {
    return {
      name: nameOf(process.argv[1], given.fullName ?? given.name),
      onEnd: (end) => given.after(() => end(given.passed)),
    };
  }
  return ambientTest();
}

async function ambientTest() {
  if (process.env.VITEST) {
    try {
      const { expect, onTestFinished } = await import('vitest');
      const { currentTestName, testPath } = expect.getState();
      return {
        name: nameOf(testPath, currentTestName),
        onEnd: currentTestName
          ? (end) => onTestFinished(({ task }) => end(task.result?.state !== 'fail'))
          : undefined,
      };
    } catch {
      return { name: '' };
    }
  }
  const circus = circusTest();
  if (circus) {
    const { currentTestName, testPath } = globalThis.expect.getState();
    const name = nameOf(testPath, currentTestName);
    return { name, onEnd: (end) => inJest.push({ circus, end }) };
  }
  if (inNode) {
    inNodeStarted += 1;
    return {
      name: nameOf(process.argv[1], `server ${inNodeStarted}`),
      onEnd: (end) => inNode.push(end),
    };
  }
  return { name: '' };
}

function nameOf(testFile, test) {
  const shown = testFile ? path.relative(process.cwd(), path.resolve(testFile)) : '';
  return [shown, test].filter(Boolean).join(' > ');
}

/** The test that jest runs. Its runner, jest-circus, has no other place for what a test came to. */
function circusTest() {
  const key = Object.getOwnPropertySymbols(globalThis).find(
    ({ description }) => description === 'JEST_STATE_SYMBOL',
  );
  return key && hooked ? globalThis[key].currentlyRunningTest : undefined;
}

const inJest = [];
let inNode;
let inNodeStarted = 0;
let hooked = false;

/** Call a function for each, also behind one that throws; then throw the first error. */
async function callAll(waiting, act) {
  const ended = await Promise.allSettled(waiting.splice(0).map(act));
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
}

try {
  if (process.env.JEST_WORKER_ID && globalThis.afterEach) {
    globalThis.afterEach(() => callAll(inJest, ({ circus, end }) => end(!circus.errors.length)));
    hooked = true;
  } else if (process.env.NODE_TEST_CONTEXT) {
    require('node:test').afterEach((t) => callAll(inNode, (end) => end(t.passed)));
    inNode = [];
  }
} catch {
  // loaded while a test runs: nobody says how it ends
}

if (inRunner) {
  endWithRunner();
  try {
    // While the test file loads what else it needs: it is there when a test asks for a server.
    control = new Control();
    control.count(0);
  } catch {
    // who starts a server hears it
  }
}

module.exports = { mcpmock, races, McpmockError };
