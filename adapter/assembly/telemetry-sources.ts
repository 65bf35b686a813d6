import type { ByteAccount } from '../byte-account.ts';
import type { RunningExchanges } from '../exchange/running.ts';
import type { Mount } from '../mount/mount.ts';
import { unreachedServers } from '../health/health.ts';
import type { StateStore } from '../state/state-store.ts';
import type { TelemetrySources } from '../telemetry/telemetry.ts';

/** Collections may come every second, from several sides. */
const FRESH_MS = 5_000;

interface Observed {
  readonly mounts: readonly Mount[];
  readonly store: Pick<StateStore, 'counts' | 'files' | 'now'>;
  readonly running: Pick<RunningExchanges, 'posts'>;
  readonly account: Pick<ByteAccount, 'byKind' | 'limits'>;
}

/** What telemetry reads of the adapter whenever somebody collects. */
export function telemetrySources({ mounts, store, running, account }: Observed): TelemetrySources {
  const counts = lately(() => store.counts(store.now()));
  const totals = lately(() => store.files.totals());
  return {
    breakerStates: () => mounts.map((mount) => [mount.serverId, mount.breaker.state(Date.now())]),
    notReadyServers: () => unreachedServers(mounts).length,
    activeSessions: () => counts()?.sessions,
    requestsInFlight: () => running.posts,
    heldBytes: () => account.byKind(),
    heldBytesLimit: () => account.limits.total,
    storedBytes: () => {
      const files = totals();
      return files === undefined
        ? []
        : [
            ['uploads', files.uploads.bytes],
            ['artifacts', files.artifacts.bytes],
          ];
    },
  };
}

/**
 * What was read last, and has it read again when that is some time ago: a collection does not wait for the state store.
 * Undefined when it could not be read.
 */
function lately<T>(read: () => Promise<T>): () => T | undefined {
  let last: T | undefined;
  let asked = -Infinity;
  let isReading = false;
  return () => {
    if (!isReading && performance.now() - asked >= FRESH_MS) {
      isReading = true;
      asked = performance.now();
      read()
        .then(
          (value) => (last = value),
          () => (last = undefined),
        )
        .finally(() => (isReading = false));
    }
    return last;
  };
}
