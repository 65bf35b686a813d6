/** The session's own stream, as opposed to the stream that answers one request. */
export const STREAM_CARRIER = 'GET';

/** The stream that answers the request with this id (JSON text). */
export function requestCarrier(idText: string): string {
  return `r:${idText}`;
}

/** An SSE event id that says on which stream the event stood, so that any replica can take it up again. */
export function eventId(carrier: string, logId: string): string {
  return `${encodeURIComponent(carrier)}|${logId}`;
}

/** Undefined for an id that is not one of ours. */
export function parseEventId(id: string): { carrier: string; id: string } | undefined {
  const bar = id.lastIndexOf('|');
  if (bar <= 0 || !/^\d+-\d+$/.test(id.slice(bar + 1))) return undefined;
  try {
    return { carrier: decodeURIComponent(id.slice(0, bar)), id: id.slice(bar + 1) };
  } catch {
    return undefined;
  }
}
