import type { Answer } from '../answers/answer.ts';

/** All parts of an answer. Throws when they are not as long as the answer says. */
export async function wholeAnswer(answer: Answer | undefined): Promise<string> {
  if (answer === undefined) throw new Error('there is no answer');
  if (typeof answer === 'string') return answer;
  const parts: Buffer[] = [];
  for await (const part of answer.parts) parts.push(Buffer.from(part));
  const whole = Buffer.concat(parts);
  if (answer.bytes !== undefined && answer.bytes !== whole.length) {
    throw new Error(`the answer has ${whole.length} bytes instead of ${answer.bytes}`);
  }
  return whole.toString();
}

/** An answer that is in memory. Throws for others. */
export function textOf(answer: Answer): string {
  if (typeof answer !== 'string') throw new Error('the answer is streamed');
  return answer;
}
