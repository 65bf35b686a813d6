import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';
import { runScraper } from '../support/scraper-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const CONFIG = join(ROOT, 'examples/scraper/scraper.yaml');
const PAGE = readFileSync(join(ROOT, 'docs/start/local.md'), 'utf8');
const COMMAND = 'npm run -s scraper -- --config examples/scraper/scraper.yaml --once';

describe('the demo API and its scraper', () => {
  let folder: string;
  let api: RunningProcess;
  let env: NodeJS.ProcessEnv;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'scraper-quickstart-'));
    const port = String(await freePort());
    api = startProcess('env', ['-C', ROOT, 'npm', 'run', '-s', 'demo-api', '--', '--port', port]);
    const [, url = ''] = await api.waitForStdout(/listening: (\S+)/, 20_000);
    env = { SHOP_URL: url, DATA_DIR: join(folder, 'data') };
  });
  afterEach(async () => {
    await api.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('one scrape shows what the page shows, and writes nothing', async () => {
    const [, documented = ''] = PAGE.split(`${COMMAND}\n\`\`\`\n\n\`\`\`text\n`);
    const pattern = documented
      .split('```')[0]
      ?.trim()
      .replaceAll(/\d+ (windows?|records?)/g, '#');
    const { code, stdout } = await runScraper(['--config', CONFIG, '--once'], env);
    expect(code).toBe(0);
    expect(stdout.trim().replaceAll(/\d+ (windows?|records?)/g, '#')).toBe(pattern);
    await expect(readdir(join(folder, 'data'))).rejects.toThrow('ENOENT');
  });

  test('--explain leads from the request to the points', async () => {
    const { code, stdout } = await runScraper(['--config', CONFIG, '--explain', 'orders'], env);
    expect(code).toBe(0);
    for (const part of ['request: GET http', 'found: 3', 'name: shop.packing.duration', 'severity: INFO']) {
      expect(stdout).toContain(part);
    }
  });

  test('--validate finds nothing wrong', async () => {
    expect(await runScraper(['--config', CONFIG, '--validate'], env)).toMatchObject({ code: 0, stderr: '' });
  });
});
