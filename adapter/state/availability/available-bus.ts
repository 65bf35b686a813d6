import { forwarding } from './forwarding.ts';
import type { MessageBus } from '../message-bus.ts';
import { StoreUnavailable } from '../state-store.ts';

/**
 * The bus while `fallback_memory` may be active: then this replica talks to itself. Followers listen to both sides;
 * one that came during the fallback hears only this replica until it follows again.
 */
export function availableBus(primary: MessageBus, local: MessageBus, fallbackActive: () => boolean): MessageBus {
  const onBoth = async (operation: (bus: MessageBus) => Promise<void>): Promise<void> => {
    await operation(local);
    if (!fallbackActive()) await operation(primary);
  };
  return {
    ...forwarding<Omit<MessageBus, 'follow' | 'drop' | 'removeCall' | 'close'>, never>(
      (operation) => operation(fallbackActive() ? local : primary),
      { publish: 'waits', append: 'waits', expect: 'waits', addCall: 'waits', calls: 'waits' },
    ),
    onControl(listener) {
      const stops = [primary.onControl(listener), local.onControl(listener)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    async follow(...args) {
      const stops = [await local.follow(...args)];
      const stop = async (): Promise<void> => {
        await Promise.all(stops.map((each) => each()));
      };
      try {
        stops.push(await primary.follow(...args));
      } catch (error) {
        if (error instanceof StoreUnavailable && fallbackActive()) return stop;
        await stop();
        throw error;
      }
      return stop;
    },
    drop: (key) => onBoth((bus) => bus.drop(key)),
    removeCall: (key, carrier) => onBoth((bus) => bus.removeCall(key, carrier)),
    async close() {
      await Promise.all([local.close(), primary.close()]);
    },
  };
}
