import type { AdapterConfig } from '../../crds/config/adapter.ts';
import { MemoryBus } from './memory-bus.ts';
import { MemoryStore } from './memory-store.ts';
import type { MessageBus } from './message-bus.ts';
import type { StateStore } from './state-store.ts';

export interface OpenedState {
  readonly store: StateStore;
  readonly bus: MessageBus;
  status(): { unavailable: boolean; degradedReason: string | null; object: Record<string, unknown> };
  close(): Promise<void>;
}

export async function openStore(
  config: AdapterConfig,
  _hooks: { exit: (reason: string) => void; log: (message: string) => void },
): Promise<OpenedState> {
  const store = new MemoryStore();
  const bus = new MemoryBus({ onListenerError: () => {} });
  const { type } = config.state_persistence;
  const object = { type, status: 'ok', configured_type: type, effective_type: 'memory', fallback_active: false };
  return {
    store,
    bus,
    status: () => ({ unavailable: false, degradedReason: null, object }),
    close: () => store.close(),
  };
}
