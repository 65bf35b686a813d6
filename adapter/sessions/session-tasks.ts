import { hash } from 'node:crypto';

import { AdapterError } from '../errors.ts';
import { elements, locate, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { taskIn } from '../exchange/tool-result.ts';
import type { Message } from '../exchange/message.ts';
import type { FirstTextTime } from '../state/first-texts.ts';
import type { SessionKey, StateStore } from '../state/state-store.ts';

/** To whom tasks belong: a session, or, of clients without one, who is calling. */
export type TaskOwner = SessionKey;

/** No session has such an id. */
export const callerOwner = (serverId: string, principal: string): TaskOwner => ({
  serverId,
  sessionId: `principal ${principal}`,
});

export type TaskStore = Pick<StateStore, 'firstTexts' | 'now'>;

const ABOUT_ONE: ReadonlySet<string> = new Set(['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update']);
/** How long a task is known after it was made or asked for last. */
const KEPT_MS = 86_400_000;
/** Of one list. */
const LOOKS_AT_ONCE = 100;

/**
 * Throws for messages about tasks that were not made for this owner, whether another one has them or nobody: many
 * servers know a task by nothing but its id.
 */
export async function requireOwnTasks(store: TaskStore, owner: TaskOwner, messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    for (const id of tasksIn(message)) {
      // oxlint-disable-next-line no-await-in-loop -- Hardly ever more than one.
      if (!(await isOwn(store, owner, id))) throw new AdapterError('unknown_task');
    }
  }
}

/** What stands where a message names tasks. */
export function tasksIn(message: Message): readonly unknown[] {
  if (message.kind === 'response') return NONE;
  if (ABOUT_ONE.has(message.method)) return [message.params['taskId']];
  if (message.method !== 'subscriptions/listen') return NONE;
  const { taskIds } = Object(message.params['notifications']) as { readonly taskIds?: unknown };
  if (taskIds === undefined) return NONE;
  return Array.isArray(taskIds) ? taskIds : [taskIds];
}

const NONE: readonly unknown[] = [];

/**
 * A response message as the owner may see it: its task is remembered, and its list has only those that are.
 * @param tool whose call it answers; '' for any other request
 */
export async function ownTasks(store: TaskStore, owner: TaskOwner, message: string, tool = ''): Promise<string> {
  await keepTask(store, owner, message, tool);
  const list = locate(message, ['result', 'tasks']);
  return list === undefined ? message : ownListed(store, owner, message, list);
}

/** Remembers the task that a response message brings, if it does, and the tool that has made it. */
export async function keepTask(store: TaskStore, owner: TaskOwner, message: string, tool: string): Promise<void> {
  const made = taskIn(message);
  if (made !== undefined) await store.firstTexts.keep(nameOf(owner, made.taskId), tool, time(store));
}

/** The tool that has made a task; '' where that is not known. */
export async function toolOfTask(store: TaskStore, owner: TaskOwner, taskId: unknown): Promise<string> {
  if (typeof taskId !== 'string') return '';
  return (await store.firstTexts.find(nameOf(owner, taskId), time(store))) ?? '';
}

async function ownListed(store: TaskStore, owner: TaskOwner, message: string, list: Span): Promise<string> {
  const listed = [...elements(message, list.start)].map(({ start, end }) => message.slice(start, end));
  const own: string[] = [];
  for (let i = 0; i < listed.length; i += LOOKS_AT_ONCE) {
    const some = listed.slice(i, i + LOOKS_AT_ONCE);
    const ids = some.map((task) => valueAt(task, locate(task, ['taskId'])));
    // oxlint-disable-next-line no-await-in-loop -- The store has others to serve.
    const isKept = await Promise.all(ids.map((id) => isOwn(store, owner, id)));
    own.push(...some.filter((_, at) => isKept[at]));
  }
  return own.length === listed.length ? message : splice(message, [{ ...list, with: `[${own.join(',')}]` }]);
}

async function isOwn(store: TaskStore, owner: TaskOwner, taskId: unknown): Promise<boolean> {
  if (typeof taskId !== 'string') return false;
  return (await store.firstTexts.find(nameOf(owner, taskId), time(store))) !== undefined;
}

/** Ids are as long as servers like. A server may number the tasks of each session for itself. */
function nameOf({ serverId, sessionId }: TaskOwner, taskId: string): string {
  return `task:${hash('sha256', JSON.stringify([serverId, sessionId, taskId]), 'base64url')}`;
}

function time(store: TaskStore): FirstTextTime {
  const now = store.now();
  return { now, expiresAt: now + KEPT_MS };
}

function valueAt(text: string, span: Span | undefined): unknown {
  return span === undefined ? undefined : JSON.parse(text.slice(span.start, span.end));
}
