import { writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { runAdapter } from '../support/adapter-process.ts';
import { startProcess } from '../support/processes.ts';
import { type RawHandler, type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';

const MAIN = fileURLToPath(new URL('../../adapter/main.ts', import.meta.url));
const LIMIT_MS = 60_000;
const KEY = 'key-of-the-upstreams';
const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };

let folder: string;
let lock: string;
let older: ScriptedUpstream;
let newer: RawUpstream;
/** What the server of the sessionless revision has. */
let has: Record<'tools' | 'prompts' | 'resourceTemplates', JsonObject[]> & { instructions: string };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'));
  lock = join(folder, 'lock.yaml');
  older = await startScriptedUpstream({ pageSize: 1, instructions: 'Read, then write.' });
  older.tools.clear();
  for (const name of ['read_report', 'add_section']) define(name, { description: `${name}.`, inputSchema });
  older.behavior.intercept = ({ headers }) =>
    headers['x-key'] === KEY ? undefined : { status: 401, body: `no ${KEY}` };
  has = {
    tools: [
      { name: 'one', inputSchema },
      { name: 'two', inputSchema },
    ],
    prompts: [{ name: 'summary' }, { name: 'outline' }],
    resourceTemplates: [{ uriTemplate: 'file:///{path}', name: 'files' }],
    instructions: 'Ask first.',
  };
  newer = await startRawUpstream(sessionless(() => has));
});
afterEach(async () => {
  await older?.close();
  await newer?.close();
  await rm(folder, { recursive: true, force: true });
});

const define = (name: string, definition: JsonObject) =>
  older.tools.set(name, { definition, call: () => ({ content: [] }) });
const servers = (): JsonObject[] => [
  {
    id: 'old',
    mount_path: '/old',
    disabled_tools: ['add_.*'],
    upstream: { url: older.url, static_headers: { 'X-Key': '${KEY}' } },
  },
  { id: 'new', mount_path: '/new', upstream: { url: `${newer.url}/mcp` } },
];

interface Run {
  readonly servers?: readonly JsonObject[];
  readonly core?: JsonObject;
}

async function run(args: readonly string[], { servers: given = servers(), core }: Run = {}) {
  const config = join(folder, 'config.yaml');
  const storage = { root: join(folder, 'storage') };
  await writeFile(config, JSON.stringify({ core: { tool_lock: { path: lock }, ...core }, servers: given, storage }));
  const running = startProcess(process.execPath, [MAIN, 'lock', ...args, '--config', config], { KEY });
  const exit = await running.exitsWithin(LIMIT_MS);
  if (exit === undefined) running.kill();
  const [stdout, stderr] = [running.stdout(), running.stderr()];
  expect(stdout + stderr).not.toContain(KEY);
  return { code: exit?.code ?? null, stdout, stderr };
}

const created = async (): Promise<void> => {
  const { code, stderr } = await run(['create', '--output', lock]);
  expect([code, stderr]).toEqual([0, '']);
};
const lockText = () => readFile(lock, 'utf8');

test('create has all pages of all lists of both revisions, as the servers say them, and calls nothing', async () => {
  const { code, stdout, stderr } = await run(['create']);
  expect([code, stderr]).toEqual([0, '']);
  const made = parse(stdout) as { servers: Record<string, Record<string, object>> };
  const namesOf = (id: string) =>
    Object.fromEntries(
      Object.entries(made.servers[id] ?? {}).map(([kind, all]) => [
        kind,
        typeof all === 'string' ? 'digest' : Object.keys(all),
      ]),
    );
  // What clients do not see is locked too: `disabled_tools` may change.
  expect(namesOf('old')).toEqual({ instructions: 'digest', tools: ['add_section', 'read_report'] });
  expect(namesOf('new')).toEqual({
    instructions: 'digest',
    tools: ['one', 'two'],
    prompts: ['outline', 'summary'],
    resourceTemplates: ['file:///{path}'],
  });
  expect([
    ...older.requestsOf('tools/call'),
    ...newer.requests.filter(({ text }) => text.includes('tools/call')),
  ]).toEqual([]);
  expect(older.sessions.size).toBe(0);
  expect((await run(['create', '--adapter', 'tools/files'])).stdout).toMatch(
    /^apiVersion: mcpadapter.io\/v1alpha1\nkind: McpToolLock\nmetadata:\n {2}name: files\n {2}namespace: tools\nspec:\n {2}adapterRef:\n {4}name: files\n {2}mode: enforce\n/,
  );
});

