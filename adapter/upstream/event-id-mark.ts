import { FrameSplitter } from '../exchange/scanning/sse-frames.ts';
import type { ResponseControl, ResponseHead, ResponseSink } from '../exchange/upstream.ts';
import { isEventStream } from '../exchange/headers.ts';

/**
 * Event ids of Streamable HTTP reach the client as the upstream gave them, so that any replica can resume a stream.
 * But the upstream session that replaces a lost one has never sent the events of that one, and servers answer an id
 * that they do not know with a stream on which nothing ever comes. So the ids of every upstream session but the first
 * one say which it is: `<generation>~<the upstream's id>`. The first one's, which are nearly all, cost nothing.
 */
const MARK = /^(\d{1,15})~/;

/** What the upstream session of `generation` knows the event as; undefined when it is an event of another one. */
export function ownEventId(id: string, generation: number): string | undefined {
  if (generation === 0) return id;
  const mark = MARK.exec(id);
  return mark !== null && Number(mark[1]) === generation ? id.slice(mark[0].length) : undefined;
}

/** Passes a response on with the mark of `generation` in its event ids. */
export class MarkedEventIds implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #mark: string;
  #splitter: FrameSplitter | undefined;
  #control: ResponseControl | undefined;

  constructor(sink: ResponseSink, generation: number) {
    this.#sink = sink;
    this.#mark = `${generation}~`;
  }

  onStart(control: ResponseControl): void {
    this.#control = control;
    this.#sink.onStart(control);
  }

  onHead(head: ResponseHead): void {
    if (isEventStream(head)) this.#splitter = new FrameSplitter();
    this.#sink.onHead(head);
  }

  onData(chunk: Buffer): void {
    if (this.#splitter === undefined) return this.#sink.onData(chunk);
    let frames;
    try {
      frames = this.#splitter.push(chunk);
    } catch (error) {
      this.#control?.abort();
      return this.#sink.onError(error as Error, true);
    }
    if (frames.length === 0) return;
    // An empty id is a value of its own: it means that the stream cannot be resumed. Only CR and LF end a line, though
    // to a regular expression with `m` others do, which may stand within data.
    const marked = frames.map(({ raw, id }) =>
      id === undefined || id === '' ? raw : raw.replace(/(^|[\r\n])id:( ?)/g, `$1id:$2${this.#mark}`),
    );
    this.#sink.onData(Buffer.from(marked.join('')));
  }

  onEnd(): void {
    const rest = this.#splitter?.rest ?? '';
    if (rest !== '') this.#sink.onData(Buffer.from(rest));
    this.#sink.onEnd();
  }

  onError(error: Error, sent: boolean): void {
    this.#sink.onError(error, sent);
  }
}
