import { AdapterError } from '../../errors.ts';
import type { UploadNonces } from '../../state/upload-nonces.ts';

export const used = (): AdapterError =>
  new AdapterError(
    'upload_url_invalid',
    'The upload URL has been used already, or it is not valid; ask for a new one.',
  );

/**
 * Does what a nonce permits once, and uses it up, whether that succeeds or not. Only when it fails with a status of 503
 * is the nonce good for another try, which such an answer invites to; nobody else can have used it meanwhile. Fails with `upload_url_invalid` when there is no such nonce any more.
 */
export async function useOnce<T>(
  nonce: string,
  parts: {
    readonly nonces: Pick<UploadNonces, 'consume' | 'issue'>;
    readonly known: (error: unknown) => AdapterError;
    readonly clock: () => number;
  },
  work: () => Promise<T>,
): Promise<T> {
  const { nonces, known, clock } = parts;
  const permission = await nonces.consume(nonce, clock());
  if (permission === undefined) throw used();
  try {
    return await work();
  } catch (error) {
    const failure = known(error);
    // Where the store is what failed, the client has to ask for another URL.
    if (failure.status === 503) await nonces.issue(nonce, permission, clock()).catch(() => false);
    throw failure;
  }
}
