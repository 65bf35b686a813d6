import { expect } from 'vitest';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Session } from '../../kit/session.ts';

/** All that a text says once nothing in it is escaped, in lower case. */
export function plain(message: JsonObject): string {
  let text = JSON.stringify(message).toLowerCase();
  for (let layer = 0; layer < 4; layer += 1) {
    text = text
      .replaceAll(/%(25|2f|5c|[346][0-9a-f])/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replaceAll(/\\+u00([2-7][0-9a-f])/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .toLowerCase();
  }
  return text.replaceAll(/[\\/]+(?:\.[\\/]+)*/g, '/');
}

/** Neither a path of the storage nor an id of a session, but in handles. */
export function noPathIn(message: JsonObject, root: string, ...sessions: readonly Session[]): void {
  const text = plain(message).replaceAll(/(?:artifact|upload):\/sessions\/[0-9a-f]{32}/g, '');
  expect(text).not.toContain(root.toLowerCase().slice(1));
  for (const { sessionId } of sessions) expect(text).not.toContain(sessionId);
}
