import { ConfigError, formatProblems } from '../../crds/config/load/problem.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import { approved } from './approve.ts';
import { diffSarif } from './diff-sarif.ts';
import { diffText, shownName } from './diff-text.ts';
import { LOCK_KINDS, LockDocument, type LockKind } from '../../crds/config/lock-file/lock-document.ts';
import { type LockChange, lockDiff } from './lock-diff.ts';
import { type LockSecrets, withoutSecrets } from './lock-secrets.ts';
import { lockText } from './lock-text.ts';
import { makeLock, type Unlockable } from './make-lock.ts';
import { type Manifest, type ReadLock, readLock } from './read-lock.ts';
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
  readonly secrets: LockSecrets;
}

interface WithLock extends Asked {
  readonly lock: LockFile;
  /** Ids of servers that the configuration has and that were not asked. */
  readonly unasked?: readonly string[];
}

export type LockCommand =
  /** A lock of all that the upstreams have. */
  | (Asked & {
      readonly action: 'create';
      /** The object of Kubernetes to write it into. */
      readonly manifest?: Manifest | undefined;
    })
  /** What the upstreams have differently. */
  | (WithLock & {
      readonly action: 'diff';
      readonly output: 'text' | 'json' | 'sarif';
      readonly isColoured: boolean;
      /** Of this program, for SARIF. */
      readonly version: string;
    })
  /** The lock with what the upstreams have now. */
  | (WithLock & {
      readonly action: 'approve';
      /** Names, or `<server>/<name>`; `instructions` for these. None: all that differs. */
      readonly names: readonly string[];
    });

export interface LockAnswer {
  /** For the output: a difference, or the text of a lock. */
  readonly text: string;
  /** For people, one line each. */
  readonly notes: readonly string[];
  /** What was approved; where it is nothing, the text says what the lock said. */
  readonly approved: readonly string[];
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

const KINDS = Object.keys(LOCK_KINDS) as LockKind[];

type Of<Action extends LockCommand['action']> = Extract<LockCommand, { readonly action: Action }>;

function created({ servers, secrets, manifest }: Of<'create'>): LockAnswer {
  const made = servers.flatMap((one) => ('lists' in one ? [{ server: one.server, ...makeLock(one.lists) }] : []));
  const document = {
    ...LockDocument.parse({}),
    servers: Object.fromEntries(made.map((one) => [one.server, one.lock])),
  };
  const unlockable = made.flatMap((one) => unlockableNotes(one.server, one.unlockable));
  return asFile(document, { manifest, secrets }, answer('', unlockable.length > 0, failures(servers), unlockable));
}

function compared(command: Of<'diff'>, lock: ReadLock): LockAnswer {
  const { servers, output, isColoured, lock: file, version, secrets } = command;
  const changes = withoutSecrets(allChanges(servers, lock), secrets);
  const failed = failures(servers);
  const text =
    output === 'text'
      ? diffText(changes, isColoured)
      : output === 'json'
        ? asciiJson({ changes, failures: failed })
        : diffSarif({
            changes,
            failures: failed,
            uri: file.path.split('/').map(encodeURIComponent).join('/'),
            lineOf: ({ server, kind, name }) => lock.lineOf(['servers', server, kind, ...(name === '' ? [] : [name])]),
            version,
          });
  return answer(text, changes.length > 0, failed, strangers(command, lock));
}

function approval(command: Of<'approve'>, lock: ReadLock): LockAnswer {
  const { servers, names, lock: file, secrets } = command;
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
    ...strangers(command, lock),
  ];
  const isLocked = (change: LockChange): boolean =>
    !unlockable.some(
      ({ server, kind, name }) => server === change.server && kind === change.kind && name === change.name,
    );
  return asFile(
    document,
    { manifest: lock.manifest, secrets },
    {
      ...answer('', unlockable.length > 0, failures(servers), notes),
      approved: meant.filter(isLocked).map((change) => `${placeOf(change)} (${change.state})`),
    },
  );
}

interface FileOptions {
  readonly manifest: Manifest | undefined;
  readonly secrets: LockSecrets;
}

/** The answer with the lock as its text. What would be written can be read again and holds no secret, or it is not written. */
function asFile(document: LockDocument, { manifest, secrets }: FileOptions, done: LockAnswer): LockAnswer {
  const telling = Object.entries(document.servers).flatMap(([id, server]) =>
    KINDS.filter((kind) => Object.keys(server[kind]).some(secrets.areIn)).map((kind) => `${withEscapes(id)}/${kind}`),
  );
  if (telling.length > 0) {
    return wrongUse(telling.map((place) => `a name in ${place} holds a secret of the configuration`).join('\n'));
  }
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
const strangers = ({ servers, unasked = [] }: WithLock, { document }: ReadLock): string[] =>
  Object.keys(document.servers)
    .filter((id) => !servers.some(({ server }) => server === id) && !unasked.includes(id))
    .map((id) => `the lock names the server ${shownName(id)}, which was not asked`);

const unlockableNotes = (server: string, all: readonly Unlockable[]): string[] =>
  all.map(({ kind, name, why }) => `${placeOf({ server, kind, name })} cannot be locked: ${withEscapes(why)}`);

const placeOf = ({ server, kind, name }: Pick<LockChange, 'server' | 'kind' | 'name'>): string =>
  `${withEscapes(server)}/${kind === 'instructions' ? kind : `${kind}/${shownName(name)}`}`;

/** JSON in which a terminal finds nothing to obey. */
const asciiJson = (value: unknown): string =>
  `${JSON.stringify(value, undefined, 2).replaceAll(
    /[^\n -~]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )}\n`;

const wrongUse = (note: string): LockAnswer => ({
  text: '',
  notes: note.split('\n'),
  approved: [],
  exitCode: 2,
});

const answer = (text: string, differs: boolean, failed: readonly string[], notes: readonly string[]): LockAnswer => ({
  text,
  notes: [...failed, ...notes],
  approved: [],
  exitCode: differs ? 1 : failed.length > 0 ? 3 : 0,
});
