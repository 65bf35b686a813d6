import { JsonTally } from '../../lib/json/json-tally.ts';
import { yieldToEventLoop } from '../../lib/stream/yield-to-event-loop.ts';
import { type MemoryShare, NoMemory } from '../limits/memory-budget.ts';
import { ASK_FOR_LESS, RequestFailure } from './failure.ts';

/** What V8 makes of `{}` in a list, and of a number or a string beside its characters: bytes, measured and rounded up. */
const COST_OF_A_LIST = 72;
const COST_OF_A_VALUE = 32;

/**
 * Takes the memory for the values of an answer before it is parsed. Its bytes say little: 16 MiB of `{}` become 370 MB.
 * They are counted where they are kept, or where the worst that these bytes can be does not fit in.
 *
 * @param isKept whether values outlive their page
 * @param what names the request
 * @returns what the values hold together with their texts; where nothing is kept, 0
 * @throws RequestFailure when there is not that much; the reason of `signal` when that aborted
 */
export async function takeForValues(
  text: string,
  memory: MemoryShare,
  isKept: boolean,
  what: string,
  signal: AbortSignal,
): Promise<number> {
  const isThere = memory.takeNow(text.length * COST_OF_A_LIST);
  if (isThere && !isKept) return 0;
  const bytes = await yieldToEventLoop(costOfValues(text, memory.most));
  try {
    if (!isThere) await memory.take(bytes, signal);
    return isKept ? bytes + text.length : 0;
  } catch (error) {
    if (!(error instanceof NoMemory)) throw error;
    throw new RequestFailure('too_large', `${what}: ${error.message}; ${ASK_FOR_LESS}`);
  }
}

/** Counts no further than to `most`. */
function* costOfValues(text: string, most: number): Generator<undefined, number> {
  const tally = new JsonTally();
  for (;;) {
    const goesOn = tally.read(text);
    const bytes = tally.lists * COST_OF_A_LIST + tally.commas * COST_OF_A_VALUE;
    if (!goesOn || bytes > most) return bytes;
    yield;
  }
}
