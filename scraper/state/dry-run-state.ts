import type { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { LocalCounter } from '../requests/rate-limit.ts';
import type { Ledger } from './ledger.ts';
import { LocalAssignment } from './local-assignment.ts';
import type { State } from './open-state.ts';
import { readState, type StateReader } from './read-state.ts';
import { IN_MEMORY } from './sqlite-database.ts';
import { SqliteLedger } from './sqlite-ledger.ts';

/** State that lasts as long as the process and begins with what the real one holds, which is only read. */
export async function openDryRunState(store: FingerprintStore, { pod }: { readonly pod: string }): Promise<State> {
  const reader = await readState(store);
  const memory = new SqliteLedger({ path: IN_MEMORY, lockRetries: 0, lockBackoffMs: 0 });
  return {
    ledger: reader === undefined ? memory : beginningWith(reader, memory),
    requestCounter: new LocalCounter(),
    // Real pods do not notice: this one takes nothing from them.
    assignment: (options) => new LocalAssignment(pod, options),
    async close() {
      await memory.close();
      await reader?.close();
    },
  };
}

function beginningWith(reader: StateReader, memory: Ledger): Ledger {
  const begun = new Set<string>();
  return {
    async source(name) {
      if (!begun.has(name)) await begin(name);
      return memory.source(name);
    },
    seen: async (name, hashes, now) =>
      new Set([...(await reader.seen(name, hashes, now)), ...(await memory.seen(name, hashes, now))]),
    plan: (...call) => memory.plan(...call),
    due: (...call) => memory.due(...call),
    begin: (...call) => memory.begin(...call),
    letGo: (...call) => memory.letGo(...call),
    exporting: (...call) => memory.exporting(...call),
    exported: (...call) => memory.exported(...call),
    failed: (...call) => memory.failed(...call),
    commit: (...call) => memory.commit(...call),
    backfill: (...call) => memory.backfill(...call),
    pause: (name) => memory.pause(name),
    resume: (name) => memory.resume(name),
    retryDead: (...call) => memory.retryDead(...call),
    windows: (...call) => memory.windows(...call),
    cleanUp: (...call) => memory.cleanUp(...call),
    close: () => memory.close(),
  };

  /** Windows that are open there stay there: only what comes next is shown. */
  async function begin(name: string): Promise<void> {
    const known = await reader.source(name);
    begun.add(name);
    if (known?.plannedUntil !== undefined) {
      await memory.plan(name, undefined, [], known.plannedUntil, { token: 0n });
    }
    if (known?.paused === true) await memory.pause(name);
  }
}
