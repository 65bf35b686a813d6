import { stem } from '../text/words.ts';

/** Words that authors of tools use for the same thing. They count less than the word itself, so they only fill gaps. */
const GROUPS = [
  'delete remove erase drop',
  'create add new make insert',
  'update edit modify change',
  'get read fetch show view retrieve load',
  'find search lookup',
  'list browse',
  'send post submit',
  'run execute exec invoke',
  'open navigate visit goto',
  'click press tap',
  'type fill enter input write',
  'save store write',
  'mail email message',
  'folder directory dir',
  'database db sql',
  'ticket issue bug task',
  'meeting event appointment',
  'url link website',
  'image picture photo',
  'screenshot snapshot capture',
  'person user contact people member',
  'document doc file',
  'repository repo',
  'move rename',
  'copy duplicate clone',
  'stop cancel abort',
] as const;

const BY_STEM = synonyms();

/** Other words, as stems, for a stem. */
export function synonymsOf(term: string): readonly string[] {
  return BY_STEM.get(term) ?? [];
}

function synonyms(): ReadonlyMap<string, readonly string[]> {
  const all = new Map<string, readonly string[]>();
  for (const group of GROUPS) {
    const stems = group.split(' ').map(stem);
    for (const one of stems) {
      all.set(one, [...(all.get(one) ?? []), ...stems.filter((other) => other !== one)]);
    }
  }
  return all;
}
