import { afterAll, beforeAll, expect, test } from 'vitest';
import { secret } from '../../support/secrets/secret.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { mounted } from '../kit/deployment.ts';
import { openSession } from '../kit/session.ts';

const TOKEN = secret('token of the clients');
const headers = { 'x-mcp-adapter-auth-token': TOKEN };
let crew: Crew;
let browser: ScriptedUpstream;

beforeAll(async () => {
  browser = await startScriptedUpstream();
  browser.tools.set('browser_click', {
    definition: { inputSchema: { type: 'object' } },
    call: () => ({ content: [{ type: 'text', text: '- [Snapshot](page.yml)' }] }),
  });
  crew = await startCrew({
    replicas: 1,
    config: { core: { auth: { enabled: true, token: TOKEN }, log_level: 'warning' } },
    servers: (url) => [
      mounted('up', url, {
        adapters: [
          { type: 'files', tools: ['append_line'], arguments: { path: 'edit', pathh: 'in' } },
          { type: 'artifact_producer', tools: ['write_fil'], output_path_argument: 'output_path' },
          { type: 'files', tools: ['snapshot'], found: [{ pattern: String.raw`\(([^)#]+)`, relative_to: '/none' }] },
        ],
      }),
      mounted('browser', browser.url, { profile: { name: 'playwright', folder: '/none' } }),
    ],
  });
});
afterAll(async () => {
  await crew?.[Symbol.asyncDispose]();
  await browser?.close();
});

const server = async (asked: Record<string, string>, index = 0) => {
  const response = await fetch(`${crew.at(0).url}/healthz`, { headers: asked });
  const { servers } = asObject(await response.json());
  return asObject((servers as unknown[])[index]);
};

test('entries that fit nothing and files that were not taken are told in the health and in the log', async () => {
  const session = await openSession(crew.at(0), { headers });
  expect(await server(headers)).not.toHaveProperty('file_rules');
  await session.at(crew.at(0)).call('tools/list', {});
  const rules = [
    { entry: 0, reason: 'no_argument', message: 'adapters[0]: the tool append_line has no argument "pathh"' },
    { entry: 1, reason: 'no_tool', message: 'adapters[1]: the server has no tool "write_fil"' },
  ];
  expect(await server(headers)).toMatchObject({ status: 'ok', file_rules: rules });
  expect((await server({}))['file_rules']).toEqual(rules.map(({ entry, reason }) => ({ entry, reason })));
  await expect
    .poll(() =>
      crew
        .at(0)
        .logs()
        .map(({ msg }) => msg),
    )
    .toEqual(expect.arrayContaining(rules.map(({ message }) => message)));

  await session.at(crew.at(0)).tool('snapshot', { folder: crew.root, name: 'page.yml' });
  const told = 'snapshot named "page.yml", which was not taken from /none: outside';
  expect((await server(headers))['files_not_taken']).toEqual([told]);
  expect(await server({})).not.toHaveProperty('files_not_taken');
});

test('of a profile only files that were not taken are told: servers of other versions lack some of its tools', async () => {
  const session = await openSession(crew.at(0), { headers, path: '/mcp/browser' });
  await session.at(crew.at(0)).call('tools/list', {});
  await session.at(crew.at(0)).tool('browser_click');
  const told = await server(headers, 1);
  expect(told).not.toHaveProperty('file_rules');
  expect(told['files_not_taken']).toEqual(['browser_click named "page.yml", which was not taken from /none: outside']);
});
