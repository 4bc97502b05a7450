import type { TestAPI, TestContext } from 'vitest';
import type { McpmockOptions, McpmockServer, Race, RaceMatch } from './index.mjs';

/** The cassette of a test and its options. */
export interface McpmockSettings extends McpmockOptions {
  cassette: string | URL;
}

export interface McpmockFixtures {
  /** Set it with `test.extend({ mcpmock: { cassette: 'weather.jsonl' } })`. */
  mcpmock: McpmockSettings | undefined;
  /** The server of the test, stopped and judged behind it: a miss fails the test. */
  mcpmockServer: McpmockServer;
}

/** The `test` of vitest, with the fixture `mcpmockServer`. */
export const test: TestAPI<McpmockFixtures>;

/** Make a test for each cancellation race of a recorded call. */
export function testRaces(
  cassette: string | URL,
  match: RaceMatch,
  body: (context: TestContext & McpmockFixtures & { race: Race }) => unknown,
  options?: McpmockOptions & { reactions?: string[] },
): void;
