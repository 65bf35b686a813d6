import type { LockDocument, LockEntry, ServerLock } from '../../crds/config/lock-file/lock-document.ts';
import type { LockChange } from './lock-diff.ts';
import { makeLock, type Unlockable } from './make-lock.ts';
import type { ServerLists } from './server-lists.ts';

export interface Approved {
  readonly document: LockDocument;
  /** These stay as they are in the lock. */
  readonly unlockable: readonly (Unlockable & { readonly server: string })[];
}

interface Listed {
  readonly server: string;
  readonly lists: ServerLists;
}

const NOTHING: ServerLock = { tools: {}, prompts: {}, resourceTemplates: {} };

/** The lock with these changes in it: as the upstreams have it now, and without what they no longer have. */
export function approved(document: LockDocument, servers: readonly Listed[], changes: readonly LockChange[]): Approved {
  const ofServer = Map.groupBy(changes, ({ server }) => server);
  const unlockable: (Unlockable & { readonly server: string })[] = [];
  const made = servers.flatMap(({ server, lists }): [string, ServerLock][] => {
    const asked = ofServer.get(server) ?? [];
    if (asked.length === 0) return [];
    const now = makeLock(lists);
    const isAsked = (one: Unlockable): boolean =>
      asked.some(({ kind, name }) => kind === one.kind && name === one.name);
    unlockable.push(...now.unlockable.filter(isAsked).map((one) => ({ server, ...one })));
    const before = Object.hasOwn(document.servers, server) ? document.servers[server] : undefined;
    return [[server, withChanges(before ?? NOTHING, now.lock, asked)]];
  });
  return { document: { ...document, servers: { ...document.servers, ...Object.fromEntries(made) } }, unlockable };
}

function withChanges(before: ServerLock, now: ServerLock, changes: readonly LockChange[]): ServerLock {
  const entriesOf = (kind: 'tools' | 'prompts' | 'resourceTemplates'): Record<string, LockEntry> => {
    const entries = new Map<string, LockEntry>(Object.entries(before[kind]));
    for (const { kind: changed, name, state } of changes) {
      if (changed !== kind) continue;
      const entry = Object.hasOwn(now[kind], name) ? now[kind][name] : undefined;
      if (state === 'removed') entries.delete(name);
      else if (entry !== undefined) entries.set(name, entry);
    }
    return Object.fromEntries(entries);
  };
  const said = changes.find(({ kind }) => kind === 'instructions');
  const { instructions: earlier, ...rest } = before;
  const instructions =
    said === undefined ? earlier : said.state === 'removed' ? undefined : (now.instructions ?? earlier);
  return {
    ...rest,
    tools: entriesOf('tools'),
    prompts: entriesOf('prompts'),
    resourceTemplates: entriesOf('resourceTemplates'),
    ...(instructions === undefined ? {} : { instructions }),
  };
}
