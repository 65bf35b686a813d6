import { isUtf8 } from 'node:buffer';

import mime from 'mime';

/** So many bytes of a file are enough to tell what it is. */
export const MEDIA_TYPE_BYTES = 512;

const UNKNOWN = 'application/octet-stream';
/** `type/subtype` (RFC 6838, section 4.2), without parameters. */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** Where the registry's first extension is one that nobody uses. */
const USUAL_EXTENSIONS: ReadonlyMap<string, string> = new Map([['audio/mpeg', '.mp3']]);

const SIGNATURES: readonly (readonly [type: string, ...parts: (readonly [at: number, bytes: string])[]])[] = [
  ['application/pdf', [0, '%PDF-']],
  ['image/png', [0, '\x89PNG\r\n\x1a\n']],
  ['image/jpeg', [0, '\xff\xd8\xff']],
  ['image/gif', [0, 'GIF87a']],
  ['image/gif', [0, 'GIF89a']],
  ['image/webp', [0, 'RIFF'], [8, 'WEBP']],
];

/**
 * What a file is: by its first bytes, by the extension of its name, by what its maker says, and whether it is text.
 * `start` holds the first MEDIA_TYPE_BYTES bytes, or all of a shorter file.
 */
export function mediaType(filename: string, start: Uint8Array, declared?: string): string {
  const signed = signatureOf(start);
  if (signed !== undefined) return signed;
  const byName = mime.getType(filename.toLowerCase());
  if (byName !== null && filename.includes('.')) return byName;
  const essence = declared?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (MEDIA_TYPE.test(essence)) return essence;
  return isText(start) ? 'text/plain' : UNKNOWN;
}

/** The type that the first bytes of a file are known to mean; undefined for all others. */
export function signatureOf(start: Uint8Array): string | undefined {
  const bytes = start.subarray(0, MEDIA_TYPE_BYTES);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return SIGNATURES.find(([, ...parts]) => parts.every(([at, part]) => text.startsWith(part, at)))?.[0];
}

/** The extension, with its dot, that files of a type have; '' when there is none in particular. */
export function extensionOf(type: string): string {
  const usual = USUAL_EXTENSIONS.get(type);
  if (usual !== undefined) return usual;
  const extension = type === UNKNOWN ? null : mime.getExtension(type);
  return extension === null ? '' : `.${extension}`;
}

/** The value of a Content-Type header. */
export function contentType(type: string): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type;
}

function isText(start: Uint8Array): boolean {
  if (start.length === 0 || start.includes(0)) return false;
  // The last character may be cut: it has at most three bytes more.
  for (let cut = 0; cut <= 3 && cut < start.length; cut++) {
    if (isUtf8(start.subarray(0, start.length - cut))) return true;
    if (start.length < MEDIA_TYPE_BYTES) return false;
  }
  return false;
}
