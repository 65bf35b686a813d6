import { subscribe } from 'node:diagnostics_channel';
import { searchOutput } from './search.ts';

/** Routes on which the programs speak of themselves. */
const OWN_ROUTES = /^\/(healthz|health|livez|readyz|metrics|config|sources|pods|scrape|runs)(\/|\?|$)/;
const MAX_CHARS = 1 << 18;

/**
 * Whether an answer is in the words of a program: errors, and what is said of its state. Results of tools and files are
 * somebody else's, and may well hold what the upstream was sent.
 */
export function isOwnAnswer(path: string, status: number, text: string): boolean {
  if (status >= 400 || OWN_ROUTES.test(path)) return true;
  return text.includes('"error":') && !text.includes('"result":');
}

interface Request {
  readonly method: string;
  readonly origin: string | URL;
  readonly path: string;
}

interface Answer {
  readonly status: number;
  text: string;
}

/** Searches the answers of all requests that tests make with `fetch` or undici, which tell of them in these channels. */
export function searchAnswers(): void {
  const push = searchOutput('answers of HTTP requests');
  if (push === undefined) return;
  const open = new WeakMap<object, Answer>();
  const decoder = new TextDecoder();
  const finish = (request: Request): void => {
    const answer = open.get(request);
    open.delete(request);
    if (answer === undefined || !isOwnAnswer(request.path, answer.status, answer.text)) return;
    push(
      `${request.method} ${String(request.origin)}${request.path.split('?')[0]} → ${answer.status} ${answer.text}\n`,
    );
  };
  subscribe('undici:request:headers', (message) => {
    const { request, response } = message as { request: Request; response: { statusCode: number } };
    open.set(request, { status: response.statusCode, text: '' });
  });
  subscribe('undici:request:bodyChunkReceived', (message) => {
    const { request, chunk } = message as { request: Request; chunk: Uint8Array };
    const answer = open.get(request);
    if (answer !== undefined && answer.text.length < MAX_CHARS) answer.text += decoder.decode(chunk);
  });
  subscribe('undici:request:trailers', (message) => finish((message as { request: Request }).request));
  subscribe('undici:request:error', (message) => finish((message as { request: Request }).request));
}
