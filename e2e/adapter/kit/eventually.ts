import { expect } from 'vitest';

/** For what becomes true without an event that a test could await. Gives up after 10 s: the machine may be busy. */
export const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: 10_000, interval: 25 });
