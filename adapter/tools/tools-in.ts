import { elements, locate, type Span } from '../exchange/scanning/json-scan.ts';

/** A tool in a list of them. */
export interface ToolIn extends Span {
  /** Undefined where it has none. */
  readonly name: string | undefined;
}

/**
 * The tools of a `tools/list` result (JSON text), in its order.
 * @param at where their array stands, where that is known
 */
export function* toolsIn(list: string, at = locate(list, ['tools'])?.start): Generator<ToolIn> {
  for (const { start, end } of elements(list, at)) {
    const name = locate(list, ['name'], start);
    const isText = name !== undefined && list.charAt(name.start) === '"';
    yield { start, end, name: isText ? (JSON.parse(list.slice(name.start, name.end)) as string) : undefined };
  }
}