test('a server without the capability of prompts and templates is not asked for them', async () => {
  older.behavior.capabilities = { tools: {} };
  older.behavior.instructions = undefined;
  older.methods.clear();
  const { code, stdout } = await run(['create', '--server', 'old']);
  expect(code).toBe(0);
  expect(Object.keys(asObject(asObject(asObject(parse(stdout)).servers).old))).toEqual(['tools']);
  expect([...older.requestsOf('prompts/list'), ...older.requestsOf('resources/templates/list')]).toEqual([]);
});

test('T10: what differs is told, approved tool by tool, and then nothing differs', async () => {
  await created();
  const before = await lockText();
  expect(await run(['diff'])).toEqual({ code: 0, stdout: '', stderr: '' });

  define('read_report', { description: 'Sends the report away.', inputSchema });
  has.prompts.pop();
  has.instructions = `Ask\u202E nobody. token=abc ${KEY}`;
  const { code, stdout, stderr } = await run(['diff']);
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout.replaceAll(/sha256:\w+/g, '<digest>')).toBe(
    [
      'old',
      '  ~ tool read_report',
      '      description  <digest> → <digest>',
      '        + Sends the report away.',
      '',
      'new',
      '  ~ instructions',
      '      instructions  <digest> → <digest>',
      String.raw`        + Ask\u{202e} nobody. token=abc <redacted>`,
      '  - prompt outline (removed)',
      '',
    ].join('\n'),
  );

  const dry = await run(['approve', 'read_report', '--dry-run']);
  expect([dry.code, await lockText()]).toEqual([0, before]);
  const one = await run(['approve', 'read_report']);
  expect(one).toEqual({ code: 0, stdout: '', stderr: 'approved: old/tools/read_report (changed)\n' });
  expect(await lockText()).toBe(dry.stdout);
  expect((await run(['diff', '--server', 'old'])).code).toBe(0);
  expect((await run(['diff'])).code).toBe(1);
  const rest = await run(['approve']);
  expect(rest.stderr).toBe('approved: new/instructions (changed)\napproved: new/prompts/outline (removed)\n');
  expect(await run(['diff'])).toEqual({ code: 0, stdout: '', stderr: '' });
  const again = await run(['approve']);
  expect([again.code, again.stderr]).toEqual([0, `${lock} stays as it is\n`]);
});

test('as JSON and as SARIF, with nothing in them that a terminal obeys', async () => {
  await created();
  const name = 'evil\u009B2J\u202E';
  has.tools.push({ name, inputSchema });
  define('read_report', { description: `\u009B2J${KEY}`, inputSchema });
  const json = await run(['diff', '-o', 'json']);
  expect(json.code).toBe(1);
  const { changes } = JSON.parse(json.stdout) as { changes: { name: string; fields: { now: string }[] }[] };
  expect(changes.map((change) => change.name)).toEqual(['read_report', name]);
  expect(JSON.parse(changes[0]?.fields[0]?.now ?? '')).toBe('\u009B2J<redacted>');

  const report = join(folder, 'lock.sarif');
  const sarif = await run(['diff', '-o', 'sarif', '--output', report]);
  expect(sarif).toEqual({ code: 1, stdout: '', stderr: '' });
  const written = await readFile(report, 'utf8');
  for (const output of [json.stdout, written]) expect(output).toMatch(/^[\n -~]*$/);
  const { runs } = Sarif.parse(JSON.parse(written));
  expect(runs[0].results.map(({ ruleId, message }) => `${ruleId}: ${message.text}`)).toEqual([
    'definition-changed: old/tools/read_report has changed: description.',
    String.raw`definition-new: new/tools/evil\u{9b}2J\u{202e} is new.`,
  ]);
  const [place] = runs[0].results[0]?.locations ?? [];
  const line = (await lockText()).split('\n')[(place?.physicalLocation.region.startLine ?? 0) - 1];
  expect(line?.trim()).toBe('read_report:');
});

