import { LRUCache } from 'lru-cache';

import type { ToolDefinitionPinning } from '../../../crds/config/adapter-file/core.ts';
import { dataOf, type Drift, previewOf } from '../../catalog/drift.ts';
import { AdapterError } from '../../errors.ts';
import { isWorkspace } from '../../sessions/workspace.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import type { ToolSource } from '../tool-source.ts';
import type { NormalisedList } from './normalised-lists.ts';

const MAX_LOGGED = 10_000;
/** An upstream that changes its tools all the time does not write the log. */
const LOG_EVERY_MS = 60_000;

export type DriftOutcome = 'warn' | 'block_baseline_subset' | 'block_error' | 'block_error_invalidate_session';

export interface DriftResponseEvents {
  /** A session's tools differ from those that it saw first. Told once for each difference, and once a minute at most. */
  readonly onDrift: ((sessionId: string, preview: string) => void) | undefined;
  /** The same, each time that it is seen, with what follows from it. */
  readonly onDriftSeen?: ((outcome: DriftOutcome) => void) | undefined;
}

/** What follows when a session's tools differ from those that it saw first (specification, section 3.1). */
export class DriftResponse {
  readonly #pinning: ToolDefinitionPinning;
  readonly #events: DriftResponseEvents;
  /** By session: the list whose drift was told last. */
  readonly #logged = new LRUCache<string, { readonly list: string; readonly at: number }>({ max: MAX_LOGGED });

  constructor(pinning: ToolDefinitionPinning, events: DriftResponseEvents) {
    this.#pinning = pinning;
    this.#events = events;
  }

  /** A difference was seen. */
  record({ clientKey }: ToolSource, record: SessionRecord, list: NormalisedList, drift: Drift): void {
    const { sessionId, principal } = record;
    const who = isWorkspace(record) ? `${principal}\n${clientKey}` : sessionId;
    this.#events.onDriftSeen?.(this.#driftOutcome(record));
    const last = this.#logged.get(who);
    const now = Date.now();
    if (last !== undefined && (last.list === list.baseline.fingerprint || now < last.at + LOG_EVERY_MS)) return;
    this.#logged.set(who, { list: list.baseline.fingerprint, at: now });
    this.#events.onDrift?.(sessionId, previewOf(drift));
  }

  /** The error for a session whose tools have drifted, which ends it where it is to end. */
  async refusal(source: ToolSource, record: SessionRecord, drift: Drift): Promise<AdapterError> {
    const preview = previewOf(drift);
    if (isWorkspace(record)) {
      const seconds = this.#pinning.sessionless_ttl_seconds;
      return new AdapterError(
        'tool_definition_drift',
        `Tools of this server have changed since this client saw them first: ${preview}. They are accepted once this client has not asked for ${seconds} seconds.`,
        { data: dataOf(drift) },
      );
    }
    if (this.#pinning.block_error_session_action === 'invalidate') {
      await source.invalidate(record, `its tools have changed: ${preview}`);
    }
    return new AdapterError(
      'tool_definition_drift',
      `Tools of this server have changed since this session saw them first: ${preview}. Open a new session to accept them.`,
      { data: dataOf(drift) },
    );
  }

  #driftOutcome(record: SessionRecord): DriftOutcome {
    const { block_strategy, block_error_session_action } = this.#pinning;
    if (this.#pinning.mode !== 'block') return 'warn';
    if (block_strategy === 'baseline_subset') return 'block_baseline_subset';
    return block_error_session_action === 'invalidate' && !isWorkspace(record)
      ? 'block_error_invalidate_session'
      : 'block_error';
  }
}
