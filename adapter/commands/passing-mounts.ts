import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { connectRulesFrom } from '../../lib/net/guarded-connect.ts';
import type { Redaction } from '../../lib/redaction/redact.ts';
import type { Environment } from '../../lib/references/reference.ts';
import { accountLimits, ByteAccount } from '../byte-account.ts';
import { Caches } from '../caches.ts';
import { createMounts } from '../assembly/create-mounts.ts';
import type { Mount } from '../mount/mount.ts';
import { MemoryBus } from '../state/memory/memory-bus.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import type { Logger } from '../telemetry/logs/logger.ts';
import { noTelemetry } from '../telemetry/telemetry.ts';
import { ToolNames } from '../telemetry/tool-names.ts';

export interface PassingMountsOptions {
  readonly redaction: Redaction;
  readonly logger: Logger;
  readonly env: Environment;
  readonly version: string;
}

/**
 * Mounts for a command that asks upstreams something and ends: nothing is kept, nothing counted. Whoever asked closes the
 * `upstream` of each.
 */
export function passingMounts(config: AdapterConfig, options: PassingMountsOptions): Mount[] {
  const account = new ByteAccount(
    accountLimits({ memory: Infinity, heap: 256 << 20, largest: 64 << 20, bodies: null }, 1),
  );
  const onListenerError = (error: unknown): void => options.logger.error({ err: error }, 'unexpected failure');
  const caches = new Caches();
  // The command ends before anything has to be forgotten.
  caches.stop();
  return createMounts(config, {
    lock: undefined,
    ...options,
    store: new MemoryStore(),
    sessions: undefined,
    bus: new MemoryBus({ onListenerError, account }),
    telemetry: noTelemetry,
    toolNames: new ToolNames([]),
    listTtlMs: 0,
    caches,
    redact: options.redaction.text,
    rules: connectRulesFrom(options.env),
    additions: () => ({ steps: new Map(), transforms: new Map(), own: [], resources: undefined }),
  });
}
