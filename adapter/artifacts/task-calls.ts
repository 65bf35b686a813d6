import { hash } from 'node:crypto';

import type { MadeTask } from '../exchange/tool-result.ts';
import type { TaskOwner } from '../sessions/session-tasks.ts';
import type { StateStore } from '../state/state-store.ts';
import type { DetachedCall } from '../tools/visible/tool-step.ts';

type Locks = Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;

/** How long a task runs whose server does not say how long it keeps it, at least and at most. */
const TASK_MS = 3_600_000;
const LEAST_TASK_MS = 60_000;
export const MOST_TASK_MS = 24 * 3_600_000;

/** How long the file of a task is waited for, in milliseconds. */
export const taskMs = ({ ttlMs }: Pick<MadeTask, 'ttlMs'>): number =>
  Math.min(Math.max(ttlMs ?? TASK_MS, LEAST_TASK_MS), MOST_TASK_MS);

/**
 * Keeps what the result of a task will need, which comes with another request, maybe at another replica. It stands as the
 * holder of a lock: that is short, goes by itself, and every store has it.
 */
export async function keepTaskCall(store: Locks, owner: TaskOwner, task: MadeTask, left: DetachedCall): Promise<void> {
  await store.tryLock(lockOf(owner, task.taskId), JSON.stringify(left), taskMs(task));
}

/** What is kept of the call that has made a task; undefined where there is nothing to be done to its result. */
export async function taskCall(store: Locks, owner: TaskOwner, taskId: string): Promise<DetachedCall | undefined> {
  const left = await store.lockHolder(lockOf(owner, taskId));
  return left === undefined ? undefined : (JSON.parse(left) as DetachedCall);
}

/** Nothing more is to be done to the result of the task. */
export async function forgetTaskCall(
  store: Locks,
  owner: TaskOwner,
  taskId: string,
  left: DetachedCall,
): Promise<void> {
  await store.unlock(lockOf(owner, taskId), JSON.stringify(left));
}

/** Ids are as long as servers like, and a server may number the tasks of each session for itself. */
function lockOf({ serverId, sessionId }: TaskOwner, taskId: string): string {
  return `task-call:${hash('sha256', JSON.stringify([serverId, sessionId, taskId]), 'base64url')}`;
}
