import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { readResource, resourceUris } from '../files/kit/artifacts.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { lying, sharedFolder, sizeOf } from '../files/kit/folder.ts';
import { storedBytes } from '../files/kit/stored.ts';
import { uploaded } from '../files/kit/uploads.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession, type Session } from '../kit/session.ts';
import { madeBy, ROLES, textFile } from './kit/roles.ts';

const CRASH_AT = fileURLToPath(new URL('../files/kit/crash-at.ts', import.meta.url));
const CLOCK = fileURLToPath(new URL('../files/kit/clock.ts', import.meta.url));
/** More than leases last that a crash leaves behind. */
const AHEAD_MS = 400_000;
/** A replica that was killed while it cleaned up keeps the others from it for a minute. */
const SETTLES = { timeout: 90_000, interval: 200 };

/** A call that is killed before each of its steps. */
interface Case {
  readonly name: string;
  readonly tool: string;
  /** Makes what the call needs, and says what it is. */
  readonly prepared: (door: Door, session: Session) => Promise<JsonObject>;
  /** What is in each of the session's artifacts before it and after it. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** How many of them the call makes, where that is not all. */
  readonly made?: number;
}

/** A call to make again. */
interface Next {
  readonly session: Session;
  readonly args: JsonObject;
  readonly about: string;
}

