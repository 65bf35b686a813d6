import type { Path } from '../json/tree.ts';

/** What stands in the place of a secret. */
export const REDACTED = '<redacted>';

/** Parts of names that hardly ever stand for anything but a credential; sources of regular expressions. */
export const SECRET_PARTS: readonly string[] = [
  'authorization',
  'token',
  'secret',
  'password',
  'passwd',
  'passphrase',
  'cookie',
  'credential',
  'signature',
  'api[-_]?key',
  'access[-_]?key',
  'private[-_]?key',
];
/** Names that are secret only as a whole. */
const SECRET_NAME = /^(sig|mcp_(upload|artifact)_sig)$/i;
const SECRET_PART = new RegExp(SECRET_PARTS.join('|'), 'i');
/** Words that often stand for a credential in a header or a query, and for something else elsewhere. */
const SECRET_WORD =
  /(^|[^a-z])(auth|bearer|code|credentials?|jwt|keys?|pass|pat|pwd|secrets?|session|sig|signature|token)([^a-z]|$)/;

/** Whether a field of this name holds a credential, wherever it stands. */
export const isSecretName = (name: string): boolean => SECRET_PART.test(name) || SECRET_NAME.test(name);

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
