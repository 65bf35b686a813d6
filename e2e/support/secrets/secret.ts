import { randomBytes } from 'node:crypto';
import { noteRecord } from './records.ts';

/** Every secret of the tests begins with this, so that any of them can be found anywhere. */
export const MARKER = 's3cr3tQ7';

/**
 * A secret for a program that is tested: no two are the same, and none may come out anywhere, which is looked for in
 * everything that the programs say. Letters and digits only, which most ways of writing leave as they are.
 *
 * @param name what it is for, in words; it is part of the secret
 */
export function secret(name: string): string {
  const words = name.replaceAll(/[^A-Za-z]+(.)?/g, (_all, next: string = '') => next.toUpperCase());
  noteRecord({ kind: 'secret', name });
  return `${MARKER}${words}${randomBytes(6).toString('hex')}`;
}
