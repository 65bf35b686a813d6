import { type FileKind, type FileRecords, versionsOf } from '../../state/file-records.ts';
import { rawName } from '../disk/anchored-folder.ts';

interface Item {
  readonly kind: FileKind;
  readonly sessionId: string;
  readonly fileId: string;
}

/**
 * Of items with a record that is committed, the names in the item's folder under which the kept versions lie: as those of the file
 * system, bytes. What else lies there is of a change that nobody has recorded, or of a version that is kept no more.
 */
export async function namedPlaces<T extends Item>(
  records: Pick<FileRecords, 'find' | 'ownerOf' | 'now'>,
  items: readonly T[],
): Promise<Map<T, ReadonlySet<string>>> {
  const owners = new Map<string, Promise<string | undefined>>();
  const ownerOf = (sessionId: string): Promise<string | undefined> => {
    const known = owners.get(sessionId) ?? records.ownerOf(sessionId);
    owners.set(sessionId, known);
    return known;
  };
  const places = new Map<T, ReadonlySet<string>>();
  await Promise.all(
    items.map(async (item) => {
      const { kind, sessionId, fileId } = item;
      const serverId = await ownerOf(sessionId);
      if (serverId === undefined) return;
      const key = { serverId, sessionId, kind, fileId };
      const record = await records.find(key, { now: records.now(), ttlMs: null });
      if (record !== undefined) places.set(item, new Set(versionsOf(record).map(placeOf)));
    }),
  );
  return places;
}

/** Where a version lies in the folder of its item. */
export const placeOf = ({ contentId, filename }: { contentId?: string | undefined; filename: string }): string =>
  contentId ?? rawName(filename);
