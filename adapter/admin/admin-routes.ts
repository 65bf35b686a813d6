import { type Answer, ok, Refusal } from '../../lib/http/answer.ts';
import type { Call, Route } from '../../lib/http/route.ts';
import type { Redact } from '../../lib/redaction/redact.ts';
import type { Access } from '../access/access.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import type { LockRules } from '../lock/locked-list.ts';
import type { Mount } from '../mount/mount.ts';
import { StoreUnavailable } from '../state/state-store.ts';
import type { AdminFiles } from './admin-files.ts';
import { type AdminLock, MAX_LOCK_BYTES } from './admin-lock.ts';
import type { AdminSessions } from './admin-sessions.ts';
import { podStatus, type PodStatusDeps } from './pod-status.ts';
import type { ToolLists } from './tool-lists.ts';
import { toolReport } from './tool-report.ts';

/** Whose eyes tools are looked at with. */
export interface AskedEyes {
  /** `user:SUBJECT`, `client:ID` or `token:NAME`. */
  readonly principal: string;
  readonly scopes: readonly string[];
}

export interface AdminRoutesDeps extends Omit<PodStatusDeps, 'lists'> {
  readonly lists: ToolLists<Mount>;
  readonly sessions: AdminSessions;
  readonly files: AdminFiles;
  readonly toolLock: AdminLock<Mount>;
  /** What such a caller may do at a server; undefined: everything. */
  readonly accessOf: (serverId: string, eyes: AskedEyes) => Access | undefined;
  /** What the tool lock says of a server; undefined without a lock. */
  readonly lockOf: (serverId: string) => LockRules | undefined;
  readonly redact: Redact;
}

const PRINCIPAL = /^(?:user|client|token):./;

/** What the adapter answers to who operates it. Nothing in it is a secret, or a name by which something could be used. */
export function adminRoutes(deps: AdminRoutesDeps): Route[] {
  const { mounts, lists, sessions, files, redact } = deps;
  const get = (path: string, answer: (call: Call) => unknown): Route => ({
    method: 'GET',
    path,
    answer: (call) => withReasons(async () => ok(await answer(call))),
  });
  const post = (path: string, act: (call: Call) => Promise<boolean>, what: string): Route => ({
    method: 'POST',
    path,
    answer: (call) =>
      withReasons(async () => {
        if (!(await act(call))) throw new Refusal(404, `No ${what} has this name`);
        return ok({ done: true });
      }),
  });

  return [
    get('/v1/status', () => podStatus(deps)),
    get('/v1/servers/{name}/tools', async ({ name, query }) => {
      const mount = mounts.find(({ serverId }) => serverId === name);
      if (mount === undefined) throw new Refusal(404, 'No server has this id');
      const access = eyesOf(query, (eyes) => deps.accessOf(name, eyes));
      const { visibleCatalog, hidesUnseen } = mount;
      const result = await lists.of(mount).catch((error: unknown) => {
        const why = withEscapes(redact((error as Error).message));
        throw new Refusal(502, `The server did not say which tools it has: ${why}`);
      });
      return {
        server_id: name,
        tools: toolReport(result, { catalog: visibleCatalog.catalog, hidesUnseen, access, lock: deps.lockOf(name) }),
      };
    }),
    {
      method: 'POST',
      path: '/v1/lock',
      maxBodyBytes: MAX_LOCK_BYTES,
      answer: async (call) => ok(await deps.toolLock.answer(call)),
    },
    get('/v1/sessions', ({ query }) => sessions.page(query)),
    post('/v1/sessions/{name}/end', ({ name }) => sessions.end(name), 'session'),
    get('/v1/files', ({ query }) => files.page(query)),
    post('/v1/files/{name}/remove', ({ name }) => files.remove(name), 'file'),
  ];
}

function eyesOf(query: URLSearchParams, of: (eyes: AskedEyes) => Access | undefined): Access | undefined {
  const principal = query.get('principal');
  if (principal === null) return undefined;
  if (!PRINCIPAL.test(principal)) {
    throw new Refusal(400, 'principal must be user:SUBJECT, client:ID or token:NAME');
  }
  return of({ principal, scopes: (query.get('scopes') ?? '').split(/[\s,]+/).filter((one) => one !== '') });
}

/** A store that is away, for who asked. */
async function withReasons(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new Refusal(503, 'The state store is unavailable');
    throw error;
  }
}
