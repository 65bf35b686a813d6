/** Random numbers in [0, 1) that a seed determines (mulberry32), so that a failure can be run again. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `NAME=7 npx vitest …` runs a test again with the seed that it printed. */
export function seedFrom(variable: string): number {
  const given = process.env[variable];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
  console.log(`${variable}=${seed}`);
  return seed;
}
