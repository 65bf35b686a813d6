import type { BusKey, ControlMessage, LogEntry, MessageBus, NewEntry, RunningCall } from './message-bus.ts';
import { StoreUnavailable } from './state-store.ts';

/**
 * The bus while `fallback_memory` may be active: then this replica talks to itself. Followers listen to both sides;
 * one that came during the fallback hears only this replica until it follows again.
 */
export class AvailableBus implements MessageBus {
  readonly #primary: MessageBus;
  readonly #local: MessageBus;
  readonly #fallbackActive: () => boolean;

  constructor(primary: MessageBus, local: MessageBus, fallbackActive: () => boolean) {
    this.#primary = primary;
    this.#local = local;
    this.#fallbackActive = fallbackActive;
  }

  get #current(): MessageBus {
    return this.#fallbackActive() ? this.#local : this.#primary;
  }

  publish(message: ControlMessage): Promise<void> {
    return this.#current.publish(message);
  }

  onControl(listener: (message: ControlMessage) => void): () => void {
    const stops = [this.#primary.onControl(listener), this.#local.onControl(listener)];
    return () => {
      for (const stop of stops) stop();
    };
  }

  append(key: BusKey, entry: NewEntry): Promise<string | undefined> {
    return this.#current.append(key, entry);
  }

  expect(key: BusKey, carrier: string): Promise<void> {
    return this.#current.expect(key, carrier);
  }

  async follow(
    key: BusKey,
    carrier: string,
    after: string | null,
    listener: (entry: LogEntry) => void,
  ): Promise<() => Promise<void>> {
    const stops = [await this.#local.follow(key, carrier, after, listener)];
    const stop = async (): Promise<void> => {
      await Promise.all(stops.map((each) => each()));
    };
    try {
      stops.push(await this.#primary.follow(key, carrier, after, listener));
    } catch (error) {
      if (error instanceof StoreUnavailable && this.#fallbackActive()) return stop;
      await stop();
      throw error;
    }
    return stop;
  }

  async drop(key: BusKey): Promise<void> {
    await this.#local.drop(key);
    if (!this.#fallbackActive()) await this.#primary.drop(key);
  }

  addCall(key: BusKey, call: RunningCall): Promise<void> {
    return this.#current.addCall(key, call);
  }

  async removeCall(key: BusKey, carrier: string): Promise<void> {
    await this.#local.removeCall(key, carrier);
    if (!this.#fallbackActive()) await this.#primary.removeCall(key, carrier);
  }

  calls(key: BusKey): Promise<RunningCall[]> {
    return this.#current.calls(key);
  }

  async close(): Promise<void> {
    await Promise.all([this.#local.close(), this.#primary.close()]);
  }
}
