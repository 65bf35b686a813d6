import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FileTools, startFileTools } from '../../support/file-tools.ts';
import { freePort } from '../../support/ports.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { lying } from '../files/kit/folder.ts';
import { seeded, seedFrom } from '../files/kit/random.ts';
import { storedBytes } from '../files/kit/stored.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession } from '../kit/session.ts';
import { oneOf, ROLES, saidBy, textFile } from './kit/roles.ts';

/** 200 in all. */
const KILLS = { replicas: 70, tools: 65, calls: 65 };
/** Files that are being changed when a process is killed. */
const FILES = 3;
/** Calls whose time is over together. */
const LATE = 13;
/** More than the lock of a replica lasts that was killed. */
const PATIENCE = { tool_defaults: { tool_call_timeout_seconds: 30 } };
/** Two replicas are killed in turn; the third one is never. */
const MORTAL = [0, 1];
const QUIET = 2;

const started = new AsyncDisposableStack();
const seen = { before: 0, after: 0 };
let seed: number;
let crew: Crew;
/** Behind `mortal`, always at the same address. */
let tools: FileTools;
let port: number;

beforeAll(async () => {
  seed = seedFrom('KILLS_SEED');
  port = await freePort();
  tools = await startFileTools(port);
  started.defer(async () => void (await tools.stop()));
  crew = started.use(
    await startCrew({
      replicas: 3,
      // Else no bytes are counted.
      config: { storage: { max_size: 100_000_000 } },
      servers: (url) => [
        mounted('up', url, { adapters: ROLES, ...PATIENCE }),
        mounted('mortal', tools.url, { adapters: ROLES, ...PATIENCE }),
        mounted('short', url, { adapters: ROLES, tool_defaults: { tool_call_timeout_seconds: 1 } }),
      ],
    }),
  );
});
afterAll(() => started.disposeAsync());

/** A file that is being changed. */
interface Changing {
  readonly uri: string;
  readonly line: string;
  /** Undefined where no answer came. */
  readonly answer: Promise<JsonObject | undefined>;
}

/** Files of one session of a server, which are being changed at a replica. */
interface Round {
  /** The session at the replica that is not killed. */
  readonly door: Door;
  readonly files: readonly Changing[];
  /** How long the calls have taken, in milliseconds. */
  readonly tookMs: Promise<number>;
}

async function begin(server: string, replica: number, count: number, hold?: string): Promise<Round> {
  const session = await openSession(crew.at(QUIET), { path: `/mcp/${server}` });
  const door = session.at(crew.at(QUIET));
  const uris = await Promise.all(Array.from({ length: count }, () => textFile(door, 'start\n')));
  const began = performance.now();
  const files = uris.map((path, number): Changing => {
    const args = { path, line: `line ${number}`, ...(hold !== undefined && { hold }) };
    const answer = session.at(crew.at(replica)).tool('append_line', args);
    return { uri: path, line: args.line, answer: answer.catch(() => undefined) };
  });
  const tookMs = Promise.all(files.map(({ answer }) => answer)).then(() => performance.now() - began);
  return { door, files, tookMs };
}

/** Each file is whole, whoever comes next changes what is there, and nothing is left when the session ends. */
async function check({ door, files }: Round, about: string): Promise<void> {
  await Promise.all(
    files.map(async ({ uri, line, answer }) => {
      const message = await answer;
      const text = String(await readResource(door, uri));
      const whole = `start\n${line}\n`;
      expect(['start\n', whole], about).toContain(text);
      if (message !== undefined && saidBy(message).startsWith('Appended')) expect(text, about).toBe(whole);
      const isAfter = text === whole;
      seen[isAfter ? 'after' : 'before'] += 1;
      const next = await door.tool('append_line', { path: uri, line: 'next' });
      expect(oneOf(next).version, about).toBe(isAfter ? 3 : 2);
      expect(String(await readResource(door, uri)), about).toBe(`${text}next\n`);
    }),
  );
  expect((await door.end()).status).toBe(200);
}

/** How long calls take here, so that kills are spread over all of that. */
async function usualMs(server: string, replica: number): Promise<number> {
  const round = await begin(server, replica, FILES);
  await check(round, 'no kill');
  return await round.tookMs;
}

/** Kills replicas in the middle of changes, and starts them again. */
async function killReplicas(random: () => number): Promise<void> {
  let callMs = await usualMs('up', 0);
  const back: Promise<unknown>[] = [];
  // The locks of the dead last longer than the next kill is waited for.
  const checks: Promise<void>[] = [];
  for (let kill = 0; kill < KILLS.replicas; kill += 1) {
    const victim = MORTAL[kill % MORTAL.length] as number;
    await back[victim];
    const round = await begin('up', victim, FILES);
    const ended = await Promise.race([round.tookMs, delay(random() * callMs)]);
    crew.at(victim).kill();
    callMs = ended ?? callMs;
    back[victim] = crew.restart(victim);
    checks.push(check(round, `kill ${kill} of a replica`));
  }
  await Promise.all([...checks, ...back]);
}

/** Kills the server in the middle of changes. */
async function killTools(random: () => number): Promise<void> {
  let callMs = await usualMs('mortal', QUIET);
  for (let kill = 0; kill < KILLS.tools; kill += 1) {
    const round = await begin('mortal', QUIET, FILES);
    const ended = await Promise.race([round.tookMs, delay(random() * callMs)]);
    tools.kill();
    await tools.exited;
    callMs = ended ?? callMs;
    tools = await startFileTools(port);
    await check(round, `kill ${kill} of the tool`);
  }
}

/** Lets the time of calls end when half of a line is written. */
async function endTime(): Promise<void> {
  for (let round = 0; round < KILLS.calls / LATE; round += 1) {
    const late = await begin('short', QUIET, LATE, `late-${round}`);
    await late.tookMs;
    await check(late, `time limit ${round}`);
  }
}

test('a change that is interrupted leaves the version before or the one after, never one between', async () => {
  // Each has numbers of its own: what the others do does not change them.
  await Promise.all([killReplicas(seeded(seed)), killTools(seeded(seed + 1)), endTime()]);
  console.log(`${seen.before} files as before, ${seen.after} as after`);
  await expect.poll(() => storedBytes(crew.at(QUIET)), { timeout: 30_000 }).toBe(0);
  expect(await lying(crew.root)).toEqual([]);
}, 600_000);
