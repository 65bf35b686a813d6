import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readResource } from '../files/kit/artifacts.ts';
import { startCrew } from '../files/kit/crew.ts';
import { lying } from '../files/kit/folder.ts';
import { mounted } from '../kit/deployment.ts';
import { openSession } from '../kit/session.ts';
import { oneOf, ROLES, saidBy, textFile } from './kit/roles.ts';

const CLOCK = fileURLToPath(new URL('../files/kit/clock.ts', import.meta.url));
/** More than the copy of a call is kept whose end nobody knows. */
const AHEAD_MS = 400_000;
const SETTLES = { timeout: 30_000, interval: 100 };

test.each([
  ['its time is over', 'time', 3],
  // The lock of a replica that was killed lasts for a while.
  ['its replica was killed', 'kill', 30],
] as const)('what a tool writes long after %s is in nobody else’s version', async (_when, end, limit) => {
  const late = { type: 'files', tools: ['append_late'], arguments: { path: 'edit' } };
  const limits = { tool_defaults: { tool_call_timeout_seconds: limit } };
  await using crew = await startCrew({
    replicas: 2,
    servers: (url) => [mounted('up', url, { adapters: [late, ...ROLES], ...limits })],
  });
  const session = await openSession(crew.at(1));
  const path = await textFile(session.at(crew.at(1)), 'one\n');
  const lost = session.at(crew.at(0)).tool('append_late', { path, line: 'lost', hold: end });
  const ended = lost.then(saidBy, () => 'no answer');
  await crew.tools.arrived(end);
  if (end === 'kill') crew.at(0).kill();
  expect(await ended).toMatch(end === 'kill' ? 'no answer' : 'did not finish within its limit');
  const cleaning = { core: { cleanup_interval_seconds: 0.1 } };
  const env = { NODE_OPTIONS: `--import ${CLOCK}`, CLOCK_AHEAD_MS: String(AHEAD_MS) };
  await Promise.all([0, 1].map((index) => crew.restart(index, cleaning, env)));
  await expect.poll(() => lying(crew.root), SETTLES).toHaveLength(1);
  // By a clock that is ahead, what is written now is old enough to be swept before it is known.
  await Promise.all([0, 1].map((index) => crew.restart(index, {}, env)));

  const door = session.at(crew.at(0));
  const next = door.tool('append_line', { path, line: 'two', hold: 'next' });
  await crew.tools.arrived('next');
  await crew.tools.open(end);
  await crew.tools.arrived(`${end}-done`);
  await crew.tools.open('next');
  expect(oneOf(await next).version).toBe(2);
  expect(String(await readResource(door, path))).toBe('one\ntwo\n');
  expect((await door.end()).status).toBe(200);
});
