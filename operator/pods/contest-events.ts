import type { ApplyReport } from '../apply/applier.ts';
import type { Happening } from '../status/events.ts';

/** One for each object that somebody else changes again and again. */
export const contestsOf = (applied: ApplyReport | undefined): Happening[] =>
  (applied?.objects ?? []).flatMap(({ contest }): Happening[] =>
    contest === undefined ? [] : [{ type: 'Warning', reason: 'Contested', action: 'Repair', message: contest }],
  );
