import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import type { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import { shownName } from './diff-text.ts';
import { readLockFile } from './tool-lock-file.ts';

export interface CheckedLock {
  /** Why the adapter would not start with it. */
  readonly problems: readonly string[];
  /** What may be meant so. */
  readonly warnings: readonly string[];
}

/** What is wrong with the lock of a configuration, and between the two; nothing where it has none. */
export async function checkedLock({ core, servers }: Pick<AdapterConfig, 'core' | 'servers'>): Promise<CheckedLock> {
  if (core.tool_lock === null) return { problems: [], warnings: [] };
  let lock: LockDocument;
  try {
    lock = await readLockFile(core.tool_lock.path);
  } catch (error) {
    return { problems: [`core.tool_lock: ${(error as Error).message}`], warnings: [] };
  }
  const ids = new Set(servers.map(({ id }) => id));
  const strangers = Object.keys(lock.servers).filter((id) => !ids.has(id));
  const isHidden = lock.mode === 'enforce' && lock.newTools === 'hide';
  const unlocked = [...ids].filter((id) => isHidden && !Object.hasOwn(lock.servers, id));
  return {
    problems: [],
    warnings: [
      ...strangers.map((id) => `core.tool_lock: the lock names the server ${shownName(id)}, which is not there`),
      ...unlocked.map((id) => `core.tool_lock: the lock does not name the server ${id}: nothing that it has is listed`),
    ],
  };
}
