import { createHash } from 'node:crypto';

import type { Answer } from '../exchange/answers/answer.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import type { SessionKey, StateStore } from '../state/state-store.ts';
import { keepTask } from '../sessions/session-tasks.ts';
import type { Operation } from '../path/operation.ts';
import type { DetachedCall, ResumedCall, ToolStep } from '../tools/visible/tool-step.ts';

type Locks = Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;

/**
 * Keeps what the response to a call will need that comes on another stream, maybe at another replica, for `ttlMs`. It
 * stands as the holder of a lock: that is short, goes by itself, and every store has it.
 */
export async function detachCall(
  store: Locks,
  session: SessionKey,
  idText: string,
  left: DetachedCall,
  ttlMs: number,
): Promise<void> {
  await store.tryLock(lockOf(session, idText), JSON.stringify(left), ttlMs);
}

/** The calls of one session whose responses come on a GET. */
export class DetachedCalls {
  readonly #operation: Operation;
  readonly #steps: ReadonlyMap<string, Pick<ToolStep, 'resume'>>;
  readonly #store: Pick<StateStore, 'lockHolder' | 'unlock' | 'firstTexts' | 'now'>;
  readonly #taken: ResumedCall[] = [];

  constructor(
    operation: Operation,
    steps: ReadonlyMap<string, Pick<ToolStep, 'resume'>>,
    store: Pick<StateStore, 'lockHolder' | 'unlock' | 'firstTexts' | 'now'>,
  ) {
    this.#operation = operation;
    this.#steps = steps;
    this.#store = store;
  }

  /** What the client gets for a response (JSON text); undefined where no such call was left. */
  async answer(text: string): Promise<Answer | undefined> {
    const idText = idTextOf(text);
    const left = idText === undefined ? undefined : await this.#take(idText);
    if (left === undefined) return undefined;
    const { caller, session } = this.#operation;
    const taken = this.#steps.get(left.tool)?.resume?.({ caller, record: session }, left);
    if (taken === undefined) return undefined;
    this.#taken.push(taken);
    await keepTask(this.#store, session, text, left.tool);
    return taken.onResponse(text);
  }

  /** The stream is over. Never fails. */
  async end(): Promise<void> {
    for (const taken of this.#taken) await taken.onEnd();
  }

  async #take(idText: string): Promise<DetachedCall | undefined> {
    const name = lockOf(this.#operation.session, idText);
    try {
      const left = await this.#store.lockHolder(name);
      if (left === undefined) return undefined;
      await this.#store.unlock(name, left);
      return JSON.parse(left) as DetachedCall;
    } catch {
      // What is not known cannot be taken up; the stream goes on.
      return undefined;
    }
  }
}

/** Ids are as long as clients like. */
function lockOf({ serverId, sessionId }: SessionKey, idText: string): string {
  return `left-call:${serverId}:${sessionId}:${createHash('sha256').update(idText).digest('base64url')}`;
}

/** The id as requests have it (`idText`). */
function idTextOf(text: string): string | undefined {
  const span = locate(text, ['id']);
  if (span === undefined) return undefined;
  const written = text.slice(span.start, span.end);
  const id: unknown = JSON.parse(written);
  if (typeof id === 'string') return JSON.stringify(id);
  return Number.isSafeInteger(id) ? String(id) : written;
}
