import { elements, locate } from '../../exchange/scanning/json-scan.ts';
import { MAX_QUESTIONS, MAX_QUESTIONS_CHARS } from '../../limits.ts';

const URLS_WANTED = -32042;
const MAX_URLS = 16;

/** A question of the upstream. */
export interface Asked {
  readonly idText: string;
  readonly method: string;
  /** JSON text. */
  readonly params: string;
}

/** What an upstream has asked in one call, and nobody has answered yet. */
export class AskedQuestions {
  readonly #byKey = new Map<string, Asked>();
  /** Of all parameters so far. */
  #chars = 0;

  /** False: that is too much at once. */
  add(asked: Asked): boolean {
    let key = String(JSON.parse(asked.idText) as string | number);
    // The number 1 and the text "1" are two ids.
    while (this.#byKey.has(key)) key += "'";
    this.#byKey.set(key, asked);
    this.#chars += asked.params.length;
    return this.#byKey.size <= MAX_QUESTIONS && this.#chars <= MAX_QUESTIONS_CHARS;
  }

  /** JSON texts of the upstream's ids, by key. */
  get ids(): Record<string, string> {
    return Object.fromEntries(Array.from(this.#byKey, ([key, { idText }]) => [key, idText]));
  }

  /** `inputRequests` of a result (JSON text). */
  get requests(): string {
    const all = Array.from(this.#byKey, ([key, { method, params }]) => {
      return `${JSON.stringify(key)}:{"method":${JSON.stringify(method)},"params":${params}}`;
    });
    return `{${all.join(',')}}`;
  }

  /**
   * The responses (JSON texts) to those that have a result (JSON text) by their key; they are asked no longer. One that was asked
   * since then has a round of its own.
   */
  answer(results: Readonly<Record<string, string>>): string[] {
    const answers: string[] = [];
    for (const [key, { idText }] of this.#byKey) {
      const result = results[key];
      if (result === undefined) continue;
      this.#byKey.delete(key);
      answers.push(`{"jsonrpc":"2.0","id":${idText},"result":${result}}`);
    }
    return answers;
  }
}

/** A request of the upstream (JSON text); undefined for anything else. */
export function questionIn(text: string): Asked | undefined {
  const id = locate(text, ['id']);
  const method = locate(text, ['method']);
  if (id === undefined || method === undefined) return undefined;
  const params = locate(text, ['params']);
  return {
    idText: text.slice(id.start, id.end),
    method: String(JSON.parse(text.slice(method.start, method.end))),
    params: params === undefined ? '{}' : text.slice(params.start, params.end),
  };
}

/**
 * The pages (JSON texts of parameters of `elicitation/create`) that an error demands to be opened first (MCP 2025-11-25, -32042);
 * undefined for anything else.
 */
export function urlQuestions(text: string): string[] | undefined {
  if (!text.includes(String(URLS_WANTED))) return undefined;
  const code = locate(text, ['error', 'code']);
  if (code === undefined || Number(text.slice(code.start, code.end)) !== URLS_WANTED) return undefined;
  const list = locate(text, ['error', 'data', 'elicitations']);
  if (list === undefined) return undefined;
  return Array.from(elements(text, list.start), ({ start, end }) => text.slice(start, end)).slice(0, MAX_URLS);
}
