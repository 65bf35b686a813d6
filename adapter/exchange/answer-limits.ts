import { getHeapStatistics } from 'node:v8';

const LARGEST_BYTES = 64 << 20;

/**
 * An answer that has to be read as a whole (a list, a handshake, a result with files) may be this large; what need not be
 * read passes. It is in memory several times meanwhile: as bytes, as text of up to two bytes a character, and as what is
 * made of it. In bytes, or characters.
 */
export const MAX_ANSWER_BYTES = Math.min(LARGEST_BYTES, Math.floor(getHeapStatistics().heap_size_limit / 16));

/** What may wait for the head of an answer, in characters: an upstream that sends more before the head never ends. */
export const MAX_HELD_CHARS = 1 << 20;
/** The same in messages. */
export const MAX_HELD_FRAMES = 100;

/** A smaller answer is not counted: there are too many of them, and they are over at once. */
export const UNCOUNTED_BYTES = 16 << 10;
