import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { textOf } from '../kit/session.ts';
import { answeredBy, callSessionless } from './kit/sessionless.ts';

const CALLS = 1_000;
const AT_ONCE = 50;
const ELICITATION = { capabilities: { elicitation: {} } };

async function inTurns<T, R>(items: readonly T[], run: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) results[index] = await run(item, index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => [Math.random(), item] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, item]) => item);

async function residentMb(deployment: Deployment): Promise<number[]> {
  return Promise.all(
    [deployment.a, deployment.b].map(async ({ pid }) => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    }),
  );
}

test(
  'a thousand parked calls get their own answers, in any order and at any replica',
  { timeout: 300_000 },
  async () => {
    await using upstream = await startScriptedUpstream();
    await using deployment = await startDeployment({ config: { servers: [mounted('up', upstream.url)] } });
    const places = [deployment.a, deployment.b];
    const anywhere = () => places[Math.random() < 0.5 ? 0 : 1] ?? deployment.a;
    const resident: number[][] = [];
    for (const turn of ['first', 'second', 'third']) {
      const calls = Array.from({ length: CALLS }, (_, index) => ({
        name: 'elicit',
        arguments: { nonce: `${turn}-${index}` },
      }));
      const asked = await inTurns(calls, async (call) => {
        const { result } = await callSessionless(anywhere(), 'tools/call', call, ELICITATION);
        return { call, result };
      });
      expect(upstream.sessions.size).toBe(CALLS);
      const answered = await inTurns(shuffled(asked), async ({ call, result }) => {
        const answer = { action: 'accept', content: { name: call.arguments.nonce } };
        const again: JsonObject = { ...call, ...answeredBy(result, answer) };
        const { message } = await callSessionless(anywhere(), 'tools/call', again, ELICITATION);
        const said = asObject(asObject(asObject(JSON.parse(textOf(message))).result).content);
        return [call.arguments.nonce, said.name];
      });
      expect(answered.filter(([nonce, name]) => nonce !== name)).toEqual([]);
      await expect.poll(() => upstream.sessions.size, { timeout: 20_000 }).toBe(0);
      resident.push(await residentMb(deployment));
    }
    const most = Math.max(...resident.slice(0, 2).flat());
    // What is free is given back by and by.
    const now = async (): Promise<number> => Math.max(...(await residentMb(deployment)));
    await expect.poll(now, { message: JSON.stringify(resident), timeout: 60_000 }).toBeLessThan(most * 1.15);
  },
);
