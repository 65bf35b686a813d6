/**
 * Writes protobuf messages from their end to their beginning: the length of a message is known when its head is written,
 * so that nothing is measured before and nothing moved afterwards. Whoever writes calls the fields in reverse order, and
 * for each of them first the content and then the tag.
 */
export class ProtobufWriter {
  #buffer: Buffer;
  #pos: number;
  /** The time that was written last, because nearly all of an export are the same. */
  #time = { seconds: 0, nanoseconds: 0, low: 0, high: 0 };

  /** @param size a guess in bytes; it grows */
  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafeSlow(size);
    this.#pos = size;
  }

  /** How much has been written. */
  get length(): number {
    return this.#buffer.length - this.#pos;
  }

  /** All that has been written. */
  finish(): Uint8Array {
    return this.#buffer.subarray(this.#pos);
  }

  /** The head of what has been written since `length` was that. @param tag of one byte, wire type 2 */
  close(tag: number, before: number): void {
    this.varint(this.length - before);
    this.byte(tag);
  }

  byte(value: number): void {
    if (this.#pos === 0) this.#grow(1);
    this.#buffer[--this.#pos] = value;
  }

  /** An unsigned integer of up to 53 bits. */
  varint(value: number): void {
    if (value < 128) {
      this.byte(value);
      return;
    }
    if (this.#pos < 8) this.#grow(8);
    let size = 2;
    for (let rest = Math.floor(value / 16_384); rest > 0; rest = Math.floor(rest / 128)) size += 1;
    this.#pos -= size;
    let at = this.#pos;
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#buffer[at++] = (rest % 128) + 128;
    this.#buffer[at] = rest;
  }

  /** A signed integer that a double holds, as int64. */
  int64(value: number): void {
    if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
      this.varint(value);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes: number[] = [];
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) + 128);
    bytes.push(Number(rest));
    for (const byte of bytes.toReversed()) this.byte(byte);
  }

  double(value: number): void {
    if (this.#pos < 8) this.#grow(8);
    this.#pos -= 8;
    this.#buffer.writeDoubleLE(value, this.#pos);
  }

  fixed32(value: number): void {
    if (this.#pos < 4) this.#grow(4);
    this.#pos -= 4;
    this.#buffer.writeUInt32LE(value, this.#pos);
  }

  /** An unsigned integer of 64 bits in two halves. */
  fixed64(low: number, high: number): void {
    if (this.#pos < 8) this.#grow(8);
    this.#pos -= 8;
    this.#buffer.writeUInt32LE(low, this.#pos);
    this.#buffer.writeUInt32LE(high, this.#pos + 4);
  }

  /** Nanoseconds since 1970 as fixed64. */
  time(tag: number, seconds: number, nanoseconds: number): void {
    if (seconds !== this.#time.seconds || nanoseconds !== this.#time.nanoseconds) {
      const all = BigInt.asUintN(64, BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds));
      this.#time = { seconds, nanoseconds, low: Number(all & 0xffff_ffffn), high: Number(all >> 32n) };
    }
    this.fixed64(this.#time.low, this.#time.high);
    this.byte(tag);
  }

  /** Fewer than 128 bytes, given as hexadecimal digits, with their tag. */
  hex(tag: number, digits: string): void {
    const bytes = digits.length / 2;
    if (this.#pos < bytes) this.#grow(bytes);
    this.#pos -= bytes;
    this.#buffer.write(digits, this.#pos, 'hex');
    this.byte(bytes);
    this.byte(tag);
  }

  /** Text in UTF-8 with its tag. */
  text(tag: number, text: string): void {
    const { length } = text;
    if (length > LONG || !this.#short(text, length)) {
      const bytes = Buffer.byteLength(text);
      if (this.#pos < bytes) this.#grow(bytes);
      this.#pos -= bytes;
      this.#buffer.write(text, this.#pos, bytes, bytes === length ? 'latin1' : 'utf8');
      this.varint(bytes);
    } else {
      this.byte(length);
    }
    this.byte(tag);
  }

  /** Calls into Node cost more than a loop over a few characters. False: it is not ASCII, and nothing was written. */
  #short(text: string, length: number): boolean {
    if (this.#pos < length) this.#grow(length);
    const start = this.#pos - length;
    const buffer = this.#buffer;
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 127) return false;
      buffer[start + index] = code;
    }
    this.#pos = start;
    return true;
  }

  #grow(least: number): void {
    const { length } = this;
    const size = Math.max(this.#buffer.length * 2, length + least);
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, size - length, this.#pos);
    this.#buffer = larger;
    this.#pos = size - length;
  }
}

/** Characters up to which a text is written one by one. At most 127, so that its length is one byte. */
const LONG = 32;