test('a server that does not answer: 3, and what the others have differently comes first', async () => {
  await created();
  const gone = { id: 'gone', mount_path: '/gone', upstream: { url: 'http://127.0.0.1:1/mcp' } };
  const refused = { ...servers()[0], id: 'refused', mount_path: '/refused', upstream: { url: older.url } };
  const { code, stdout, stderr } = await run(['diff'], { servers: [...servers(), gone, refused] });
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr.split('\n')).toEqual([
    'gone did not say what it has: not reached: connect ECONNREFUSED 127.0.0.1:1',
    expect.stringMatching(/^refused did not say what it has: refused: .*HTTP 401.*<redacted>/),
    '',
  ]);
  const other = join(folder, 'other.yaml');
  const partial = await run(['create', '--output', other], { servers: [...servers(), gone] });
  expect([partial.code, partial.stderr]).toEqual([3, expect.stringContaining(`${other} is not written`)]);
  await expect(readFile(other)).rejects.toThrow('ENOENT');
  has.tools.pop();
  expect((await run(['diff'], { servers: [...servers(), gone] })).code).toBe(1);
});

test('a list that is an error on its second page is no shorter list', async () => {
  await created();
  const whole = older.behavior.intercept;
  older.behavior.intercept = (request) =>
    /"tools\/list".*"cursor"/.test(request.text)
      ? { status: 200, body: request.text.replace('"method"', '"error":{"code":-32603,"message":"no"},"method"') }
      : whole(request);
  const { code, stdout, stderr } = await run(['diff']);
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr).toMatch(/^old did not say what it has: reached, but not all of it can be listed: The tools of /);
});

test('wrong use: 2, before anybody is asked', async () => {
  await created();
  const asked = newer.requests.length + older.requests.length;
  await writeFile(lock, (await lockText()).replace(/^( +digest: sha256:)\w/m, '$1G'));
  const line = (await lockText()).split('\n').findIndex((one) => one.includes('sha256:G')) + 1;
  const broken = await run(['diff']);
  expect([broken.code, broken.stdout]).toEqual([2, '']);
  expect(broken.stderr).toMatch(
    new RegExp(
      `^mcp-adapter lock: ${lock} cannot be used: 1 problem\\n {2}${lock}:${line}:\\d+: servers\\.new\\.tools\\.one\\.digest must`,
    ),
  );
  expect((await run(['approve'])).code).toBe(2);
  for (const [args, message] of [
    [['diff', '--lock', join(folder, 'none')], 'none cannot be read: ENOENT'],
    [['diff', '--server', 'x'], 'the configuration has no server x'],
    [['create', '--output', lock], `${lock} is there already`],
    [['diff', '--colour'], "Unknown option '--colour'"],
  ] as const) {
    const { code, stderr } = await run(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  }
  expect((await run(['diff'], { core: { tool_lock: null } })).stderr).toContain('which lock? Give --lock FILE');
  expect((await run(['diff'], { servers: [{ id: 'a' }] })).stderr).toContain('config.yaml cannot be used');
  expect(newer.requests.length + older.requests.length).toBe(asked);
});

test('a lock that somebody else changes meanwhile stays as they left it', async () => {
  await created();
  has.tools.pop();
  const theirs = `# Mine\n${await lockText()}`;
  const usual = older.behavior.intercept;
  older.behavior.intercept = (request) => {
    writeFileSync(lock, theirs);
    return usual(request);
  };
  const { code, stderr } = await run(['approve']);
  expect([code, stderr]).toEqual([2, `mcp-adapter lock: ${lock} was changed meanwhile, and stays as it is\n`]);
  expect(await lockText()).toBe(theirs);
});

test('a name that holds a secret of the configuration gets into no lock', async () => {
  has.tools.push({ name: `x_${KEY}`, inputSchema });
  const { code, stdout, stderr } = await run(['create']);
  expect([code, stdout, stderr]).toEqual([2, '', 'a name in new/tools holds a secret of the configuration\n']);
});

test('--check-config: a lock that cannot be used is a problem, and servers that only one of the two has are told', async () => {
  await created();
  const check = (given: readonly JsonObject[], ...args: string[]) =>
    runAdapter({
      config: { core: { tool_lock: { path: lock } }, servers: given },
      env: { KEY },
      args: ['--check-config', ...args],
    });
  const well = await check(servers());
  expect([well.code, well.stderr]).toEqual([0, '']);
  const [, second] = servers();
  const strange = [{ ...second, id: 'newer' }, ...servers().slice(0, 1)];
  const warned = await check(strange);
  expect(warned.code).toBe(0);
  expect(warned.stderr.replaceAll(/^\S+config\.yaml: /gm, '').split('\n')).toEqual([
    'warning: core.tool_lock: the lock names the server new, which is not there',
    'warning: core.tool_lock: the lock does not name the server newer: nothing that it has is listed',
    '',
  ]);
  expect((await check(strange, '--strict')).code).toBe(1);
  await writeFile(lock, (await lockText()).replace('mode: enforce', 'mode: enforced'));
  const broken = await check(servers());
  expect([broken.code, broken.stdout]).toEqual([1, '']);
  expect(broken.stderr).toMatch(/config\.yaml: core\.tool_lock: .*\n.*lock\.yaml:1:\d+: mode must be/);
  await rm(lock);
  const gone = await check(servers());
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('cannot be read: ENOENT')]);
});

