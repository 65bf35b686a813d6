import { Refusal } from '../../lib/http/answer.ts';
import type { Explained } from '../explain/explain.ts';

/** The API that is asked may be slow, and whoever asked waits. */
const EXPLAIN_MS = 20_000;
const USUAL_RECORDS = 5;
const MOST_RECORDS = 100;

export type Explain = (name: string, limit: number, signal: AbortSignal) => Promise<Explained>;

/** Explains sources one after the other: each fetches what a scrape would, in the memory beside running ones. */
export class ExplainRoute {
  readonly #explain: Explain;
  #isRunning = false;

  constructor(explain: Explain) {
    this.#explain = explain;
  }

  /** `?limit=`: records that are shown. @throws Refusal */
  async answer(name: string, query: URLSearchParams): Promise<{ source: string; fine: boolean; text: string }> {
    const limit = limitOf(query.get('limit'));
    if (this.#isRunning) throw new Refusal(409, 'Another source is being explained');
    this.#isRunning = true;
    const signal = AbortSignal.timeout(EXPLAIN_MS);
    try {
      const { text, isFine } = await this.#explain(name, limit, signal);
      return { source: name, fine: isFine, text };
    } catch (error) {
      if (signal.aborted) throw new Refusal(504, `The source did not answer within ${EXPLAIN_MS / 1000} s`);
      throw error;
    } finally {
      this.#isRunning = false;
    }
  }
}

function limitOf(text: string | null): number {
  if (text === null) return USUAL_RECORDS;
  const value = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= MOST_RECORDS) return value;
  throw new Refusal(400, `limit must be a whole number from 0 to ${MOST_RECORDS}`);
}
