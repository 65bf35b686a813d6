import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { BusKey, ControlMessage, LogEntry, MessageBus, RunningCall } from './message-bus.ts';
import { messageBuses } from './testing/message-buses.ts';
import type { BusClients } from './testing/message-buses.ts';
import { LOG_LENGTH, LOG_BYTES, LOGS_BYTES, ENTRY_BYTES } from '../limits.ts';

const newKey = (generation = 0): BusKey => ({ serverId: 'files', sessionId: randomUUID(), generation });

/** A new session whose own stream somebody is going to follow. */
const expectedKey = async (bus: MessageBus): Promise<BusKey> => {
  const key = newKey();
  await bus.expect(key, 'GET');
  return key;
};

/** Appends what somebody waits for. */
const appended = async (bus: MessageBus, key: BusKey, carrier: string, message: string): Promise<string> => {
  const id = await bus.append(key, { carrier, message });
  if (id === undefined) throw new Error('nobody waits for it');
  return id;
};

const ended = (sessionId: string): ControlMessage => ({ type: 'session-ended', serverId: 'files', sessionId });

/** Follows and collects what comes. */
const following = async (bus: MessageBus, key: BusKey, carrier: string, after: string | null = null) => {
  const entries: LogEntry[] = [];
  const stop = await bus.follow(key, carrier, after, (entry) => entries.push(entry));
  const messages = () => entries.map((entry) => entry.message);
  return { entries, messages, stop };
};

const call = (id: string, startedAt: number): RunningCall => ({
  carrier: `r:${id}`,
  progressToken: startedAt % 2 === 0 ? null : `"token-${id}"`,
  toolCall: startedAt % 2 === 0,
  startedAt,
});