/** What SARIF 2.1.0 wants of a log as this program writes it: objects with these members and no others. */
const Message = z.strictObject({ text: z.string().min(1) });
const Level = z.enum(['none', 'note', 'warning', 'error']);
const Result = z.strictObject({
  ruleId: z.string(),
  ruleIndex: z.int().min(0),
  level: Level,
  message: Message,
  locations: z.array(
    z.strictObject({
      physicalLocation: z.strictObject({
        artifactLocation: z.strictObject({ uri: z.string().regex(/^[^\s]+$/) }),
        region: z.strictObject({ startLine: z.int().min(1) }),
      }),
      logicalLocations: z.array(z.strictObject({ fullyQualifiedName: z.string(), kind: z.literal('member') })),
    }),
  ),
  partialFingerprints: z.record(z.string(), z.string()),
});
const Sarif = z.strictObject({
  $schema: z.url(),
  version: z.literal('2.1.0'),
  runs: z.tuple([
    z.strictObject({
      tool: z.strictObject({
        driver: z.strictObject({
          name: z.string(),
          version: z.string(),
          rules: z.array(
            z.strictObject({
              id: z.string(),
              shortDescription: Message,
              defaultConfiguration: z.strictObject({ level: Level }),
            }),
          ),
        }),
      }),
      invocations: z.array(
        z.strictObject({
          executionSuccessful: z.boolean(),
          toolExecutionNotifications: z.array(z.strictObject({ level: Level, message: Message })),
        }),
      ),
      results: z.array(Result),
    }),
  ]),
});

/** A server of the sessionless revision, with one entry to a page. */
function sessionless(now: () => typeof has): RawHandler {
  const member = {
    'tools/list': 'tools',
    'prompts/list': 'prompts',
    'resources/templates/list': 'resourceTemplates',
  } as const;
  return ({ json }, res) => {
    const { id, method, params } = asObject(json);
    const list = member[method as keyof typeof member];
    const page = Number(asObject(params).cursor ?? 0);
    const { instructions, ...lists } = now();
    const entries = list === undefined ? [] : lists[list];
    const result =
      method === 'server/discover'
        ? {
            supportedVersions: ['2026-07-28'],
            capabilities: { tools: {}, prompts: {}, resources: {} },
            instructions,
          }
        : {
            [list]: entries.slice(page, page + 1),
            ...(page + 1 < entries.length ? { nextCursor: String(page + 1) } : {}),
          };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
}
