import { elements, locate } from './scanning/json-scan.ts';

/** What went wrong, as an answer says that came all the same: the tool itself, or the code of a JSON-RPC error. */
export type Failure = 'tool_error' | number;

/** Where it is recorded. */
export interface RecordedAnswers {
  failure?: Failure;
  /** The tool calls of a batch, each of which has its own. */
  readonly calls?: readonly { readonly idText: string; failure?: Failure }[];
  /** The client has its responses on an event stream, and may close that. */
  isAnswered?: boolean;
  /** How long the exchange with the upstream took, in milliseconds. */
  upstreamMs?: number;
}

/** Stands in every message with a member `error` or `isError`, and in few others: inside of texts, quotes are escaped. */
const SIGN = 'rror"';
const SIGN_BYTES = Buffer.from(SIGN);
const RESULT_BYTES = Buffer.from('"result"');
/** An answer that is longer is not read; what it says of errors is looked for at its end. */
const READ_BYTES = 256 << 10;
const TAIL_BYTES = 4 << 10;
const TOOL_ERROR = /"isError"\s*:\s*true/;
const LINE_FEED = 0x0a;

/** Notes what an answer says of errors: JSON text of a message, or of an array of them. Never fails. */
export function noteAnswer(recorded: RecordedAnswers, text: string): void {
  if (!text.includes(SIGN)) return;
  if (text.length > READ_BYTES) {
    if (TOOL_ERROR.test(text.slice(-TAIL_BYTES))) recorded.failure = 'tool_error';
    return;
  }
  try {
    if (!text.trimStart().startsWith('[')) noteMessage(recorded, text);
    else for (const { start, end } of elements(text)) noteMessage(recorded, text.slice(start, end));
  } catch {
    // It is no JSON, so it says nothing.
  }
}

/** The same for the result of a tool call (JSON text). */
export function noteResult(recorded: RecordedAnswers, result: string): void {
  if (result.includes(SIGN) && saysTrue(result, ['isError'])) recorded.failure = 'tool_error';
}

/** The same for the bytes of a whole answer. */
export function noteBytes(recorded: RecordedAnswers, parts: readonly Buffer[]): void {
  if (!mentions(parts, SIGN_BYTES)) return;
  // Names and numbers are ASCII, and nothing else is read.
  noteAnswer(recorded, parts.length === 1 ? latin1(parts[0]) : latin1(Buffer.concat(parts)));
}

/** What one message says; undefined when all is well. */
function failureOf(message: string): Failure | undefined {
  const error = locate(message, ['error']);
  if (error !== undefined) {
    const code = locate(message, ['code'], error.start);
    const value = code === undefined ? Number.NaN : Number(message.slice(code.start, code.end));
    return Number.isInteger(value) ? value : 0;
  }
  return saysTrue(message, ['result', 'isError']) ? 'tool_error' : undefined;
}

function noteMessage(recorded: RecordedAnswers, message: string): void {
  const failure = failureOf(message);
  if (failure === undefined) return;
  const { calls } = recorded;
  if (calls === undefined) {
    recorded.failure = failure;
    return;
  }
  const id = locate(message, ['id']);
  const idText = id === undefined ? '' : message.slice(id.start, id.end);
  for (const call of calls) if (call.idText === idText) call.failure = failure;
}

function saysTrue(text: string, path: readonly string[]): boolean {
  const span = locate(text, path);
  return span !== undefined && text.slice(span.start, span.end) === 'true';
}

function mentions(parts: readonly Buffer[], sign: Buffer): boolean {
  const around = sign.length - 1;
  /** The end of what was seen, where the sign may have begun. */
  let before = '';
  for (const part of parts) {
    if (part.includes(sign)) return true;
    if (parts.length === 1) break;
    const across = before + latin1(part.subarray(0, around));
    if (across.includes(latin1(sign))) return true;
    const end = latin1(part.subarray(-around));
    before = end.length < around ? (before + end).slice(-around) : end;
  }
  return false;
}

const latin1 = (bytes: Buffer | undefined): string => bytes?.toString('latin1') ?? '';

/**
 * Looks into an answer that leaves as it comes, chunk by chunk. Of an event stream it keeps the line that has not ended
 * yet, which is nothing at all for most of the time.
 */
export class AnswerWatch {
  readonly #recorded: RecordedAnswers;
  readonly #isEventStream: boolean;
  /** The line, or what there is of an answer that is no event stream. */
  #kept: Buffer[] = [];
  #size = 0;

  constructor(recorded: RecordedAnswers, isEventStream: boolean) {
    this.#recorded = recorded;
    this.#isEventStream = isEventStream;
  }

  sees(chunk: Buffer): void {
    if (!this.#isEventStream) return this.#keep(chunk);
    let at = 0;
    if (this.#size > 0) {
      const end = chunk.indexOf(LINE_FEED);
      if (end === -1) return this.#keep(chunk);
      this.#keep(chunk.subarray(0, end));
      this.end();
      at = end + 1;
    }
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > at) {
      const lines = chunk.subarray(at, end);
      if (this.#recorded.isAnswered !== true && lines.includes(RESULT_BYTES)) this.#recorded.isAnswered = true;
      if (lines.includes(SIGN_BYTES)) for (const line of latin1(lines).split('\n')) this.#look(line);
      at = end;
    }
    if (at < chunk.length) this.#keep(chunk.subarray(at));
  }

  /** No more comes of the line, or of the answer. */
  end(): void {
    if (this.#size === 0) return;
    const kept = this.#kept;
    // Only answers are so long that they are not read.
    if (this.#isEventStream && (this.#size > READ_BYTES || mentions(kept, RESULT_BYTES)))
      this.#recorded.isAnswered = true;
    if (mentions(kept, SIGN_BYTES)) {
      const text = latin1(kept.length === 1 ? kept[0] : Buffer.concat(kept));
      if (this.#size <= READ_BYTES) this.#look(text);
      else if (TOOL_ERROR.test(text)) this.#recorded.failure = 'tool_error';
    }
    this.#kept = [];
    this.#size = 0;
  }

  #look(line: string): void {
    noteAnswer(this.#recorded, line.startsWith('data:') ? line.slice('data:'.length) : line);
    if (this.#isEventStream && this.#recorded.failure !== undefined) this.#recorded.isAnswered = true;
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    this.#kept.push(part);
    if (this.#size <= READ_BYTES) return;
    // Copied: a piece of a buffer keeps the whole of it in memory.
    const tail = part.length >= TAIL_BYTES ? part : Buffer.concat(this.#kept);
    this.#kept = [Buffer.from(tail.subarray(-TAIL_BYTES))];
  }
}
