import type { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import type { LockRules } from './locked-list.ts';

/** The lock that is in force in this program. */
export class ToolLock {
  #document: LockDocument;
  #revision = 0;
  #problem: string | null = null;

  constructor(document: LockDocument) {
    this.#document = document;
  }

  /** Grows with each lock that comes into force: what was worked out under another one says nothing any more. */
  get revision(): number {
    return this.#revision;
  }

  get mode(): LockDocument['mode'] {
    return this.#document.mode;
  }

  get newTools(): LockDocument['newTools'] {
    return this.#document.newTools;
  }

  /** Why the lock that was written last is not in force; null where it is. */
  get problem(): string | null {
    return this.#problem;
  }

  rules(serverId: string): LockRules {
    const { mode, newTools, servers } = this.#document;
    return {
      key: String(this.#revision),
      mode,
      newTools,
      server: Object.hasOwn(servers, serverId) ? servers[serverId] : undefined,
    };
  }

  /** Ids of servers that the lock names. */
  get servers(): readonly string[] {
    return Object.keys(this.#document.servers);
  }

  replace(document: LockDocument): void {
    this.#document = document;
    this.#revision += 1;
    this.#problem = null;
  }

  /** The file is again what is in force. */
  recovered(): void {
    this.#problem = null;
  }

  /** The one in force stays. */
  failed(problem: string): void {
    this.#problem = problem;
  }
}
