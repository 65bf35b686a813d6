import { Refusal } from '../../lib/http/answer.ts';
import { jsonObject } from '../../lib/http/request-body.ts';
import type { Call } from '../../lib/http/route.ts';
import { API_VERSION } from '../../crds/v1alpha1/api.ts';
import { sideBySide } from '../../lib/side-by-side.ts';
import { type FetchedServer, type LockAnswer, lockCommand } from '../lock/lock-command.ts';
import type { LockSecrets } from '../lock/lock-secrets.ts';
import type { Manifest } from '../lock/read-lock.ts';

export interface AdminLockDeps<M> {
  readonly mounts: readonly M[];
  /** Asks a server for what a lock counts, for so many milliseconds. Does not reject. */
  readonly fetch: (mount: M, timeoutMs: number) => Promise<FetchedServer>;
  readonly secrets: LockSecrets;
  readonly version: string;
  readonly now?: () => number;
}

/** A McpToolLock as the API server takes it, and some room. */
export const MAX_LOCK_BYTES = 2 << 20;
const MOST_AT_A_TIME = 8;
/** For each server, whatever it does. */
const SERVER_MS = 10_000;
/** For all of them: the answer has to leave in time. */
const ALL_MS = 18_000;
/** With less there is no point in asking. */
const LEAST_MS = 500;
/** Of all definitions together: they are compared in one go, beside calls. */
const MAX_CHARS = 16 << 20;
/** How messages call the lock. */
const PATH = 'the lock';

const ACTIONS = ['create', 'diff', 'approve'] as const;

/** Makes, compares and changes locks for who operates the adapter, as `mcp-adapter lock` does; writes nothing. */
export class AdminLock<M extends { readonly serverId: string }> {
  readonly #deps: AdminLockDeps<M>;

  constructor(deps: AdminLockDeps<M>) {
    this.#deps = deps;
  }

  /**
   * `{ action, servers?, lock, names?, output?, coloured? }`; for `create` the lock is a McpToolLock without servers.
   * @throws Refusal for a body that makes no sense
   */
  async answer(call: Pick<Call, 'body' | 'contentType'>): Promise<LockAnswer> {
    const asked = jsonObject(call);
    const action = ACTIONS.find((one) => one === asked['action']);
    if (action === undefined) throw new Refusal(400, `action must be one of ${ACTIONS.join(', ')}`);
    const names = textsOf(asked, 'names');
    const ids = textsOf(asked, 'servers');
    const manifest = manifestOf(asked['lock']);
    const { mounts, secrets, version } = this.#deps;
    const unknown = ids.filter((id) => !mounts.some(({ serverId }) => serverId === id));
    if (unknown.length > 0) throw new Refusal(404, `No server has the id ${unknown.join(', ')}`);
    const isMeant = ({ serverId }: M): boolean => ids.length === 0 || ids.includes(serverId);
    const servers = await this.#fetched(mounts.filter(isMeant));
    const unasked = mounts.flatMap((mount) => (isMeant(mount) ? [] : mount.serverId));
    if (action === 'create') return lockCommand({ action, servers, secrets, manifest });
    const common = { servers, secrets, unasked, lock: { text: JSON.stringify(manifest), path: PATH } };
    if (action === 'approve') return lockCommand({ ...common, action, names });
    const output = asked['output'] === 'json' ? 'json' : 'text';
    return lockCommand({ ...common, action, output, isColoured: asked['coloured'] === true, version });
  }

  async #fetched(mounts: readonly M[]): Promise<FetchedServer[]> {
    const { fetch, now = () => performance.now() } = this.#deps;
    const end = now() + ALL_MS;
    let chars = 0;
    return await sideBySide(mounts, MOST_AT_A_TIME, async (mount): Promise<FetchedServer> => {
      const server = mount.serverId;
      const left = Math.min(SERVER_MS, end - now());
      if (left < LEAST_MS) return { server, failure: 'there was no time left to ask it; ask for it alone' };
      const found = await fetch(mount, left);
      const more = charsOf(found);
      if (chars + more > MAX_CHARS) {
        return { server, failure: 'all definitions together are too long; ask for it alone' };
      }
      chars += more;
      return found;
    });
  }
}

function charsOf(fetched: FetchedServer): number {
  if ('failure' in fetched) return 0;
  const { tools, prompts, resourceTemplates, instructions = '' } = fetched.lists;
  return [...tools, ...prompts, ...resourceTemplates, instructions].reduce((sum, one) => sum + one.length, 0);
}

function textsOf(asked: Readonly<Record<string, unknown>>, member: string): string[] {
  const { [member]: value = [] } = asked;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new Refusal(400, `${member} must be a list of texts`);
}

function manifestOf(value: unknown): Manifest {
  const { apiVersion, kind, spec } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (apiVersion === API_VERSION && kind === 'McpToolLock' && typeof spec === 'object' && spec !== null) {
    return value as Manifest;
  }
  throw new Refusal(400, `lock must be a McpToolLock of ${API_VERSION}`);
}
