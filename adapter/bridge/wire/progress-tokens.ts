import { locate, splice } from '../../exchange/scanning/json-scan.ts';

/** Progress tokens of one call (JSON texts). */
export interface ProgressTokens {
  /** As the server knows it; undefined: whichever it says. */
  readonly own?: string;
  /** As the client knows it. */
  readonly client: string;
}

/** A notification (JSON text) with the token that the client knows, where it has that of the call. */
export function withClientToken(text: string, { own, client }: ProgressTokens): string {
  const span = locate(text, ['params', 'progressToken']);
  if (span === undefined || (own !== undefined && text.slice(span.start, span.end) !== own)) return text;
  return splice(text, [{ ...span, with: client }]);
}
