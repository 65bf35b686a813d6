import type { ToolDefinitionPinning } from '../../../crds/config/adapter-file/core.ts';
import type { Cache, Caches } from '../../caches.ts';
import type { Baseline } from '../../catalog/baseline.ts';
import { AdapterError } from '../../errors.ts';
import { seenBy } from '../../sessions/seen-by.ts';
import { isWorkspace } from '../../sessions/workspace.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import type { ToolSource } from '../tool-source.ts';
import type { NormalisedList } from './normalised-lists.ts';

/** Of what is kept for a client without a session, as for sessions (`StateStore.baseline`). */
const MAX_KEPT_CHARS = 64 << 10;

/** What sessions, and clients without, saw of the tools of one upstream first. */
export class SessionPins {
  readonly #pinning: ToolDefinitionPinning;
  /** By fingerprint; a baseline never changes. */
  readonly #baselines: Cache<Baseline>;

  constructor(pinning: ToolDefinitionPinning, caches: Caches) {
    this.#pinning = pinning;
    this.#baselines = caches.region(({ text }) => text.length);
  }

  get any(): boolean {
    return this.#pinning.mode !== 'off';
  }

  /** Nothing is served, and nothing called, on the word of a list that may have changed since. */
  get isStrict(): boolean {
    return this.#pinning.mode === 'block';
  }

  /** Whether what the session saw first counts for what it may use now. */
  binds(record: SessionRecord): boolean {
    return this.isStrict && (isWorkspace(record) || record.baseline !== null);
  }

  /**
   * What the session saw first: if it has seen nothing yet, what there is now.
   * @param whole all that the list is a part of
   */
  async of(
    source: ToolSource,
    record: SessionRecord,
    list: NormalisedList,
    whole: () => NormalisedList | Promise<NormalisedList>,
  ): Promise<Baseline | undefined> {
    if (!this.any) return undefined;
    const { store } = source;
    if (isWorkspace(record)) {
      const { baseline } = await whole();
      return this.#pinnedWithoutSession(source, record, baseline);
    }
    const { baseline: fingerprint } = record;
    if (fingerprint === null) {
      const { baseline } = await whole();
      const pinned = await store.pin(record, baseline);
      if (pinned === undefined) throw new AdapterError('session_ended');
      return pinned;
    }
    const now = await list.baselineLike({ fingerprint });
    if (fingerprint === now.fingerprint) return now;
    let pinned = this.#baselines.get(fingerprint);
    if (pinned === undefined) {
      pinned = await store.baseline(record);
      if (pinned === undefined) throw new AdapterError('session_ended');
      // Of one that is known by its fingerprint only, more may be known soon.
      if (pinned.text !== '') this.#baselines.set(fingerprint, pinned);
    }
    return pinned;
  }

  /** What a client without a session saw first; it is forgotten some time after it asked last. */
  async #pinnedWithoutSession(source: ToolSource, record: SessionRecord, baseline: Baseline): Promise<Baseline> {
    const { name, ttlMs } = seenBy(record, source.clientKey, this.#pinning.sessionless_ttl_seconds * 1000);
    const now = source.store.now();
    const text = baseline.text.length > MAX_KEPT_CHARS ? '' : baseline.text;
    const time = { now, expiresAt: now + ttlMs };
    const kept = await source.store.firstTexts.keep(`${name}:tools`, `${baseline.fingerprint}\n${text}`, time);
    const end = kept.indexOf('\n');
    return { fingerprint: kept.slice(0, end), text: kept.slice(end + 1) };
  }
}
