import { expect } from 'vitest';

const PATIENCE_MS = 15_000;
const INTERVAL_MS = 5;

/** Reads again and again until what follows is true of it; fails after 15 s. */
export const eventually = <T>(read: () => T, intervalMs = INTERVAL_MS) =>
  expect.poll(read, { timeout: PATIENCE_MS, interval: intervalMs });
