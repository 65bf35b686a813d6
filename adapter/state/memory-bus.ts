import { LOG_BYTES, LOG_LENGTH, MESSAGE_LOG_TTL_MS } from './message-bus.ts';
import type { BusKey, ControlMessage, LogEntry, MessageBus, RunningCall } from './message-bus.ts';
import { logIdAfter, nextLogId } from './log-id.ts';

interface Log {
  readonly entries: (LogEntry & { readonly carrier: string })[];
  expiresAt: number;
  bytes: number;
}

type Follower = (entry: LogEntry & { readonly carrier: string }) => void;

/** The bus of a single process. It never fails. */
export class MemoryBus implements MessageBus {
  readonly #onListenerError: (error: unknown) => void;
  readonly #listeners = new Set<(message: ControlMessage) => void>();
  /** In the order of the last append, so that expired logs stand first. */
  readonly #logs = new Map<string, Log>();
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #calls = new Map<string, Map<string, RunningCall>>();
  readonly #deliveries: (() => void)[] = [];
  #delivering = false;
  #lastId = '0-0';

  /** `onListenerError`: told when a listener throws; the other listeners still get the message. */
  constructor(options: { onListenerError: (error: unknown) => void }) {
    this.#onListenerError = options.onListenerError;
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

  async append(key: BusKey, entry: { carrier: string; message: string }): Promise<string> {
    const now = Date.now();
    this.#dropExpiredLogs(now);
    const text = busKeyText(key);
    const log = this.#logs.get(text) ?? { entries: [], expiresAt: 0, bytes: 0 };
    this.#logs.delete(text);
    this.#logs.set(text, log);
    log.expiresAt = now + MESSAGE_LOG_TTL_MS;

    this.#lastId = nextLogId(this.#lastId, now);
    const kept = { id: this.#lastId, carrier: entry.carrier, message: entry.message };
    log.entries.push(kept);
    log.bytes += kept.message.length;
    while (log.entries.length > LOG_LENGTH || (log.bytes > LOG_BYTES && log.entries.length > 1)) {
      log.bytes -= log.entries.shift()?.message.length ?? 0;
    }
    this.#deliver(this.#followers.get(text) ?? [], kept);
    return kept.id;
  }

  async follow(
    key: BusKey,
    carrier: string,
    after: string | null,
    listener: (entry: LogEntry) => void,
  ): Promise<() => Promise<void>> {
    this.#dropExpiredLogs(Date.now());
    const text = busKeyText(key);
    const follower: Follower = (entry) => {
      if (entry.carrier === carrier) listener({ id: entry.id, message: entry.message });
    };
    const followers = this.#followers.get(text) ?? new Set();
    this.#followers.set(text, followers);
    if (after !== null) {
      const kept = this.#logs.get(text)?.entries.filter((entry) => logIdAfter(entry.id, after)) ?? [];
      for (const entry of kept) this.#deliver([follower], entry);
    }
    followers.add(follower);
    return async () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(text) === followers) this.#followers.delete(text);
    };
  }

  async drop(key: BusKey): Promise<void> {
    this.#logs.delete(busKeyText(key));
    this.#calls.delete(busKeyText(key));
  }

  async addCall(key: BusKey, call: RunningCall): Promise<void> {
    const text = busKeyText(key);
    const calls = this.#calls.get(text) ?? new Map<string, RunningCall>();
    calls.set(call.carrier, call);
    this.#calls.set(text, calls);
  }

  async removeCall(key: BusKey, carrier: string): Promise<void> {
    const calls = this.#calls.get(busKeyText(key));
    calls?.delete(carrier);
    if (calls?.size === 0) this.#calls.delete(busKeyText(key));
  }

  async calls(key: BusKey): Promise<RunningCall[]> {
    return [...(this.#calls.get(busKeyText(key))?.values() ?? [])].sort((a, b) => a.startedAt - b.startedAt);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#followers.clear();
  }

  #dropExpiredLogs(now: number): void {
    for (const [text, log] of this.#logs) {
      if (log.expiresAt > now) break;
      this.#logs.delete(text);
    }
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

const busKeyText = (key: BusKey): string => `${key.serverId}\n${key.sessionId}\n${key.generation}`;
