import type { FileRecord } from '../../state/file-records.ts';

/** The JSON text of a successful upload. A single file also stands alone, for clients that send no more than one. */
export function uploadAnswer(
  serverId: string,
  sessionId: string,
  files: readonly FileRecord[],
  handle: (file: FileRecord) => string,
): string {
  const uploads = files.map((file) => ({ upload_handle: handle(file), ...described(file) }));
  const [first] = files;
  return JSON.stringify({
    server_id: serverId,
    session_id: sessionId,
    uploads,
    upload_handles: files.map(handle),
    count: files.length,
    ...(files.length === 1 && first !== undefined
      ? { upload_handle: handle(first), upload: described(first) }
      : undefined),
  });
}

function described({ fileId, filename, mimeType, sizeBytes, sha256 }: FileRecord): Record<string, unknown> {
  return { upload_id: fileId, filename, mime_type: mimeType, size_bytes: sizeBytes, sha256 };
}
