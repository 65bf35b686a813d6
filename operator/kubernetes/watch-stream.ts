import type { KubernetesObject, WatchEvent } from './kubernetes.ts';

/** A line of a watch that is no event: what it said is lost, so the state must be listed again. */
export class MalformedEventError extends Error {
  override readonly name = 'MalformedEventError';
}

/** One JSON object per line, as the API server streams them; a chunk may end anywhere, also within a character. */
export async function* watchEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder();
  // Collected rather than concatenated: an object of megabytes comes in hundreds of chunks.
  let parts: string[] = [];
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
      parts.push(text.slice(0, end));
      const line = parts.join('');
      parts = [];
      text = text.slice(end + 1);
      if (line.trim() !== '') yield parseWatchEvent(line);
    }
    if (text !== '') parts.push(text);
  }
  const rest = parts.join('') + decoder.decode();
  if (rest.trim() !== '') throw new MalformedEventError('the watch ended within an event');
}

export function parseWatchEvent(line: string): WatchEvent {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (error) {
    throw new MalformedEventError(`no JSON: ${line.slice(0, 100)}`, { cause: error });
  }
  const { type, object } = (event ?? {}) as { type?: unknown; object?: Record<string, unknown> };
  if (typeof object === 'object' && object !== null) {
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
      case 'BOOKMARK':
        if (typeof object['metadata'] === 'object' && object['metadata'] !== null) {
          return { type, object: object as unknown as KubernetesObject };
        }
        break;
      case 'ERROR':
        // A Status object.
        return {
          type,
          code: typeof object['code'] === 'number' ? object['code'] : 0,
          message: typeof object['message'] === 'string' ? object['message'] : 'no message',
        };
      default:
    }
  }
  throw new MalformedEventError(`no watch event: ${line.slice(0, 100)}`);
}
