const LIST_CHANGED = 'list_changed';

/** Whether a message says that a list has changed. */
export const saysListChanged = (text: string): boolean => text.includes(LIST_CHANGED);

/** Looks for a changed list in bytes that may be cut anywhere. */
export class ListChangedWatch {
  /** The end of the chunks before, where the words may have begun. */
  #tail = '';

  /** Whether this chunk says it, or completes it. */
  sees(chunk: Buffer): boolean {
    const found =
      chunk.includes(LIST_CHANGED) ||
      (this.#tail !== '' && (this.#tail + chunk.toString('latin1', 0, LIST_CHANGED.length)).includes(LIST_CHANGED));
    const kept = LIST_CHANGED.length - 1;
    const end = chunk.toString('latin1', Math.max(0, chunk.length - kept));
    this.#tail = end.length < kept ? (this.#tail + end).slice(-kept) : end;
    return found;
  }
}
