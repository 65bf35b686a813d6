import type { StateStore } from '../../state/state-store.ts';
import { NOT_RECONCILED } from '../../state/not-reconciled.ts';

type LockStore = Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;

/** The same for all replicas: whoever comes to the end takes the mark away, and not only the one that set it. */
const OWNER = 'storage';
/** As good as for ever. */
const TTL_MS = 100 * 365 * 86_400_000;

/**
 * Notes for all replicas that there are files which may still be given their records, so that none of them takes these
 * for orphans, and that a store with some sessions in it may be one that was filled by half. It is a lock of the store
 * that nobody waits for, and no file under `storage.root`: it then lives exactly as long as the sessions that were
 * opened halfway, whatever is killed, replicas without a common folder see it too, and no upstream can remove it.
 */
export async function markUnreconciled(store: LockStore): Promise<void> {
  await store.tryLock(NOT_RECONCILED, OWNER, TTL_MS);
}

export async function isUnreconciled(store: Pick<StateStore, 'lockHolder'>): Promise<boolean> {
  return (await store.lockHolder(NOT_RECONCILED)) !== undefined;
}

export async function markReconciled(store: LockStore): Promise<void> {
  await store.unlock(NOT_RECONCILED, OWNER);
}
