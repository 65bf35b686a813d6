import { createHash } from 'node:crypto';

import type { OpenedFile } from './file-key.ts';
import { MEDIA_TYPE_BYTES } from './media-type.ts';

/** The SHA-256 of an open file, hexadecimal. */
export async function hashOf(file: Pick<OpenedFile, 'read'>, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of file.read({ reused: true, ...(signal !== undefined && { signal }) })) hash.update(part);
  return hash.digest('hex');
}

/** As many bytes from its beginning as tell what kind of file it is. */
export async function startOf(file: Pick<OpenedFile, 'read'>, signal?: AbortSignal): Promise<Buffer> {
  const parts: Buffer[] = [];
  const range = { end: MEDIA_TYPE_BYTES - 1, ...(signal !== undefined && { signal }) };
  for await (const part of file.read(range)) parts.push(part);
  return Buffer.concat(parts);
}
