import { describe, expect, test } from 'vitest';

import type { Request } from '../exchange/message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { bodyOf, sampleCaller, sampleClient } from '../steps/testing/step-scene.ts';
import { type CallTool, nestedCall } from './nested-call.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';

const never = new AbortController().signal;

/** A call of `execute`. */
function outerCall(): ToolCall {
  const mount = sampleMount();
  const caller = sampleCaller();
  const body = bodyOf({ id: 1, method: 'tools/call', params: { name: 's1_execute', arguments: { code: '' } } });
  return {
    caller,
    trace: undefined,
    signal: never,
    source: sampleClient(mount).source({ caller, trace: undefined }, { signal: never, afterwards: () => {} }),
    tools: () => Promise.reject(new Error('not asked for')),
    record: sessionRecord(),
    body,
    request: body.messages[0] as Request,
    tool: 's1_execute',
    timeoutMs: null,
  };
}

/** What code gets of a call that is answered with this text. */
async function run(text: string | CallTool, signal = never): Promise<unknown> {
  const callTool: CallTool = typeof text === 'string' ? async () => text : text;
  const nested = { tool: 'tool', args: {}, attributes: { requestId: 'r' }, bytes: 0 };
  return JSON.parse(await nestedCall(callTool, outerCall(), nested, signal)) as unknown;
}

const json = (rest: object): string => JSON.stringify({ jsonrpc: '2.0', id: 'a', ...rest });
const result = (of: object): string => json({ result: of });
const text = (value: string) => ({ type: 'text', text: value });

describe('what code gets of a call', () => {
  test('is its result, in the form in which code can use it', async () => {
    const answer = result({
      content: [text('a'), { type: 'image', data: 'x' }, text('b')],
      structuredContent: { n: 1 },
      _meta: { m: 2 },
    });
    expect(await run(answer)).toEqual({
      text: 'a\nb',
      structuredContent: { n: 1 },
      content: [text('a'), { type: 'image', data: 'x' }, text('b')],
      artifacts: [],
      _meta: { m: 2 },
    });
  });

  test('names the files that came of it', async () => {
    const artifact = { artifact_uri: 'artifact://a' };
    const answer = result({ content: [], _meta: { artifact } });
    expect(await run(answer)).toMatchObject({ artifacts: [artifact], _meta: { artifact } });
  });

  test.each([
    ['an error of the protocol', json({ error: { code: -1, message: 'went wrong' } }), 'went wrong'],
    ['a refusal', json({ error: { code: 503, message: 'unhealthy' } }), 'unhealthy'],
    [
      'a page that the user has to open',
      json({
        error: {
          code: -32042,
          message: 'open',
          data: { elicitations: [null, { url: 'http://a' }, { url: 'http://b' }] },
        },
      }),
      'open\nhttp://a\nhttp://b',
    ],
    ['an error without words', json({ error: {} }), 'The call failed.'],
    ['an error of the tool', result({ content: [text('bad'), text('luck')], isError: true }), 'bad\nluck'],
    ['an error of the tool that says nothing', result({ isError: true }), 'does not say why'],
    ['a question to the user', result({ resultType: 'input_required' }), 'called directly'],
    ['an answer that is none', '{', 'JSON'],
  ])('is an error where there is %s', async (_what, answer, says) => {
    await expect(run(answer)).rejects.toThrow(says);
  });

  test('keeps code and data of an error of the protocol as they were written', async () => {
    const error = { code: -32_042, message: 'open', data: { elicitations: [{ url: 'http://a' }] } };
    await expect(run(json({ error }))).rejects.toMatchObject({
      code: '-32042',
      data: JSON.stringify(error.data),
    });
    await expect(run(json({ error: { message: 'no' } }))).rejects.toMatchObject({
      code: undefined,
      data: undefined,
    });
    await expect(run(json({ error: [1] }))).rejects.toMatchObject({ code: undefined });
  });

  test('keeps texts with all that they escape, and blocks as they came', async () => {
    const texts = ['a "quoted" \\ \n\u2028 \ud800', '', 'Grüße 🌍'];
    // Members in another order, twice, and between others.
    const block = String.raw`{"text":"no","a":{"text":[]},"text":"\u00e4\/","type":"text"}`;
    const other = '{"type":"image","text":"not this","n":12345678901234567890}';
    const [first, second] = await Promise.all([
      run(result({ content: texts.map((one) => text(one)) })),
      run(`{"result":{"_meta":{},"content":[${other}, ${block} ]},"id":"a"}`),
    ]);
    expect(first).toMatchObject({ text: texts.join('\n'), content: texts.map((one) => text(one)) });
    expect(second).toMatchObject({ text: 'ä/', content: [{ text: 'not this' }, { text: 'ä/' }] });
  });

  test.each(['null', '7', '[]', '{"result":null}', '{"result":7}'])(
    'is an error of a message such as %s',
    async (body) => {
      await expect(run(body)).rejects.toThrow('The call failed.');
    },
  );

  test.each([{}, { content: null }, { content: 'x' }, { content: [null, 7, { type: 'text' }] }])(
    'is something also of a result as strange as %j',
    async (strange) => {
      expect(await run(result(strange))).toMatchObject({ artifacts: [] });
    },
  );

  test('is no error of the call when the code has ended, but that', async () => {
    const ended = run(() => Promise.reject(new Error('of the call')), AbortSignal.abort());
    await expect(ended).rejects.toThrow('The call was aborted.');
    await expect(run(() => Promise.reject(new Error('of the call')))).rejects.toThrow('of the call');
  });
});
