import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';

import { startProcess } from '../support/processes.ts';
import { programPath } from '../support/programs/program-path.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';

const MAIN = programPath(fileURLToPath(new URL('../../adapter/main.ts', import.meta.url)));
const LIMIT_MS = 60_000;
const TOKEN = 'token-of-reports';

let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startScriptedUpstream();
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  upstream.tools.set('read_report', { definition: { inputSchema }, call: () => ({ content: [] }) });
  upstream.tools.set('add_section', { definition: { inputSchema }, call: () => ({ content: [] }) });
  upstream.behavior.pageSize = 1;
  upstream.behavior.intercept = ({ headers }) =>
    headers.authorization === `Bearer ${TOKEN}` ? undefined : { status: 401, body: `no ${TOKEN}, no tools` };
});
afterAll(() => upstream?.close());

async function suggest(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const running = startProcess(process.execPath, [MAIN, 'suggest', ...args], { REPORTS: TOKEN });
  const exit = await running.exitsWithin(LIMIT_MS);
  if (exit === undefined) running.kill();
  return { code: exit?.code ?? null, stdout: running.stdout(), stderr: running.stderr() };
}

test('suggest prints the entries of all pages of tools, and calls none', async () => {
  const { code, stdout, stderr } = await suggest(upstream.url, '--header', 'Authorization: Bearer ${REPORTS}');
  expect([code, stderr]).toEqual([0, '']);
  expect(parse(stdout)).toEqual({
    adapters: [
      { type: 'files', tools: ['read_report'], arguments: { path: 'in' } },
      { type: 'files', tools: ['add_section'], arguments: { path: 'edit' } },
    ],
  });
  expect(upstream.requestsOf('tools/call')).toEqual([]);
});

test('suggest says why a server did not answer, without the credentials', async () => {
  const refused = await suggest(upstream.url, '--header', 'X-Key: ${REPORTS}');
  expect([refused.code, refused.stdout]).toEqual([3, '']);
  expect(refused.stderr).toMatch(
    /^mcp-adapter suggest: the server did not say .*HTTP 401 .*give credentials with --header$/m,
  );
  expect(refused.stderr).not.toContain(TOKEN);
  expect((await suggest('http://127.0.0.1:1/mcp')).code).toBe(3);
});

test.each([
  [[]],
  [['ftp://x/mcp']],
  [['http://x/mcp', '--header', 'a b: c']],
  [['http://x/mcp', '--header', 'X-A: ${NONE}']],
])('suggest %j is wrong use', async (args) => {
  const { code, stdout, stderr } = await suggest(...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^mcp-adapter suggest: /);
});
