import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type FileTools, startFileTools } from '../../support/file-tools.ts';
import { freePort } from '../../support/ports.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { lying } from '../files/kit/folder.ts';
import { seeded, seedFrom } from '../files/kit/random.ts';
import { mounted } from '../kit/deployment.ts';
import { openSession } from '../kit/session.ts';
import { ROLES, saidBy, textFile } from './kit/roles.ts';

/** How many there are; 200 were run by hand. */
const KILLS = Number(process.env['KILLS'] ?? 24);
/** A call takes about so long, in milliseconds; what is killed is so at any time in it. */
const CALL_MS = 40;

test('a change that is interrupted leaves the version before or the one after, never one between', async () => {
  const random = seeded(seedFrom('KILLS_SEED'));
  const port = await freePort();
  let tools: FileTools = await startFileTools(port);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await tools.stop()));
  const crew: Crew = stack.use(
    await startCrew({
      replicas: 3,
      servers: () => [mounted('up', tools.url, { adapters: ROLES, tool_defaults: { tool_call_timeout_seconds: 1 } })],
    }),
  );
  const seen = { before: 0, after: 0 };
  for (let round = 0; round < KILLS; round += 1) {
    const [a, b] = [round % 3, (round + 1) % 3];
    const how = ['replica', 'tool', 'time'][round % 3];
    const session = await openSession(crew.at(b));
    const uri = await textFile(session.at(crew.at(b)), 'start\n');
    const hold = how === 'time' ? `round-${round}` : undefined;
    const call = session
      .at(crew.at(a))
      .tool('append_line', { path: uri, line: `line ${round}`, ...(hold && { hold }) });
    const outcome = call.then(
      (message) => message,
      () => undefined,
    );
    await delay(random() * CALL_MS);
    if (how === 'replica') {
      crew.at(a).kill('SIGKILL');
      await crew.restart(a);
    } else if (how === 'tool') {
      tools.kill('SIGKILL');
      await tools.exited;
      tools = await startFileTools(port);
    }
    const message = await outcome;
    const text = String(await readResource(session.at(crew.at(b)), uri));
    const whole = `start\nline ${round}\n`;
    expect(['start\n', whole], `round ${round}, ${how}`).toContain(text);
    const isKept = message !== undefined && saidBy(message).startsWith('Appended') && text === whole;
    if (message !== undefined && saidBy(message).startsWith('Appended'))
      expect(isKept, `round ${round}, ${how}`).toBe(true);
    seen[text === whole ? 'after' : 'before'] += 1;
    // Whoever comes next changes what is there. After a kill it waits for the lock of the dead to end.
    if (round % 8 === 0) {
      await expect
        .poll(async () => saidBy(await session.at(crew.at(b)).tool('append_line', { path: uri, line: 'next' })), {
          timeout: 30_000,
          interval: 500,
        })
        .toContain('Appended');
      expect(String(await readResource(session.at(crew.at(b)), uri))).toBe(`${text}next\n`);
    }
    expect((await session.at(crew.at(b)).end()).status).toBe(200);
  }
  console.log(`${KILLS} kills: ${seen.before} before, ${seen.after} after`);
  // Copies of dead calls end with their leases, and nothing else is left of sessions that have ended.
  expect((await lying(crew.root)).filter(({ path }) => !path.includes('.tmp'))).toEqual([]);
}, 900_000);
