import { locate } from './json-scan.ts';
import { readFrame } from './sse-frames.ts';

/**
 * Whether JSON text is the response to the only request with these ids, as far as its id says; the rest of it is not
 * read. Of text that is cut off, only an id that stands before the cut is found.
 */
export function isOwnResponse(text: string, idTexts: readonly string[]): boolean {
  const id = locate(text, ['id']);
  return id !== undefined && idTexts.length === 1 && text.slice(id.start, id.end) === idTexts[0];
}

/** The same for the beginning of an event-stream frame. */
export function beginsOwnResponse(frame: string, idTexts: readonly string[]): boolean {
  const { data } = readFrame(frame);
  return data !== undefined && isOwnResponse(data, idTexts);
}
