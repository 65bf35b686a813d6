import { folded, locate, members, splice } from '../exchange/scanning/json-scan.ts';
import { withFileArgument } from '../uploads/file-arguments.ts';

/** The path that the client would have the tool write to; undefined when it says none. */
export function wantedPath(params: Readonly<Record<string, unknown>>, argument: string): string | undefined {
  const { arguments: given } = params;
  if (typeof given !== 'object' || given === null || !Object.hasOwn(given, argument)) return undefined;
  const value = (given as Record<string, unknown>)[argument];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/**
 * The body of a tools/call with this path as the argument, whatever stood there. Undefined when the arguments are no
 * object. Every other byte stays.
 */
export function withOutputPath(body: string, argument: string, path: string): string | undefined {
  const value = JSON.stringify(path);
  const given = locate(body, ['params', 'arguments']);
  if (given === undefined || body.charAt(given.start) !== '{') return withFileArgument(body, [argument], value);
  // Of two members some parsers take the first, and some take `Path` for `path`: none may lead elsewhere.
  const own = [...members(body, given.start)].filter(({ key }) => folded(key) === folded(argument));
  const edited = splice(
    body,
    own.map(({ start, end }) => ({ start, end, with: value })),
  );
  return own.some(({ key }) => key === argument) ? edited : withFileArgument(edited, [argument], value);
}
