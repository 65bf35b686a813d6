import type { Answer } from '../exchange/answers/answer.ts';
import { type Span, splice } from '../exchange/scanning/json-scan.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { SessionKey } from '../state/state-store.ts';
import type { KeptText, TextKeeper } from './keep-text.ts';
import { Outline } from './outline.ts';
import { MAX_ARTIFACTS, planSpill } from './plan-spill.ts';
import {
  type ReadResult,
  readResult,
  type ResultSource,
  type ResultText,
  structuredAt,
  textAt,
} from './result-texts.ts';
import type { SpillSettings } from './spill-settings.ts';
import { notSpilled, type Spilled, spilledResult, type SpilledResultOptions } from './spilled-result.ts';
import type { ToolOutput } from './tool-outputs.ts';

/** The call whose result it is. */
export interface SpillCall {
  readonly tool: string;
  readonly settings: SpillSettings;
  /** Aborted once nobody waits for the result any more. */
  readonly signal: AbortSignal;
  /** What the definition of the tool says of its results. Never fails. */
  readonly output: () => Promise<ToolOutput>;
  /** The session that the artifacts shall belong to. */
  readonly home: () => Promise<SessionKey>;
  readonly takesLinks: boolean;
  readonly downloadUrl: (file: FileRecord, uri: string) => Promise<string | undefined>;
  /** Texts are about to be kept: what is held for the message counts no longer. */
  readonly release?: () => Promise<void>;
}

export interface SpillOptions {
  readonly keeper: Pick<TextKeeper, 'keep' | 'drop'>;
  /** Name of the tool that reads artifacts; undefined where clients do not see it. */
  readonly reader: string | undefined;
  readonly onSpilled: (file: FileRecord) => void;
  /** The result passes as it was. Returns what the client may know of the reason. */
  readonly onFailed: (error: unknown) => { readonly code: string; readonly message: string };
}

/** Makes artifacts of the texts that make a result longer than it may be. */
export class Spill {
  readonly #options: SpillOptions;

  constructor(options: SpillOptions) {
    this.#options = options;
  }

  /**
   * The message with a shorter result; undefined where it is not too long. What cannot be kept passes as it was, with a note.
   * @param result where the result stands in the outline of the message
   */
  async of(call: SpillCall, message: ResultSource, result: Span): Promise<Answer | undefined> {
    const { outline } = message;
    const text = outline.text.slice(result.start, result.end);
    const source = { ...message, outline: new Outline(text, outline.holes) };
    const read = readResult(text);
    if (read === undefined) return undefined;
    const tooMuch = await this.#tooMuch(call, source, read);
    if (tooMuch.length === 0) return undefined;
    const shorter = await this.#spilled(call, text, read, tooMuch);
    const whole = splice(outline.text, [{ ...result, with: shorter }]);
    return filled({ ...message, outline: new Outline(whole, outline.holes) });
  }

  async #tooMuch(call: SpillCall, source: ResultSource, read: ReadResult): Promise<ResultText[]> {
    const { overChars, previewChars, dropsStructured } = call.settings;
    const texts: ResultText[] = [];
    for (const [index, { text }] of read.blocks.entries()) {
      // oxlint-disable-next-line no-await-in-loop -- one disk, and one thread
      if (text !== undefined) texts.push(await textAt(source, index, text, previewChars));
    }
    const { structured } = read;
    const all = structured === undefined ? texts : [...texts, await structuredAt(source, structured, previewChars)];
    if (charsOf(all) <= overChars) return [];
    const { hasSchema, ownChars } = await call.output();
    return planSpill(hasSchema && !dropsStructured ? texts : all, Math.max(overChars, ownChars));
  }

  async #spilled(call: SpillCall, result: string, read: ReadResult, tooMuch: readonly ResultText[]): Promise<string> {
    const { keeper, reader, onSpilled, onFailed } = this.#options;
    const kept: KeptText[] = [];
    try {
      await call.release?.();
      const home = await call.home();
      const all: Spilled[] = [];
      for (const texts of groups(tooMuch)) {
        // oxlint-disable-next-line no-await-in-loop -- each counts in the same quotas
        const one = await keeper.keep(home, call.tool, joined(texts), call.signal);
        kept.push(one);
        // oxlint-disable-next-line no-await-in-loop -- the same
        all.push({ texts, kept: one, downloadUrl: await call.downloadUrl(one.file, one.uri) });
      }
      const { takesLinks, settings } = call;
      const options: SpilledResultOptions = { reader, takesLinks, previewChars: settings.previewChars };
      const shorter = spilledResult(result, read, all, options);
      for (const { file } of kept) onSpilled(file);
      return shorter;
    } catch (error) {
      await Promise.all(kept.map(({ file }) => keeper.drop(file)));
      if (call.signal.aborted) return result;
      const { code, message } = onFailed(error);
      return notSpilled(result, code, message);
    }
  }
}