for (const technology of messageBuses) {
  describe(`${technology.name}, two clients`, () => {
    let clients: BusClients;
    let a: MessageBus;
    let b: MessageBus;

    beforeAll(() => technology.start?.());
    afterAll(() => technology.stop?.());
    beforeEach(async () => {
      clients = await technology.connect();
      ({ a, b } = clients);
    });
    afterEach(() => clients.close());

    describe('control messages', () => {
      test.each<ControlMessage>([
        ended('s'),
        { type: 'upstream-closed', serverId: 'files', sessionId: 's', generation: 3 },
        { type: 'drop-get', serverId: 'files', sessionId: 's', except: 'replica-1' },
        { type: 'cancelled', serverId: 'files', sessionId: 's', requestId: '"größe"' },
      ])('$type reaches every replica, the sender included', async (message) => {
        const [atA, atB]: ControlMessage[][] = [[], []];
        a.onControl((received) => atA?.push(received));
        b.onControl((received) => atB?.push(received));
        await a.publish(message);
        await expect.poll(() => atA).toEqual([message]);
        await expect.poll(() => atB).toEqual([message]);
      });

      test('they arrive in the order in which one replica sent them', async () => {
        const received: string[] = [];
        b.onControl((message) => received.push(message.sessionId));
        const sent = Array.from({ length: 50 }, (_, index) => `session-${index}`);
        await Promise.all(sent.map((id) => a.publish(ended(id))));
        await expect.poll(() => received).toEqual(sent);
      });

      test('a listener that stopped hears nothing more, others do', async () => {
        const [stopped, going]: string[][] = [[], []];
        const stop = b.onControl((message) => stopped?.push(message.sessionId));
        b.onControl((message) => going?.push(message.sessionId));
        await a.publish(ended('first'));
        await expect.poll(() => going).toEqual(['first']);
        stop();
        await a.publish(ended('second'));
        await expect.poll(() => going).toEqual(['first', 'second']);
        expect(stopped).toEqual(['first']);
      });

      test('a listener that throws is reported and stops no other', async () => {
        const received: string[] = [];
        b.onControl(() => {
          throw new Error('listener');
        });
        b.onControl((message) => received.push(message.sessionId));
        await a.publish(ended('s'));
        await expect.poll(() => received).toEqual(['s']);
        expect(clients.listenerErrors).toEqual([new Error('listener')]);
      });
    });

    describe('append and follow', () => {
      test('a follower gets what either client appends, with growing ids', async () => {
        const key = newKey();
        const { entries } = await following(b, key, 'GET');
        const ids = [
          await a.append(key, { carrier: 'GET', message: '{"line":"one\\n"}' }),
          await b.append(key, { carrier: 'GET', message: 'größe 🐘\nsecond line' }),
          await a.append(key, { carrier: 'GET', message: '' }),
        ];
        await expect
          .poll(() => entries)
          .toEqual([
            { id: ids[0], message: '{"line":"one\\n"}' },
            { id: ids[1], message: 'größe 🐘\nsecond line' },
            { id: ids[2], message: '' },
          ]);
      });

      test('only entries of its own carrier, session and generation', async () => {
        const key = newKey();
        const { messages } = await following(b, key, 'r:1');
        await a.append(key, { carrier: 'r:10', message: 'other request' });
        await a.append(key, { carrier: 'r:"1"', message: 'other kind of id' });
        await a.append({ ...key, generation: 1 }, { carrier: 'r:1', message: 'next upstream session' });
        await a.append({ ...key, serverId: 'browser' }, { carrier: 'r:1', message: 'other server' });
        await a.append(newKey(), { carrier: 'r:1', message: 'other session' });
        await a.append(key, { carrier: 'r:1', message: 'own' });
        await expect.poll(messages).toEqual(['own']);
      });

      test('without an id only what comes later', async () => {
        const key = await expectedKey(a);
        await a.append(key, { carrier: 'GET', message: 'before' });
        const { messages } = await following(b, key, 'GET');
        await a.append(key, { carrier: 'GET', message: 'after' });
        await expect.poll(messages).toEqual(['after']);
      });

      test('with an id everything after it, the kept first', async () => {
        const key = await expectedKey(a);
        const ids = [];
        for (const message of ['one', 'two', 'three']) ids.push(await appended(a, key, 'GET', message));
        await a.append(key, { carrier: 'r:1', message: 'other' });
        const { messages } = await following(b, key, 'GET', ids[0]);
        expect(messages()).toEqual(['two', 'three']);
        await a.append(key, { carrier: 'GET', message: 'four' });
        await expect.poll(messages).toEqual(['two', 'three', 'four']);
      });

      test.each(['', 'garbage', '$', '1', '-', '1-2-3'])('a text that is no id, %j, is like none', async (after) => {
        const key = await expectedKey(a);
        await a.append(key, { carrier: 'GET', message: 'before' });
        const { messages } = await following(b, key, 'GET', after);
        await a.append(key, { carrier: 'GET', message: 'after' });
        await expect.poll(messages).toEqual(['after']);
      });

      test('whoever joins while others append misses nothing and gets nothing twice', async () => {
        const key = await expectedKey(a);
        const first = await appended(a, key, 'GET', 'first');
        const expected = Array.from({ length: 200 }, (_, index) => `message-${index}`);
        const appending = (async () => {
          for (const message of expected) await a.append(key, { carrier: 'GET', message });
        })();
        const followers = [];
        for (let index = 0; index < 10; index += 1) followers.push(await following(b, key, 'GET', first));
        await appending;
        for (const { messages } of followers) await expect.poll(messages).toEqual(expected);
      });

      test('a follower that stopped gets nothing more, the other one of the session does', async () => {
        const key = newKey();
        const [stopped, going] = [await following(b, key, 'GET'), await following(b, key, 'GET')];
        await a.append(key, { carrier: 'GET', message: 'one' });
        await expect.poll(going.messages).toEqual(['one']);
        await stopped.stop();
        await stopped.stop();
        await a.append(key, { carrier: 'GET', message: 'two' });
        await expect.poll(going.messages).toEqual(['one', 'two']);
        expect(stopped.messages()).toEqual(['one']);
      });

      test('after the last follower stopped, the next one starts where it wants', async () => {
        const key = await expectedKey(a);
        const before = await following(b, key, 'GET');
        const id = await appended(a, key, 'GET', 'one');
        await expect.poll(before.messages).toEqual(['one']);
        const stopping = before.stop();
        const next = await following(b, key, 'GET', id);
        await stopping;
        await a.append(key, { carrier: 'GET', message: 'two' });
        await expect.poll(next.messages).toEqual(['two']);
      });

      test('a listener may append itself: order stays', async () => {
        const key = newKey();
        const { messages } = await following(b, key, 'GET');
        await b.follow(
          key,
          'r:1',
          null,
          ({ message }) => void b.append(key, { carrier: 'GET', message: `re: ${message}` }),
        );
        await a.append(key, { carrier: 'r:1', message: 'question' });
        await expect.poll(messages).toEqual(['re: question']);
      });

      test('a listener that throws still gets the next message', async () => {
        const key = newKey();
        const received: string[] = [];
        await b.follow(key, 'GET', null, ({ message }) => {
          received.push(message);
          throw new Error('listener');
        });
        await a.append(key, { carrier: 'GET', message: 'one' });
        await a.append(key, { carrier: 'GET', message: 'two' });
        await expect.poll(() => received).toEqual(['one', 'two']);
        expect(clients.listenerErrors).toHaveLength(2);
      });

      test('the log keeps about the last messages', async () => {
        const key = await expectedKey(a);
        const first = await appended(a, key, 'GET', 'first');
        const sent = Array.from({ length: 3 * LOG_LENGTH }, (_, index) => `message-${index}`);
        await Promise.all(sent.map((message) => a.append(key, { carrier: 'GET', message })));
        const kept = (await following(b, key, 'GET', first)).messages();
        expect(kept).toEqual(sent.slice(-kept.length));
        expect(kept.length).toBeGreaterThanOrEqual(LOG_LENGTH);
        expect(kept.length).toBeLessThan(LOG_LENGTH * 1.5);
      });

      test('H5 T17: large messages make the log shorter; larger ones are delivered and not kept', async () => {
        const key = await expectedKey(a);
        const first = await appended(a, key, 'GET', 'first');
        const live = await following(b, key, 'GET');
        const size = LOG_BYTES / 4 - ENTRY_BYTES;
        for (let index = 0; index < 6; index += 1) {
          await a.append(key, { carrier: 'GET', message: `${index}`.padEnd(size, '.') });
        }
        const kept = async () => (await following(b, key, 'GET', first)).messages().map((message) => message[0]);
        expect(await kept()).toEqual(['2', '3', '4', '5']);
        await a.append(key, { carrier: 'GET', message: '6'.padEnd(LOG_BYTES, '.') });
        await expect.poll(() => live.messages().at(-1)?.[0]).toBe('6');
        expect(await kept()).toEqual(['2', '3', '4', '5']);
        await a.append(key, { carrier: 'GET', message: '7'.padEnd(LOG_BYTES, '.'), instead: 'too large' });
        await expect
          .poll(() => live.messages().map((message) => message[0]))
          .toEqual(Array.from({ length: 8 }, (_, index) => `${index}`));
        expect(await kept()).toEqual(['3', '4', '5', 't']);
      });

      test('H5 T17: messages that nobody waits for are neither kept nor delivered', async () => {
        const key = newKey();
        const other = await following(b, key, 'r:1');
        expect(await a.append(key, { carrier: 'GET', message: 'early' })).toBeUndefined();
        expect(await a.append(key, { carrier: 'r:2', message: 'not asked for' })).toBeUndefined();
        await a.addCall(key, call('2', 1));
        expect(await a.append(key, { carrier: 'r:2', message: 'progress', isAnswer: false })).toBeDefined();
        expect(await a.append(key, { carrier: 'r:2', message: 'answer', isAnswer: true })).toBeDefined();
        expect(await a.calls(key)).toEqual([]);
        expect(await a.append(key, { carrier: 'r:2', message: 'again', isAnswer: true })).toBeUndefined();
        expect((await following(b, key, 'r:2', '0-0')).messages()).toEqual(['progress', 'answer']);
        expect((await following(b, key, 'GET', '0-0')).messages()).toEqual([]);
        expect(other.messages()).toEqual([]);
      });

      test('who was followed is waited for until there is an answer: a broken connection may come back', async () => {
        const key = newKey();
        const broken = await following(b, key, 'r:1');
        const first = await appended(a, key, 'r:1', 'progress');
        await broken.stop();
        await a.append(key, { carrier: 'r:1', message: 'answer', isAnswer: true });
        const resumed = await following(b, key, 'r:1', first);
        expect(resumed.messages()).toEqual(['answer']);
      });

      test('H5 T17: of too many logs the oldest goes', async () => {
        const message = 'x'.repeat(LOG_BYTES - ENTRY_BYTES);
        const keys = [];
        for (let index = 0; index < LOGS_BYTES / LOG_BYTES + 2; index += 1) {
          const key = { ...(await expectedKey(a)), serverId: 'greedy' };
          await a.expect(key, 'GET');
          keys.push(key);
          await appended(a, key, 'GET', message);
        }
        const lengths = [];
        for (const key of keys) lengths.push((await following(b, key, 'GET', '0-0')).messages().length);
        expect(lengths).toEqual([0, 0, ...Array.from({ length: keys.length - 2 }, () => 1)]);
        for (const key of keys) await a.drop(key);
      });
    });

    describe('running calls', () => {
      test('both clients see the calls of a session, oldest first', async () => {
        const key = newKey();
        const calls = [call('3', 30), call('"1"', 10), call('2', 21)];
        for (const [index, each] of calls.entries()) await (index % 2 === 0 ? a : b).addCall(key, each);
        const sorted = [calls[1], calls[2], calls[0]];
        expect(await a.calls(key)).toEqual(sorted);
        expect(await b.calls(key)).toEqual(sorted);
        await b.removeCall(key, 'r:2');
        expect(await a.calls(key)).toEqual([calls[1], calls[0]]);
        expect(await a.calls({ ...key, generation: 1 })).toEqual([]);
      });

      test('removing what is not there is harmless', async () => {
        await expect(a.removeCall(newKey(), 'r:1')).resolves.toBeUndefined();
      });

      test('drop forgets the calls and the log of this upstream session only', async () => {
        const key = newKey();
        const next = { ...key, generation: 1 };
        const ids = [];
        for (const each of [key, next]) {
          await a.expect(each, 'GET');
          ids.push(await appended(a, each, 'GET', 'first'));
          await a.append(each, { carrier: 'GET', message: 'second' });
          await a.addCall(each, call('1', 1));
        }
        await b.drop(key);
        expect(await a.calls(key)).toEqual([]);
        expect(await a.calls(next)).toHaveLength(1);
        expect((await following(a, key, 'GET', ids[0])).messages()).toEqual([]);
        expect((await following(a, next, 'GET', ids[1])).messages()).toEqual(['second']);
      });
    });
  });
}
