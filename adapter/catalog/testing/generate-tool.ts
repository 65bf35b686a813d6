import { generateJson } from '../../exchange/testing/generate-json.ts';

const SPACES = ['', '', ' ', '\n  '];
const TEXTS = [
  '"a"',
  '"a\u200Bb"',
  String.raw`"\u200b\"\\"`,
  '"\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}"',
  '""',
  '7',
  'null',
];
const OF_TOOLS = ['name', 'title', 'description', 'annotations', 'inputSchema', 'outputSchema', '_meta', 'x'];
const OF_SCHEMAS = OF_TOOLS.concat(
  'properties',
  '$defs',
  'dependencies',
  'items',
  'not',
  'anyOf',
  'prefixItems',
).concat(['default', 'enum', 'const', 'examples']);

/** A tool's definition (JSON text) with keywords in places where they mean something, and in others. No key is there twice. */
export function generateTool(random: () => number): string {
  const pick = (from: readonly string[]): string => from[Math.floor(random() * from.length)] ?? '';
  const space = (): string => pick(SPACES);
  const list = (items: readonly string[]): string => items.map((item) => `${space()}${item}${space()}`).join(',');
  const object = (keys: readonly string[], value: (key: string) => string): string => {
    const some = new Set(Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(keys)));
    return `{${list(Array.from(some, (key) => `"${key}"${space()}:${space()}${value(key)}`))}}`;
  };
  const schema = (depth: number): string => {
    const one = (): string => (depth > 0 && random() < 0.5 ? schema(depth - 1) : pick(['true', '[]', '"s"', ...TEXTS]));
    return object(OF_SCHEMAS, (key) => {
      if (/^(?:title|description)$/.test(key) && random() < 0.8) return pick(TEXTS);
      if (/^(?:properties|\$defs|dependencies)$/.test(key)) return object(OF_SCHEMAS, one);
      if (/^(?:anyOf|prefixItems|examples|enum)$/.test(key)) return `[${list([one(), one()])}]`;
      if (/^(?:items|not|default|const|x)$/.test(key)) return one();
      return generateJson(random, 2);
    });
  };
  return object(OF_TOOLS, (key) => {
    if (/^(?:name|title|description)$/.test(key)) return random() < 0.8 ? pick(TEXTS) : schema(1);
    if (key === 'annotations') return object(OF_TOOLS, () => pick(TEXTS));
    return schema(3);
  });
}
