import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AdapterConfig } from '../../../crds/config/adapter-file/adapter.ts';
import { allFields } from '../../../crds/config/testing/all-fields.ts';
import { inputSchema } from '../../../crds/generate/json-schema.ts';
import { GrpcReceiver } from '../../../lib/otlp/testing/grpc-receiver.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { CASES, ENDED_TWICE, FLOODED, HANGING, type RunName, RUNS } from './kit/field-cases.ts';
import { FieldRun } from './kit/field-run.ts';

/** Fields whose effect another test shows: the file, and a title in it. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, title: string]>> = {
  insecure: ['collector.heavy.ts', "'grpc with TLS'"],
};
const PATIENCE_MS = 10_000;
/** Programs that start. */
const AT_A_TIME = 3;

const started = new AsyncDisposableStack();
const results = new Map<string, readonly [value: boolean, otherwise: boolean]>();

beforeAll(async () => {
  const upstream = started.use(await startScriptedUpstream());
  const runs = await startRuns(upstream);
  const look = async (atTheEnd: boolean): Promise<void> => {
    for (const [path, { run, otherwise = 'usual', shows, atTheEnd: last = false }] of Object.entries(CASES)) {
      if (last === atTheEnd) results.set(path, [await shows(of(runs, run)), await shows(of(runs, otherwise))]);
    }
  };
  for (const name of FLOODED) await of(runs, name).burst();
  const limit = performance.now() + PATIENCE_MS;
  do {
    await delay(100);
    await look(false);
  } while (performance.now() < limit && ![...results.values()].every(([value, otherwise]) => value && !otherwise));
  await Promise.all(
    [...runs].map(([name, run]) => (ENDED_TWICE.has(name) ? run.stopTwice(upstream, `of ${name}`) : run.stop())),
  );
  await look(true);
});
afterAll(() => started.disposeAsync());

async function startRuns(upstream: ScriptedUpstream): Promise<Map<RunName, FieldRun>> {
  const receiver = started.use(new GrpcReceiver());
  const grpc = { url: await receiver.listen(), receiver };
  const runs = new Map<RunName, FieldRun>();
  const start = async (name: RunName): Promise<void> => {
    const run = await FieldRun.start(upstream, RUNS[name], {
      hangs: HANGING.has(name),
      graceSeconds: ENDED_TWICE.has(name) ? 60 : 0,
      ...(name === 'grpc' && { grpc }),
    });
    runs.set(name, started.use(run));
  };
  // All at once would keep each other from being up in time.
  const names = (Object.keys(RUNS) as RunName[]).values();
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      for (const name of names) await start(name);
    }),
  );
  return runs;
}

const of = (runs: ReadonlyMap<RunName, FieldRun>, name: RunName): FieldRun => runs.get(name) ?? expect.fail(name);

test.each(Object.keys(CASES))('telemetry.%s', (path) => {
  const [value, otherwise] = results.get(path) ?? [];
  expect(value, 'it does not show').toBe(true);
  expect(otherwise, 'it shows without it').toBe(false);
});

test('every field of the section has a test', async () => {
  const fields = allFields(inputSchema(AdapterConfig)).filter((path) => path.startsWith('telemetry.'));
  const tested = [...Object.keys(CASES), ...Object.keys(ELSEWHERE)].map((path) => `telemetry.${path}`);
  expect(tested.toSorted()).toEqual(fields.toSorted());
  for (const [file, title] of Object.values(ELSEWHERE)) {
    expect(await readFile(join(import.meta.dirname, file), 'utf8')).toContain(title);
  }
});
