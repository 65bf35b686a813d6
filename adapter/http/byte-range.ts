import parseRange from 'range-parser';

export type ByteRange =
  | { readonly kind: 'whole' }
  /** Both ends included. */
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

/** How the file is known to a client that continues a download. */
export interface Validators {
  readonly etag: string;
  /** As an HTTP date. */
  readonly lastModified: string;
}

const WHOLE: ByteRange = { kind: 'whole' };

/**
 * Which bytes a GET asks for (RFC 9110, section 14). Several ranges, other units, and what nobody understands are
 * answered with the whole, as is a range of a file that has changed since (`If-Range`).
 */
export function byteRange(
  headers: { readonly range?: string | undefined; readonly 'if-range'?: string | string[] | undefined },
  size: number,
  { etag, lastModified }: Validators,
): ByteRange {
  const { range, 'if-range': ifRange } = headers;
  if (range === undefined || !/^bytes=/i.test(range)) return WHOLE;
  if (ifRange !== undefined && ifRange !== etag && ifRange !== lastModified) return WHOLE;
  const ranges = parseRange(size, range);
  if (ranges === -1) return { kind: 'unsatisfiable' };
  if (ranges === -2 || ranges.length !== 1 || range.includes(',')) return WHOLE;
  const [part] = ranges;
  return part === undefined ? WHOLE : { kind: 'part', start: part.start, end: part.end };
}
