import type { ServerResponse } from 'node:http';

/** How an answer can go wrong. */
export type Fault =
  /** Another status, perhaps with headers. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The right answer, but late. */
  | { readonly delayMs: number }
  /** Another body with status 200. */
  | { readonly body: string }
  /** No answer, until `JsonApi.release`: then the right one. */
  | 'hang'
  /** A body that ends in the middle, as one that is complete. */
  | 'truncated'
  /** A body that the connection ends in the middle of. */
  | 'cut'
  /** A connection that ends without an answer. */
  | 'reset';

const BUSY: Fault = { status: 429, headers: { 'retry-after': '1' } };
/** What APIs do at random; `hang` only ends at the time limit of the client. */
const USUAL_FAULTS: readonly Fault[] = [
  { status: 500 },
  { status: 503 },
  BUSY,
  'truncated',
  'cut',
  'reset',
  'hang',
  { body: '<html>maintenance</html>' },
  { body: '{"data":{"items":"none"}}' },
];

/** Each request goes wrong with this chance. */
export const atRandom =
  (random: () => number, chance: number, faults: readonly Fault[] = USUAL_FAULTS) =>
  (): Fault | undefined =>
    random() < chance ? faults[Math.floor(random() * faults.length)] : undefined;

/** Writes the half of an answer. */
export function writeHalf(response: ServerResponse, text: string, fault: 'truncated' | 'cut'): void {
  const half = text.slice(0, Math.ceil(text.length / 2));
  if (fault === 'truncated') response.end(half);
  // The body has no length of its own, so that only its end in chunks would show that it is complete.
  else response.write(half, () => response.socket?.destroy());
}
