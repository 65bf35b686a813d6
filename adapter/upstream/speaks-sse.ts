import { isEventStream } from '../exchange/headers.ts';
import { FrameSplitter } from '../exchange/scanning/sse-frames.ts';
import type { ResponseControl, Upstream } from '../exchange/upstream.ts';

/** The first event of the older transport says where messages go (MCP 2024-11-05, HTTP with SSE). */
const FIRST_EVENT = 'endpoint';
const MAX_BYTES = 64 << 10;
const OF_POST = new Set(['accept', 'content-type']);

/**
 * Whether an address that does not answer `initialize` answers a GET like the older transport `sse`. Never fails.
 * @param headers those of a POST
 */
export function speaksSse(upstream: Upstream, headers: readonly string[], timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const splitter = new FrameSplitter();
  let control: ResponseControl | undefined;
  let bytes = 0;
  const end = (answer: boolean): void => {
    clearTimeout(timer);
    control?.abort();
    resolve(answer);
  };
  const timer = setTimeout(() => end(false), timeoutMs);
  upstream.send(
    {
      method: 'GET',
      session: undefined,
      headers: [...forGet(headers), 'accept', 'text/event-stream'],
      body: undefined,
    },
    {
      onStart: (started) => (control = started),
      onHead: (head) => {
        if (!isEventStream(head) || head.status !== 200) end(false);
      },
      onData: (chunk) => {
        bytes += chunk.length;
        if (splitter.push(chunk).some(({ event }) => event === FIRST_EVENT)) end(true);
        else if (bytes > MAX_BYTES) end(false);
      },
      onEnd: () => end(false),
      onError: () => end(false),
    },
  );
  return promise;
}

const forGet = (headers: readonly string[]): string[] =>
  headers.filter((_, i) => !OF_POST.has((headers[i - (i % 2)] ?? '').toLowerCase()));
