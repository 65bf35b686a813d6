import { expect, it } from 'vitest';
import { requeueInterval } from './requeue-interval.ts';
import { type StatusInputs, report } from './report.ts';
import { deploymentWith, notReady, podWith } from '../testing/observed.ts';
import { sampleAdapter } from '../testing/sample.ts';

const since = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): Date => new Date(since + seconds * 1000);
const serving: StatusInputs = {
  resource: sampleAdapter(),
  applyResult: { kind: 'applied' },
  paused: false,
  deployment: deploymentWith(),
  service: undefined,
  storage: { kind: 'temporary' },
  network: { kind: 'restricted', widePorts: [] },
  pods: [podWith()],
  health: [],
  usesOAuth: false,
  hasFileRules: false,
  lock: undefined,
  isHealthKnown: true,
  handshake: { ok: true },
  warnings: [],
  now: at(3600),
};
const waiting = { objects: [], settled: false, requeueAfterMs: 1_000 };

it.each<[string, Partial<StatusInputs>, typeof waiting | undefined, number | undefined]>([
  ['every 15 s while ready', {}, undefined, 15_000],
  ['every 2 s until a young pod has answered', { handshake: undefined, now: at(8) }, undefined, 2_000],
  ['less often the longer that takes', { handshake: undefined, now: at(40) }, undefined, 10_000],
  [
    'every 2 s when old pods have just stopped answering',
    { handshake: { ok: false, message: 'x', failingForMs: 5_000 } },
    undefined,
    2_000,
  ],
  ['less often when it takes long', { handshake: { ok: false, message: 'x' } }, undefined, 15_000],
  [
    'less often before a pod is ready',
    { handshake: undefined, pods: [podWith({ conditions: notReady })] },
    undefined,
    15_000,
  ],
  ['not at all without a pod', { pods: [] }, undefined, undefined],
  [
    'O3: when waiting for pods has lasted long enough',
    {
      pods: [],
      deployment: deploymentWith({
        available: 0,
        conditions: [{ type: 'Available', status: 'False', lastTransitionTime: at(3300).toISOString() }],
      }),
    },
    undefined,
    300_000,
  ],
  ['as soon as apply wants it', {}, waiting, 1_000],
  [
    'once a minute for an API',
    { pods: [], applyResult: { kind: 'refused', reason: 'ApiMissing', message: 'x' } },
    undefined,
    60_000,
  ],
  [
    'for a claim that somebody has to make',
    { pods: [], storage: { kind: 'claim', name: 'nfs', made: false, claim: undefined } },
    undefined,
    15_000,
  ],
])('looks again %s', (_, changes, applied, expected) => {
  const inputs = { ...serving, ...changes };
  expect(requeueInterval(inputs, report(inputs), applied)).toBe(expected);
});
