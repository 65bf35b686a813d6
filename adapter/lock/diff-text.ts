import { styleText } from 'node:util';
import { withEscapes } from '../catalog/visible-text.ts';
import type { FieldChange, LockChange } from './lock-diff.ts';

/** Nobody reviews more on a screen; of the whole text there is the digest. */
const MAX_SHOWN_CHARS = 10_000;

const MARKS = { changed: '~', new: '+', removed: '-' } as const;
const COLOURS = { changed: 'yellow', new: 'green', removed: 'red' } as const;
const WORDS = {
  tools: 'tool',
  prompts: 'prompt',
  resourceTemplates: 'resource template',
  instructions: 'instructions',
};

/**
 * What has changed, for people: server by server, field by field, with what the upstream says now. What one cannot see
 * is written as `\u{200b}`, and in names everything beyond ASCII, so that no letter passes for another.
 */
export function diffText(changes: readonly LockChange[], isColoured: boolean): string {
  const paint: Paint = (style, text) => (isColoured ? styleText(style, text, { validateStream: false }) : text);
  const lines = Array.from(
    Map.groupBy(changes, ({ server }) => server),
    ([server, ofServer]) => [
      paint('bold', withEscapes(server)),
      ...ofServer.flatMap((change) => linesOf(change, paint)),
    ],
  );
  return lines.map((ofServer) => `${ofServer.join('\n')}\n`).join('\n');
}

type Paint = (style: 'bold' | 'dim' | 'red' | 'green' | 'yellow', text: string) => string;

function linesOf({ kind, name, state, fields }: LockChange, paint: Paint): string[] {
  const what = kind === 'instructions' ? WORDS[kind] : `${WORDS[kind]} ${shownName(name)}`;
  return [
    paint(COLOURS[state], `  ${MARKS[state]} ${what}${state === 'changed' ? '' : ` (${state})`}`),
    ...fields.flatMap((field) => fieldLines(field, paint)),
  ];
}

function fieldLines({ field, locked, found, now, why }: FieldChange, paint: Paint): string[] {
  const digests = `${locked ?? 'none'} → ${found ?? 'none'}`;
  const head = why === undefined ? `${field}  ${paint('dim', digests)}` : `${field} ${shown(why)}`;
  const lines = now === undefined ? [] : nowLines(now);
  return [`      ${head}`, ...lines.map((line) => paint('green', `        + ${line}`))];
}

/** A text as its lines, anything else as JSON with one member to a line. */
function nowLines(json: string): string[] {
  const value: unknown = JSON.parse(json);
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
  const lines = text.slice(0, MAX_SHOWN_CHARS).split('\n').map(withEscapes);
  const left = text.length - MAX_SHOWN_CHARS;
  return left > 0 ? [...lines, `… and ${left} characters more`] : lines;
}

const shown = (text: string): string => withEscapes(text.slice(0, MAX_SHOWN_CHARS));

/** A name in which everything but the visible characters of ASCII is written by its number. */
export const shownName = (name: string): string =>
  name === ''
    ? '(without a name)'
    : name.replace(/[^!-~]/gu, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
