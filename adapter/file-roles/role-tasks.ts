import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { keepTaskCall, taskMs } from '../artifacts/task-calls.ts';
import type { Span } from '../exchange/scanning/json-scan.ts';
import type { MadeTask } from '../exchange/tool-result.ts';
import { AFTER_LIMIT_MS } from '../limits.ts';
import { callerOwner } from '../sessions/session-tasks.ts';
import { whileLocked } from '../sessions/store-lock.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { FileKey } from '../state/file-records.ts';
import type { DetachedCall, FinishedAnswer, FinishedTask, TaskEnd } from '../tools/visible/tool-step.ts';
import { CallFiles, type LeftFiles, type RoleCall } from './call-files.ts';
import { type KeptFiles, NOTHING } from './kept-files.ts';
import type { RoleDeps } from './role-deps.ts';
import { renamedMessage, type RoleResults } from './role-results.ts';
import { TaskJournal } from './task-journal.ts';

/** How long the lock outlives a replica that dies, and how often it is tried. In milliseconds. */
const LOCK_MS = 10_000;
const LOCK_POLL_MS = 50;
/** How long the files of one task are kept for. */
const CAPTURE_MS = AFTER_LIMIT_MS - 5_000;

/** What is kept of a call whose result comes some other way. */
export interface LeftRoles extends LeftFiles {
  /** By the clock of the replica that sent it, in milliseconds. */
  readonly startedAt: number;
  /** Files of the caller in use. */
  readonly uses: readonly FileKey[];
  /** Of a task: when it is over for everybody, by the store's clock. */
  readonly until?: number;
}

/**
 * The files of calls that run as tasks. Nobody holds anything while one runs but leases: whoever asks for its result, at whichever
 * replica, keeps what the tool has left, once.
 *
 *     leave ─ leases until the task's end ──▶ the tool ──┬─ result ───────▶ kept ─┐
 *                                                       ├─ failed, cancelled ────┴▶ settled: all other files go,
 *                                                       │                           everybody gets the same
 *                                                       └─ nobody asks ──▶ the leases end, and the files go
 */
export class RoleTasks {
  readonly #deps: RoleDeps;
  readonly #results: RoleResults;

  constructor(deps: RoleDeps, results: RoleResults) {
    this.#deps = deps;
    this.#results = results;
  }

  /** The call has made a task; its files are leased for that time already. Gives the message that says so. Never fails. */
  async leave(call: RoleCall, files: CallFiles, left: LeftRoles, task: MadeTask, text: string): Promise<string> {
    const { edits, records } = this.#deps;
    const { caller, record, tool } = call;
    const owner = isWorkspace(record) ? callerOwner(record.serverId, caller.principal) : record;
    const until = records.now() + taskMs(task);
    const { sessionId } = record;
    try {
      await keepTaskCall(edits, owner, task, { tool, sessionId, files: { ...left, until } });
    } catch {
      // The task runs all the same; its result will pass as it is.
    }
    return renamedMessage(text, files.allNames);
  }

  /** The result of a task, at `at`. */
  async finish(task: FinishedTask, left: DetachedCall, text: string, at: Span): Promise<FinishedAnswer> {
    const { call, files, roles } = this.#restored(task, left);
    const kept = await this.#settled(files, roles, task.signal, 'completed', (signal) =>
      this.#results.keep(call, files, text.slice(at.start, at.end), { startedAt: roles.startedAt, signal }),
    );
    const answer = await this.#results.shown(call, text, at, { ...kept, files: await this.#there(kept) });
    return { answer, isKept: true, end: () => Promise.resolve() };
  }

  /** Any other message about a task; `ending`: it says that nothing comes of the task. */
  async about(task: FinishedTask, left: DetachedCall, text: string, ending: TaskEnd | undefined): Promise<string> {
    const { files, roles } = this.#restored(task, left);
    const nothing = { ...NOTHING, names: files.allNames };
    const settled =
      ending === undefined
        ? await this.#journal(roles).outcome()
        : await this.#settled(files, roles, task.signal, ending, () => Promise.resolve(nothing));
    return renamedMessage(text, (settled ?? nothing).names);
  }

  #restored(
    { caller, record, signal }: FinishedTask,
    { tool, files: left }: DetachedCall,
  ): { readonly call: RoleCall; readonly files: CallFiles; readonly roles: LeftRoles } {
    const roles = left as LeftRoles;
    const call = { caller, record, tool, timeoutMs: null, signal };
    return { call, files: CallFiles.restored(this.#deps, call, roles), roles };
  }

  #journal({ owner, until }: LeftRoles): TaskJournal {
    const { edits, records } = this.#deps;
    return new TaskJournal(edits, owner, until ?? records.now());
  }

  /** What has become of the files; the first who asks makes it so. */
  async #settled(
    files: CallFiles,
    roles: LeftRoles,
    signal: AbortSignal,
    ending: TaskEnd | 'completed',
    keep: (signal: AbortSignal) => Promise<KeptFiles>,
  ): Promise<KeptFiles> {
    const { edits } = this.#deps;
    const journal = this.#journal(roles);
    const settle = async (held: AbortSignal): Promise<KeptFiles> => {
      const known = await journal.outcome();
      if (known !== undefined) return known;
      await files.goOn(journal);
      const kept = await keep(held);
      // Before anything goes: whoever comes after a death in between finds all that it needs.
      if (!(await journal.settle(kept))) return (await journal.outcome()) ?? kept;
      this.#results.log(kept.files);
      await this.#end(files, roles, kept, ending);
      return kept;
    };
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until it is settled, or nobody else is at it
      const known = await journal.outcome();
      if (known !== undefined) return known;
      // Not that of who asks: what is begun is brought to its end, and whoever asks next gets it.
      const timed = { signal: AbortSignal.timeout(CAPTURE_MS) };
      const lock = { name: `task-files:${roles.owner}`, owner: randomUUID(), ttlMs: LOCK_MS, ...timed };
      // oxlint-disable-next-line no-await-in-loop -- the same
      const settled = await whileLocked(edits, lock, settle);
      if (settled !== undefined) return settled;
      // oxlint-disable-next-line no-await-in-loop -- the same
      await delay(LOCK_POLL_MS, undefined, { signal });
    }
  }

  /** Never fails: what could not be given back is so when its lease ends. */
  async #end(files: CallFiles, { uses }: LeftRoles, kept: KeptFiles, ending: TaskEnd | 'completed'): Promise<void> {
    const { records } = this.#deps;
    const ids = new Set(kept.files.map(({ fileId }) => fileId));
    await Promise.all([
      files.end(ids, ending === 'cancelled' ? ending : 'ended'),
      uses.length > 0 && records.release(uses, records.now()).catch(() => undefined),
    ]);
  }

  /** Links lead to files that are there. */
  async #there({ files }: KeptFiles): Promise<KeptFiles['files']> {
    const { records } = this.#deps;
    const now = records.now();
    const found = await Promise.all(files.map((file) => records.find(file, { now, ttlMs: null })));
    return files.filter((_, at) => found[at] !== undefined);
  }
}
