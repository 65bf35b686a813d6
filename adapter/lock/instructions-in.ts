import { members } from '../exchange/scanning/json-scan.ts';

/**
 * What a server says of itself in a result of `initialize` or `server/discover` (JSON text): JSON text, undefined where it
 * says nothing. Of several, parsers differ on which counts: those are no JSON text.
 */
export function instructionsIn(greeting: string): string | undefined {
  const all = Array.from(members(greeting)).filter(({ key }) => key === 'instructions');
  return all.length === 0 ? undefined : all.map(({ start, end }) => greeting.slice(start, end)).join(' ');
}
