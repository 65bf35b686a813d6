import type { Contribution } from './contribution.ts';
import { CumulativeState } from './cumulative-state.ts';
import type { Emitter } from './emitter.ts';

/** What a contribution holds, as it would be shown. */
export interface Shown {
  readonly metrics: readonly object[];
  readonly logs: readonly object[];
}

/** Points and log records in a readable form. */
export function show(contributions: readonly Contribution[]): Shown {
  return {
    metrics: new CumulativeState().preview(contributions).map(({ metric, added }) => ({
      name: metric.name,
      unit: metric.unit,
      kind: metric.kind,
      attributes: { ...added.attributes },
      ...(metric.kind === 'histogram'
        ? { count: added.count, sum: added.value, bounds: metric.bounds, buckets: added.buckets }
        : { value: metric.kind === 'runningTotal' ? added.last : added.value }),
    })),
    logs: contributions.flatMap(({ logs }) =>
      logs.map(({ severity, time, body, attributes }) => ({
        severity: severity.text,
        time: new Date(Number(time / 1_000_000n)).toISOString(),
        body,
        attributes: { ...attributes },
      })),
    ),
  };
}

/** Shows what would be sent, and sends nothing. */
export class DryRunEmitter implements Emitter {
  readonly #write: (shown: Shown) => void;

  constructor(write: (shown: Shown) => void) {
    this.#write = write;
  }

  async emit(contributions: readonly Contribution[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const filled = contributions.filter(({ isEmpty }) => !isEmpty);
    if (filled.length > 0) this.#write(show(filled));
  }

  giveUp(): void {
    // Nothing is in doubt.
  }

  forget(): void {
    // Nothing is kept.
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}
