import { type Plan, planOf } from '../run/plan.ts';
import type { PreparedSource } from '../window/prepared-source.ts';
import type { SourceState, WindowRange } from '../state/ledger.ts';
import type { StateReader } from '../state/read-state.ts';

/** The window that a scrape would begin with. */
export interface NextWindow {
  readonly window: WindowRange;
  readonly why: string;
}

/** Later than any window is due. */
const END_OF_TIME = new Date(8.64e15);

/**
 * Which window of a range source would be next: one that is open, else the first that would be planned now.
 *
 * @param known what is known of the source, and where from; undefined: nothing
 * @param periodMs time between two scrapes
 */
export async function nextWindow(
  prepared: PreparedSource,
  known: { readonly state: SourceState | undefined; readonly reader: Pick<StateReader, 'due'> } | undefined,
  now: Date,
  periodMs: number,
): Promise<NextWindow> {
  const { name } = prepared.source;
  const [open] = (await known?.reader.due(name, END_OF_TIME, 1)) ?? [];
  if (open !== undefined) return { window: open, why: openReason(open) };
  const plan = planOf(prepared, known?.state, now, periodMs);
  const [first] = plan?.windows ?? [];
  if (plan !== undefined && first !== undefined) return { window: first, why: planReason(plan) };
  const to = new Date(now.getTime() - prepared.source.scrape.lag);
  const last = { start: new Date(to.getTime() - periodMs), end: to };
  if (plan?.gated === true) {
    const why = 'the last period: the first scrape of this source only remembers the time (runFirstScrape is false)';
    return { window: last, why };
  }
  return { window: last, why: 'the last period: everything up to now is planned already' };
}

function openReason({ attempts, error, kind }: { attempts: number; error: string | undefined; kind: string }): string {
  const what = kind === 'backfill' ? 'planned by a backfill' : 'planned before';
  if (attempts === 0) return `${what}, and not scraped yet`;
  return `${what}; attempts that failed: ${attempts}${error === undefined ? '' : `, the last one with: ${error}`}`;
}

function planReason({ from, skipped }: Plan): string {
  if (from === undefined) return 'the first scrape begins with it';
  const after = `what follows ${from.toISOString()}, up to which everything is planned`;
  return skipped === undefined
    ? after
    : `${after}; what is before ${skipped.end.toISOString()} is too old (maxCatchUp) and left out`;
}
