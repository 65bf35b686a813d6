import { isUtf8 } from 'node:buffer';

import { extensionOf, signatureOf } from '../files/keys/media-type.ts';
import { safeFilename } from '../files/keys/paths.ts';

/** A file that stands in an argument itself. */
export interface DataFile {
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

/** A sentence whose subject is the URI. */
export interface DataProblem {
  readonly problem: string;
}

const SCHEME = 'data:';
const BASE64 = ';base64';
/** The media type and its parameters are short. */
const MAX_HEAD_CHARS = 1000;
const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const TEXT = /^text\/|[/+](?:json|xml|yaml|javascript)$/;
/** Types whose first bytes are known. */
const SIGNED = new Set(['application/pdf', 'image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export const isDataUri = (value: string): boolean => value.slice(0, SCHEME.length).toLowerCase() === SCHEME;

/**
 * The file of a `data:` URI (RFC 2397). Base64 is that of RFC 4648, section 4: the padding may be missing, nothing else may
 * stand in it. The parameter `name` or `filename` says how it is called. The type must be what the bytes say.
 */
export function dataFile(uri: string, maxBytes: number): DataFile | DataProblem {
  const comma = uri.indexOf(',');
  if (comma === -1 || comma > MAX_HEAD_CHARS) return { problem: 'has no comma between its type and its content' };
  const head = uri.slice(SCHEME.length, comma);
  const isBase64 = head.toLowerCase().endsWith(BASE64);
  const [declared = '', ...parameters] = (isBase64 ? head.slice(0, -BASE64.length) : head).split(';');
  const mimeType = declared === '' ? 'text/plain' : declared.toLowerCase();
  if (!TYPE.test(mimeType)) return { problem: 'names no media type such as image/png' };
  const bytes = isBase64 ? fromBase64(uri, comma + 1, maxBytes) : fromPercent(uri, comma + 1, maxBytes);
  if ('problem' in bytes) return bytes;
  const problem = typeProblem(mimeType, bytes);
  if (problem !== undefined) return { problem };
  const name = parameters.flatMap(nameIn).at(-1);
  return { filename: safeFilename(name, `data${extensionOf(mimeType) || '.bin'}`), mimeType, bytes };
}

function fromBase64(uri: string, start: number, maxBytes: number): Buffer | DataProblem {
  let end = uri.length;
  while (end > start && end > uri.length - 2 && uri.charAt(end - 1) === '=') end--;
  const chars = end - start;
  const size = Math.floor((chars * 3) / 4);
  if (size > maxBytes) return tooLarge(maxBytes);
  const isPadded = end < uri.length;
  if (chars % 4 === 1 || (isPadded && (uri.length - start) % 4 !== 0)) return NOT_BASE64;
  const bytes = Buffer.from(uri.slice(start, end), 'base64');
  // The decoder passes over what it does not know, and takes the letters of URLs too.
  const isExact = bytes.length === size && bytes.toString('base64').slice(0, chars) === uri.slice(start, end);
  return isExact ? bytes : NOT_BASE64;
}

const NOT_BASE64: DataProblem = { problem: 'is not base64 (RFC 4648, section 4; no white space)' };

function fromPercent(uri: string, start: number, maxBytes: number): Buffer | DataProblem {
  // An escape of three characters is one byte.
  if ((uri.length - start) / 3 > maxBytes) return tooLarge(maxBytes);
  const content = uri.slice(start);
  if (/%(?![0-9a-f]{2})/i.test(content)) return { problem: 'has a % that begins no escape' };
  const bytes = Buffer.from(
    Buffer.from(content)
      .toString('latin1')
      .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  return bytes.length > maxBytes ? tooLarge(maxBytes) : bytes;
}

const tooLarge = (maxBytes: number): DataProblem => ({
  problem: `has more than ${maxBytes} bytes, the most that a file may have`,
});

function typeProblem(mimeType: string, bytes: Buffer): string | undefined {
  const found = signatureOf(bytes);
  if (found !== undefined && found !== mimeType) return `says ${mimeType}, but its content is ${found}`;
  if (found === undefined && SIGNED.has(mimeType)) return `says ${mimeType}, but its content is something else`;
  return TEXT.test(mimeType) && !isUtf8(bytes) ? `says ${mimeType}, but its content is no text (UTF-8)` : undefined;
}

function nameIn(parameter: string): string[] {
  const [key = '', value = ''] = parameter.split('=');
  if (!['name', 'filename'].includes(key.trim().toLowerCase())) return [];
  try {
    return [decodeURIComponent(value.replaceAll('"', ''))];
  } catch {
    return [];
  }
}
