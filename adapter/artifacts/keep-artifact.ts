import { posix } from 'node:path';

import { AdapterError } from '../errors.ts';
import type { StagingArea } from '../files/disk/staging-area.ts';
import type { FileStore } from '../files/store/file-store.ts';
import type { Locks } from '../files/locks/locks.ts';
import { extensionOf, MEDIA_TYPE_BYTES, mediaType } from '../files/keys/media-type.ts';
import { hashOf, startOf } from '../files/keys/opened-bytes.ts';
import { safeFilename } from '../files/keys/paths.ts';
import { releaseBytes } from '../exchange/answers/release-bytes.ts';
import { type FileKey, FileRefused, type FileWriter } from '../files/keys/file-key.ts';
import type { Quotas } from '../files/store/quotas.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { FoundOutput, TextOutput } from './find-output.ts';

const NAMELESS = 'artifact';

export interface Keeping {
  readonly records: Pick<FileRecords, 'commit'>;
  readonly files: Pick<FileStore, 'stage' | 'create' | 'secure'>;
  readonly quotas: Pick<Quotas, 'reserve'>;
  readonly locks: Pick<Locks, 'hold'>;
}

/**
 * Makes a tool's output the committed file of a pending record. What lies in its folder already keeps its place;
 * everything else is copied from what was opened and checked. `hashed`: what is written to it later is never given out. Fails with AdapterError (quotas, `storage_busy`,
 * `session_ended`), and with the reason of the signal. Closes the output. Leaves bytes behind when it fails.
 */
export async function keepArtifact(
  { records, files, quotas, locks }: Keeping,
  pending: FileRecord,
  found: FoundOutput | TextOutput,
  options: { wasGiven: boolean; hashed?: true; now: () => number; leaseUntil: () => number; signal: AbortSignal },
): Promise<FileRecord> {
  const { signal } = options;
  try {
    const size = sizeOf(found);
    const isSettled = found.kind === 'own' && isLastingName(found.filename);
    const [described] = await Promise.all([
      describe(found, options.wasGiven ? pending.filename : undefined),
      quotas.reserve(pending, size, options.leaseUntil()),
      // What else lies there is counted by no quota.
      isSettled ? files.stage.keepOnly({ ...pending, filename: found.filename }, found.file) : undefined,
    ]);
    let file: FileRecord = { ...pending, ...described, sizeBytes: size, state: 'committed', leaseUntil: 0 };
    if (found.kind !== 'own') await copy(files, file, found, signal);
    else if (!isSettled) {
      file = { ...file, filename: await renamed(files.stage, { ...file, filename: found.filename }, file.filename) };
    }
    if (!isSettled && options.wasGiven) await files.stage.keepOnly(file);
    if (options.hashed === true) file = { ...file, sha256: await hashKept(files.stage, file, signal) };
    await files.secure(file, signal);
    // Only this: copying may take long, and others may wait for the same lock by chance.
    return await locks.hold(`artifact/${file.sessionId}/${file.fileId}`, async (held) => {
      signal.throwIfAborted();
      const now = options.now();
      const kept = { ...file, lastUsedAt: now };
      const { guard } = held;
      if (await records.commit([kept], guard === undefined ? { now } : { now, guard })) return kept;
      throw new AdapterError(held.signal.aborted ? 'storage_busy' : 'session_ended');
    });
  } finally {
    if (found.kind !== 'embedded' && found.kind !== 'text') await found.file.close();
  }
}

async function hashKept(stage: StagingArea, file: FileRecord, signal: AbortSignal): Promise<string> {
  await using opened = await stage.open(file);
  if (opened.size !== file.sizeBytes)
    throw new FileRefused('changed', `${file.kind} ${file.fileId} is still written to`);
  return await hashOf(opened, signal);
}

function sizeOf(found: FoundOutput | TextOutput): number {
  if (found.kind === 'text') return found.bytes;
  return found.kind === 'embedded' ? found.output.bytes.length : found.file.size;
}

/** The name, always with an extension where the type has one, and the media type. */
async function describe(
  found: FoundOutput | TextOutput,
  wanted: string | undefined,
): Promise<Pick<FileRecord, 'filename' | 'mimeType'>> {
  if (found.kind === 'text') return { filename: found.name, mimeType: found.mimeType };
  const name = safeFilename(nameOf(found, wanted), NAMELESS);
  const declared = found.kind === 'embedded' ? found.output.mimeType : undefined;
  const mimeType = mediaType(name, await beginningOf(found), declared);
  if (posix.extname(name) !== '') return { filename: name, mimeType };
  const extension = extensionOf(mimeType) || (found.kind === 'embedded' ? '.bin' : '');
  return { filename: safeFilename(name + extension, NAMELESS), mimeType };
}

function nameOf(found: FoundOutput, wanted: string | undefined): string | undefined {
  if (found.kind === 'own') return found.filename;
  return wanted ?? (found.kind === 'embedded' ? found.output.name : posix.basename(found.file.path));
}

const beginningOf = (found: FoundOutput): Uint8Array | Promise<Uint8Array> =>
  found.kind === 'embedded' ? found.output.bytes.subarray(0, MEDIA_TYPE_BYTES) : startOf(found.file);

/** Whether a file that is called so keeps its name: it is safe, and has an extension. */
const isLastingName = (name: string): boolean => posix.extname(name) !== '' && safeFilename(name, NAMELESS) === name;

/** The better name, or the one that the file has where that is taken. */
async function renamed(stage: StagingArea, place: FileKey, better: string): Promise<string> {
  if (place.filename === better) return better;
  try {
    await stage.rename(place, better);
    return better;
  } catch (error) {
    const isSafe = safeFilename(place.filename, NAMELESS) === place.filename;
    if (error instanceof FileRefused && isSafe) return place.filename;
    throw error;
  }
}

async function copy(
  files: Pick<FileStore, 'create'>,
  file: FileRecord,
  found: Exclude<FoundOutput | TextOutput, { kind: 'own' }>,
  signal: AbortSignal,
): Promise<void> {
  const writer = await files.create(file);
  try {
    if (found.kind === 'embedded') await writer.write(found.output.bytes);
    else if (found.kind === 'text') await writeText(writer, found);
    else for await (const chunk of found.file.read({ signal })) await writer.write(chunk);
    signal.throwIfAborted();
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

async function writeText(writer: FileWriter, { pieces }: TextOutput): Promise<void> {
  for await (const piece of pieces()) {
    // A short one is a part of a buffer that others share.
    const bytes = Buffer.from(piece);
    await writer.write(bytes);
    releaseBytes(bytes);
  }
}
