import type { ApplyReport } from '../apply/desired.ts';
import type { NewEvent } from '../status/events.ts';

/** One for each object that somebody else changes again and again. */
export const contestEvents = (applied: ApplyReport | undefined): NewEvent[] =>
  (applied?.objects ?? []).flatMap(({ contest }): NewEvent[] =>
    contest === undefined ? [] : [{ type: 'Warning', reason: 'Contested', action: 'Repair', message: contest }],
  );
