import type { Request } from '../exchange/message.ts';

/** How long the file of a task is kept whose client does not say how long it wants the task, and at most. */
const TASK_MS = 3_600_000;
const MAX_TASK_MS = 24 * 3_600_000;

/**
 * How long the file of a call is needed that runs as a task (MCP 2025-11-25), in milliseconds: the call's answer comes at
 * once, and when the task has ended is for the client to ask. Undefined for any other call.
 */
export function taskTtlMs({ params }: Pick<Request, 'params'>): number | undefined {
  const { task } = params;
  if (typeof task !== 'object' || task === null) return undefined;
  const { ttl } = task as { ttl?: unknown };
  return typeof ttl === 'number' && ttl >= 0 ? Math.min(ttl, MAX_TASK_MS) : TASK_MS;
}

/** Whether the upstream has made a task of the call: `text` is its response (JSON text). */
export function createsTask(text: string): boolean {
  try {
    const { result } = JSON.parse(text) as { result?: { task?: unknown } | null };
    return typeof result?.task === 'object' && result.task !== null;
  } catch {
    return false;
  }
}
