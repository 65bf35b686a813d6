import { hash } from 'node:crypto';

import type { LockKind } from '../../crds/config/lock-file/lock-document.ts';
import { yieldToEventLoop } from '../../lib/stream/yield-to-event-loop.ts';
import type { Cache, Caches } from '../caches.ts';
import { compareInstructions } from './compare.ts';
import { LastLists } from './last-lists.ts';
import type { LockWatch } from './lock-watch.ts';
import { type LockedList, lockedList } from './locked-list.ts';
import type { ToolLock } from './tool-lock.ts';

/** About what a definition takes up beside its text. */
const OVERHEAD = 200;

type Watch = Pick<LockWatch, 'compared' | 'greeted' | 'reset'>;

/** The lock in force, for what one server says: each list is compared once, however often it comes. */
export class ServerToolLock {
  readonly #lock: Pick<ToolLock, 'revision' | 'mode' | 'rules'>;
  readonly #serverId: string;
  readonly #watch: Watch;
  readonly #lists: Cache<LockedList>;
  readonly #last = new LastLists();

  constructor(
    lock: Pick<ToolLock, 'revision' | 'mode' | 'rules'>,
    serverId: string,
    parts: { readonly caches: Caches; readonly watch: Watch },
  ) {
    this.#lock = lock;
    this.#serverId = serverId;
    this.#watch = parts.watch;
    this.#lists = parts.caches.region(
      ({ list, whole, compared }) =>
        list.length +
        (list === whole ? 0 : whole.length) +
        (compared.entries.length + compared.removed.length) * OVERHEAD,
    );
  }

  /** What was worked out under another one says nothing any more. */
  get revision(): number {
    return this.#lock.revision;
  }

  /** Whether what differs is hidden; it is marked otherwise. */
  get enforces(): boolean {
    return this.#lock.mode === 'enforce';
  }

  /**
   * @param list the upstream's, JSON text
   * @param isWhole whether it has no other pages
   */
  async list(kind: LockKind, list: string, isWhole = true): Promise<LockedList> {
    const { revision } = this.#lock;
    const key = `${kind}\n${revision}\n${hash('sha256', list, 'base64')}`;
    let locked = this.#lists.get(key);
    if (locked === undefined) {
      locked = await yieldToEventLoop(lockedList(kind, list, this.#lock.rules(this.#serverId)));
      this.#lists.set(key, locked);
    }
    if (isWhole) this.saw(kind, locked);
    return locked;
  }

  /** A whole list that was compared before has come again. */
  saw(kind: LockKind, { key, whole, compared }: LockedList): void {
    this.#last.keep(kind, whole);
    if (key === this.#lock.rules(this.#serverId).key) this.#watch.compared(kind, compared);
  }

  /** Whether clients get these instructions (JSON text; undefined where the server has none). */
  allowsInstructions(instructions: string | undefined): boolean {
    const { server, newTools } = this.#lock.rules(this.#serverId);
    const compared = compareInstructions(instructions, server);
    this.#last.greeted(instructions);
    this.#watch.greeted(compared);
    const isAllowed = compared === 'same' || compared === 'removed' || (compared === 'new' && newTools === 'allow');
    return isAllowed || !this.enforces;
  }

  /**
   * Another lock is in force: what the server said last is compared with it, so that an approval counts before somebody
   * lists again. Never rejects.
   */
  async recompare(): Promise<void> {
    this.#watch.reset();
    const { lists, greeting } = this.#last;
    if (greeting !== undefined) this.allowsInstructions(greeting.instructions);
    // oxlint-disable-next-line no-await-in-loop -- other work goes between them
    for (const [kind, list] of lists) await this.list(kind, list);
  }
}
