/** Random numbers from 0 to 1 that are the same in every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SPACES = ['', '', '', ' ', '\n', '\t', '\r\n', '  '];
const NUMBERS = ['0', '-0', '1', '-17', '1.50', '1e5', '2E-3', '12345678901234567890', '-9007199254740993'];
const STRINGS = ['', 'a', 'b', 'id', 'a b', '😀', 'é', '{', '}', '[', ']', ':', ',', '/', '\u2028'];
const ESCAPES = [
  String.raw`\"`,
  String.raw`\\`,
  String.raw`\/`,
  String.raw`\n`,
  String.raw`\u0061`,
  String.raw`\ud800`,
];

/** JSON text with everything in it that its grammar allows: white space, escapes, duplicate keys, large numbers. */
export function generateJson(random: () => number, depth = 5): string {
  const pick = (from: readonly string[]): string => from[Math.floor(random() * from.length)] ?? '';
  const space = (): string => pick(SPACES);
  const string = (): string => `"${pick(STRINGS)}${random() < 0.3 ? pick(ESCAPES) : ''}${pick(STRINGS)}"`;
  const list = (item: () => string): string => Array.from({ length: Math.floor(random() * 5) }, item).join(',');
  const value = (): string => `${space()}${generateJson(random, depth - 1)}${space()}`;
  const kind = random();
  if (depth > 0 && kind < 0.45)
    return `${space()}{${list(() => `${space()}${string()}${space()}:${value()}`) || space()}}`;
  if (depth > 0 && kind < 0.7) return `${space()}[${list(value) || space()}]${space()}`;
  if (kind < 0.8) return pick(['true', 'false', 'null']);
  return kind < 0.9 ? pick(NUMBERS) : string();
}
