import { describe, expect, test } from 'vitest';

import { AdapterError } from '../errors.ts';
import { FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { failed } from '../path/ending.ts';
import type { ResponseHead } from '../exchange/upstream.ts';
import { Challenges } from './challenges.ts';
import { RecordingReply, sampleClient, sampleOperation, through } from './testing/step-scene.ts';

const THEIRS = 'Bearer resource_metadata="http://upstream:1/.well-known/x", scope="a"';
const OURS = 'Bearer resource_metadata="https://adapter/.well-known/oauth-protected-resource/s1", scope="a"';
const challenge = (status: number): ResponseHead => ({
  status,
  headers: { 'www-authenticate': THEIRS },
  upstreamSessionId: null,
});

async function scene(headers: Record<string, string> = {}, required: string[] = ['Authorization']) {
  const upstream = new FakeUpstream();
  const learned: string[] = [];
  const clientHeaders = { passthrough: ['Authorization'], unsafe: true, required };
  const mount = sampleMount({ upstream: { client_headers: clientHeaders } }, { upstream });
  const resource = mount.protectedResource;
  if (resource === undefined) throw new Error('challenges are not passed on');
  resource.learn = (place) => void learned.push(place);
  const parts = { mount, resource, client: sampleClient(mount), baseUrl: () => 'https://adapter' };
  const own = new RecordingReply();
  const operation = sampleOperation({ id: 1, method: 'ping' }, { caller: { headers } });
  const { reply } = await through(new Challenges(parts), operation, own);
  return { upstream, learned, own, reply };
}

describe('the challenge of an upstream', () => {
  test.each([401, 403])('names the mount: %i', async (status) => {
    const { reply, learned } = await scene();
    const head = challenge(status);
    reply.head(head);
    expect(head.headers['www-authenticate']).toBe(OURS);
    expect(learned).toEqual(['http://upstream:1/.well-known/x']);
    const other = challenge(400);
    reply.head(other);
    expect(other.headers['www-authenticate']).toBe(THEIRS);
  });

  test('comes with an error that stands for the answer', async () => {
    const { reply, own } = await scene();
    const error = new AdapterError('upstream_failed');
    await reply.end(failed(error, { status: 401, head: challenge(401) }));
    expect(await own.ended).toMatchObject({ status: 401, error, headers: { 'www-authenticate': OURS } });
    const calm = await scene();
    await calm.reply.end({ outcome: 'ok' });
    expect(await calm.own.ended).toEqual({ outcome: 'ok' });
  });

  test.each(['missing_session', 'missing_client_header'] as const)(
    'is what a request without credentials gets: %s',
    async (code) => {
      const { upstream, reply, own } = await scene();
      const ending = reply.end(failed(new AdapterError(code)));
      expect(upstream.last.request.session).toBeUndefined();
      upstream.last.json(401, { 'www-authenticate': THEIRS }).data('{}').end();
      await ending;
      expect(await own.ended).toMatchObject({
        outcome: 'upstream_failed',
        status: 401,
        headers: { 'www-authenticate': OURS },
      });
    },
  );

  test('is not asked for by who has sent some, or is refused for something else', async () => {
    for (const [headers, code, required] of [
      [{ authorization: 'Bearer x' }, 'missing_session', ['Authorization']],
      [{}, 'session_not_found', ['Authorization']],
      [{}, 'missing_client_header', ['X-Tenant']],
    ] as const) {
      const { upstream, reply, own } = await scene(headers, [...required]);
      const ending = failed(new AdapterError(code));
      await reply.end(ending);
      expect([await own.ended, upstream.exchanges]).toEqual([ending, []]);
    }
  });

  test('is not made up where the upstream has none', async () => {
    const { upstream, reply, own } = await scene();
    const ending = failed(new AdapterError('missing_session'));
    const ended = reply.end(ending);
    upstream.last.fail(false);
    await ended;
    expect(await own.ended).toBe(ending);
  });
});
