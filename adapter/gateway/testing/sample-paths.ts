import { knownError } from '../../errors.ts';
import { SessionFiles } from '../../sessions/session-files.ts';
import { SessionRegistry } from '../../sessions/session-registry.ts';
import { MemoryBus } from '../../state/memory/memory-bus.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import { sampleClient } from '../../steps/testing/step-scene.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import type { Mount } from '../../mount/mount.ts';
import type { Paths } from '../../path/paths.ts';
import { type PathDeps, paths } from '../paths.ts';
import { StreamOrder } from '../../sessions/stream-order.ts';
import { ToolParameters } from '../../tools/tool-parameters.ts';
import { sampleMount } from './sample-mount.ts';

export interface SamplePaths extends Disposable {
  readonly store: MemoryStore;
  readonly paths: Paths;
}

/** The paths of a mount as the program makes them, with all that they keep in memory. */
export function samplePaths(mount: Mount, changes: Partial<PathDeps> = {}): SamplePaths {
  const store = new MemoryStore();
  const onError = (error: unknown): void => {
    throw error;
  };
  const bus = new MemoryBus({ onListenerError: onError, account: sampleAccount() });
  const sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: null, idleTtlMs: null });
  const bytes = { discard: async () => undefined, discardSession: async () => undefined };
  return {
    store,
    paths: paths(mount, sampleClient(mount, store), {
      store,
      bus,
      sessions,
      sessionFiles: new SessionFiles(store, bytes, onError),
      streamOrder: new StreamOrder(bus, () => store.now()),
      toolParameters: new ToolParameters(),
      notes: true,
      terminationRetries: 1,
      baseUrl: ({ protocol, host }) => `${protocol}://${host}`,
      stepUp: () => undefined,
      refusesSessions: () => undefined,
      leavesStreams: () => false,
      known: (error) => knownError(error, onError),
      ...changes,
    }),
    [Symbol.dispose]: () => sessions.stop(),
  };
}

const NO_RESOURCES = { list: async () => [], owns: () => false, read: async () => undefined };
const STEP = { needsHome: true, prepare: () => Promise.reject(new Error('not called')) };

/** A mount for which everything is switched on, so that no step is left out of its paths. */
export const everythingOn = (): Mount =>
  sampleMount(
    {
      upstream: { client_headers: { passthrough: ['Authorization'], required: ['Authorization'], unsafe: true } },
      tool_definition_pinning: { mode: 'block' },
      disabled_tools: ['hidden'],
      access: { default: 'allow', rules: [] },
      limits: [{ per: 'caller', rate: '100/min', concurrent: 10 }],
    },
    { additions: { steps: new Map([['t', STEP]]), transforms: new Map(), own: [], resources: NO_RESOURCES } },
  );
