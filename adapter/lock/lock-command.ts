import { ConfigError, formatProblems } from '../../crds/config/load/problem.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import { approved } from './approve.ts';
import { diffSarif } from './diff-sarif.ts';
import { diffText, shownName } from './diff-text.ts';
import { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import { type LockChange, lockDiff } from './lock-diff.ts';
import { lockText } from './lock-text.ts';
import { makeLock, type Unlockable } from './make-lock.ts';
import { type ReadLock, readLock } from './read-lock.ts';
import type { ServerLists } from './server-lists.ts';

/** What an upstream was asked for: its lists, or why it did not give them, in its words. */
export type FetchedServer =
  | { readonly server: string; readonly lists: ServerLists }
  | { readonly server: string; readonly failure: string };

/** The lock's file as it was read. */
export interface LockFile {
  readonly text: string;
  /** For messages, and for places in SARIF. */
  readonly path: string;
}

interface Asked {
  readonly servers: readonly FetchedServer[];
}

export type LockCommand =
  /** A lock of all that the upstreams have. */
  | (Asked & { readonly action: 'create' })
  /** What the upstreams have differently. */
  | (Asked & {
      readonly action: 'diff';
      readonly lock: LockFile;
      readonly output: 'text' | 'json' | 'sarif';
      readonly isColoured: boolean;
      /** Of this program, for SARIF. */
      readonly version: string;
    })
  /** The lock with what the upstreams have now. */
  | (Asked & {
      readonly action: 'approve';
      readonly lock: LockFile;
      /** Names, or `<server>/<name>`; `instructions` for these. None: all that differs. */
      readonly names: readonly string[];
    });

export interface LockAnswer {
  /** For the output: a difference, or the text of a lock. */
  readonly text: string;
  /** For people, one line each. */
  readonly notes: readonly string[];
  /**
   * 0: the same, or done. 1: something differs, or cannot be locked. 2: wrong use; there is no text. 3: an upstream did
   * not answer, and nothing else differs; the text is about the others.
   */
  readonly exitCode: 0 | 1 | 2 | 3;
}

/** What a command about a lock answers; whoever calls it fetches the lists and writes the files. */
export function lockCommand(command: LockCommand): LockAnswer {
  if (command.action === 'create') return created(command);
  let lock: ReadLock;
  try {
    lock = readLock(command.lock.text);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return wrongUse(formatProblems(error, command.lock.path));
  }
  return command.action === 'diff' ? compared(command, lock) : approval(command, lock);
}

type Of<Action extends LockCommand['action']> = Extract<LockCommand, { readonly action: Action }>;

function created({ servers }: Of<'create'>): LockAnswer {
  const made = servers.flatMap((one) => ('lists' in one ? [{ server: one.server, ...makeLock(one.lists) }] : []));
  const document = {
    ...LockDocument.parse({}),
    servers: Object.fromEntries(made.map((one) => [one.server, one.lock])),
  };
  const unlockable = made.flatMap((one) => unlockableNotes(one.server, one.unlockable));
  return asFile(document, undefined, answer('', unlockable.length > 0, failures(servers), unlockable));
}

function compared({ servers, output, isColoured, lock: file, version }: Of<'diff'>, lock: ReadLock): LockAnswer {
  const changes = allChanges(servers, lock);
  const failed = failures(servers);
  const text =
    output === 'text'
      ? diffText(changes, isColoured)
      : output === 'json'
        ? `${JSON.stringify({ changes, failures: failed }, undefined, 2)}\n`
        : diffSarif({
            changes,
            failures: failed,
            uri: file.path.split('/').map(encodeURIComponent).join('/'),
            lineOf: ({ server, kind, name }) => lock.lineOf(['servers', server, kind, ...(name === '' ? [] : [name])]),
            version,
          });
  return answer(text, changes.length > 0, failed, strangers(servers, lock));
}

function approval({ servers, names, lock: file }: Of<'approve'>, lock: ReadLock): LockAnswer {
  const changes = allChanges(servers, lock);
  const isMeant = ({ server, kind, name }: LockChange, asked: string): boolean => {
    const own = kind === 'instructions' ? kind : name;
    return asked === own || asked === `${server}/${own}`;
  };
  const unknown = names.filter((asked) => !changes.some((change) => isMeant(change, asked)));
  if (unknown.length > 0) {
    return wrongUse(unknown.map((name) => `${shownName(name)} does not differ from ${file.path}`).join('\n'));
  }
  const meant = changes.filter((change) => names.length === 0 || names.some((asked) => isMeant(change, asked)));
  const { document, unlockable } = approved(
    lock.document,
    servers.flatMap((one) => ('lists' in one ? one : [])),
    meant,
  );
  const notes = [
    ...unlockable.flatMap(({ server, ...one }) => unlockableNotes(server, [one])),
    ...strangers(servers, lock),
  ];
  return asFile(document, lock.manifest, answer('', unlockable.length > 0, failures(servers), notes));
}

/** The answer with the lock as its text. What would be written can be read again, or it is not written. */
function asFile(document: LockDocument, manifest: ReadLock['manifest'], done: LockAnswer): LockAnswer {
  const text = lockText(document, manifest);
  try {
    readLock(text);
    return { ...done, text };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return wrongUse(formatProblems(error, 'the new lock'));
  }
}

const allChanges = (servers: readonly FetchedServer[], { document }: ReadLock): LockChange[] =>
  servers.flatMap((one) => {
    if ('failure' in one) return [];
    const lock = Object.hasOwn(document.servers, one.server) ? document.servers[one.server] : undefined;
    return lockDiff(one.server, one.lists, lock);
  });

const failures = (servers: readonly FetchedServer[]): string[] =>
  servers.flatMap((one) =>
    'failure' in one ? [`${withEscapes(one.server)} did not say what it has: ${withEscapes(one.failure)}`] : [],
  );

/** A lock of a server that nobody has: a name that was written wrongly, or that is gone. */
const strangers = (servers: readonly FetchedServer[], { document }: ReadLock): string[] =>
  Object.keys(document.servers)
    .filter((id) => !servers.some(({ server }) => server === id))
    .map((id) => `the lock names the server ${shownName(id)}, which was not asked`);

const unlockableNotes = (server: string, all: readonly Unlockable[]): string[] =>
  all.map(({ kind, name, why }) => {
    const what = kind === 'instructions' ? kind : `${kind}/${shownName(name)}`;
    return `${withEscapes(server)}/${what} cannot be locked: ${withEscapes(why)}`;
  });

const wrongUse = (note: string): LockAnswer => ({ text: '', notes: note.split('\n'), exitCode: 2 });

const answer = (text: string, differs: boolean, failed: readonly string[], notes: readonly string[]): LockAnswer => ({
  text,
  notes: [...failed, ...notes],
  exitCode: differs ? 1 : failed.length > 0 ? 3 : 0,
});
