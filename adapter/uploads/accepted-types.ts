import { posix } from 'node:path';

/**
 * Whether a file is of a kind that a tool takes: `image/*`, `application/pdf`, or an extension such as `.pdf`, as in the
 * attribute `accept` of HTML. Null takes any.
 */
export function isAccepted(
  accept: readonly string[] | null,
  { filename, mimeType }: { readonly filename: string; readonly mimeType: string },
): boolean {
  if (accept === null) return true;
  const extension = posix.extname(filename).toLowerCase();
  return accept.some((one) => {
    const kind = one.toLowerCase();
    if (kind.startsWith('.')) return kind === extension;
    if (kind === '*/*') return true;
    return kind.endsWith('/*') ? mimeType.startsWith(kind.slice(0, -1)) : kind === mimeType;
  });
}
