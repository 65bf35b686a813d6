import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FileArguments } from '../../../crds/config/adapter-file/file-rules.ts';
import { profileEntries, PROFILES, type ProfileName } from '../../../crds/config/adapter-file/profiles/profiles.ts';
import { missing } from '../../sdks/cached.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { startCrew } from '../files/kit/crew.ts';
import { mounted } from '../kit/deployment.ts';
import { openSession } from '../kit/session.ts';
import { startProcess } from '../../support/processes.ts';
import { startPlaywrightServer } from '../../support/real-servers.ts';
import {
  NODE_SERVERS,
  startChromeDevtools,
  startFilesystem,
  startOtherExcel,
  startPdfReader,
} from './kit/node-servers.ts';
import { PYTHON_SERVERS, startExcel, startMarkItDown, startWord } from './kit/office-servers.ts';

const MAIN = fileURLToPath(new URL('../../../adapter/main.ts', import.meta.url));
const REVIEWED = fileURLToPath(new URL('../../../adapter/suggest/testdata/', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../../package.json', import.meta.url));
const CAPABILITIES = ['vision', 'pdf', 'devtools', 'storage', 'testing', 'network', 'config'];
const unavailable = await missing('python3', '-m', 'venv', '--help');

interface Started extends AsyncDisposable {
  readonly url: string;
}

/** Each published server: the name of its reviewed roles, its profile, and how it is started. */
const SERVERS: readonly [string, ProfileName | undefined, (root: string) => Promise<Started>][] = [
  ['word', 'word', startWord],
  ['excel', 'excel', startExcel],
  ['negokaz-excel', undefined, startOtherExcel],
  ['markitdown', 'markitdown', startMarkItDown],
  ['pdf-reader', 'pdf-reader', startPdfReader],
  ['filesystem', 'filesystem', startFilesystem],
  ['chrome-devtools', 'chrome-devtools', startChromeDevtools],
  ['playwright', 'playwright', (root) => startPlaywrightServer('streamable_http', root, root, CAPABILITIES)],
];

/** `tool argument` → role, `as` and the rest. */
type Roles = Record<string, { readonly role: string; readonly as: string }>;

const rolesOf = (tools: readonly string[], written: unknown): Roles =>
  Object.fromEntries(
    tools.flatMap((tool) =>
      Object.entries(FileArguments.parse(written)).map(([name, { role, as }]) => [`${tool} ${name}`, { role, as }]),
    ),
  );

async function adapter(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const running = startProcess(process.execPath, [MAIN, ...args]);
  const { code } = await running.exited;
  return { code, stdout: running.stdout(), stderr: running.stderr() };
}

describe.skipIf(unavailable !== undefined).each(SERVERS)(`%s ${unavailable ?? ''}`, (name, profile, start) => {
  let folder: string;
  let server: Started | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'suggest-'));
    server = await start(folder);
  }, 300_000);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  test('is suggested what a reader of its tools says', async () => {
    const { code, stdout } = await adapter('suggest', server?.url ?? '');
    expect(code).toBe(0);
    const entries = (parse(stdout) as { adapters: { tools: string[]; arguments: unknown }[] }).adapters;
    const suggested: Roles = Object.assign({}, ...entries.map((entry) => rolesOf(entry.tools, entry.arguments)));
    const file = parse(await readFile(join(REVIEWED, `${name}.roles.yaml`), 'utf8')) as Record<string, unknown>;
    const reviewed: Roles = Object.assign({}, ...Object.entries(file).map(([tool, roles]) => rolesOf([tool], roles)));

    const all = [...new Set([...Object.keys(reviewed), ...Object.keys(suggested)])];
    const wrong = all.filter((one) => JSON.stringify(reviewed[one]) !== JSON.stringify(suggested[one]));
    process.stdout.write(`${name}: ${all.length - wrong.length} of ${all.length} right; wrong: ${wrong.join(', ')}\n`);
    expect((all.length - wrong.length) / all.length).toBeGreaterThanOrEqual(0.95);
    const edited = Object.keys(reviewed).filter((one) => reviewed[one]?.role === 'edit');
    expect(edited.filter((one) => suggested[one]?.role === 'in')).toEqual([]);
  });

  if (profile === undefined) return;
  test('has every tool and argument of its profile, in the version that it names', async () => {
    const { reviewedWith } = PROFILES[profile];
    const [packageName = '', version = ''] = reviewedWith.split(' ');
    const { devDependencies } = JSON.parse(await readFile(PACKAGE, 'utf8')) as { devDependencies: object };
    const pinned = Object.entries(devDependencies).map(([one, at]) => `${one}@${at}`);
    expect([...PYTHON_SERVERS.map((one) => one.replace('==', '@')), ...NODE_SERVERS, ...pinned]).toContain(
      `${packageName}@${version}`,
    );

    // As entries of its own, which are told where they fit nothing.
    const adapters = profileEntries(profile, folder);
    await using crew = await startCrew({
      replicas: 1,
      state: 'disk',
      servers: () => [mounted('one', server?.url ?? '', { adapters })],
    });
    await (await openSession(crew.at(0), { path: '/mcp/one' })).at(crew.at(0)).call('tools/list', {});
    const { servers } = asObject(await (await fetch(`${crew.at(0).url}/healthz`)).json());
    const [told] = servers as JsonObject[];
    expect(told).toMatchObject({ server_id: 'one', status: 'ok' });
    expect(told).not.toHaveProperty('file_rules');
  });
});
