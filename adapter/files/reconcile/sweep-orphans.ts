import { setImmediate as nextTurn } from 'node:timers/promises';

import type { FileRecords } from '../../state/file-records.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { StagingArea, StagedItem } from '../disk/staging-area.ts';
import { namedPlaces } from './named-places.ts';
import { unknownItems } from './unknown-items.ts';

export interface OrphanSweepDeps {
  readonly records: Pick<FileRecords, 'known' | 'find' | 'ownerOf' | 'now'>;
  readonly stage: Pick<StagingArea, 'items' | 'removeStray' | 'removeEntries'>;
  readonly telemetry: Pick<Telemetry, 'filesRemoved'>;
  /** False while the store is unavailable or replaced by memory: what it says then proves nothing. */
  readonly usable: () => boolean;
}

export interface SweepOptions {
  /** `storage.orphan_sweeper_grace_seconds`, in milliseconds. */
  readonly graceMs: number;
  readonly now: number;
  readonly signal: AbortSignal;
}

export interface Swept {
  readonly removed: number;
  /** What could not be removed: how many, and why the first of them not. */
  readonly failed: number;
  readonly failure: unknown;
  /** What this user may not look into and is left alone: how much, and why the first of it. */
  readonly unreadable: number;
  readonly unread: unknown;
}

/** Items that the store is asked about at once; others get their turn in between. */
const BATCH = 100;
/**
 * No upload goes on without a byte for so long, so nobody writes to an older temporary file any more; nor does it take so long to
 * record a version whose bytes are in their place.
 */
export const TEMPORARY_MS = 360_000;

/**
 * Removes what lies under `uploads/` and `artifacts/` without a record, once it is older than the grace (specification
 * 2.4): what a crash left between record and bytes, and what nobody knows how it got there. The folders are listed
 * before the store is asked, and a record comes before its folder, so what the store does not know is an orphan. Versions of an
 * edited file come before their record; one that has none goes when it is as old as temporary files.
 */
export async function sweepOrphans(deps: OrphanSweepDeps, options: SweepOptions): Promise<Swept> {
  const sweep = new Sweep(deps, options);
  for (const kind of ['upload', 'artifact'] as const) {
    let batch: ProperItem[] = [];
    let strays: StagedItem[] = [];
    const flush = async (): Promise<void> => {
      await sweep.strays(strays);
      await sweep.proper(batch);
      [batch, strays] = [[], []];
      await nextTurn();
    };
    for await (const item of deps.stage.items(kind, options.signal)) {
      if (item.unreadable !== undefined) {
        sweep.leaveAlone(item.unreadable);
        continue;
      }
      if (isProper(item)) batch.push(item);
      else strays.push(item);
      if (batch.length + strays.length < BATCH) continue;
      if (sweep.over) return sweep.result;
      await flush();
    }
    await flush();
  }
  return sweep.result;
}

type ProperItem = StagedItem & { readonly fileId: string };

const isProper = (item: StagedItem): item is ProperItem => item.fileId !== null;

class Sweep {
  readonly #deps: OrphanSweepDeps;
  readonly #options: SweepOptions;
  #removed = 0;
  #failed = 0;
  #failure: unknown;
  #unreadable = 0;
  #unread: unknown;

  constructor(deps: OrphanSweepDeps, options: SweepOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  get over(): boolean {
    return this.#options.signal.aborted || !this.#deps.usable();
  }

  get result(): Swept {
    const [removed, failed, unreadable] = [this.#removed, this.#failed, this.#unreadable];
    return { removed, failed, failure: this.#failure, unreadable, unread: this.#unread };
  }

  leaveAlone(reason: unknown): void {
    this.#unreadable++;
    this.#unread ??= reason;
  }

  /** Their names are no ids of ours, so no record can mean them. */
  async strays(items: readonly StagedItem[]): Promise<void> {
    if (this.over) return;
    for (const item of items) {
      if (this.#options.signal.aborted) return;
      // Without an entry it is the empty folder of a session, which is no file.
      if (this.#isOld(item)) await this.#remove(item, item.entry === null ? 0 : 1);
    }
  }

  async proper(items: readonly ProperItem[]): Promise<void> {
    const candidates = items.filter(
      (item) => this.#isOld(item) || item.temporary.length > 0 || item.versions !== undefined,
    );
    if (candidates.length === 0 || this.over) return;
    const { records } = this.#deps;
    const unknown = new Set(await unknownItems(records, candidates));
    const edited = candidates.filter((item) => item.versions !== undefined && !unknown.has(item));
    const places = await namedPlaces(records, edited);
    // The answer counts only if the store was itself all the time.
    if (this.over) return;
    for (const item of candidates) {
      if (this.#options.signal.aborted) return;
      if (!unknown.has(item)) await this.#removeFrom(item, places.get(item));
      else if (this.#isOld(item)) await this.#remove(item, 1);
    }
  }

  #isOld(item: StagedItem): boolean {
    return item.modifiedAt + this.#options.graceMs <= this.#options.now;
  }

  async #remove(item: StagedItem, files: number): Promise<void> {
    try {
      await this.#deps.stage.removeStray(item);
      this.#count(item, files);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** `places`: of a file whose record is committed, where its versions lie. */
  async #removeFrom(item: ProperItem, places: ReadonlySet<string> | undefined): Promise<void> {
    const { temporary, versions = [] } = item;
    const left = places === undefined ? temporary : [...temporary, ...versions.filter((name) => !places.has(name))];
    if (left.length === 0) return;
    const { graceMs, now } = this.#options;
    try {
      this.#count(item, await this.#deps.stage.removeEntries(item, left, now - Math.max(graceMs, TEMPORARY_MS)));
    } catch (error) {
      this.#fail(error);
    }
  }

  #count({ kind }: StagedItem, files: number): void {
    if (files === 0) return;
    this.#removed += files;
    this.#deps.telemetry.filesRemoved({ kind, reason: 'orphan', files });
  }

  #fail(error: unknown): void {
    this.#failed++;
    this.#failure ??= error;
  }
}
