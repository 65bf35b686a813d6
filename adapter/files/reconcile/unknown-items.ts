import type { FileRecords } from '../../state/file-records.ts';

/**
 * Those of the items that have no record, in their order. The sessions are asked for at the same time, which is one
 * round trip to Redis.
 */
export async function unknownItems<Item extends { readonly sessionId: string; readonly fileId: string }>(
  records: Pick<FileRecords, 'known'>,
  items: readonly Item[],
): Promise<Item[]> {
  const sessions = Map.groupBy(items, ({ sessionId }) => sessionId);
  const asked = Array.from(sessions, async ([sessionId, ofSession]) => {
    const ids = ofSession.map(({ fileId }) => fileId);
    return [sessionId, await records.known(sessionId, ids)] as const;
  });
  const known = new Map(await Promise.all(asked));
  return items.filter(({ sessionId, fileId }) => known.get(sessionId)?.has(fileId) !== true);
}
