import type { OpenedState } from '../state/open/open-store.ts';
import type { Janitor } from './janitor.ts';

/** What a replica takes, and why not. */
export interface Readiness {
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => 'draining' | 'reconciling' | undefined;
  /** Whether event streams are better opened at other replicas now, which have the same sessions. */
  readonly leavesStreams: () => boolean;
  /** Why the replica should get no requests now; undefined when it should. */
  readonly notReady: () => 'draining' | 'state_store_unavailable' | 'reconciling' | undefined;
}

export function readiness({
  stopping,
  state,
  isShared,
  usable,
  janitor,
}: {
  /** Aborted once the replica drains. */
  readonly stopping: AbortSignal;
  readonly state: Pick<OpenedState, 'status'>;
  /** Whether the store is one that other replicas have, too. */
  readonly isShared: boolean;
  /** False while the store is down, or replaced by memory. */
  readonly usable: () => boolean;
  readonly janitor: Pick<Janitor, 'reconciliation'>;
}): Readiness {
  /** The others have all sessions, too. */
  const hasOthers = (): boolean => isShared && state.status().degradedReason === null;
  return {
    leavesStreams: () => stopping.aborted && hasOthers(),
    refusesSessions() {
      // They would make a store that lost its state look like one that still has it.
      if (janitor.reconciliation?.decided === false && usable()) return 'reconciling';
      if (!stopping.aborted) return undefined;
      // Where the others have it too, a client need not be sent to them: its connection may lead here for a while yet.
      return hasOthers() ? undefined : 'draining';
    },
    notReady() {
      if (stopping.aborted) return 'draining';
      if (state.status().unavailable) return 'state_store_unavailable';
      return janitor.reconciliation?.pending === true && usable() ? 'reconciling' : undefined;
    },
  };
}
