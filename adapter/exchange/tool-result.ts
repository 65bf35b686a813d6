import { locate, type Span } from './scanning/json-scan.ts';

/**
 * Where the result of a tool stands in a response to `tools/call`, `tasks/result` (MCP 2025-11-25) or `tasks/get` (extension
 * io.modelcontextprotocol/tasks, SEP-2663, where it is within the task). Undefined for errors, and for tasks without one.
 */
export function toolResultIn(message: string): Span | undefined {
  const result = locate(message, ['result']);
  if (result === undefined || locate(message, ['taskId'], result.start) === undefined) return result;
  const own = locate(message, ['result'], result.start);
  return own !== undefined && message.charAt(own.start) === '{' ? own : undefined;
}

/** A task that the answer to a call is. */
export interface MadeTask {
  readonly taskId: string;
  /** How long the server keeps it, in milliseconds; undefined where it does not say. */
  readonly ttlMs: number | undefined;
}

/** The task that a response to `tools/call` brings instead of a result; undefined for any other. */
export function taskIn(message: string): MadeTask | undefined {
  const result = locate(message, ['result']);
  if (result === undefined) return undefined;
  const type = locate(message, ['resultType'], result.start);
  const isTask = type !== undefined && message.slice(type.start, type.end) === '"task"';
  const task = isTask ? result : locate(message, ['task'], result.start);
  if (task === undefined || message.charAt(task.start) !== '{') return undefined;
  const value = (name: string): unknown => {
    const span = locate(message, [name], task.start);
    return span === undefined ? undefined : JSON.parse(message.slice(span.start, span.end));
  };
  const taskId = value('taskId');
  const ttl = value('ttlMs') ?? value('ttl');
  if (typeof taskId !== 'string') return undefined;
  return { taskId, ttlMs: typeof ttl === 'number' && ttl >= 0 ? ttl : undefined };
}
