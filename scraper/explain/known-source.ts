import { nearest } from '../../crds/config/load/nearest.ts';
import type { ScraperConfig, Source } from '../../crds/config/scraper-file/scraper.ts';

/** The configuration has no such source; the message says which ones may be meant. */
export class UnknownSource extends Error {
  override readonly name = 'UnknownSource';
}

const MOST_NEAR = 3;
const MOST_LISTED = 20;

/** @throws UnknownSource */
export function knownSource({ sources }: ScraperConfig, name: string): Source {
  const found = sources.find((source) => source.name === name);
  if (found !== undefined) return found;
  throw new UnknownSource(
    `there is no source ${JSON.stringify(name)}${hint(
      name,
      sources.map((source) => source.name),
    )}`,
  );
}

function hint(name: string, names: readonly string[]): string {
  if (names.length === 0) return '; the configuration has none';
  const near: string[] = [];
  for (let rest = names; near.length < MOST_NEAR; rest = rest.filter((one) => !near.includes(one))) {
    const next = nearest(name, rest);
    if (next === undefined) break;
    near.push(next);
  }
  if (near.length > 0) return `; did you mean ${near.join(' or ')}?`;
  const more = names.length > MOST_LISTED ? `, and ${names.length - MOST_LISTED} more` : '';
  return `; there are ${names.slice(0, MOST_LISTED).join(', ')}${more}`;
}
