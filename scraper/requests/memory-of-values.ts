import { countValues } from '../../crds/runtime/json-limits.ts';
import { type MemoryShare, NoMemory } from '../memory-budget.ts';
import { ASK_FOR_LESS, RequestFailure } from './failure.ts';

/** What V8 makes of `{}` in a list, and of a number or a string beside its characters: bytes, measured and rounded up. */
const COST_OF_A_LIST = 72;
const COST_OF_A_VALUE = 32;

/**
 * Takes the memory for the values of an answer before it is parsed. Its bytes say little: 16 MiB of `{}` become 370 MB.
 * They are counted only where the worst that these bytes can be does not fit in.
 *
 * @param what names the request
 * @throws RequestFailure when there is not that much; the reason of `signal` when that aborted
 */
export async function takeForValues(
  text: string,
  memory: MemoryShare,
  what: string,
  signal: AbortSignal,
): Promise<void> {
  if (memory.takeNow(text.length * COST_OF_A_LIST)) return;
  const { lists, commas } = countValues(text);
  try {
    await memory.take(lists * COST_OF_A_LIST + commas * COST_OF_A_VALUE, signal);
  } catch (error) {
    if (!(error instanceof NoMemory)) throw error;
    throw new RequestFailure('too_large', `${what}: ${error.message}; ${ASK_FOR_LESS}`);
  }
}
