import { describe, expect, test, vi } from 'vitest';

import type { Mount } from '../mount/mount.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import type { Outcome } from '../path/ending.ts';
import type { Reply } from '../path/reply.ts';
import { Breaker } from './breaker.ts';
import { RecordingReply, sampleOperation } from './testing/step-scene.ts';

const CONTROL = { pause: () => {}, resume: () => {}, abort: () => {} };

/** The reply behind the step, which throws where it lets nothing pass. */
function admit(mount: Mount, tool = 't'): Reply {
  const step = new Breaker(mount.serverId, mount.breaker, (name) => name === 'execute');
  const operation = sampleOperation({ id: 1, method: 'tools/call', params: { name: tool } });
  let behind: Reply | undefined;
  step.send(operation, new RecordingReply(), (_operation, reply) => (behind = reply));
  if (behind === undefined) throw new Error('it was not passed on');
  return behind;
}

function answered(behind: Reply, status: number): void {
  behind.start(CONTROL);
  behind.head({ status, headers: {}, upstreamSessionId: null });
}

/** A mount whose breaker has just let one of its two probes through. */
function probing(): Mount {
  const mount = sampleMount({ upstream_ping: { failure_threshold: 1, open_cooldown_seconds: 30 } });
  mount.breaker.pingFailed(Date.now() - 31_000);
  return mount;
}
const counts = (mount: Mount): unknown => {
  const {
    state,
    half_open_probe_count: probes,
    half_open_success_count: successes,
  } = mount.breaker.snapshot(Date.now());
  return [state, probes, successes];
};

describe('a request of the half-open breaker', () => {
  test.each([
    [200, ['half_open', 0, 1]],
    [404, ['half_open', 0, 1]],
    [499, ['half_open', 0, 1]],
    [500, ['open', 1, 0]],
    [503, ['open', 1, 0]],
  ])('tells it by the status: %i', (status, expected) => {
    const mount = probing();
    const admitted = admit(mount);
    expect(counts(mount)).toEqual(['half_open', 1, 0]);
    answered(admitted, status);
    answered(admitted, 500);
    void admitted.end({ outcome: 'upstream_broke' });
    expect(counts(mount)).toEqual(expected);
  });

  test.each<[Outcome, unknown]>([
    ['upstream_broke', ['open', 1, 0]],
    ['timeout', ['open', 1, 0]],
    ['upstream_timeout', ['open', 1, 0]],
    ['upstream_unreachable', ['open', 1, 0]],
    // Also said of what only this client is refused.
    ['upstream_failed', ['half_open', 0, 0]],
    ['client_closed', ['half_open', 0, 0]],
    ['session_not_found', ['half_open', 0, 0]],
    ['ok', ['half_open', 0, 0]],
    ['draining', ['half_open', 0, 0]],
  ])('tells it by its end when there was no answer: %s', (outcome, expected) => {
    const mount = probing();
    const admitted = admit(mount);
    void admitted.end({ outcome });
    void admitted.end({ outcome: 'upstream_broke' });
    answered(admitted, 200);
    expect(counts(mount)).toEqual(expected);
  });

  test('takes one of few places', () => {
    const mount = probing();
    admit(mount);
    admit(mount);
    expect(() => admit(mount)).toThrow(
      expect.objectContaining({ code: 'upstream_unavailable', status: 503, retryAfter: 1 }) as Error,
    );
  });

  test.each([
    [403, ['half_open', 0, 1]],
    [503, ['open', 1, 0]],
  ])('tells it by a head that the client does not get to see: %i', (status, expected) => {
    const mount = probing();
    const admitted = admit(mount);
    admitted.start(CONTROL);
    void admitted.end({ outcome: 'upstream_failed', head: { status, headers: {}, upstreamSessionId: null } });
    expect(counts(mount)).toEqual(expected);
  });

  test('says nothing of the upstream when the adapter answers it', () => {
    const mount = probing();
    const admitted = admit(mount);
    admitted.head({ status: 200, headers: {}, upstreamSessionId: null });
    void admitted.end({ outcome: 'answered' });
    expect(counts(mount)).toEqual(['half_open', 0, 0]);
  });

  test('is no probe where it only makes others, which are', () => {
    const mount = probing();
    void admit(mount, 'execute').end({ outcome: 'upstream_broke' });
    expect(counts(mount)).toEqual(['half_open', 0, 0]);
  });
});

test('the open breaker says when to come back, in whole seconds', () => {
  const mount = sampleMount({ upstream_ping: { failure_threshold: 1, open_cooldown_seconds: 30 } });
  expect(() => answered(admit(mount), 500)).not.toThrow();
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  mount.breaker.pingFailed(1_000_000);
  vi.setSystemTime(1_000_000 + 12_300);
  expect(() => admit(mount)).toThrow(
    expect.objectContaining({
      code: 'upstream_unavailable',
      retryAfter: 18,
      message: 'The upstream server "s1" is unhealthy; requests are rejected for now.',
    }) as Error,
  );
  vi.useRealTimers();
});
