import { describe, expect, test } from 'vitest';

import { RESULT, errorOf, replyScene, settle } from '../../callers/testing/reply-scene.ts';
import type { FakeExchange } from '../../exchange/testing/fake-upstream.ts';
import { AdapterError } from '../../errors.ts';

describe('an operation', () => {
  const at = replyScene();

  describe('whose upstream has lost the session', () => {
    test.each<[string, (exchange: FakeExchange) => void, number]>([
      ['404', (one) => one.head(404).end(), 404],
      ['409', (one) => one.json(409).data('{}').end(), 409],
      [
        '400 and says so',
        (one) => one.json(400).data('{"error":{"message":"Bad Request: No valid session ID"}}').end(),
        400,
      ],
      ['400 and says so in plain text', (one) => one.head(400).data('Session not found').end(), 400],
    ])('sends the request again after %s', async (_name, refuse, status) => {
      const statuses: number[] = [];
      const { answer } = await at.start({
        again: async (one) => {
          statuses.push(one);
        },
      });
      const first = at.upstream.last;
      refuse(first);
      await settle();
      expect([statuses, first.aborted, at.upstream.exchanges.length]).toEqual([[status], true, 2]);
      at.upstream.last.json().data(RESULT).end();
      expect(await (await answer()).whole()).toBe(RESULT);
      expect(at.outcomes).toEqual(['ok']);
    });

    test('may be asked again and again, and answers with what is thrown in the end', async () => {
      let attempts = 0;
      const { answer } = await at.start({
        again: async () => {
          if (++attempts > 2) throw new AdapterError('upstream_session_terminated');
        },
      });
      for (let i = 0; i < 3; i++) {
        at.upstream.last.head(404).end();
        await settle();
      }
      const got = await answer();
      expect([got.status, at.upstream.exchanges.length]).toEqual([200, 3]);
      expect(errorOf(await got.whole())).toMatchObject({ code: -32001 });
      expect(at.outcomes).toEqual(['upstream_session_terminated']);
    });

    test.each<[string, string, string, number, string]>([
      [
        'JSON',
        'application/json',
        '{"error":{"message":"Invalid params"}}',
        400,
        '{"error":{"message":"Invalid params"}}',
      ],
      ['no JSON', 'text/plain', 'bad request', 400, 'HTTP 400'],
    ])('is not assumed for any other 400 (%s)', async (_name, type, body, status, expected) => {
      const { answer } = await at.start({ again: () => Promise.reject(new Error('not to be called')) });
      at.upstream.last.head(400, { 'content-type': type }).data(body).end();
      const got = await answer();
      expect(got.status).toBe(status);
      expect(await got.whole()).toContain(expected);
    });

    test('is not assumed where the request named none', async () => {
      const { answer } = await at.start({
        upstreamSessionId: null,
        again: () => Promise.reject(new Error('not to be called')),
      });
      at.upstream.last.json(400).data('"Session not found"').end();
      const got = await answer();
      expect([got.status, await got.whole()]).toEqual([400, '"Session not found"']);
    });

    test('is not sought in a 400 of any length', async () => {
      const { answer } = await at.start({ again: () => Promise.reject(new Error('not to be called')) });
      const body = `${'x'.repeat(100_000)} session not found`;
      at.upstream.last.json(400).data(body.slice(0, 90_000)).data(body.slice(90_000)).end();
      const got = await answer();
      expect([got.status, (await got.whole()) === body, at.upstream.exchanges.length]).toEqual([400, true, 1]);
    });

    test('is asked for nothing when the client has gone meanwhile', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { hangUp } = await at.start({ again: () => promise });
      at.upstream.last.head(404).end();
      await hangUp();
      resolve();
      await settle();
      expect([at.upstream.exchanges.length, at.outcomes]).toEqual([1, ['client_closed']]);
    });

    test('passes 404 and 400 to the client where nothing can be done about it', async () => {
      const { answer } = await at.start();
      at.upstream.last.json(404).data('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}').end();
      expect((await answer()).status).toBe(404);
    });
  });
});
