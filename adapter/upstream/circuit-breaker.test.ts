import { describe, expect, test } from 'vitest';

import { seededRandom } from '../exchange/testing/generate-json.ts';
import { type Admission, type BreakerState, CircuitBreaker } from './circuit-breaker.ts';

const POLICY = { failureThreshold: 3, openCooldownMs: 30_000, halfOpenProbeAllowance: 2 };

/** What is done to the breaker, and when: seconds and a word each. */
type Step = 'ping ok' | 'ping failed' | 'ask' | 'probe ok' | 'probe failed' | 'probe abandoned';

interface Run {
  readonly states: BreakerState[];
  readonly answers: string[];
}

function run(steps: readonly (readonly [seconds: number, step: Step])[], policy = POLICY): Run {
  const breaker = new CircuitBreaker(policy);
  const states: BreakerState[] = [];
  const answers: string[] = [];
  for (const [seconds, step] of steps) {
    const now = seconds * 1000;
    switch (step) {
      case 'ping ok':
        breaker.pingSucceeded();
        break;
      case 'ping failed':
        breaker.pingFailed(now);
        break;
      case 'ask':
        answers.push(text(breaker.admit(now)));
        break;
      case 'probe ok':
        breaker.probeSucceeded();
        break;
      case 'probe failed':
        breaker.probeFailed(now);
        break;
      case 'probe abandoned':
        breaker.probeAbandoned();
        break;
    }
    states.push(breaker.state(now));
  }
  return { states, answers };
}

const text = (admission: Admission): string =>
  admission.kind === 'reject' ? `reject ${admission.retryAfterMs / 1000}` : admission.kind;

const OPENED: [number, Step][] = [
  [0, 'ping failed'],
  [1, 'ping failed'],
  [2, 'ping failed'],
];

