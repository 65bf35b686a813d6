import { isId } from '../files/keys/paths.ts';
import type { FileKey } from '../files/keys/file-key.ts';

/** The resource URI of an artifact (specification 2.7). */
export function artifactUri(scheme: string, { sessionId, fileId, filename }: Omit<FileKey, 'kind'>): string {
  return `${scheme}sessions/${sessionId}/${fileId}/${encodeURIComponent(filename)}`;
}

/** Whether a URI is one of artifacts, whether there is such an artifact or not. */
export const isArtifactUri = (scheme: string, uri: string): boolean => uri.startsWith(`${scheme}sessions/`);

/** Undefined when it is no URI that `artifactUri` could have made. */
export function parseArtifactUri(scheme: string, uri: string): Omit<FileKey, 'kind'> | undefined {
  if (!isArtifactUri(scheme, uri)) return undefined;
  const [, sessionId = '', fileId = '', name = '', ...rest] = uri.slice(scheme.length).split('/');
  if (!isId(sessionId) || !isId(fileId) || name === '' || rest.length > 0) return undefined;
  try {
    return { sessionId, fileId, filename: decodeURIComponent(name) };
  } catch {
    return undefined;
  }
}
