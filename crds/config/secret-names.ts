import type { Path } from './tree.ts';

/** What stands in the place of a secret. */
export const REDACTED = '<redacted>';

const SECRET_WORD =
  /(^|[^a-z])(auth|authorization|bearer|code|cookies?|credentials?|jwt|keys?|pass|passwd|passphrase|password|pat|pwd|secrets?|session|sig|signature|token)([^a-z]|$)/;
const SECRET_PART = /(authorization|token|secret|password|passwd|cookie|credential|api-?key|access-?key|private-?key)/;

/** Whether a header or a query parameter of this name usually carries a credential. Rather too often than too seldom. */
export function looksSecret(name: string): boolean {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
  return SECRET_WORD.test(words) || SECRET_PART.test(words);
}

/** Whether the field at this path of a configuration holds a secret, so that messages must not show its value. */
export function isSecretPath(path: Path): boolean {
  const [parent, name] = path.slice(-2).map(String);
  if (parent !== undefined && /(^|_)headers$|Headers$/.test(parent)) return true;
  const field = name ?? parent ?? '';
  if (/^(data|key|keyValue)$/.test(field)) return true;
  return /(^|_)(token|secret|password|passwd|credentials?|api_?key)$/i.test(field);
}
