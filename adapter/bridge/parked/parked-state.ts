import type { ExchangePosition } from '../../exchange/upstream.ts';
import { openText, sealText } from '../../sealed-text.ts';

/** What the adapter's own `requestState` of a bridged call says (MCP 2026-07-28, multi round-trip requests). */
export interface ParkedState {
  readonly serverId: string;
  readonly principal: string;
  readonly method: string;
  /** Of the parameters, without what a retry adds. */
  readonly digest: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** How often the call has asked, this time included. */
  readonly round: number;
  /** JSON texts of the ids of the questions, by their keys. */
  readonly ids: Readonly<Record<string, string>>;
  /** Where it can be taken up by another replica; undefined: nowhere. */
  readonly position?: ExchangePosition | undefined;
  /** The call. */
  readonly exchange: string;
  /** It waits for no answers: it has ended, and is made anew. */
  readonly isEnded: boolean;
}

/** Marks the adapter's own states; any other is none of its business. */
const PREFIX = 'mcp-adapter-bridge.1.';
const PURPOSE = 'questions of a bridged call';
const MAX_CHARS = 64 << 10;

export const isParkedState = (state: unknown): state is string => typeof state === 'string' && state.startsWith(PREFIX);

export const sealParked = (secret: string, state: ParkedState): string =>
  PREFIX + sealText(secret, PURPOSE, JSON.stringify(state));

/** Undefined: it was not made here, or was changed. */
export function openParked(secret: string, sealed: string): ParkedState | undefined {
  if (sealed.length > MAX_CHARS) return undefined;
  const text = openText(secret, PURPOSE, sealed.slice(PREFIX.length));
  return text === undefined ? undefined : (JSON.parse(text) as ParkedState);
}
