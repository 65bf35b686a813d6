import { locate } from '../../exchange/scanning/json-scan.ts';

/**
 * The arguments of a call, as their JSON text came. Undefined without arguments.
 *
 * @param at where the message begins in the text, for batches
 */
export function argumentsText(text: string, at = 0): string | undefined {
  const span = locate(text, ['params', 'arguments'], at);
  return span === undefined ? undefined : text.slice(span.start, span.end);
}
