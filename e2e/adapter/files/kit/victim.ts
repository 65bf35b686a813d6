import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type FileTools, startFileTools } from '../../../support/file-tools.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { mounted } from '../../kit/deployment.ts';
import { type InProcessAdapter, startInProcess } from '../../kit/in-process.ts';
import { openSession, type Session } from '../../kit/session.ts';
import { type Lying, lying, sharedFolder } from './folder.ts';
import { ENTRIES, fileConfig } from './settings.ts';

/** What must never come out. */
export const SECRET = 'the secret of somebody else';
/** Where the state is, below `storage.root`. */
export const STATE = 'state/adapter_state.sqlite3';
/** Engines that try everything need for ever for this pattern and a long text that does not match it. */
const ENDLESS = '^(a+)+$';

/** An adapter that somebody means ill. Its servers `up`, `rx` and `endless` differ in how they look for files. */
export interface Victim extends AsyncDisposable {
  readonly adapter: InProcessAdapter;
  readonly tools: FileTools;
  readonly root: string;
  /** A folder outside of `root`, with SECRET in `out.bin`. */
  readonly outside: string;
  open(path?: string): Promise<Session>;
  /** What lies on the disk of this session. */
  lyingOf(session: Session): Promise<Lying[]>;
  /** Fails when the adapter is not well, or has had a surprise. */
  isWell(): Promise<void>;
}

export async function startVictim(): Promise<Victim> {
  await using started = new AsyncDisposableStack();
  const { path: root } = started.use(await sharedFolder());
  const outside = await mkdtemp(join(tmpdir(), 'outside-'));
  started.defer(() => rm(outside, { recursive: true, force: true }));
  await writeFile(join(outside, 'out.bin'), SECRET);
  const tools = started.use(await startFileTools());
  const regex = (...output_path_regexes: string[]): JsonObject => ({
    type: 'artifact_producer',
    tools: ['name_path'],
    output_locator: { mode: 'regex', output_path_regexes },
  });
  const config = fileConfig(root, tools.url, {
    state_persistence: { type: 'disk' },
    servers: [
      mounted('up', tools.url, { adapters: ENTRIES }),
      mounted('rx', tools.url, { adapters: [regex()] }),
      mounted('endless', tools.url, { adapters: [regex(ENDLESS)] }),
    ],
  });
  const adapter = started.use(await startInProcess(config));
  const running = started.move();
  return {
    adapter,
    tools,
    root,
    outside,
    open: (path) => openSession(adapter, path === undefined ? {} : { path }),
    lyingOf: async ({ sessionId }) => (await lying(root)).filter(({ path }) => path.split('/')[2] === sessionId),
    async isWell() {
      expect((await fetch(`${adapter.url}/healthz`)).status).toBe(200);
      expect(adapter.logs.filter(({ msg }) => String(msg).includes('unexpected'))).toEqual([]);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
