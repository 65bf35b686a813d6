import { z } from 'zod';
import { controlText, parseControlMessage } from './control-message.ts';
import { isLogId, logIdAfter } from '../log-id.ts';
import { CALL_LEASE_MS, MESSAGE_LOG_TTL_MS } from '../message-bus.ts';
import type { BusKey, ControlMessage, LogEntry, MessageBus, NewEntry, RunningCall } from '../message-bus.ts';
import type { RedisConnection } from './redis-connection.ts';
import { RedisKeys } from './redis-keys.ts';
import { repeatableScript, script } from './lua-scripts.ts';
import { LOG_BYTES, ENTRY_BYTES } from '../../limits.ts';

const APPEND = script('logs/append');
const EXPECT = repeatableScript('logs/expect');
const DROP = repeatableScript('logs/drop');
const ADD_CALL = repeatableScript('logs/add-call');

const RETRY_MS = 250;

const runningCall = z.object({
  carrier: z.string(),
  progressToken: z.string().nullable(),
  toolCall: z.boolean(),
  startedAt: z.number(),
}) satisfies z.ZodType<RunningCall>;

const leasedCall = z.object({ call: runningCall, until: z.number() });

interface Follower {
  readonly key: BusKey;
  readonly carrier: string;
  readonly listener: (entry: LogEntry) => void;
  /** The last entry of the log, of any carrier, that was looked at. */
  last: string;
  /** Live entries that wait until those before them have been fetched. */
  waiting: Entry[] | undefined;
  /** Fetches of one follower run one after another; only after the last one are live entries in order. */
  fetched: Promise<void>;
  fetches: number;
}

interface Entry extends LogEntry {
  readonly carrier: string;
}

interface Channel {
  readonly followers: Set<Follower>;
  readonly subscribed: Promise<unknown>;
}

