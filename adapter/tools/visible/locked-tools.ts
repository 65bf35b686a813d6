import type { NormalisedList } from './normalised-lists.ts';

type Shown = readonly (string | undefined)[];

/** Definitions of a list that name which of their fields differ from the lock, where it says so (mode `audit`). */
export function markedTools({ locked, view }: NormalisedList, shown: Shown): Shown {
  if (locked?.marks !== true) return shown;
  return shown.map((text, i) => text && locked.marked(view.tools[i]?.name, text));
}

/** Definitions of a page without those that the whole list refuses. */
export function allowedTools({ view }: NormalisedList, shown: Shown, { locked }: NormalisedList): Shown {
  return shown.map((text, i) => (locked?.refusal(view.tools[i]?.name ?? '') === undefined ? text : undefined));
}
