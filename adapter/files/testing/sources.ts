import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileRecord } from '../../state/file-records.ts';
import type { OpenedFile } from '../keys/file-key.ts';

/** Files in a temporary folder, as what is sent to object storage. */
export class Sources implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(): Promise<Sources> {
    return new Sources(await mkdtemp(join(tmpdir(), 'sources-')));
  }

  async of(bytes: Buffer | string): Promise<Pick<OpenedFile, 'size' | 'read'> & { readonly path: string }> {
    const path = join(this.#folder, newId());
    await writeFile(path, bytes);
    const { size } = await stat(path);
    return { path, size, read: ({ start = 0, end, signal } = {}) => createReadStream(path, { start, end, signal }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The record of a committed upload with these bytes. */
export function recordOf(bytes: Buffer | string, changes: Partial<FileRecord> = {}): FileRecord {
  return {
    kind: 'upload',
    serverId: 'files',
    sessionId: newId(),
    fileId: newId(),
    state: 'committed',
    filename: 'report.pdf',
    mimeType: 'application/pdf',
    sizeBytes: Buffer.byteLength(bytes),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    toolName: null,
    exposed: true,
    createdAt: 0,
    lastUsedAt: 0,
    leaseUntil: 0,
    ...changes,
  };
}

export async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await collected(stream));
}

export async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

const newId = (): string => randomBytes(16).toString('hex');
