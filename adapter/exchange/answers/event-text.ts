import type { Frame } from '../scanning/sse-frames.ts';
import type { Part } from './stream-answer.ts';

const LEAST_RETRY_MS = 1000;
const MOST_RETRY_MS = 3_600_000;

/** No JSON has these outside of escapes, but for line feeds between values. */
// oxlint-disable-next-line no-control-regex -- that is what is looked for
const NOT_OF_JSON = /[\0-\x08\x0b-\x1f]/;
/** Some clients end a line at some of these, others show or obey them. In JSON they stand within strings only. */
const CONTROLS = /[\x7f-\x9f\u2028\u2029]/;
const ALL_CONTROLS = new RegExp(CONTROLS, 'g');
const OF_NO_ID = /[\p{Cc}\u2028\u2029]/u;
/** The same as bytes of UTF-8, a character each (latin1), and what ends a line for everybody. */
const CONTROL_BYTES = /[\n\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]/;
const ALL_CONTROL_BYTES = new RegExp(CONTROL_BYTES, 'g');
const BEGUN_CONTROL = /(?:\xc2|\xe2\x80?)$/;

/** Whether clients take an event of this name for a message. */
export const isMessageEvent = (event: string | undefined): boolean =>
  event === undefined || event === '' || event === 'message';

/** JSON text that no client splits into lines or fields of its own. The same where none would. Undefined: it is no JSON. */
export function asEventData(json: string): string | undefined {
  if (NOT_OF_JSON.test(json)) return undefined;
  return CONTROLS.test(json) ? json.replace(ALL_CONTROLS, escaped) : json;
}

/** Whether bytes of JSON text (latin1) hold what no JSON has. */
export const isNotOfJson = (bytes: string): boolean => NOT_OF_JSON.test(bytes);

/** A frame written anew, of what makes a difference to a message only; '' when there is nothing of it. */
export function eventText(frame: Frame, data: string | undefined): string {
  if (data === undefined || data === '') {
    const fields = positionFields(frame);
    // Some clients take an event without a line of data for none.
    return fields === '' ? '' : `${fields}${data === '' ? 'data:\n' : ''}\n`;
  }
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data;
  return `${openEvent(frame)}${lines}\n\n`;
}

/** The same up to its data, which follows in parts (EventBytes) and ends with two line feeds. */
export function openEvent(frame: Frame): string {
  return `${frame.event === 'message' ? 'event: message\n' : ''}${positionFields(frame)}data: `;
}

/** What tells the client where it is in the stream, and when to come back; a line each. */
export function positionFields({ id, retry }: Frame): string {
  const idLine = id === undefined || OF_NO_ID.test(id) ? '' : `id: ${id}\n`;
  if (retry === undefined) return idLine;
  return `${idLine}retry: ${Math.min(Math.max(retry, LEAST_RETRY_MS), MOST_RETRY_MS)}\n`;
}

/** Makes data of one event from bytes of JSON text that come in parts; a part may end anywhere. */
export class EventBytes {
  /** Bytes of a character that has begun. */
  #begun = '';

  /** The same part where nothing is to be done. */
  readonly push = (part: Part): Part => {
    // Characters of ASCII.
    if (typeof part === 'string' && this.#begun === '') return part.includes('\n') ? part.replaceAll('\n', LINE) : part;
    const bytes = typeof part === 'string' ? part : part.toString('latin1');
    const all = this.#begun + bytes;
    this.#begun = BEGUN_CONTROL.exec(all.slice(-2))?.[0] ?? '';
    if (this.#begun === '' && all === bytes && !CONTROL_BYTES.test(all)) return part;
    const whole = all.slice(0, all.length - this.#begun.length);
    return Buffer.from(
      whole.replace(ALL_CONTROL_BYTES, (one) => (one === '\n' ? LINE : escaped(Buffer.from(one, 'latin1').toString()))),
      'latin1',
    );
  };
}

const LINE = '\ndata: ';

const escaped = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
