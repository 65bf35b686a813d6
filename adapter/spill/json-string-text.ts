/** The beginning of an escape, cut within it; one that is cut behind it has six characters or another second one. */
const BEGUN_ESCAPE = /^\\(?:u[0-9a-fA-F]{0,3})?$/;

/**
 * The characters that the inside of a JSON string stands for, from bytes of it that come in pieces; no piece ends within a
 * surrogate pair. Throws a SyntaxError for what no JSON string has, and a TypeError for what is no UTF-8.
 */
export class JsonStringText {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #begun = '';
  #half = '';

  push(bytes: Uint8Array): string {
    return this.#text(this.#decoder.decode(bytes, { stream: true }), false);
  }

  end(): string {
    return this.#text(this.#decoder.decode(), true);
  }

  #text(decoded: string, isEnd: boolean): string {
    const raw = this.#begun + decoded;
    const kept = isEnd ? 0 : begunEscape(raw);
    const whole = raw.slice(0, raw.length - kept);
    this.#begun = raw.slice(raw.length - kept);
    const text = this.#half + (isPlain(whole) ? whole : (JSON.parse(`"${whole}"`) as string));
    const last = text.charCodeAt(text.length - 1);
    this.#half = !isEnd && last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    return this.#half === '' ? text : text.slice(0, -1);
  }
}

function begunEscape(raw: string): number {
  const last = raw.lastIndexOf('\\');
  if (last === -1 || !BEGUN_ESCAPE.test(raw.slice(last, last + 7))) return 0;
  let first = last;
  while (first > 0 && raw.charAt(first - 1) === '\\') first--;
  // Of a run of backslashes each second one is a character.
  return (last - first) % 2 === 1 ? 0 : raw.length - last;
}

// oxlint-disable-next-line no-control-regex -- no JSON string has these
const isPlain = (raw: string): boolean => !/[\\\0-\x1f]/.test(raw);
