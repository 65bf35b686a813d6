import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describe as told, startProcess } from '../support/processes.ts';

const ROOT = join(import.meta.dirname, '../..');
const SOURCE = 'https://git.example.com/mcp-adapter/blob/main';

let site: string;
beforeEach(async () => {
  site = await mkdtemp(join(tmpdir(), 'site-'));
});
afterEach(() => rm(site, { recursive: true, force: true }));

test.for([
  { DOCS_SOURCE_URL: SOURCE, links: 'to the source', shown: true },
  { links: 'of nothing but pages', shown: false },
])('npm run docs builds the site, with links $links', async ({ DOCS_SOURCE_URL, shown }) => {
  const env = DOCS_SOURCE_URL === undefined ? {} : { DOCS_SOURCE_URL };
  await using build = startProcess('env', ['-C', ROOT, 'npm', 'run', 'docs', '--', '--outDir', site], env);
  expect(await build.exitsWithin(100_000), told('npm run docs', build)).toEqual({ code: 0, signal: null });

  for (const page of ['index', 'docs/runbooks/McpAdapterUpstreamDown', 'docs/reference/errors', 'CHANGELOG']) {
    expect(existsSync(join(site, `${page}.html`)), page).toBe(true);
  }
  const page = readFileSync(join(site, 'docs/architecture/call.html'), 'utf8');
  expect(page).toContain('href="/docs/architecture/steps.html"');
  expect(page.includes(`href="${SOURCE}/adapter/http/server.ts"`)).toBe(shown);
  expect(page.match(/href="[^"]*\.ts"/) !== null).toBe(shown);
});
