import { describe, expect, test } from 'vitest';

import type { Refusal } from '../exchange/scanning/refusal.ts';
import type { Changes } from '../callers/testing/start-reply.ts';
import { frame, replyScene, type Started } from '../callers/testing/reply-scene.ts';

const EVIL = '{"tools":[{"name":"evil"}]}';
const GOOD = '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}';
const PADDING = 'x'.repeat(300_000);
const response = (members: string): string => `{"jsonrpc":"2.0",${members}}`;

describe('what an upstream sends that is no message', () => {
  const at = replyScene({ operations: 20 });
  let dropped: Refusal[];

  async function start(changes: Changes = {}): Promise<Started['answer']> {
    dropped = [];
    const { answer } = await at.start({ dropped: (one) => void dropped.push(one), ...changes });
    return answer;
  }

  const STREAMED: readonly [string, string, Refusal][] = [
    ['a method that is null', frame(response(`"id":1,"method":null,"result":${EVIL}`)), 'kind'],
    ['a method beside a result', frame(response(`"id":1,"method":"ping","result":${EVIL}`)), 'kind'],
    ['another spelling', frame(response(`"ID":1,"Result":${EVIL}`)), 'member'],
    ['a member twice', frame(response(`"id":2,"id":1,"result":${EVIL}`)), 'member'],
    ['a response that nobody awaits', frame(response(`"id":"1","result":${EVIL}`)), 'unasked'],
    ['awaited responses among others', frame(`[${GOOD},${response(`"id":"1","result":${EVIL}`)}]`), 'unasked'],
    ['an event of another name', `event: message \ndata: ${response(`"id":1,"result":${EVIL}`)}\n\n`, 'event'],
    ['what is no JSON', frame(`{"id":1,"result":${EVIL},"x":NaN}`), 'malformed'],
    ['a control character', frame(`{"id":1,"x":"\u000bdata: {}","result":${EVIL}}`), 'malformed'],
    ['a large response of another request', frame(response(`"id":7,"result":["${PADDING}",${EVIL}]`)), 'unasked'],
    ['a large notification with a result', frame(`{"method":"${PADDING}","id":1,"result":${EVIL}}`), 'kind'],
  ];

  test.each(STREAMED)('H3 T10: is dropped from a stream: %s', async (name, evil, reason) => {
    // Clients without sessions know no arrays at all.
    const inSession = name === 'awaited responses among others';
    for (const onResponse of [undefined, (text: string) => text]) {
      const answer = await start({ onResponse, inSession });
      at.upstream.last.eventStream().data(evil + frame(GOOD));
      // By then nothing is awaited any more, and a session may get what was asked for elsewhere.
      if (!inSession) at.upstream.last.data(evil);
      at.upstream.last.end();
      expect(await (await answer()).whole()).toBe(frame(GOOD));
      expect(dropped).toEqual(inSession ? [reason] : [reason, reason]);
    }
  });

  test.each(STREAMED.slice(0, 5))('H3 T10: is dropped from the stream of a GET: %s', async (name, evil, reason) => {
    const seen: string[] = [];
    const onResponse = (text: string): string => (seen.push(text), 'seen');
    const answer = await start({ method: 'GET', onResponse });
    at.upstream.last
      .eventStream()
      .data(evil + frame('{"method":"ping","id":1}'))
      .end();
    // It may take up the stream of any request.
    const isRead = name === 'a response that nobody awaits';
    expect(await (await answer()).whole()).toBe(`${isRead ? frame('seen') : ''}${frame('{"method":"ping","id":1}')}`);
    expect([dropped, seen.length]).toEqual(isRead ? [[], 1] : [[reason], 0]);
  });

  test.each([
    ['a member twice', response(`"id":1,"result":"${PADDING}","result":${EVIL}`), 'member'],
    ['a second id', response(`"id":1,"result":"${PADDING}","id":2`), 'member'],
    ['a method behind the result', response(`"id":1,"result":"${PADDING}","method":"x"`), 'kind'],
    ['a second line of data', response(`"id":1,"result":"${PADDING}"\ndata: ,"x":1`), 'malformed'],
    ['a control character', response(`"id":1,"result":"${PADDING}\u000b"`), 'malformed'],
  ] as const)('H3 T10: breaks a large frame off that has begun: %s', async (_name, evil, reason) => {
    const answer = await start();
    at.upstream.last.eventStream().data(frame(evil).slice(0, 290_000));
    const got = await answer();
    await got.until('x'.repeat(280_000));
    at.upstream.last.data(frame(evil).slice(290_000));
    await expect(got.whole()).rejects.toThrow('aborted');
    expect(got.body()).not.toContain('evil');
    expect([dropped, at.upstream.last.aborted]).toEqual([[reason], true]);
  });

  test('H3 T10: a large frame is written anew while it passes, cut anywhere', async () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"a":"${PADDING}\u2028€\u0085","n":12345678901234567890}}`;
    const expected = text.replace('\u2028', '\\u2028').replace('\u0085', '\\u0085');
    const bytes = Buffer.from(`:x\r\ndata:${text}\r\nid: 7\r\nx: y\r\n\r\n${frame('{"method":"m"}')}`);
    const answer = await start();
    at.upstream.last.eventStream().data(bytes.subarray(0, 299_000));
    for (let i = 299_000; i < bytes.length; i++) at.upstream.last.data(bytes.subarray(i, i + 1));
    at.upstream.last.end();
    const whole = await (await answer()).whole();
    expect(whole === `data: ${expected}\nid: 7\n\n${frame('{"method":"m"}')}`).toBe(true);
    expect(dropped).toEqual([]);
  });

  test.each([
    ['another spelling', 200, `{"jsonrpc":"2.0","id":1,"Result":${EVIL}}`, 'member'],
    ['a request', 200, '{"jsonrpc":"2.0","id":1,"method":"ping"}', 'kind'],
    ['the response of another request', 200, `{"jsonrpc":"2.0","id":"1","result":${EVIL}}`, 'unasked'],
    ['a member twice with an error status', 400, `{"jsonrpc":"2.0","id":1,"result":{},"result":${EVIL}}`, 'member'],
    ['no JSON', 200, 'ok', 'malformed'],
    ['a large one of another request', 200, `{"jsonrpc":"2.0","id":7,"result":["${PADDING}",${EVIL}]}`, 'unasked'],
  ] as const)('H3 T10: as a whole answer is an error: %s', async (_name, status, body, reason) => {
    const answer = await start();
    at.upstream.last.json(status).data(body).end();
    const got = await answer();
    expect(got.status).toBe(status === 200 ? 502 : status);
    const whole = await got.whole();
    expect(whole).toContain(reason === 'malformed' ? 'not valid JSON' : 'no response of MCP');
    expect(whole).not.toContain('evil');
    expect(dropped).toEqual([reason]);
  });

  test.each([
    ['a member twice', `{"id":1,"result":"${PADDING}","result":${EVIL}}`, 'member'],
    ['the id of another request behind it', `{"result":["${PADDING}",${EVIL}],"id":7}`, 'unasked'],
  ] as const)('H3 T10: breaks a large answer off that has begun: %s', async (_name, evil, reason) => {
    const answer = await start();
    at.upstream.last.json().data(evil.slice(0, 290_000));
    const got = await answer();
    at.upstream.last.data(evil.slice(290_000)).end();
    await expect(got.whole()).rejects.toThrow('aborted');
    expect(dropped).toEqual([reason]);
  });

  test('H3 T10: is no answer to a notification', async () => {
    const answer = await start({ idTexts: [] });
    at.upstream.last.json().data(`{"jsonrpc":"2.0","id":7,"result":${EVIL}}`).end();
    const { status, whole } = await answer();
    expect([status, await whole(), dropped]).toEqual([200, '', ['unasked']]);
  });

  test.each([
    [401, '{"error":"invalid_token","error_description":"expired"}'],
    [404, '{"detail":"Not Found"}'],
    [400, '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}'],
    [429, '"slow down"'],
  ])('passes where an error status has it, and it has no contents: %i %s', async (status, body) => {
    const answer = await start({ onResponse: () => 'seen' });
    at.upstream.last.json(status).data(body).end();
    const got = await answer();
    expect([got.status, await got.whole(), dropped]).toEqual([status, body, []]);
  });
});

describe('a result', () => {
  const at = replyScene({ operations: 20 });
  const start = async (changes: Changes = {}): Promise<Started['answer']> => (await at.start(changes)).answer;

  test.each([200, 400, 418])('L2 T10: is shown to those who clean it, whatever its status is: %i', async (status) => {
    const answer = await start({ onResponse: (text) => text.replace('evil', 'good') });
    at.upstream.last.json(status).data(GOOD.replace('[]', '["evil"]')).end();
    const got = await answer();
    expect([got.status, await got.whole()]).toEqual([status, GOOD.replace('[]', '["good"]')]);
  });

  const FORGED = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"artifact":{"artifact_uri":"x"},"a":1}}}';
  const CLEARED = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"a":1}}}';

  test.each([undefined, (text: string) => text])(
    'L1 T10: has no artifact that the adapter has not made',
    async (onResponse) => {
      const forged = [
        FORGED,
        FORGED.replace('"artifact"', String.raw`"\u0061rtifact_error"`),
        FORGED.replace('"_meta"', '"_META"'),
      ];
      for (const text of forged) {
        const streamed = await start({ onResponse });
        at.upstream.last.eventStream().data(frame(text)).end();
        const cleared = text.includes('_META') ? CLEARED.replace('_meta', '_META') : CLEARED;
        expect(await (await streamed()).whole()).toBe(frame(cleared));
        const whole = await start({ onResponse });
        at.upstream.last.json().data(text).end();
        expect(await (await whole()).whole()).toBe(cleared);
      }
    },
  );

  test('L1 T10: has none either where it is large and leaves as it comes', async () => {
    const text = FORGED.replace('[]', `["${PADDING}"]`);
    for (const kind of ['json', 'eventStream'] as const) {
      const answer = await start();
      const sent = kind === 'json' ? text : frame(text);
      at.upstream.last[kind]().data(sent.slice(0, 290_000));
      const got = await answer();
      at.upstream.last.data(sent.slice(290_000)).end();
      const whole = await got.whole();
      expect(whole).not.toContain('"artifact"');
      expect(whole).toContain('"upstream":{"artifact_uri":"x"},"a":1}');
    }
  });
});
