import type { LockKind } from '../../crds/config/lock-file/lock-document.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import type { ComparedInstructions, ComparedList } from './compare.ts';

/** Names of each sort that the health object has. */
const MOST_NAMES = 20;
const MAX_NAME_CHARS = 128;
const MAX_FIELDS = 12;
/** An upstream that changes its tools all the time does not write the log. */
const TELL_EVERY_MS = 60_000;

type Kind = LockKind | 'instructions';

interface DriftReport {
  readonly kind: Kind;
  readonly name: string;
  readonly fields: readonly string[];
  /** Digest that was approved; undefined where the lock does not name it. */
  readonly locked?: string;
}

/** How what a server lists differs from the lock. Names are the upstream's words, shortened. */
export interface LockReport {
  readonly drift: readonly DriftReport[];
  /** What the lock does not name. */
  readonly new: readonly { readonly kind: Kind; readonly name: string }[];
  /** What the lock names and the server does not list. */
  readonly removed: readonly { readonly kind: Kind; readonly name: string }[];
  /** How many more of each there are. */
  readonly more: { readonly drift: number; readonly new: number; readonly removed: number };
  /** Milliseconds since 1970; null before anything was compared. */
  readonly compared_at: number | null;
}

export interface LockWatchOptions {
  /** A difference that was not there before: how many definitions differ in what way. */
  readonly onDrift: (report: LockReport) => void;
  /** Whether clients may have what the lock does not name: then it is no difference. */
  readonly allowsNew: () => boolean;
  readonly now?: () => number;
}

/** What of one server differs from the lock, as it was compared last; told once for each difference. */
export class LockWatch {
  readonly #onDrift: LockWatchOptions['onDrift'];
  readonly #allowsNew: () => boolean;
  readonly #now: () => number;
  readonly #lists = new Map<LockKind, ComparedList>();
  #instructions: ComparedInstructions | undefined;
  #comparedAt: number | null = null;
  #emitted = '';
  #reportedAt = -Infinity;
  /** Something differs that is told when the minute is over. */
  #isUnannounced = false;
  #report: LockReport | undefined;

  constructor({ onDrift, allowsNew, now = Date.now }: LockWatchOptions) {
    this.#onDrift = onDrift;
    this.#allowsNew = allowsNew;
    this.#now = now;
  }

  compared(kind: LockKind, list: ComparedList): void {
    this.#comparedAt = this.#now();
    if (this.#lists.get(kind) !== list) {
      this.#lists.set(kind, list);
      this.#report = undefined;
    } else if (!this.#isUnannounced) return;
    this.#emit();
  }

  greeted(instructions: ComparedInstructions): void {
    this.#comparedAt = this.#now();
    if (this.#instructions !== instructions) {
      this.#instructions = instructions;
      this.#report = undefined;
    } else if (!this.#isUnannounced) return;
    this.#emit();
  }

  /** Another lock is in force: nothing was compared with it yet. */
  reset(): void {
    this.#lists.clear();
    this.#instructions = undefined;
    this.#comparedAt = null;
    this.#report = undefined;
    this.#isUnannounced = false;
  }

  get report(): LockReport {
    this.#report ??= reportOf(this.#lists, this.#instructions);
    return { ...this.#report, compared_at: this.#comparedAt };
  }

  #emit(): void {
    const { drift, new: added, removed, more } = this.report;
    const news = this.#allowsNew() ? [] : [added, more.new];
    const text = JSON.stringify([drift, removed, more.drift, more.removed, news]);
    const differs = drift.length + removed.length + (this.#allowsNew() ? 0 : added.length) > 0;
    const now = this.#now();
    this.#isUnannounced = differs && text !== this.#emitted && now < this.#reportedAt + TELL_EVERY_MS;
    if (this.#isUnannounced || text === this.#emitted) return;
    this.#emitted = text;
    if (!differs) return;
    this.#reportedAt = now;
    this.#onDrift(this.report);
  }
}

function reportOf(
  lists: ReadonlyMap<LockKind, ComparedList>,
  instructions: ComparedInstructions | undefined,
): LockReport {
  const drift: DriftReport[] = [];
  const added: { kind: Kind; name: string }[] = [];
  const removed: { kind: Kind; name: string }[] = [];
  for (const [kind, list] of lists) {
    for (const { name, state, fields, locked } of list.entries) {
      if (state === 'drift') {
        const known = locked === undefined ? {} : { locked };
        drift.push({ kind, name: shown(name), fields: fields.slice(0, MAX_FIELDS), ...known });
      }
      if (state === 'new') added.push({ kind, name: shown(name) });
    }
    for (const name of list.removed) removed.push({ kind, name: shown(name) });
  }
  const ofServer = { kind: 'instructions', name: '' } as const;
  if (instructions === 'drift') drift.push({ ...ofServer, fields: ['instructions'] });
  if (instructions === 'new') added.push(ofServer);
  if (instructions === 'removed') removed.push(ofServer);
  return {
    drift: drift.slice(0, MOST_NAMES),
    new: added.slice(0, MOST_NAMES),
    removed: removed.slice(0, MOST_NAMES),
    more: {
      drift: Math.max(0, drift.length - MOST_NAMES),
      new: Math.max(0, added.length - MOST_NAMES),
      removed: Math.max(0, removed.length - MOST_NAMES),
    },
    compared_at: null,
  };
}

const shown = (name: string): string => withEscapes(name.slice(0, MAX_NAME_CHARS));
