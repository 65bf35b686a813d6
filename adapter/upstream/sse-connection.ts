import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { Dispatcher } from 'undici';

import { MOST_OF_A_TURN, PAUSE_MS, READ_AHEAD_BYTES, SmallParts } from '../../lib/stream/small-parts.ts';
import { FrameSplitter } from '../exchange/scanning/sse-frames.ts';

/** Handed on before others get their turn; each takes some ten microseconds. */
const FRAMES_OF_A_TURN = 512;

interface Callbacks {
  /** One at a time, in order: the next is delivered when this one's promise has settled. */
  onMessage(message: string): Promise<void>;
  onClose(): void;
}

/** The one GET stream of a session of an `sse` upstream. */
export class SseConnection {
  readonly #callbacks: Callbacks;
  readonly #abort = new AbortController();
  #closed = false;

  constructor(callbacks: Callbacks) {
    this.#callbacks = callbacks;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Opens the stream and waits for its `endpoint` event. Returns the URL to post messages to, or the status of a
   * refusal. Rejects when nothing comes in time or when the endpoint lies on another origin.
   */
  async open(
    dispatcher: Dispatcher,
    origin: string,
    path: string,
    headers: readonly string[],
    timeoutMs: number,
  ): Promise<{ endpoint: string } | { status: number }> {
    const timer = setTimeout(
      () => this.#abort.abort(new Error(`no endpoint event within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    try {
      const response = await dispatcher.request({
        path,
        method: 'GET',
        headers: streamHeaders(headers),
        signal: this.#abort.signal,
        highWaterMark: READ_AHEAD_BYTES,
      });
      const type = response.headers['content-type'];
      if (response.statusCode !== 200 || !String(type).startsWith('text/event-stream')) {
        await response.body.dump();
        return { status: response.statusCode === 200 ? 502 : response.statusCode };
      }
      const endpoint = Promise.withResolvers<string>();
      void this.#pump(response.body, origin, path, endpoint);
      return { endpoint: await endpoint.promise };
    } catch (error) {
      this.#closed = true;
      this.#abort.abort();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #pump(
    body: AsyncIterable<Uint8Array>,
    origin: string,
    path: string,
    endpoint: PromiseWithResolvers<string>,
  ): Promise<void> {
    const frames = new FrameSplitter();
    const small = new SmallParts(MOST_OF_A_TURN);
    let count = 0;
    try {
      for await (const chunk of body) {
        if (small.reached(chunk.length)) await delay(PAUSE_MS);
        for (const { event, data } of frames.push(chunk)) {
          // Messages may be short, and handed on without ever having to wait.
          if (++count % FRAMES_OF_A_TURN === 0) await nextTurn();
          if (data === undefined) continue;
          if (event === 'endpoint') endpoint.resolve(sameOrigin(data, origin, path));
          else await this.#callbacks.onMessage(data);
        }
      }
      endpoint.reject(new Error('the upstream server closed its event stream before the endpoint event'));
    } catch (error) {
      endpoint.reject(error);
    }
    this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#abort.abort();
    this.#callbacks.onClose();
  }
}

/** Messages, and the credentials with them, go nowhere but to the origin that was configured. */
function sameOrigin(endpoint: string, origin: string, path: string): string {
  const url = URL.parse(endpoint, origin + path);
  if (url === null || url.origin !== origin) throw new Error('the endpoint event names another origin; it is refused');
  return url.href;
}

function streamHeaders(headers: readonly string[]): string[] {
  const out = ['accept', 'text/event-stream'];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? '';
    const lower = name.toLowerCase();
    if (lower !== 'accept' && lower !== 'content-type') out.push(name, headers[i + 1] ?? '');
  }
  return out;
}
