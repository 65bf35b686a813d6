import { z } from 'zod';

import { downloadOf } from '../access/wishes.ts';
import { parseArtifactUri } from '../artifacts/artifact-uri.ts';
import { type Pattern, patternOf } from '../catalog/pattern.ts';
import type { OwnTool } from '../catalog/catalog.ts';
import { errorResult } from '../exchange/edited-call.ts';
import { FileRefused } from '../files/keys/file-key.ts';
import type { FileStore } from '../files/store/file-store.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { PreparedCall, ToolCall, ToolStep } from '../tools/visible/tool-step.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import { toolPrefix } from '../uploads/upload-url-tool.ts';
import { matchingLines, type NoPart, pointedPart, textPart, type TextPart } from './artifact-parts.ts';

export interface ReaderToolOptions {
  readonly serverId: string;
  /** `artifacts.uri_scheme` */
  readonly uriScheme: string;
  /** `artifacts.ttl_seconds`, in milliseconds. */
  readonly ttlMs: number | null;
  readonly records: Pick<FileRecords, 'use' | 'now'>;
  readonly files: Pick<FileStore, 'open'>;
  /** Whether the caller may use the files of a session. */
  readonly mayUse: (call: ToolCall, sessionId: string) => Promise<boolean>;
}

const DEFAULT_LIMIT = 8_000;
const MAX_LIMIT = 100_000;
const MAX_PATTERN_CHARS = 1_000;
const MAX_POINTER_CHARS = 1_000;
const MAX_URI_CHARS = 4_096;

const Arguments = z.strictObject({
  uri: z.string({ error: 'uri must be the URI of an artifact' }).max(MAX_URI_CHARS, { error: 'uri is too long' }),
  offset: z.int({ error: 'offset must be an integer' }).min(0, { error: 'offset must not be negative' }).default(0),
  limit: z
    .int({ error: 'limit must be an integer' })
    .min(1, { error: 'limit must be at least 1' })
    .max(MAX_LIMIT, { error: `limit must be at most ${MAX_LIMIT}` })
    .default(DEFAULT_LIMIT),
  grep: z
    .string({ error: 'grep must be a regular expression' })
    .min(1, { error: 'grep must not be empty' })
    .max(MAX_PATTERN_CHARS, { error: `grep must have at most ${MAX_PATTERN_CHARS} characters` })
    .optional(),
  json_pointer: z
    .string({ error: 'json_pointer must be a string' })
    .max(MAX_POINTER_CHARS, { error: `json_pointer must have at most ${MAX_POINTER_CHARS} characters` })
    .optional(),
});
type Arguments = z.output<typeof Arguments>;

export const readerToolName = (serverId: string): string => `${toolPrefix(serverId)}_read_artifact`;

/** `{prefix}_read_artifact`: models can call tools, and few hosts let them read resources. */
export function readerTool(options: ReaderToolOptions): OwnTool & { readonly step: ToolStep } {
  const name = readerToolName(options.serverId);
  return {
    name,
    definition: JSON.stringify(definitionOf(name, options.uriScheme)),
    step: { needsHome: false, prepare: (call) => answer(options, call) },
  };
}

function definitionOf(name: string, scheme: string): Record<string, unknown> {
  const bytes = 'in bytes, moved to the next whole character';
  return {
    name,
    title: 'Read an artifact',
    description:
      'Reads a part of a text that was too long for a result, or of another artifact that is text. Give the URI from the ' +
      'result; then go on with next_offset, search lines with grep, or pick a value of JSON with json_pointer.',
    inputSchema: {
      type: 'object',
      properties: {
        uri: { type: 'string', description: `The URI of the artifact (${scheme}…).` },
        offset: { type: 'integer', minimum: 0, default: 0, description: `Where to begin, ${bytes}.` },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_LIMIT,
          default: DEFAULT_LIMIT,
          description: `How much to read, ${bytes}.`,
        },
        grep: {
          type: 'string',
          maxLength: MAX_PATTERN_CHARS,
          description: 'Regular expression (RE2): lines from offset on that match, each as "offset: line".',
        },
        json_pointer: {
          type: 'string',
          maxLength: MAX_POINTER_CHARS,
          description: 'RFC 6901, such as /items/0/name: the value there; offset and limit are within it.',
        },
      },
      required: ['uri'],
      additionalProperties: false,
    },
    annotations: { title: 'Read an artifact', readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  };
}