export interface RedisBusOptions {
  readonly keyBase: string;
  /** How often the subscribing connection is checked: without traffic, nothing else would notice that it is dead. */
  readonly pingMs: number;
  /** Told when a listener throws; the other listeners still get the message. */
  readonly onListenerError: (error: unknown) => void;
  /** The clock that replicas have in common, in milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * The bus over Redis or Valkey: streams keep the messages, channels tell of them. After an interruption it subscribes
 * again and fetches what was appended meanwhile; control messages of that time are lost.
 */
export class RedisBus implements MessageBus {
  readonly #commands: RedisConnection;
  readonly #subscriber: RedisConnection;
  readonly #keys: RedisKeys;
  readonly #onListenerError: (error: unknown) => void;
  readonly #now: () => number;
  readonly #listeners = new Set<(message: ControlMessage) => void>();
  readonly #channels = new Map<string, Channel>();
  readonly #ping: NodeJS.Timeout;
  readonly #expecting: NodeJS.Timeout;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /** `commands` may be shared and stays open; `subscriber` is the bus's own, not connected yet, and ends with it. */
  constructor(commands: RedisConnection, subscriber: RedisConnection, options: RedisBusOptions) {
    this.#commands = commands;
    this.#subscriber = subscriber;
    this.#keys = new RedisKeys(options.keyBase);
    this.#onListenerError = options.onListenerError;
    this.#now = options.now;
    subscriber.redis.on('message', (channel: string, text: string) => this.#receive(channel, text));
    subscriber.redis.on('ready', () => this.#resume());
    this.#ping = setInterval(() => {
      // A connection that does not answer is closed by its own timeout, which brings the next one.
      subscriber.redis.ping().catch(() => undefined);
    }, options.pingMs).unref();
    this.#expecting = setInterval(() => {
      // It is done again long before it would matter.
      this.#expectAll().catch(() => undefined);
    }, MESSAGE_LOG_TTL_MS / 4).unref();
  }

  /** Resolves when control messages arrive. When it fails, the bus goes on trying. */
  async connect(): Promise<void> {
    await this.#subscriber.connect();
    await this.#subscriber.run((redis) => redis.subscribe(this.#keys.control));
  }

  async publish(message: ControlMessage): Promise<void> {
    const text = controlText(message);
    // All others say how things are, and may be said twice.
    const attempts = message.type === 'notify' ? 'once' : 'again';
    await this.#commands.run((redis) => redis.publish(this.#keys.control, text), attempts);
  }

  onControl(listener: (message: ControlMessage) => void): () => void {
    // A listener may be registered twice; each registration is its own.
    const own = (message: ControlMessage): void => listener(message);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async append(key: BusKey, { carrier, message, isAnswer = false, instead }: NewEntry): Promise<string | undefined> {
    const fits = Buffer.byteLength(message) + ENTRY_BYTES <= LOG_BYTES;
    const kept = fits ? message : (instead ?? '');
    const flags = [fits || instead !== undefined, isAnswer].map(Number);
    const id = await this.#commands.script(APPEND, this.#logKeys(key), [carrier, message, kept, ...flags]);
    return id === null ? undefined : String(id);
  }

  async expect(key: BusKey, carrier: string): Promise<void> {
    await this.#expect(key, carrier);
  }

  async follow(
    key: BusKey,
    carrier: string,
    after: string | null,
    listener: (entry: LogEntry) => void,
  ): Promise<() => Promise<void>> {
    const log = this.#keys.log(key);
    const fetched = Promise.resolve();
    const follower: Follower = { key, carrier, listener, last: '', waiting: [], fetched, fetches: 0 };
    const channel = this.#channels.get(log) ?? this.#subscribe(log);
    channel.followers.add(follower);
    const stop = (): Promise<void> => this.#unfollow(log, channel, follower);
    try {
      await channel.subscribed;
      const newest = await this.#expect(key, carrier);
      follower.last = after !== null && isLogId(after) ? after : newest;
      await this.#fetch(log, follower);
    } catch (error) {
      await stop();
      throw error;
    }
    return stop;
  }

  async drop(key: BusKey): Promise<void> {
    await this.#commands.script(DROP, this.#logKeys(key), []);
  }

  async addCall(key: BusKey, call: RunningCall): Promise<void> {
    const leased = JSON.stringify({ call, until: this.#now() + CALL_LEASE_MS });
    await this.#commands.script(ADD_CALL, [this.#keys.calls(key)], [call.carrier, leased, CALL_LEASE_MS]);
  }

  async removeCall(key: BusKey, carrier: string): Promise<void> {
    await this.#commands.run((redis) => redis.hdel(this.#keys.calls(key), carrier));
  }

  async calls(key: BusKey): Promise<RunningCall[]> {
    const values = await this.#commands.run((redis) => redis.hvals(this.#keys.calls(key)));
    const now = this.#now();
    return values
      .map((value) => leasedCall.parse(JSON.parse(value)))
      .filter(({ until }) => until > now)
      .map(({ call }) => call)
      .sort((a, b) => a.startedAt - b.startedAt);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#ping);
    clearInterval(this.#expecting);
    clearTimeout(this.#retry);
    this.#channels.clear();
    this.#listeners.clear();
    this.#subscriber.close();
  }

  #subscribe(log: string): Channel {
    const subscribed = this.#subscriber.run((redis) => redis.subscribe(log));
    const channel = { followers: new Set<Follower>(), subscribed };
    this.#channels.set(log, channel);
    return channel;
  }

  async #unfollow(log: string, channel: Channel, follower: Follower): Promise<void> {
    if (!channel.followers.delete(follower) || channel.followers.size > 0) return;
    if (this.#channels.get(log) !== channel) return;
    this.#channels.delete(log);
    // Without a connection there is no subscription either.
    await this.#subscriber.redis.unsubscribe(log).catch(() => undefined);
  }

  /** In the order in which scripts take them. */
  #logKeys(key: BusKey): string[] {
    const keys = this.#keys;
    const { serverId } = key;
    return [keys.log(key), keys.expected(key), keys.calls(key), keys.logAges(serverId), keys.logBytes(serverId)];
  }

  /** Returns the id of the last entry. */
  async #expect(key: BusKey, carrier: string): Promise<string> {
    return String(await this.#commands.script(EXPECT, [this.#keys.log(key), this.#keys.expected(key)], [carrier]));
  }

  async #expectAll(): Promise<void> {
    const all = [...this.#channels.values()].flatMap(({ followers }) => [...followers]);
    await Promise.all(all.map(({ key, carrier }) => this.#expect(key, carrier)));
  }

  /** Delivers what the log has after the follower's last entry, then what has come in meanwhile. */
  #fetch(log: string, follower: Follower): Promise<void> {
    const run = async (): Promise<void> => {
      try {
        const kept = await this.#commands.run((redis) => redis.xrange(log, `(${follower.last}`, '+'));
        for (const [id, fields] of kept) {
          this.#deliver(follower, { id, carrier: fields[1] ?? '', message: fields[3] ?? '' });
        }
      } finally {
        follower.fetches -= 1;
      }
      if (follower.fetches > 0) return;
      const waiting = follower.waiting ?? [];
      follower.waiting = undefined;
      for (const entry of waiting) this.#deliver(follower, entry);
    };
    follower.fetches += 1;
    // A fetch that failed was reported to whoever asked for it.
    follower.fetched = follower.fetched.catch(() => undefined).then(run);
    return follower.fetched;
  }

  #receive(channel: string, text: string): void {
    if (channel === this.#keys.control) {
      const message = parseControlMessage(text);
      if (message !== undefined)
        for (const listener of Array.from(this.#listeners)) this.#call(() => listener(message));
      return;
    }
    const afterId = text.indexOf('\n');
    const afterCarrier = text.indexOf('\n', afterId + 1);
    const entry = {
      id: text.slice(0, afterId),
      carrier: text.slice(afterId + 1, afterCarrier),
      message: text.slice(afterCarrier + 1),
    };
    for (const follower of Array.from(this.#channels.get(channel)?.followers ?? [])) {
      if (follower.waiting === undefined) this.#deliver(follower, entry);
      else follower.waiting.push(entry);
    }
  }

  #deliver(follower: Follower, { id, carrier, message }: Entry): void {
    if (!logIdAfter(id, follower.last)) return;
    follower.last = id;
    if (carrier === follower.carrier) this.#call(() => follower.listener({ id, message }));
  }

  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#onListenerError(error);
    }
  }

  /** The subscriber is connected (again): subscribes to everything, then fetches what was missed. */
  #resume(): void {
    const channels = [...this.#channels];
    for (const [, { followers }] of channels) for (const follower of followers) follower.waiting ??= [];
    const names = [this.#keys.control, ...channels.map(([log]) => log)];
    const resumed = this.#subscriber
      .run((redis) => redis.subscribe(...names))
      .then(async () => {
        // A server that came back may have forgotten it.
        await this.#expectAll();
        await this.#fetchAll(channels);
      });
    resumed.catch(() => this.#resumeLater());
  }

  async #fetchAll(channels: [string, Channel][]): Promise<void> {
    // Followers without a last entry are still being set up, and fetch by themselves.
    const fetches = channels.flatMap(([log, { followers }]) =>
      Array.from(followers)
        .filter((follower) => follower.last !== '')
        .map((follower) => this.#fetch(log, follower)),
    );
    await Promise.all(fetches);
  }

  /** The other connection may come back later than this one. */
  #resumeLater(): void {
    if (this.#closed || this.#subscriber.redis.status !== 'ready') return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#resume(), RETRY_MS);
  }
}
