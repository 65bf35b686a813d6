/** So much, in so few parts, is kept as it comes. */
const SMALL_BYTES = 64 << 10;
const FEW = 16;
/** The system takes buffers of this size back as soon as they are free; smaller ones stay between others that are in use. */
const BLOCK_BYTES = 256 << 10;

/**
 * The parts of a body that is kept until it is whole. A part is often a few bytes of a buffer of 64 KiB, and takes some
 * hundred beside its own, so that of a long body they are copied into blocks.
 */
export class KeptParts {
  #parts: Buffer[] = [];
  #size = 0;
  /** Is being filled. */
  #block: Buffer | undefined;
  #filled = 0;

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  /** In their order, more or fewer than were kept. */
  get all(): Buffer[] {
    this.#seal();
    return this.#parts;
  }

  push(part: Buffer): void {
    this.#size += part.length;
    if (this.#size <= SMALL_BYTES && this.#parts.length < FEW) {
      this.#parts.push(part);
      return;
    }
    for (let at = 0; at < part.length;) {
      this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
      const copied = part.copy(this.#block, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === BLOCK_BYTES) this.#seal();
    }
  }

  /** All as one, which may be the only part that came. */
  whole(): Buffer {
    const [first] = this.all;
    return this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts, this.#size);
  }

  clear(): void {
    this.#parts = [];
    this.#size = 0;
    this.#block = undefined;
    this.#filled = 0;
  }

  #seal(): void {
    if (this.#block === undefined) return;
    this.#parts.push(this.#block.subarray(0, this.#filled));
    this.#block = undefined;
    this.#filled = 0;
  }
}