describe('a circuit breaker', () => {
  test.each<[string, [number, Step][], string, string[]]>([
    [
      'stays closed without failures',
      [
        [0, 'ask'],
        [1, 'ping ok'],
        [2, 'ask'],
      ],
      'closed',
      ['pass', 'pass'],
    ],
    [
      'stays closed below the threshold',
      [
        [0, 'ping failed'],
        [1, 'ping failed'],
        [2, 'ask'],
      ],
      'closed',
      ['pass'],
    ],
    [
      'counts failures in a row only',
      [
        [0, 'ping failed'],
        [1, 'ping failed'],
        [2, 'ping ok'],
        [3, 'ping failed'],
        [4, 'ping failed'],
        [5, 'ask'],
      ],
      'closed',
      ['pass'],
    ],
    ['opens at the threshold', OPENED, 'open', []],
    [
      'rejects while it is open, and says for how long',
      [...OPENED, [2, 'ask'], [12, 'ask'], [31, 'ask']],
      'open',
      ['reject 30', 'reject 20', 'reject 1'],
    ],
    [
      'is not kept open by more failures',
      [...OPENED, [20, 'ping failed'], [31.9, 'ask'], [32, 'ask']],
      'half_open',
      ['reject 0.1', 'probe'],
    ],
    ['is half open after the cooldown', [...OPENED, [32, 'ping ok']], 'half_open', []],
    [
      'lets so many probes through and no more',
      [...OPENED, [32, 'ask'], [32, 'ask'], [32, 'ask']],
      'half_open',
      ['probe', 'probe', 'reject 1'],
    ],
    [
      'closes after so many successes in a row',
      [...OPENED, [32, 'ask'], [32, 'ask'], [33, 'probe ok'], [34, 'probe ok'], [35, 'ask']],
      'closed',
      ['probe', 'probe', 'pass'],
    ],
    ['needs them all', [...OPENED, [32, 'ask'], [33, 'probe ok']], 'half_open', ['probe']],
    [
      'lets the next probe through when one has ended',
      [...OPENED, [32, 'ask'], [32, 'ask'], [33, 'probe ok'], [33, 'ask'], [33, 'ask']],
      'half_open',
      ['probe', 'probe', 'probe', 'reject 1'],
    ],
    [
      'opens again after one failed probe',
      [...OPENED, [32, 'ask'], [32, 'ask'], [33, 'probe ok'], [34, 'probe failed'], [35, 'ask']],
      'open',
      ['probe', 'probe', 'reject 29'],
    ],
    [
      'begins anew after that',
      [
        ...OPENED,
        [32, 'ask'],
        [33, 'probe failed'],
        [63, 'ask'],
        [63, 'ask'],
        [63, 'ask'],
        [64, 'probe ok'],
        [64, 'probe ok'],
      ],
      'closed',
      ['probe', 'probe', 'probe', 'reject 1'],
    ],
    [
      'forgets successes when it opens again',
      [...OPENED, [32, 'ask'], [32, 'probe ok'], [32, 'ask'], [33, 'probe failed'], [63, 'ask'], [64, 'probe ok']],
      'half_open',
      ['probe', 'probe', 'probe'],
    ],
    [
      'takes a probe back that says nothing',
      [...OPENED, [32, 'ask'], [32, 'ask'], [33, 'probe abandoned'], [33, 'ask'], [33, 'ask']],
      'half_open',
      ['probe', 'probe', 'probe', 'reject 1'],
    ],
    [
      'is not closed by abandoned probes',
      [...OPENED, [32, 'ask'], [32, 'probe abandoned'], [32, 'ask'], [32, 'probe abandoned'], [33, 'ask']],
      'half_open',
      ['probe', 'probe', 'probe'],
    ],
    [
      'is not held half open by probes that never end',
      [...OPENED, [32, 'ask'], [40, 'ask'], [41, 'ask'], [69.9, 'ask'], [70, 'ask'], [70, 'ask'], [70, 'ask']],
      'half_open',
      ['probe', 'probe', 'reject 1', 'reject 1', 'probe', 'probe', 'reject 1'],
    ],
    [
      'counts no failures of before when it is closed again',
      [
        ...OPENED,
        [32, 'ask'],
        [32, 'ask'],
        [32, 'probe ok'],
        [32, 'probe ok'],
        [33, 'ping failed'],
        [34, 'ping failed'],
      ],
      'closed',
      ['probe', 'probe'],
    ],
    [
      'opens a second time',
      [
        ...OPENED,
        [32, 'ask'],
        [32, 'ask'],
        [32, 'probe ok'],
        [32, 'probe ok'],
        [33, 'ping failed'],
        [34, 'ping failed'],
        [35, 'ping failed'],
        [36, 'ask'],
      ],
      'open',
      ['probe', 'probe', 'reject 29'],
    ],
    [
      'takes late news of a probe for nothing',
      [
        [0, 'probe failed'],
        [0, 'probe ok'],
        [0, 'probe abandoned'],
        [1, 'ask'],
        ...OPENED.map(([s, step]) => [s + 2, step] as [number, Step]),
        [5, 'probe ok'],
        [5, 'probe failed'],
        [6, 'ask'],
      ],
      'open',
      ['pass', 'reject 28'],
    ],
  ])('%s', (_name, steps, state, answers) => {
    const result = run(steps);
    expect([result.states.at(-1), result.answers]).toEqual([state, answers]);
  });

  test('of one failure and one probe needs one of each', () => {
    const policy = { failureThreshold: 1, openCooldownMs: 1000, halfOpenProbeAllowance: 1 };
    const { states, answers } = run(
      [
        [0, 'ping failed'],
        [0, 'ask'],
        [1, 'ask'],
        [1, 'ask'],
        [1, 'probe ok'],
        [1, 'ask'],
      ],
      policy,
    );
    expect(states).toEqual(['open', 'open', 'half_open', 'half_open', 'closed', 'closed']);
    expect(answers).toEqual(['reject 1', 'probe', 'reject 1', 'pass']);
  });

  test('shows what it counts', () => {
    const breaker = new CircuitBreaker(POLICY);
    breaker.pingFailed(0);
    expect(breaker.snapshot(0)).toEqual({
      state: 'closed',
      consecutive_failures: 1,
      failure_threshold: 3,
      open_cooldown_seconds: 30,
      half_open_probe_allowance: 2,
      half_open_probe_count: 0,
      half_open_success_count: 0,
    });
    breaker.pingFailed(0);
    breaker.pingFailed(0);
    breaker.admit(30_000);
    breaker.admit(30_000);
    breaker.probeSucceeded();
    expect(breaker.snapshot(30_000)).toMatchObject({
      state: 'half_open',
      consecutive_failures: 3,
      half_open_probe_count: 1,
      half_open_success_count: 1,
    });
  });

  test('is never stuck, whatever happens to it', () => {
    const random = seededRandom(11);
    const outcomes = ['probeSucceeded', 'probeAbandoned', 'probeFailed', 'none', 'none'] as const;
    const seen = new Set<string>();
    for (let round = 0; round < 200; round++) {
      const breaker = new CircuitBreaker(POLICY);
      let now = 0;
      for (let i = 0; i < 100; i++) {
        now += random() * 10_000;
        if (random() < 0.5) breaker.pingFailed(now);
        else breaker.pingSucceeded();
        const before = breaker.state(now);
        const admission = breaker.admit(now);
        seen.add(`${before} ${admission.kind}`);
        const outcome = outcomes[Math.floor(random() * outcomes.length)] ?? 'none';
        if (admission.kind === 'probe' && outcome !== 'none') breaker[outcome](now);
      }
      // From wherever it is: two cooldowns and some successes later it is closed.
      breaker.admit(now + POLICY.openCooldownMs);
      now += 2 * POLICY.openCooldownMs;
      for (let i = 0; i < POLICY.halfOpenProbeAllowance && breaker.state(now) !== 'closed'; i++) {
        expect(breaker.admit(now).kind).toBe('probe');
        breaker.probeSucceeded();
      }
      expect(breaker.state(now)).toBe('closed');
      expect(breaker.admit(now)).toEqual({ kind: 'pass' });
    }
    expect([...seen].sort()).toEqual(['closed pass', 'half_open probe', 'half_open reject', 'open reject']);
  });
});