describe.each([
  ['three replicas and Redis', 'redis', 3],
  ['SQLite', 'disk', 1],
] as const)('a replica that is killed before any step of a call, with %s,', (_name, state, replicas) => {
  /** Those that are killed; the last one of several is not. */
  const mortal = replicas === 1 ? [0] : [0, 1];
  const started = new AsyncDisposableStack();
  let crew: Crew;
  /** Of a tool that names its files itself. */
  let own: string;
  const sessions: Session[] = [];
  const quiet = () => crew.at(replicas - 1);

  beforeAll(async () => {
    own = started.use(await sharedFolder()).path;
    const found = { pattern: String.raw`\(([^)#]+)`, relative_to: own, take: 'move' };
    const adapters = [...ROLES, { type: 'files', tools: ['snapshot'], found: [found] }];
    crew = started.use(
      await startCrew({
        replicas,
        state,
        config: {
          // Else no bytes are counted.
          storage: { max_size: 50_000_000 },
          uploads: { ttl_seconds: null },
          artifacts: { ttl_seconds: null },
        },
        servers: (url) => [mounted('up', url, { adapters })],
      }),
    );
    await Promise.all(mortal.map((index) => restart(index)));
  });
  afterAll(() => started.disposeAsync());

  const crashAt = (index: number): string => join(own, `crash-at-${index}`);
  const restart = (index: number) =>
    crew.restart(index, {}, { NODE_OPTIONS: `--import ${CRASH_AT}`, CRASH_AT: crashAt(index) });

  const cases: readonly Case[] = [
    {
      name: 'a change',
      tool: 'append_line',
      prepared: async (door) => ({ path: await textFile(door, 'one\n'), line: 'two' }),
      before: ['one\n'],
      after: ['one\ntwo\n'],
    },
    {
      name: 'the first change of an upload',
      tool: 'append_line',
      async prepared(_door, { sessionId }) {
        const [taken] = await uploaded(quiet(), sessionId, [{ name: 'x.txt', bytes: Buffer.from('one\n') }]);
        return { path: taken?.handle ?? '', line: 'two' };
      },
      before: [],
      after: ['one\ntwo\n'],
    },
    {
      name: 'a change that makes the file',
      tool: 'append_line',
      prepared: () => Promise.resolve({ path: 'new.txt', line: 'one' }),
      before: [],
      after: ['one\n'],
    },
    {
      name: 'a copy',
      tool: 'copy_text',
      prepared: async (door) => ({ source: await textFile(door, 'one\n'), destination: 'copy.txt', line: 'two' }),
      before: ['one\n'],
      after: ['one\n', 'one\ntwo\n'],
      made: 1,
    },
    {
      name: 'a folder',
      tool: 'make_report',
      prepared: () => Promise.resolve({ folder: 'report', files: 2 }),
      before: [],
      after: ['part 0\n', 'part 1\n'],
    },
    {
      name: 'a file that the tool names',
      tool: 'snapshot',
      prepared: (_door, { sessionId }) =>
        Promise.resolve({ folder: join(own, sessionId), name: 'page.yml', absolute: true }),
      before: [],
      after: ['snapshot page.yml\n'],
    },
  ];

  /** What is in the artifacts of a session. */
  async function textsOf(session: Session): Promise<string[]> {
    const door = session.at(quiet());
    const texts = [];
    for (const uri of await resourceUris(door)) texts.push(String(await readResource(door, uri)));
    return texts.toSorted();
  }

  /** One call, killed before its step `at`. Gives what comes next, and undefined where the call had fewer steps. */
  async function killedAt(at: number, index: number, one: Case): Promise<Next | undefined> {
    const { name, tool, prepared, before, after } = one;
    const session = await openSession(quiet());
    sessions.push(session);
    const args = await prepared(session.at(quiet()), session);
    const victim = crew.at(index);
    await writeFile(crashAt(index), `${at}\n`);
    victim.kill('SIGUSR2');
    await victim.waitForStdout(/armed/);
    const answer = session.at(victim).request('tools/call', { name: tool, arguments: args });
    const text = await answer.then((response) => response.text()).catch(() => undefined);
    victim.kill();
    await victim.exited;
    const steps = (await readFile(crashAt(index), 'utf8')).trim().split('\n').slice(1);
    await restart(index);

    const about = `${name}, before step ${at}, after ${steps.at(-1)}`;
    const found = await textsOf(session);
    // Of several files each is there as a whole, or not at all.
    expect([...before, ...after], about).toEqual(expect.arrayContaining(found));
    expect(found.length, about).toBeGreaterThanOrEqual(before.length);
    if (text?.includes('"artifact"') === true) expect(found, about).toEqual(after);
    return steps.length + 1 < at ? undefined : { session, args, about };
  }

  // Of one replica alone, the two that have everything: a version that follows another, and a new file beside one that is read.
  const here = state === 'redis' ? cases : cases.filter(({ name }) => name === 'a change' || name === 'a copy');

  test.each(here)('$name is made or not', { timeout: 300_000 }, async (one) => {
    const next: Next[] = [];
    for (let at = 1, isOver = false; !isOver; at += mortal.length) {
      const kills = await Promise.all(mortal.map((index, place) => killedAt(at + place, index, one)));
      next.push(...kills.filter((kill) => kill !== undefined));
      isOver = kills.includes(undefined);
    }
    expect(next.length).toBeGreaterThan(5);
    console.log(`${one.name}: ${next.length} steps`);
    // Whoever comes next does the same, once the locks of the dead have ended. Of every other call, what is left stays.
    const others = next.filter((_, place) => place % 2 === 0);
    await Promise.all(
      others.map(async ({ session, args, about }) => {
        const made = madeBy(await session.at(quiet()).tool(one.tool, args));
        expect(made.length, about).toBe(one.made ?? one.after.length);
      }),
    );
  });

  test('what is left of all that is counted, and goes with the sessions', { timeout: 300_000 }, async () => {
    const kept = await Promise.all(sessions.map((session) => textsOf(session)));
    // No lease of a replica that was killed protects anything any more.
    const cleaning = {
      core: { cleanup_interval_seconds: 0.1 },
      storage: { orphan_sweeper_grace_seconds: 1 },
    };
    const env = { NODE_OPTIONS: `--import ${CLOCK}`, CLOCK_AHEAD_MS: String(AHEAD_MS) };
    for (const index of crew.replicas.keys()) await crew.restart(index, cleaning, env);
    expect(sessions.length).toBeGreaterThan(state === 'redis' ? 80 : 20);
    await expect.poll(async () => (await storedBytes(quiet())) - sizeOf(await lying(crew.root)), SETTLES).toBe(0);
    expect(await Promise.all(sessions.map((session) => textsOf(session)))).toEqual(kept);
    for (const session of sessions) expect((await session.at(quiet()).end()).status).toBe(200);
    await expect.poll(() => storedBytes(quiet()), SETTLES).toBe(0);
    await expect.poll(() => lying(crew.root), SETTLES).toEqual([]);
  });
});
