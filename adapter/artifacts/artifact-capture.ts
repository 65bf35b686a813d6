import { downloadOf } from '../access/wishes.ts';
import { LONGEST_TIMER_MS } from '../../lib/timer-ms.ts';
import { AdapterError } from '../errors.ts';
import type { Answer, StreamedAnswer } from '../exchange/answers/answer.ts';
import { locate, type Span } from '../exchange/scanning/json-scan.ts';
import { AFTER_LIMIT_MS } from '../limits.ts';
import { FileRefused, isFull, type OpenedFile } from '../files/keys/file-key.ts';
import { isQuota } from '../files/store/quotas.ts';
import type { FileRecord } from '../state/file-records.ts';
import { artifactMeta, LINK_REVISION, linkBlock, urlBlock } from './artifact-blocks.ts';
import { type ContentForm, contentForm, fileContent } from './artifact-content.ts';
import { OPEN_PLACE, type ResultAdditions, withAdditions } from './artifact-result.ts';
import { artifactUri } from './artifact-uri.ts';
import { leaseUntil, leaseWithoutExchange, RenewedLease } from '../uploads/file-use.ts';
import { findOutput, type FoundOutput } from './find-output.ts';
import { keepArtifact } from './keep-artifact.ts';
import type { ToolResult } from './locate-output.ts';
import { successfulResult } from './successful-result.ts';
import type { CapturedCall, ProducerOptions, ProducerSettings } from './producer-settings.ts';

/** How long before the exchange ends a capture is given up, so that its end is heard of. */
const MARGIN_MS = 5_000;

/**
 * The file of one tool call, from the pending record that was begun before the call to the artifact in the result.
 *
 *     pending ──answer──▶ capturing ──▶ kept
 *        ├───end────────────┴─ end ───▶ dropped: no record, no bytes
 *        └──leave────────────────────▶ left: taken up by another exchange, or expires with its lease
 */
export class ArtifactCapture {
  readonly #options: ProducerOptions;
  readonly #settings: ProducerSettings;
  readonly #call: CapturedCall;
  readonly #pending: FileRecord;
  /** Whether the tool was told where to write. */
  readonly #wasGiven: boolean;
  readonly #ended = new AbortController();
  readonly #renewed: RenewedLease;
  #isCapturing = false;
  /** Whether anything of it may lie in the storage. */
  #mayLie: boolean;
  #kept: FileRecord | undefined;
  /** Where the result stands in the response. */
  #at: Span | undefined;
  /** What the answer is read from. */
  #opened: OpenedFile | undefined;

  constructor(
    options: ProducerOptions,
    settings: ProducerSettings,
    call: CapturedCall,
    pending: FileRecord,
    wasGiven: boolean,
  ) {
    this.#options = options;
    this.#settings = settings;
    this.#call = call;
    this.#pending = pending;
    this.#wasGiven = wasGiven;
    this.#mayLie = wasGiven;
    this.#renewed = new RenewedLease(options.records, [pending], call.timeoutMs);
  }