async function answer(options: ReaderToolOptions, call: ToolCall): Promise<PreparedCall> {
  const read = Arguments.safeParse(call.request.params['arguments'] ?? {});
  if (!read.success) return refused(read.error.issues.map(({ message }) => message).join('; '));
  const args = read.data;
  const pattern = args.grep === undefined ? undefined : patternOf(args.grep, false);
  if (pattern !== undefined && 'fault' in pattern) return refused(`grep ${pattern.fault}`);
  if (args.grep !== undefined && args.json_pointer !== undefined) {
    return refused('Use either grep or json_pointer.');
  }
  const file = await find(options, call, args.uri);
  if (file === undefined) return refused(NOT_FOUND);
  try {
    await using opened = await options.files.open(file, call.signal);
    if (args.offset > opened.size) return refused(`offset is beyond the end: the artifact has ${opened.size} bytes.`);
    const { offset, limit } = args;
    if (pattern !== undefined) {
      const search = { source: args.grep ?? '', pattern };
      return { kind: 'result', result: { bytes: undefined, parts: foundParts(options, call, file, args, search) } };
    }
    const part =
      args.json_pointer === undefined
        ? await textPart(opened, offset, limit)
        : await pointedPart(opened, args.json_pointer, offset, limit);
    return 'problem' in part ? refused(problem(part, file)) : result(part, file, args);
  } catch (error) {
    if (error instanceof FileRefused) return refused(NOT_FOUND);
    throw error;
  }
}

const NOT_FOUND = 'There is no such artifact: it has expired, belongs to another session, or the URI is not complete.';

/** What belongs to another session, or may not be downloaded, is not there. */
async function find(options: ReaderToolOptions, call: ToolCall, uri: string): Promise<FileRecord | undefined> {
  const { serverId, uriScheme, records, ttlMs, mayUse } = options;
  const named = parseArtifactUri(uriScheme, uri);
  if (named === undefined || call.caller.access?.allows(downloadOf(uri)) === false) return undefined;
  if (!(await mayUse(call, named.sessionId))) return undefined;
  const key = { serverId, sessionId: named.sessionId, kind: 'artifact', fileId: named.fileId } as const;
  const file = await records.use(key, { now: records.now(), ttlMs });
  return file?.filename === named.filename ? file : undefined;
}

function problem({ problem: why }: NoPart, { mimeType, sizeBytes }: FileRecord): string {
  return `${why} The artifact is ${mimeType} of ${sizeBytes} bytes.`;
}

function result({ text, offset, nextOffset }: TextPart, file: FileRecord, { uri }: Arguments): PreparedCall {
  const status = statusOf(file, nextOffset, '');
  const texts = text === '' ? [status] : [text, status];
  const content = texts.map((one) => ({ type: 'text', text: one }));
  return { kind: 'result', result: JSON.stringify({ content, _meta: metaOf(file, uri, offset, nextOffset) }) };
}

/** The result of a search, which may take a while: what is found leaves when it is. */
async function* foundParts(
  { files }: ReaderToolOptions,
  { signal, record }: ToolCall,
  file: FileRecord,
  { uri, offset, limit }: Arguments,
  { source, pattern }: { readonly source: string; readonly pattern: Exclude<Pattern, { fault: string }> },
): AsyncGenerator<string> {
  // Opened again: of an answer that nobody takes nothing is left open.
  await using opened = await files.open(file, signal);
  yield isWorkspace(record) ? '{"resultType":"complete","content":[' : '{"content":[';
  let isFirst = true;
  let next: number | null = null;
  for await (const found of matchingLines(opened, source, pattern, { offset, limit, signal })) {
    if ('line' in found) {
      yield isFirst ? '{"type":"text","text":"' : String.raw`\n`;
      yield JSON.stringify(found.line).slice(1, -1);
      isFirst = false;
    } else next = found.nextOffset;
  }
  if (!isFirst) yield '"},';
  const status = statusOf(file, next, isFirst ? 'No line matches. ' : '');
  yield `${JSON.stringify({ type: 'text', text: status })}],"_meta":${JSON.stringify(metaOf(file, uri, offset, next))}}`;
}

function statusOf({ sizeBytes }: FileRecord, nextOffset: number | null, found: string): string {
  const where = nextOffset === null ? 'This is the end.' : `Go on with offset ${nextOffset}.`;
  return `[${found}${where} The artifact has ${sizeBytes} bytes.]`;
}

const metaOf = (file: FileRecord, uri: string, offset: number, nextOffset: number | null): object => ({
  artifact_part: { artifact_uri: uri, size_bytes: file.sizeBytes, offset, next_offset: nextOffset },
});

const refused = (text: string): PreparedCall => ({ kind: 'result', result: errorResult(text) });
