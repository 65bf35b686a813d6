import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

export interface EndedStream {
  readonly requestId: string;
  readonly sessionId: string | undefined;
  /** Where the client takes up the stream again; some forget it when they are not told once more. */
  readonly lastEventId: string | undefined;
}

/**
 * Answers a GET with an event stream that is over, on a connection that ends with it: the client opens it again, on another
 * connection. Clients do that as often as streams end, but give up after two or three errors, and a connection that is
 * closed without an answer is one.
 */
export function sendEndedStream(reply: ServerResponse, { requestId, sessionId, lastEventId }: EndedStream): void {
  if (reply.destroyed || reply.writableEnded) return;
  const headers: OutgoingHttpHeaders = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    connection: 'close',
    'x-request-id': requestId,
  };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  reply.writeHead(200, headers);
  // As header values are read.
  reply.end(lastEventId === undefined ? undefined : `id: ${lastEventId}\ndata: \n\n`, 'latin1');
}
