import { hash } from 'node:crypto';
import { locate } from '../exchange/json-scan.ts';

/**
 * Hash of the arguments of a call, as their JSON text came, so that whoever has them can show that it was these. Undefined
 * without arguments.
 *
 * @param at where the message begins in the text, for batches
 */
export function argumentsSha256(text: string, at = 0): string | undefined {
  const span = locate(text, ['params', 'arguments'], at);
  return span === undefined ? undefined : hash('sha256', text.slice(span.start, span.end), 'hex');
}
