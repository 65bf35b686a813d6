import { createCipheriv, createHash } from 'node:crypto';

/** Bytes that nobody compresses or guesses, the same ones for the same seed on every machine. */
export function contentOf(seed: string, size: number): Buffer {
  const key = createHash('sha256').update(seed).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

export const sha256Of = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
