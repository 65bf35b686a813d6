import { AdapterError } from '../../errors.ts';

const SHA256 = /^[0-9a-f]{64}$/i;

/**
 * Compares the files of a form with its `sha256` fields: none at all, unless they are required, or one for each file in
 * the same order. Throws `no_file`, `sha256_missing`, `sha256_count` or `sha256_mismatch`.
 */
export function checkHashes(
  files: readonly { readonly filename: string; readonly sha256: string | null }[],
  hashes: readonly string[],
  required: boolean,
): void {
  if (files.length === 0) throw new AdapterError('no_file');
  if (hashes.length === 0) {
    if (required) throw new AdapterError('sha256_missing');
    return;
  }
  if (hashes.length !== files.length) {
    const detail = `The form has ${files.length} files and ${hashes.length} sha256 fields; there must be one for each file, in the same order.`;
    throw new AdapterError('sha256_count', detail);
  }
  for (const [i, { filename, sha256 }] of files.entries()) {
    const sent = hashes[i] ?? '';
    if (!SHA256.test(sent)) {
      throw new AdapterError('sha256_mismatch', `The sha256 sent for ${filename} is not 64 hexadecimal digits.`);
    }
    if (sent.toLowerCase() !== sha256) {
      throw new AdapterError('sha256_mismatch', `The file ${filename} does not have the sha256 that was sent for it.`);
    }
  }
}
