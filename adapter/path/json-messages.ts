import { KeptParts } from '../../lib/stream/kept-parts.ts';
import { AdapterError } from '../errors.ts';
import { EnvelopeScan } from '../exchange/scanning/envelope-scan.ts';
import { classifyJson } from '../exchange/classify-json.ts';
import type { Refusal } from '../exchange/scanning/refusal.ts';
import { renameReserved, withoutReserved } from '../exchange/scanning/reserved-meta.ts';
import { MAX_ANSWER_BYTES, UNCOUNTED_BYTES, WHOLE_ANSWER_BYTES } from '../limits.ts';
import { failed } from './ending.ts';
import type { BodyReader, Reading } from './reading.ts';
import { ReplyMessage } from './reply-message.ts';

/**
 * An answer that is one whole body.
 *
 *     collect ──end──▶ one message
 *        └──large, and nobody reads it──▶ pass: an open message, chunk by chunk
 */
export class JsonMessages implements BodyReader {
  readonly #reading: Reading;
  readonly #parts = new KeptParts();
  /** Of what passes chunk by chunk. */
  #passing: EnvelopeScan | undefined;
  /** A large answer that has to be read before it passes, though nobody asked for it. */
  #isReadWhole = false;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  push(chunk: Buffer): void {
    if (this.#passing !== undefined) return this.#pass(this.#passing, chunk);
    const reading = this.#reading;
    this.#parts.push(chunk);
    const { size } = this.#parts;
    if (size > UNCOUNTED_BYTES && !reading.count(size)) return;
    if (!reading.reads && !this.#isReadWhole && size > WHOLE_ANSWER_BYTES && this.#startsPassing()) return;
    if (size <= MAX_ANSWER_BYTES) return;
    const error = new AdapterError('upstream_failed', 'The answer of the upstream server is too large.');
    reading.abort(failed(error));
  }

  end(): Promise<void> | undefined {
    if (this.#passing !== undefined) return this.#reading.finish('ok');
    const message = this.#whole();
    if (this.#reading.isOver) return undefined;
    const outcome = this.#reading.head.status < 400 ? 'ok' : 'upstream_failed';
    const pending = message && this.#reading.message(message);
    if (pending === undefined) return this.#reading.finish(outcome);
    return pending.then(() => this.#reading.finish(outcome));
  }

  /** The message; undefined where there is none, or none that may pass. */
  #whole(): ReplyMessage | undefined {
    const reading = this.#reading;
    const { operation, head } = reading;
    const { awaited } = operation;
    const all = this.#parts.all;
    if (this.#parts.size === 0) return undefined;
    if (operation.idTexts.length === 0 && head.headers['content-type']?.startsWith('text/') === true) {
      return new ReplyMessage('opaque', all);
    }
    const isBytes = !reading.reads;
    const text = this.#parts.whole().toString(isBytes ? 'latin1' : 'utf8');
    const scan = new EnvelopeScan(isBytes);
    scan.push(text);
    const outcome = classifyJson(scan, head.status, awaited);
    if (outcome === 'pass') return new ReplyMessage('opaque', all);
    if (outcome !== 'answer' && outcome !== 'unsolicited') return this.#refuse(outcome);
    // A session is opened by an answer that says so with its status as well.
    if ((operation.defersHead && head.status >= 300) || (scan.isArray && !operation.takesUnsolicited)) {
      return this.#refuse('kind');
    }
    if (outcome === 'unsolicited' && !operation.takesUnsolicited) return this.#refuse('unasked');
    // Nothing more can come.
    awaited.seeAll();
    const cleared = scan.reserved === undefined ? text : withoutReserved(text);
    const bytes = cleared === text ? all : [Buffer.from(cleared, isBytes ? 'latin1' : 'utf8')];
    const kind = outcome === 'answer' ? 'response' : 'unsolicited';
    return new ReplyMessage(kind, bytes, { scan, text: isBytes ? undefined : cleared });
  }

  #refuse(refusal: Refusal): undefined {
    this.#reading.refuse(refusal);
  }

  /** False: it has to be read as a whole before it leaves. */
  #startsPassing(): boolean {
    const reading = this.#reading;
    const { operation } = reading;
    const scan = new EnvelopeScan(true);
    for (const chunk of this.#parts.all) {
      scan.push(chunk.toString('latin1'));
      if (scan.reserved !== undefined) this.#isReadWhole = true;
    }
    const problem = scan.problem ?? (scan.isArray && !operation.takesUnsolicited ? 'kind' : undefined);
    if (problem !== undefined) {
      reading.refuse(problem);
      return true;
    }
    // It may be a list that was asked for elsewhere.
    if (scan.begunId !== undefined && !operation.isGet && !operation.awaited.awaits(scan.begunId)) {
      this.#isReadWhole = true;
    }
    if (this.#isReadWhole || scan.isComplete) return false;
    this.#passing = scan;
    const begun = this.#parts.all;
    this.#parts.clear();
    reading.count(0);
    // What passes is not waited for: whoever writes it holds the upstream back.
    void reading.message(new ReplyMessage('response', begun, { isOpen: true }));
    return true;
  }

  #pass(scan: EnvelopeScan, chunk: Buffer): void {
    const reading = this.#reading;
    scan.push(chunk.toString('latin1'));
    for (const { start, end } of scan.reserved ?? []) renameReserved(chunk, start, end);
    const { head, operation } = reading;
    const outcome = scan.problem ?? (scan.isComplete ? classifyJson(scan, head.status, operation.awaited) : 'answer');
    if (outcome !== 'answer' && outcome !== 'pass')
      return reading.breakOff(outcome === 'unsolicited' ? 'unasked' : outcome);
    void reading.data(chunk, false);
  }
}
