import type { FileStore } from '../files/store/file-store.ts';
import { downloadQuery, sealSession } from '../files/urls/signed-url.ts';
import type { FileRecord } from '../state/file-records.ts';

export interface DownloadUrlOptions {
  /** What signs the URLs: the same on all replicas. */
  readonly secret: string;
  /** How long they are valid; rounded up to whole seconds. */
  readonly ttlSeconds: number;
  readonly files: Pick<FileStore, 'url'>;
}

/** The URL by which anybody can download an artifact for a while. `base` is the adapter's own, without a slash at the end. */
export async function downloadUrl(
  { secret, ttlSeconds: exactTtl, files }: DownloadUrlOptions,
  file: FileRecord,
  base: string,
  now: number,
): Promise<string> {
  const ttlSeconds = Math.max(1, Math.ceil(exactTtl));
  const direct = await files.url(file, { expiresInSeconds: ttlSeconds, as: 'attachment' });
  if (direct !== undefined) return direct;
  const { serverId, sessionId, fileId: artifactId, filename } = file;
  const exp = Math.floor(now / 1000) + ttlSeconds;
  const deps = [serverId, sealSession(secret, sessionId), artifactId, filename];
  const path = deps.map((part) => encodeURIComponent(part)).join('/');
  return `${base}/artifacts/${path}?${downloadQuery(secret, { serverId, sessionId, artifactId, filename, exp })}`;
}
