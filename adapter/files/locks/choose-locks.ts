import { join } from 'node:path';
import type { Storage } from '../../../crds/config/adapter-file/storage.ts';
import { FileLock } from './file-lock.ts';
import type { Locks } from './locks.ts';
import { NoLocks } from './no-lock.ts';
import { PolledLocks } from './polled-lock.ts';
import { ProcessLocks } from './process-lock.ts';
import { type LockStore, RedisLock } from './redis-lock.ts';

export interface LockDeps {
  /** `state_persistence.type`. */
  readonly stateType: 'disk' | 'memory' | 'redis';
  /** `storage.root`. */
  readonly root: string;
  readonly store: LockStore;
}

/** The locks of `storage.lock_mode` (specification, section 2.4). The schema refuses `redis` with another state type. */
export function chooseLocks(mode: Storage['lock_mode'], { stateType, root, store }: LockDeps): Locks {
  const chosen = mode === 'auto' ? automatic(stateType) : mode;
  if (chosen === 'none') return new NoLocks();
  if (chosen === 'process') return new ProcessLocks();
  return new PolledLocks(chosen === 'file' ? new FileLock(join(root, 'state', 'locks')) : new RedisLock(store));
}

const automatic = (stateType: LockDeps['stateType']): 'redis' | 'file' => (stateType === 'redis' ? 'redis' : 'file');