  /**
   * What the client gets for the tool's response. Without a file, it is that response and a note.
   * @param at where the result stands in it
   */
  async answer(text: string, at = locate(text, ['result'])): Promise<Answer> {
    this.#at = at;
    const result = at === undefined ? undefined : successfulResult(text.slice(at.start, at.end));
    if (result === undefined) return text;
    this.#isCapturing = true;
    try {
      const file = await this.#capture(result);
      if (file === undefined) {
        if (this.#settings.mode === 'none') return text;
        return this.#with(text, { meta: problem('artifact_not_captured', NOT_FOUND) });
      }
      return await this.#withArtifact(text, file);
    } catch (error) {
      return this.#withProblem(text, error);
    } finally {
      this.#isCapturing = false;
      if (this.#ended.signal.aborted && this.#kept === undefined) await this.#drop();
    }
  }

  /** The same for a response that comes once more, whose file is an artifact already. */
  resume(text: string, file: FileRecord, at: Span): Promise<Answer> {
    this.#at = at;
    this.#kept = file;
    return this.#withArtifact(text, file);
  }

  /** Whether there is an artifact. */
  get isKept(): boolean {
    return this.#kept !== undefined;
  }

  /** The exchange is over: what has not become an artifact goes. Never fails. */
  async end(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#renewed.stop();
    const closed = this.#opened?.close();
    if (this.#kept === undefined && !this.#isCapturing) await this.#drop();
    await closed?.catch(() => undefined);
  }

  /** The call goes on without this exchange, and its tool may write until the lease ends. Never fails. */
  async leave(timeoutMs = this.#call.timeoutMs): Promise<void> {
    this.#ended.abort();
    this.#renewed.stop();
    const { records } = this.#options;
    await leaseWithoutExchange(records, [this.#pending], timeoutMs);
  }

  async #capture(result: ToolResult): Promise<FileRecord | undefined> {
    const { files, telemetry, serverId, onListChanged } = this.#options;
    const { stage } = files;
    const found = await findOutput({ ...this.#settings, stage }, this.#pending, this.#wasGiven, result);
    if (found === undefined) return undefined;
    this.#mayLie = true;
    const file = await this.#keep(found);
    // From here on it is there for everybody; a client that is gone will not have heard of it.
    if (this.#ended.signal.aborted) return undefined;
    this.#kept = file;
    telemetry.artifact({ serverId, bytes: file.sizeBytes });
    if (file.exposed) onListChanged(file);
    return file;
  }

  async #keep(found: FoundOutput): Promise<FileRecord> {
    const { createdAt } = this.#pending;
    const end = createdAt + (this.#call.timeoutMs ?? Number.POSITIVE_INFINITY) + AFTER_LIMIT_MS - MARGIN_MS;
    const left = Math.max(0, Math.min(end - this.#options.records.now(), LONGEST_TIMER_MS));
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(tooLong()), left);
    try {
      return await keepArtifact(this.#options, this.#pending, found, {
        wasGiven: this.#wasGiven,
        now: () => this.#options.records.now(),
        leaseUntil: () => Math.max(this.#pending.leaseUntil, leaseUntil(this.#options.records.now(), null)),
        signal: AbortSignal.any([this.#ended.signal, late.signal]),
      });
    } finally {
      clearTimeout(timer);
    }
  }

  async #withArtifact(text: string, file: FileRecord): Promise<Answer> {
    const { downloadUrl, artifacts } = this.#options;
    const uri = artifactUri(artifacts.uri_scheme, file);
    const mayDownload = this.#call.caller.access?.allows(downloadOf(uri)) !== false;
    const url = mayDownload ? await this.#unlessFailed(async () => downloadUrl?.(file, this.#call)) : undefined;
    const artifact = artifactMeta(file, uri, url);
    const last: string[] = [];
    const raw = this.#settings.rawOutput ? await this.#unlessFailed(() => this.#openFor(file)) : undefined;
    if (raw !== undefined) last.push(rawBlock(file, uri, raw));
    this.#opened = raw?.opened;
    if (file.exposed && this.#call.record.protocolVersion >= LINK_REVISION) last.push(linkBlock(file, uri));
    if (url !== undefined && !saysUrl(text, url)) last.push(urlBlock(file, url));
    const shown = this.#with(text, { last, meta: { artifact: JSON.stringify(artifact) } });
    return raw === undefined ? shown : withContent(shown, raw);
  }

  /** Nobody would close it once the call has ended. */
  async #openFor(file: FileRecord): Promise<RawContent | undefined> {
    const { signal } = this.#ended;
    const opened = await this.#options.files.open(file, signal);
    const form = await contentForm(opened, file.mimeType, signal);
    if (!signal.aborted) return { opened, form };
    await opened.close();
    return undefined;
  }

  /** The artifact is kept; what is only more comfortable than its URI may be missing. */
  async #unlessFailed<T>(make: () => Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await make();
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#known(error);
      return undefined;
    }
  }

  #withProblem(text: string, error: unknown): string {
    // Nobody is left to be told.
    if (this.#ended.signal.aborted) return text;
    const known = this.#known(error);
    const { telemetry, serverId } = this.#options;
    telemetry.artifactFailed({ serverId, reason: known.code });
    const meta = problem(known.code, known.message);
    if (!isQuota(known.code)) return this.#with(text, { meta });
    const block = { type: 'text', text: `${known.message} The file of the tool was not kept.` };
    return this.#with(text, { first: [JSON.stringify(block)], meta, isError: true });
  }

  #with(text: string, additions: ResultAdditions): string {
    return withAdditions(text, additions, this.#at);
  }

  #known(error: unknown): AdapterError {
    if (error instanceof FileRefused) {
      // It has changed while it was read, or its folder has gone.
      return new AdapterError('artifact_not_found', 'The file of the tool could not be read.', { cause: error });
    }
    if (isFull(error)) return new AdapterError('storage_quota', undefined, { cause: error });
    return this.#options.known(error);
  }

  async #drop(): Promise<void> {
    const { records, files, warn } = this.#options;
    try {
      const removed = await records.remove(this.#pending);
      if (this.#mayLie) await files.discard([removed ?? this.#pending], 'failed');
    } catch (error) {
      // Its lease ends, and then it expires.
      warn(`a file that was not kept could not be removed yet: ${(error as Error).message}`);
    }
  }
}

const NOT_FOUND = 'No file of the tool was found.';

const tooLong = (): AdapterError =>
  new AdapterError('storage_unavailable', 'It took too long to keep the file of the tool.');

const problem = (code: string, detail: string): Record<string, string> => ({
  artifact_error: JSON.stringify({ code, detail }),
});

interface RawContent {
  readonly opened: OpenedFile;
  readonly form: ContentForm;
}

function rawBlock({ mimeType }: FileRecord, uri: string, { opened, form }: RawContent): string {
  if (mimeType.startsWith('image/')) {
    return JSON.stringify({ type: 'image', data: '', mimeType, _meta: { size_bytes: opened.size } }).replace(
      '"data":""',
      `"data":"${OPEN_PLACE}"`,
    );
  }
  const resource = JSON.stringify({ uri, mimeType }).slice(0, -1);
  return `{"type":"resource","resource":${resource},"${form}":"${OPEN_PLACE}"}}`;
}

function withContent(text: string, { opened, form }: RawContent): StreamedAnswer {
  const at = text.indexOf(OPEN_PLACE);
  return fileContent(opened, form, text.slice(0, at), text.slice(at + OPEN_PLACE.length));
}

/** Whether the tool's own text has the URL already, as it stands in JSON. */
const saysUrl = (text: string, url: string): boolean => text.includes(JSON.stringify(url).slice(1, -1));
