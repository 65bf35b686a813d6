import { isObject } from '../../../lib/json/json-object.ts';
import { SpelledNumber } from '../../../lib/json/exact-number.ts';
import type { Path } from '../../../lib/json/tree.ts';
import type { YamlSource } from './yaml-source.ts';

/** Of other spellings, such as `0x1F`, JSON knows nothing, and an API most likely neither. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The document, with the numbers of `extraArgs` as they are written where another spelling would be sent: `1.0`, `1e3`. */
export function withSpelledNumbers({ value, plainText }: Pick<YamlSource, 'value' | 'plainText'>): unknown {
  const spelled = (node: unknown, path: Path): unknown => {
    if (typeof node === 'number') {
      const text = plainText(path);
      return text === undefined || text === String(node) || !JSON_NUMBER.test(text) ? node : new SpelledNumber(text);
    }
    if (Array.isArray(node)) return node.map((item, index) => spelled(item, [...path, index]));
    return isObject(node) ? mapped(node, (item, key) => spelled(item, [...path, key])) : node;
  };
  return within(value, 'sources', (sources) =>
    Array.isArray(sources)
      ? sources.map((source, index) =>
          within(source, 'scrape', (scrape) =>
            within(scrape, 'extraArgs', (args) => spelled(args, ['sources', index, 'scrape', 'extraArgs'])),
          ),
        )
      : sources,
  );
}

const mapped = (node: Record<string, unknown>, change: (item: unknown, key: string) => unknown) =>
  Object.fromEntries(Object.entries(node).map(([key, item]) => [key, change(item, key)]));

const within = (node: unknown, at: string, change: (item: unknown) => unknown): unknown =>
  isObject(node) && Object.hasOwn(node, at) ? mapped(node, (item, key) => (key === at ? change(item) : item)) : node;
