import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemoryBus } from '../../state/memory/memory-bus.ts';
import type { BusKey } from '../../state/message-bus.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { answerCarrier, type Answers, askClient, isAskedId } from './ask-client.ts';
import type { Question } from './questions.ts';

const key: BusKey = { serverId: 's', sessionId: 'a', generation: 0 };
const form: Question = { key: 'name', method: 'elicitation/create', params: '{ "message":"m","n":9007199254740993 }' };
const roots: Question = { key: 'roots', method: 'roots/list', params: '{}' };

let bus: MemoryBus;
let said: { id?: string; method: string; params: Record<string, unknown> }[];
let raw: string[];
let onSaid = Promise.withResolvers<void>();
let aborter: AbortController;
let follow: MemoryBus['follow'];
const stops = vi.fn<() => void>();

beforeEach(() => {
  bus = new MemoryBus({ onListenerError: () => expect.unreachable(), account: sampleAccount() });
  said = [];
  raw = [];
  aborter = new AbortController();
  stops.mockReset();
  follow = bus.follow.bind(bus);
  vi.spyOn(bus, 'follow').mockImplementation(async (...args) => {
    const stop = await follow(...args);
    return async () => {
      stops();
      await stop();
    };
  });
});
afterEach(() => bus.close());

const send = (text: string): void => {
  raw.push(text);
  said.push(JSON.parse(text) as (typeof said)[number]);
  onSaid.resolve();
  onSaid = Promise.withResolvers();
};
const saidAtLeast = async (count: number): Promise<void> => {
  while (said.length < count) await onSaid.promise;
};
const ask = (...questions: Question[]): Promise<Answers> => askClient({ bus, key, send }, questions, aborter.signal);
const answer = async (index: number, rest: string, to = key): Promise<unknown> => {
  await saidAtLeast(index + 1);
  const idText = JSON.stringify(said[index]?.id);
  const message = `{"jsonrpc":"2.0","id":${idText},${rest}}`;
  return bus.append(to, { carrier: answerCarrier(idText), message, isAnswer: true });
};

describe('a client that is asked', () => {
  test('answers in any order, and what it says stays as it is', async () => {
    const answers = ask(form, roots);
    await answer(1, '"result":{ "roots":[] }');
    await answer(0, '"result":{"n":1e400}');
    expect(await answers).toEqual({
      results: new Map([
        ['roots', '{ "roots":[] }'],
        ['name', '{"n":1e400}'],
      ]),
    });
    expect(said.map(({ method }) => method)).toEqual(['elicitation/create', 'roots/list']);
    expect(raw[0]).toContain(`"params":${form.params}}`);
    expect(said.every(({ id }) => isAskedId(JSON.stringify(id)))).toBe(true);
    expect(stops).toHaveBeenCalledTimes(2);
  });

  test('ends all with an error, and hears that nobody waits for the others', async () => {
    const answers = ask(form, roots);
    await answer(0, '"error":{"code":-1,"message":"no"}');
    expect(await answers).toEqual({ error: '{"code":-1,"message":"no"}' });
    expect(said.slice(2)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: said[1]?.id } },
    ]);
    expect(stops).toHaveBeenCalledTimes(2);
  });

  test('is not heard in another session, nor twice', async () => {
    const answers = ask(form, roots);
    expect(await answer(0, '"result":{"of":"another"}', { ...key, sessionId: 'b' })).toBeUndefined();
    await answer(0, '"result":{"first":1}');
    await answer(0, '"result":{"second":1}');
    await answer(1, '"result":{}');
    expect((await answers).results?.get('name')).toBe('{"first":1}');
    expect(await answer(1, '"result":{}')).toBeUndefined();
  });

  test('is waited for no longer than somebody wants to know', async () => {
    const answers = ask(form, roots);
    await saidAtLeast(2);
    aborter.abort(new Error('left'));
    await expect(answers).rejects.toThrow('left');
    expect(said.slice(2).map(({ method }) => method)).toEqual(['notifications/cancelled', 'notifications/cancelled']);
    expect(stops).toHaveBeenCalledTimes(2);
  });

  test('is asked nothing by who has left', async () => {
    aborter.abort(new Error('left'));
    await expect(ask(form)).rejects.toThrow('left');
    expect(said).toEqual([]);
  });

  test('is asked nothing by who leaves while it is about to be', async () => {
    const answers = ask(form, roots);
    aborter.abort(new Error('left'));
    await expect(answers).rejects.toThrow('left');
    expect([said, stops.mock.calls.length]).toEqual([[], 1]);
  });

  test('is asked nothing more when the bus is down', async () => {
    vi.spyOn(bus, 'follow').mockImplementationOnce(follow).mockRejectedValueOnce(new Error('down'));
    await expect(ask(form, roots)).rejects.toThrow('down');
    expect(said.map(({ method }) => method)).toEqual(['elicitation/create', 'notifications/cancelled']);
  });

  test('gets an id for a URL, unless the server has one', async () => {
    const url: Question = { ...form, params: '{"mode":"url","url":"u"}' };
    const own: Question = { ...roots, method: 'elicitation/create', params: '{"mode":"url","elicitationId":"theirs"}' };
    const answers = ask(url, own);
    await answer(0, '"result":{}');
    await answer(1, '"result":{}');
    await answers;
    expect(said[0]?.params).toEqual({ mode: 'url', url: 'u', elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(said[1]?.params).toEqual({ mode: 'url', elicitationId: 'theirs' });
  });

  test('that says neither result nor error ends it as well', async () => {
    const answers = ask(form);
    await answer(0, '"x":1');
    expect(await answers).toMatchObject({ error: expect.stringContaining('-32603') });
  });
});
