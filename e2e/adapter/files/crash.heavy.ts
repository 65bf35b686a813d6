import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { openSession } from '../kit/session.ts';
import { artifactOf, resourceUris } from './kit/artifacts.ts';
import { Clients, SESSION_BYTES, UPLOAD_TTL_SECONDS } from './kit/crash-work.ts';
import { type Crew, startCrew } from './kit/crew.ts';
import { lying, sizeOf } from './kit/folder.ts';
import { seeded, seedFrom } from './kit/random.ts';
import { formFile, statusAndBody, upload } from './kit/uploads.ts';

/** With each kind of state. */
const CRASHES = 25;
const ALL_BYTES = 4_000_000;
const GRACE_SECONDS = 1;
/** More than leases last that a crash leaves behind. */
const AHEAD_MS = 300_000;
const CLOCK = fileURLToPath(new URL('kit/clock.ts', import.meta.url));

/**
 * A replica is killed while it takes uploads, keeps artifacts, evicts and cleans up, at moments that are spread over
 * the time which all of that takes on this machine.
 */
describe.for(['disk', 'redis'] as const)('after crashes, with state in %s,', (state) => {
  test(
    'what clients were given is whole or gone, nothing is left over, and the quotas add up',
    { timeout: 600_000 },
    async () => {
      const random = seeded(seedFrom('CRASH_SEED'));
      await using crew = await startCrew({
        replicas: state === 'disk' ? 1 : 3,
        state,
        config: {
          core: { cleanup_interval_seconds: 0.1, defaults: { tool_call_timeout_seconds: 30 } },
          storage: { max_size: ALL_BYTES, orphan_sweeper_grace_seconds: GRACE_SECONDS },
          sessions: { max_total_session_size: SESSION_BYTES },
          uploads: { ttl_seconds: UPLOAD_TTL_SECONDS },
          artifacts: { ttl_seconds: null },
        },
      });
      const clients = await Clients.at(crew.at(0), random);
      await clients.work(crew.replicas);
      // How long it takes, so that crashes are spread over all of it, on any machine and under any load.
      let workMs = await clients.work(crew.replicas);
      let had = 0;
      for (let round = 0; round < CRASHES; round += 1) {
        const victim = round % crew.replicas.length;
        const working = clients.work(crew.replicas);
        const ended = await Promise.race([working, delay(random() * workMs)]);
        crew.at(victim).kill();
        workMs = ended ?? workMs;
        await working;
        const restarted = crew.restart(victim);
        if (state === 'disk') await restarted;
        const [whole] = await Promise.all([clients.check(crew.at(victim + 1), crew.root), restarted]);
        had += whole;
      }
      expect(had).toBeGreaterThan(CRASHES);

      // From here on no lease of a crashed replica protects anything, and what is there stays.
      const stays = { uploads: { ttl_seconds: null } };
      for (const index of crew.replicas.keys()) {
        const env = { NODE_OPTIONS: `--import ${CLOCK}`, CLOCK_AHEAD_MS: String(AHEAD_MS) };
        await crew.restart(index, stays, env);
      }
      // The last crashes may have left nothing but places that are held for uploads that never end.
      await clients.work(crew.replicas);
      expect(await clients.check(crew.at(0), crew.root)).toBeGreaterThan(0);
      await nothingLeftOver(crew, clients);
      await exactlyFull(crew);
    },
  );
});

/** A replica that was killed while it cleaned up keeps the others from it for a minute. */
const settles = <T>(read: () => T) => expect.poll(read, { timeout: 90_000, interval: 100 });

/** Everything on the disk is a file of the clients that are still there. */
async function nothingLeftOver(crew: Crew, clients: Clients): Promise<void> {
  const alive = clients.sessions.map(({ sessionId }) => sessionId);
  await settles(() => clients.unclaimed(crew.at(0), crew.root)).toEqual([]);
  const artifacts = join(crew.root, 'artifacts/sessions');
  await settles(async () => (await readdir(artifacts)).filter((id) => !alive.includes(id))).toEqual([]);
  await settles(async () => {
    const listed = await Promise.all(clients.sessions.map((session) => resourceUris(session.at(crew.at(0)))));
    const kept = (await lying(crew.root)).filter(({ path }) => path.startsWith('artifacts/'));
    const files = kept.map(({ path }) => path.replace('artifacts/', ''));
    const folders = await Promise.all(alive.map((id) => readdir(join(artifacts, id)).catch(() => [])));
    return {
      files: files.toSorted(),
      folders: folders.flat().length,
      listed: listed
        .flat()
        .map((uri) => uri.replace('artifact://', ''))
        .toSorted(),
    };
  }).toSatisfy(({ files, folders, listed }) => {
    return folders === listed.length && JSON.stringify(files) === JSON.stringify(listed);
  });
}

/** What may still be written is what is missing on the disk, to the byte. */
async function exactlyFull(crew: Crew): Promise<void> {
  const free = async (): Promise<number> => ALL_BYTES - sizeOf(await lying(crew.root));
  for (let left = await free(); left > 0; left = await free()) {
    const session = await openSession(crew.at(0));
    const size = Math.min(left, SESSION_BYTES);
    const args = { output_path: 'fill.bin', size };
    expect(artifactOf(await session.at(crew.at(0)).tool('write_file', args)).size).toBe(size);
  }
  const { sessionId } = await openSession(crew.at(0));
  expect(await statusAndBody(upload(crew.at(0), sessionId, [formFile('more', 1)]))).toMatchObject([
    507,
    { code: 'storage_quota' },
  ]);
}
