import { join } from 'node:path';
import type { FileKind } from '../../state/file-records.ts';
import { FileRefused } from '../keys/file-key.ts';
import { sessionsFolder, type Tree, treeCalled } from '../keys/storage-layout.ts';
import { type AnchoredFolder, utf8 } from './anchored-folder.ts';
import { removeEmpty, removeEntry } from './anchored-removal.ts';
import { type DiskWays, inFolder, itemFolder, openedFolder } from './disk-folders.ts';
import { itemsOfServer, stagedItems } from './disk-items.ts';
import type { StagingArea, StagedItem } from './staging-area.ts';

/** What lies in the stage, whoever knows of it, and the removal of what nobody knows. */
export class DiskStrays implements Pick<StagingArea, 'items' | 'removeStray' | 'removeEntries'> {
  readonly #root: string;
  readonly #ways: DiskWays;

  /** @param root real */
  constructor(root: string, ways: DiskWays) {
    this.#root = root;
    this.#ways = ways;
  }

  async *items(kind: FileKind, signal: AbortSignal): AsyncGenerator<StagedItem> {
    const { anchored } = this.#ways;
    for (const tree of await this.#trees(kind)) {
      const path = sessionsFolder(this.#root, kind, tree);
      if (tree === null) {
        const sessions = await openedFolder(path, anchored);
        if (sessions === undefined) continue;
        using opened = sessions;
        yield* stagedItems(opened, { kind }, signal);
      } else yield* itemsOfServer(() => openedFolder(path, anchored), { kind, serverId: tree }, signal);
    }
  }

  async removeStray({ kind, serverId, sessionId, entry }: StagedItem): Promise<void> {
    await inFolder(sessionsFolder(this.#root, kind, serverId ?? null), this.#ways, async (sessions) => {
      if (entry === null) return removeEmpty(sessions, sessionId);
      const session = await openedIn(sessions, sessionId);
      if (session === undefined) return;
      using opened = session;
      await removeEntry(opened, entry);
    });
  }

  async removeEntries(item: StagedItem, names: readonly string[], olderThan: number): Promise<number> {
    const { kind, sessionId, fileId } = item;
    let removed = 0;
    if (fileId === null) return removed;
    const path = itemFolder(this.#root, { kind, sessionId, fileId }, item.serverId ?? null);
    await inFolder(path, this.#ways, async (folder) => {
      for (const name of names) {
        const stats = await folder.stats(name);
        if (stats === undefined || stats.mtimeMs >= olderThan) continue;
        await removeEntry(folder, name);
        removed += 1;
      }
    });
    return removed;
  }

  /** Those that the folder of a kind holds, whatever the layout is now and which servers there are. */
  async #trees(kind: FileKind): Promise<Tree[]> {
    const trees: Tree[] = [];
    await inFolder(join(this.#root, `${kind}s`), this.#ways, async (folder) => {
      for await (const { name } of folder.entries()) {
        const tree = treeCalled(utf8(name));
        if (tree !== undefined) trees.push(tree);
      }
    });
    return trees;
  }
}

async function openedIn(folder: AnchoredFolder, name: string): Promise<AnchoredFolder | undefined> {
  try {
    return await folder.openFolder(name);
  } catch (error) {
    if (error instanceof FileRefused) return undefined;
    throw error;
  }
}
