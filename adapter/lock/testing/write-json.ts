/** How a value is written: one of the many texts that mean it. */
export interface Spelling {
  /** The keys of an object at this depth, the first level being 0, in their order. */
  readonly order?: (keys: readonly string[], depth: number) => readonly string[];
  /** What stands between tokens. */
  readonly space?: string;
  readonly string?: (text: string, isKey: boolean) => string;
  readonly number?: (value: number) => string;
}

/** JSON text of a value of JSON. */
export function writeJson(value: unknown, spelling: Spelling, depth = 0): string {
  const { order = (keys) => keys, space = '', string = (text) => JSON.stringify(text), number = String } = spelling;
  const tokens = (open: string, parts: readonly string[], close: string): string =>
    [open, parts.join(`${space},${space}`), close].join(space);
  if (typeof value === 'string') return string(value, false);
  if (typeof value === 'number') return number(value);
  if (Array.isArray(value))
    return tokens(
      '[',
      value.map((item) => writeJson(item, spelling, depth + 1)),
      ']',
    );
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = order(Object.keys(value), depth).map(
    (key) => `${string(key, true)}${space}:${space}${writeJson(Reflect.get(value, key), spelling, depth + 1)}`,
  );
  return tokens('{', parts, '}');
}
