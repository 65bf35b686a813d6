import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Balancer, startBalancer } from '../../support/balancer.ts';
import { sha256Of } from '../../support/file-tools.ts';
import { secret } from '../../support/secrets/secret.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { type SharedFolder, sharedFolder } from '../files/kit/folder.ts';
import { uploaded } from '../files/kit/uploads.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession, type Session } from '../kit/session.ts';
import { madeBy, oneOf, problemsOf, ROLES, saidBy, textFile } from './kit/roles.ts';

let own: SharedFolder;
let crew: Crew;
let session: Session;
let turn = 0;
const next = (): Door => session.at(crew.at((turn += 1)));
const read = async (uri: string): Promise<string> => String(await readResource(next(), uri));

beforeAll(async () => {
  own = await sharedFolder();
  const found = (more: object): JsonObject => ({
    type: 'files',
    tools: ['snapshot'],
    found: [{ pattern: String.raw`\[Snapshot\]\(([^)#]+)`, relative_to: own.path, ...more }],
  });
  crew = await startCrew({
    replicas: 3,
    servers: (url) => [
      mounted('up', url, { adapters: [...ROLES, found({ take: 'move' })] }),
      mounted('keeping', url, { adapters: [found({})] }),
      mounted('keyed', url, {
        adapters: [
          { type: 'files', tools: ['write_elsewhere'], found: [{ path_key: 'file.path', relative_to: own.path }] },
        ],
      }),
    ],
  });
  session = await openSession(crew.at(0));
});
afterAll(async () => {
  await crew?.[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
});

describe('files from tool to tool', () => {
  test('what one has made another reads and makes something of', async () => {
    const source = await textFile(next(), 'one\n', 'first.md');
    const result = await next().tool('copy_text', { source, destination: 'second.md', line: 'two' });
    const made = oneOf(result);
    expect(made.filename).toBe('second.md');
    expect(await read(made.uri)).toBe('one\ntwo\n');
    expect(await read(source)).toBe('one\n');
    expect(saidBy(result)).toContain(`Copied ${source} to ${made.uri} ("second.md").`);
    expect(asObject(result['result'])['structuredContent']).toEqual({ from: source, to: { path: made.uri } });
    expect(JSON.stringify(result)).not.toContain(crew.root);
  });

  test('uploads and artifacts stand together in a list of objects; the place to write to is optional', async () => {
    const [taken] = await uploaded(crew.at(1), session.sessionId, [{ name: 'a.txt', bytes: Buffer.from('A') }]);
    const sources = [{ path: taken?.handle ?? '' }, { path: await textFile(next(), 'B') }];
    const alone = await next().tool('join_texts', { sources });
    expect([saidBy(alone), asObject(alone['result'])['_meta']]).toEqual(['AB', undefined]);
    const kept = await next().tool('join_texts', { sources, output: 'both.txt' });
    expect(await read(oneOf(kept).uri)).toBe('AB');
  });

  test('an upload consumer takes them too, and of an upload that was changed the newest version', async () => {
    const seen = async (path: string) => saidBy(await next().tool('read_file', { path }));
    const made = await textFile(next(), 'made');
    expect(await seen(made)).toContain(sha256Of('made'));
    const [taken] = await uploaded(crew.at(1), session.sessionId, [{ name: 'a.txt', bytes: Buffer.from('A') }]);
    const handle = taken?.handle ?? '';
    expect(await seen(handle)).toContain(sha256Of('A'));
    await next().tool('append_line', { path: handle, line: 'B' });
    expect(await seen(handle)).toContain(sha256Of('AB\n'));
    const other = await openSession(crew.at(2));
    expect(saidBy(await other.at(crew.at(0)).tool('read_file', { path: made }))).toContain('is unknown or has expired');
  });

  test('an argument that is required and missing is filled in', async () => {
    const made = oneOf(await next().tool('write_text', { text: 'nameless' }));
    expect(await read(made.uri)).toBe('nameless');
  });

  test('what a tool changes that it was given to read is as it was, and the client is told', async () => {
    const uri = await textFile(next(), 'safe\n');
    const result = await next().tool('read_lines', { path: uri, changes: true });
    expect(problemsOf(result)).toMatchObject([
      { code: 'file_put_back', detail: expect.stringContaining(uri) as string },
    ]);
    expect(await read(uri)).toBe('safe\n');
  });

  test('all files of a folder become artifacts, as many as are allowed', async () => {
    const result = await next().tool('make_report', { folder: 'report' });
    const made = madeBy(result);
    expect(made.map(({ filename }) => filename).toSorted()).toEqual(['part-0.txt', 'part-1.txt', 'part-2.txt']);
    const first = made.find(({ filename }) => filename === 'part-0.txt');
    expect(saidBy(result)).toContain(`The report is ${first?.uri} in (folder).`);
    const texts = await Promise.all(made.map(({ uri }) => read(uri)));
    expect(texts.toSorted()).toEqual(['part 0\n', 'part 1\n', 'part 2\n']);
    const many = await next().tool('make_report', { folder: 'report', files: 9 });
    expect(madeBy(many)).toHaveLength(5);
    expect(problemsOf(many)).toMatchObject([
      { code: 'artifact_limit', detail: expect.stringContaining('4 files') as string },
    ]);
  });

  test('tools say in their descriptions what their arguments take', async () => {
    const { result } = await next().call('tools/list', {});
    const tools = asObject(result)['tools'] as JsonObject[];
    const describe = (name: string, argument: string): string => {
      const schema = asObject(tools.find((tool) => tool['name'] === name)?.['inputSchema']);
      return String(asObject(asObject(schema['properties'])[argument])['description']);
    };
    expect(describe('append_line', 'path')).toMatch(
      /^Path of a file\.\n\nPass the handle of a file: the `artifact:\/\//,
    );
    expect(describe('copy_text', 'destination')).toContain('comes back as an artifact');
  });
});

describe('files that a tool names itself', () => {
  const snapshot = (name: string, more: object = {}, door = next()) =>
    door.tool('snapshot', { folder: own.path, name, ...more });

  test('become artifacts, are named by their handles, and leave the folder', async () => {
    const result = await snapshot('page/one.yml');
    const { uri, filename } = oneOf(result);
    expect(filename).toBe('one.yml');
    expect(await read(uri)).toBe('snapshot page/one.yml\n');
    expect(saidBy(result)).toContain(`- [Snapshot](${uri})\n- and again: [Snapshot](${uri}#L1)`);
    expect(await readdir(join(own.path, 'page'))).toEqual([]);
    const absolute = await snapshot('two.yml', { absolute: true });
    expect(saidBy(absolute)).toContain(`- [Snapshot](${oneOf(absolute).uri})`);
    expect(JSON.stringify(absolute)).not.toContain(own.path);
  });

  test('stay where the entry says so', async () => {
    const keeping = await openSession(crew.at(0), { path: '/mcp/keeping' });
    const made = oneOf(await snapshot('kept.yml', {}, keeping.at(crew.at(1))));
    expect(made.filename).toBe('kept.yml');
    expect(await readdir(own.path)).toContain('kept.yml');
  });

  test('are found at a key of the structured content', async () => {
    const keyed = await openSession(crew.at(0), { path: '/mcp/keyed' });
    const result = await keyed.at(crew.at(1)).tool('write_elsewhere', { at: join(own.path, 'keyed.bin'), size: 5 });
    const { uri, filename } = oneOf(result);
    expect([filename, asObject(result['result'])['structuredContent']]).toEqual(['keyed.bin', { file: { path: uri } }]);
  });

  test('are read by the reader tool', async () => {
    const { uri } = oneOf(await snapshot('read.yml'));
    expect(saidBy(await next().tool('up_read_artifact', { uri }))).toContain('snapshot read.yml');
  });

  test.each([
    ['older.yml', { old: true }, 'it is older than this call'],
    ['../outside.yml', {}, 'it is not below the folder'],
  ])("are not taken when they are not this call's: %s", async (name, more, why) => {
    const result = await snapshot(name, more);
    expect(problemsOf(result)).toMatchObject([
      { code: 'artifact_not_captured', detail: expect.stringContaining(why) as string },
    ]);
    expect(saidBy(result)).toContain(name);
  });

  test('are taken by one call only', async () => {
    const keeping = await openSession(crew.at(0), { path: '/mcp/keeping' });
    await mkdir(own.path, { recursive: true });
    await writeFile(join(own.path, 'shared.yml'), 'x');
    const text = '[Snapshot](shared.yml)';
    const results = await Promise.all([0, 1].map((at) => snapshot('shared.yml', {}, keeping.at(crew.at(at)))));
    const taken = results.filter((result) => problemsOf(result) === undefined);
    expect(taken.length, text).toBeGreaterThan(0);
  });
});

describe('files from server to server', () => {
  let balancer: Balancer;
  let shared: Crew;
  const tokens = { ann: secret('token of ann'), bob: secret('token of bob') };

  beforeAll(async () => {
    shared = await startCrew({
      replicas: 2,
      config: {
        core: { auth: { enabled: true, tokens: Object.entries(tokens).map(([name, token]) => ({ name, token })) } },
        artifacts: { scope: 'principal' },
        storage: { layout: 'per_server' },
      },
      servers: (url) => ['browser', 'sheets'].map((id) => mounted(id, url, { adapters: ROLES })),
    });
    balancer = await startBalancer(shared.replicas.map(({ url }) => url));
  });
  afterAll(async () => {
    await balancer?.close();
    await shared?.[Symbol.asyncDispose]();
  });

  const headersOf = (name: keyof typeof tokens) => ({ 'x-mcp-adapter-auth-token': tokens[name] });
  const connected = async (name: keyof typeof tokens, server: string): Promise<Client> => {
    const client = new Client({ name, version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: headersOf(name) };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${balancer.url}/mcp/${server}`), { requestInit }));
    return client;
  };

  test('a file of one is changed at the other, by the same principal and nobody else', async () => {
    const at = async (name: keyof typeof tokens, server: string): Promise<Door> =>
      (await openSession(balancer, { path: `/mcp/${server}`, headers: headersOf(name) })).at(balancer);
    const uri = await textFile(await at('ann', 'browser'), 'shot\n', 'shot.txt');
    const sheets = await at('ann', 'sheets');
    expect(oneOf(await sheets.tool('append_line', { path: uri, line: 'inserted' }))).toMatchObject({ uri, version: 2 });
    expect(saidBy(await (await at('ann', 'browser')).tool('read_lines', { path: uri }))).toContain('shot\ninserted\n');
    expect(saidBy(await (await at('bob', 'sheets')).tool('read_lines', { path: uri }))).toContain(
      'is unknown or has expired',
    );
  });

  test('clients without sessions do the same', async () => {
    const browser = await connected('ann', 'browser');
    const sheets = await connected('ann', 'sheets');
    const bob = await connected('bob', 'sheets');
    try {
      expect(browser.getNegotiatedProtocolVersion()).toBe('2026-07-28');
      const made = await browser.callTool({ name: 'write_text', arguments: { output_path: 'a.txt', text: 'a\n' } });
      const uri = String(asObject(asObject(made._meta)['artifact'])['artifact_uri']);
      const changed = await sheets.callTool({ name: 'append_line', arguments: { path: uri, line: 'b' } });
      expect(asObject(asObject(changed._meta)['artifact'])).toMatchObject({ artifact_uri: uri, version: 2 });
      const refused = await bob.callTool({ name: 'read_lines', arguments: { path: uri } });
      expect(refused.isError).toBe(true);
    } finally {
      await Promise.all([browser, sheets, bob].map((client) => client.close()));
    }
  });
});
