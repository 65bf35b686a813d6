/**
 * `node e2e/operator/kit/load-main.ts URL`: `load.ts` as a program, for a pod. Prints a tally as a line of JSON every
 * second. Runs until it is killed.
 */
import { setInterval } from 'node:timers/promises';
import { startLoad } from './load.ts';

const TALLY_MS = 1_000;

await using load = await startLoad(process.argv[2] ?? '', { sessions: 3, pauseMs: 200 });
for await (const _ of setInterval(TALLY_MS)) console.log(JSON.stringify(load.tally()));
