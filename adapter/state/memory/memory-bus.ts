import type { ByteAccount } from '../../byte-account.ts';
import { MemoryLogs } from './memory-logs.ts';
import { type BusKey, busKeyText, type ControlMessage, type LogEntry } from '../message-bus.ts';
import type { MessageBus, NewEntry, RunningCall } from '../message-bus.ts';

interface Follower {
  readonly carrier: string;
  readonly listener: (entry: LogEntry) => void;
  /** The answer has come. */
  isOver: boolean;
}

export interface MemoryBusOptions {
  /** Told when a listener throws; the other listeners still get the message. */
  readonly onListenerError: (error: unknown) => void;
  /** What is kept of messages is counted there. */
  readonly account: ByteAccount;
}

/** The bus of a single process. It never fails. */
export class MemoryBus implements MessageBus {
  readonly #onListenerError: (error: unknown) => void;
  readonly #listeners = new Set<(message: ControlMessage) => void>();
  readonly #logs: MemoryLogs;
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #calls = new Map<string, Map<string, RunningCall>>();
  readonly #deliveries: (() => void)[] = [];
  #delivering = false;

  constructor({ onListenerError, account }: MemoryBusOptions) {
    this.#onListenerError = onListenerError;
    this.#logs = new MemoryLogs(account);
  }

  async publish(message: ControlMessage): Promise<void> {
    this.#deliver(this.#listeners, message);
  }

  onControl(listener: (message: ControlMessage) => void): () => void {
    // A listener may be registered twice; each registration is its own.
    const own = (message: ControlMessage): void => listener(message);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async append(key: BusKey, entry: NewEntry): Promise<string | undefined> {
    const text = busKeyText(key);
    const { carrier, message, isAnswer } = entry;
    const followers = [...(this.#followers.get(text) ?? [])].filter((one) => one.carrier === carrier);
    const isWaitedFor = followers.length > 0 || this.#calls.get(text)?.has(carrier) === true;
    const id = this.#logs.append(key, entry, isWaitedFor, Date.now());
    if (isAnswer === true) {
      this.#removeCall(text, carrier);
      for (const follower of followers) follower.isOver = true;
    }
    if (id === undefined) return undefined;
    this.#deliver(
      followers.map(({ listener }) => listener),
      { id, message },
    );
    return id;
  }

  async expect(key: BusKey, carrier: string): Promise<void> {
    this.#logs.expect(key, carrier, Date.now());
  }

  async follow(
    key: BusKey,
    carrier: string,
    after: string | null,
    listener: (entry: LogEntry) => void,
  ): Promise<() => Promise<void>> {
    const now = Date.now();
    this.#logs.expect(key, carrier, now);
    const text = busKeyText(key);
    const follower = { carrier, listener, isOver: false };
    const followers = this.#followers.get(text) ?? new Set();
    this.#followers.set(text, followers);
    if (after !== null) {
      for (const { id, message } of this.#logs.after(key, carrier, after, now)) {
        this.#deliver([listener], { id, message });
      }
    }
    followers.add(follower);
    return async () => {
      if (!followers.delete(follower)) return;
      // Who has lost a connection may come back.
      if (!follower.isOver) this.#logs.expect(key, carrier, Date.now());
      if (followers.size === 0 && this.#followers.get(text) === followers) this.#followers.delete(text);
    };
  }

  async drop(key: BusKey): Promise<void> {
    this.#logs.drop(key);
    this.#calls.delete(busKeyText(key));
  }

  async addCall(key: BusKey, call: RunningCall): Promise<void> {
    const text = busKeyText(key);
    const calls = this.#calls.get(text) ?? new Map<string, RunningCall>();
    calls.set(call.carrier, call);
    this.#calls.set(text, calls);
  }

  async removeCall(key: BusKey, carrier: string): Promise<void> {
    this.#removeCall(busKeyText(key), carrier);
  }

  async calls(key: BusKey): Promise<RunningCall[]> {
    return [...(this.#calls.get(busKeyText(key))?.values() ?? [])].sort((a, b) => a.startedAt - b.startedAt);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#followers.clear();
  }

  #removeCall(text: string, carrier: string): void {
    const calls = this.#calls.get(text);
    calls?.delete(carrier);
    if (calls?.size === 0) this.#calls.delete(text);
  }

  /** Listeners may publish, append and follow themselves; nobody sees a later message before an earlier one. */
  #deliver<T>(listeners: Iterable<(value: T) => void>, value: T): void {
    this.#deliveries.push(...Array.from(listeners, (listener) => () => listener(value)));
    if (this.#delivering) return;
    this.#delivering = true;
    for (let next = this.#deliveries.shift(); next !== undefined; next = this.#deliveries.shift()) {
      try {
        next();
      } catch (error) {
        this.#onListenerError(error);
      }
    }
    this.#delivering = false;
  }
}