const charsOf = (texts: readonly ResultText[]): number => texts.reduce((sum, { chars }) => sum + chars, 0);

/** Which texts become an artifact each: one does, but of very many all of the content become one. */
function groups(texts: readonly ResultText[]): ResultText[][] {
  const distinct = withoutCopy(texts);
  if (distinct.length <= MAX_ARTIFACTS) return distinct;
  const structured = distinct.filter(([text]) => text?.block === -1);
  return [distinct.flat().filter(({ block }) => block !== -1), ...structured];
}

/** Structured content that a text repeats, as the protocol asks servers to do, is one artifact with it. */
function withoutCopy(texts: readonly ResultText[]): ResultText[][] {
  const structured = texts.find(({ block }) => block === -1);
  const own = texts.filter((text) => text !== structured).map((text) => [text]);
  if (structured === undefined) return own;
  const copy = own.find(([text]) => text !== undefined && isCopy(text, structured));
  if (copy === undefined) return [...own, [structured]];
  copy.push(structured);
  return own;
}

function isCopy(text: ResultText, structured: ResultText): boolean {
  if (!text.isJson || text.bytes > MOST_COMPARED || structured.bytes > MOST_COMPARED) return false;
  const [a, b] = [inMemory(text), inMemory(structured)];
  if (a === undefined || b === undefined) return false;
  return a === b || JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
}

/** Larger ones are parsed for nothing else. */
const MOST_COMPARED = 1 << 20;

function inMemory({ pieces }: ResultText): string | undefined {
  const all = pieces();
  return Symbol.iterator in all ? [...all].join('') : undefined;
}

function joined(texts: readonly ResultText[]): Parameters<TextKeeper['keep']>[2] {
  const [first] = texts;
  const own = texts.filter(({ block }) => block !== -1);
  const parts = own.length === 0 ? texts : own;
  return {
    mimeType: parts.length === 1 && first?.isJson === true ? 'application/json' : 'text/plain',
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, parts.length - 1),
    pieces: () => joinedPieces(parts),
  };
}

async function* joinedPieces(texts: readonly ResultText[]): AsyncGenerator<string> {
  for (const [index, { pieces }] of texts.entries()) {
    if (index > 0) yield '\n';
    yield* pieces();
  }
}

/** The message with its holes filled in. */
function filled({ outline, read }: ResultSource): Answer {
  if (outline.holes.length === 0) return outline.text;
  const parts = [...outline.partsOf(outline.text)];
  const bytes = parts.reduce(
    (sum, part) => sum + (typeof part === 'string' ? Buffer.byteLength(part) : part.end - part.start),
    0,
  );
  return { bytes, parts: partsOf(parts, read) };
}

async function* partsOf(
  parts: readonly (string | Span)[],
  read: ResultSource['read'],
): AsyncGenerator<string | Buffer> {
  for (const part of parts) {
    if (typeof part === 'string') yield part;
    else yield* read(part);
  }
}
