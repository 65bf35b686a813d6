import type { Path } from '../../../lib/json/tree.ts';
import type { YamlSource } from './yaml-source.ts';

/** Plain texts that YAML 1.1, as the original reads it, takes for something else than YAML 1.2 does. */
const DIFFERENT = new RegExp(
  `^(${[
    // True and false; here texts.
    'yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF',
    // Octal numbers; here decimal ones.
    '[-+]?0[0-7_]*[1-9_][0-7_]*',
    // Binary numbers, numbers with underscores, and with 60 as their base; here texts.
    '[-+]?0b[01_]+',
    String.raw`[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?`,
    String.raw`[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`,
    // Texts; here numbers.
    String.raw`[-+]?[0-9]+[eE][-+]?[0-9]+`,
    String.raw`[-+]?([0-9]+\.[0-9]*|\.[0-9]+)[eE][0-9]+`,
    '0o[0-7]+',
  ].join('|')})$`,
);

/** Whether anything in a file could be such a text: most files need no closer look. */
export const mayDiffer = (text: string): boolean =>
  /(?:^|[\s:[{,-])(?:[-+]?\.?\d[\d_.]*[_:eEob]|[-+]?0\d|yes|no|on|off)/im.test(text);

/** The paths below a place whose values the original reads as something else. */
export function readDifferently(value: unknown, at: Path, source: Pick<YamlSource, 'plainText'>): Path[] {
  if (typeof value === 'object' && value !== null) {
    const children = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
    return children.flatMap(([key, child]) => readDifferently(child, [...at, key], source));
  }
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  const text = source.plainText(at);
  return text !== undefined && DIFFERENT.test(text) ? [at] : [];
}
