import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { secret } from '../../../support/secrets/secret.ts';
import type { RunningAdapter } from '../../../support/adapter-process.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { at, bytesOf } from '../../files/kit/artifacts.ts';
import { type Crew, type CrewOptions, startCrew } from '../../files/kit/crew.ts';
import { type FormFile, uploaded } from '../../files/kit/uploads.ts';
import { openSession, type Session } from '../../kit/session.ts';
import type { Made } from './roles.ts';

const tokens = { ann: secret('token of ann'), bob: secret('token of bob') };
export type Person = keyof typeof tokens;
const headersOf = (name: Person): Record<string, string> => ({ 'x-mcp-adapter-auth-token': tokens[name] });

/** Replicas whose clients are people: what one of them makes is theirs in all of their sessions, and nobody else's. */
export interface People extends AsyncDisposable {
  readonly crew: Crew;
  /** A folder that is deleted at the end. */
  readonly scratch: string;
  /** The next replica in strict round robin. */
  next(): RunningAdapter;
  /** A session at a mount, of `ann` by default. */
  opened(server: string, name?: Person): Promise<Session>;
  /** Tools of a session, each call at the next replica. */
  calls(session: Session): (name: string, args: JsonObject) => Promise<JsonObject>;
  /** Ann uploads a file; its handle. */
  upload(session: Session, server: string, file: FormFile): Promise<string>;
  /** Downloads a file, or an older version of it, into `scratch`; its path. */
  saved(file: Made, version?: number): Promise<string>;
}

export async function startPeople(options: CrewOptions): Promise<People> {
  await using started = new AsyncDisposableStack();
  const scratch = await mkdtemp(join(tmpdir(), 'saved-files-'));
  started.defer(() => rm(scratch, { recursive: true, force: true }));
  const config = {
    core: { auth: { enabled: true, tokens: Object.entries(tokens).map(([name, token]) => ({ name, token })) } },
    artifacts: { scope: 'principal' },
  };
  const crew = started.use(await startCrew({ ...options, config }));
  let turn = 0;
  const next = (): RunningAdapter => crew.at((turn += 1));
  const running = started.move();
  return {
    crew,
    scratch,
    next,
    opened: (server, name = 'ann') => openSession(next(), { path: `/mcp/${server}`, headers: headersOf(name) }),
    calls: (session) => (name, args) => session.at(next()).tool(name, args),
    async upload({ sessionId }, server, file) {
      const [taken] = await uploaded(next(), sessionId, [file], { server, headers: headersOf('ann') });
      return taken?.handle ?? '';
    },
    async saved({ url, filename }, version) {
      const path = join(await mkdtemp(join(scratch, 'file-')), filename);
      const response = await fetch(at(next(), url) + (version === undefined ? '' : `&version=${version}`));
      if (response.status !== 200) throw new Error(`HTTP ${response.status} for ${filename}`);
      await writeFile(path, await bytesOf(response));
      return path;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
