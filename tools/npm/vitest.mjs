/** The fixture of vitest: a fake server for a test, stopped and judged behind it. */
import { test as base } from 'vitest';
import { mcpmock, races } from './index.mjs';

/** Give the server of a test: `test.extend({ mcpmock: { cassette: 'weather.jsonl' } })`. */
export const test = base.extend({
  mcpmock: undefined,
  mcpmockServer: async ({ mcpmock: given, task, onTestFinished }, use) => {
    if (!given?.cassette) {
      throw new TypeError("mcpmock: name the cassette: test.extend({ mcpmock: { cassette: 'FILE' } })");
    }
    const { cassette, ...options } = given;
    const server = await mcpmock(cassette, { test: { task, onTestFinished }, ...options });
    await use(server);
    await server.stop();
  },
});

/** Make a test for each cancellation race of a recorded call; the body gets `race` too. */
export function testRaces(cassette, match, body, { reactions, ...options } = {}) {
  for (const race of races(cassette, match, { reactions })) {
    const one = test.extend({ mcpmock: { cassette, race, ...options }, race });
    one(race.id, body);
  }
}
