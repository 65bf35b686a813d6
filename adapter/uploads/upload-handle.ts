const PLACE = /^sessions\/([0-9a-f]{32})\/([0-9a-f]{32})(?:\/[^/]*)?$/;

/** What an upload handle names: `{uri_scheme}sessions/{session_id}/{upload_id}`, perhaps with a file name after it. */
export function parseHandle(
  handle: string,
  uriScheme: string,
): { readonly sessionId: string; readonly fileId: string } | undefined {
  if (!handle.startsWith(uriScheme)) return undefined;
  const [, sessionId, fileId] = PLACE.exec(handle.slice(uriScheme.length)) ?? [];
  return sessionId === undefined || fileId === undefined ? undefined : { sessionId, fileId };
}
