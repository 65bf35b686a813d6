/** What a client gets as a response message: JSON text, or parts of it that are not in memory all at once. */
export type Answer = string | StreamedAnswer;

/** JSON text of one message, without line ends outside of it, in parts. */
export interface StreamedAnswer {
  /** Length of all parts together in bytes, where it is known beforehand. */
  readonly bytes: number | undefined;
  /** Read once. A failure in the middle ends the connection: half an answer must not look like a whole one. */
  readonly parts: AsyncIterable<string | Buffer>;
  /** The parts that are bytes are nobody else's: their memory can be given back as soon as they have left. */
  readonly releasable?: boolean;
}

/** The answer with text around it. */
export function surround(before: string, answer: Answer, after: string): Answer {
  if (typeof answer === 'string') return before + answer + after;
  const own = Buffer.byteLength(before) + Buffer.byteLength(after);
  return {
    ...answer,
    bytes: answer.bytes === undefined ? undefined : answer.bytes + own,
    parts: surrounded(before, answer.parts, after),
  };
}

async function* surrounded(
  before: string,
  parts: AsyncIterable<string | Buffer>,
  after: string,
): AsyncGenerator<string | Buffer> {
  yield before;
  yield* parts;
  yield after;
}

/** All of it as text; undefined where that is more than so many characters, which is not read to its end. */
export async function wholeText({ parts }: StreamedAnswer, maxChars: number): Promise<string | undefined> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of parts) {
    text += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
    if (text.length > maxChars) return undefined;
  }
  return text;
}
