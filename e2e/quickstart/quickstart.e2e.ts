import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listen } from '../support/ports.ts';
import { type Exit, type RunningProcess, startProcess } from '../support/processes.ts';

const ROOT = join(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const CONFIGURATION = readFileSync(join(ROOT, 'docs/adapter/configuration.md'), 'utf8');
const MOUNT_IN_README = 'http://127.0.0.1:8932/mcp/demo';
const TIMEOUT_MS = 30_000;

let dataDir: string;
const opened: AsyncDisposable[] = [];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'quickstart-'));
});
afterEach(async () => {
  for (const resource of opened.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

/** In the folder of the project, with state of its own. */
function start(command: string, ...args: string[]): RunningProcess {
  const running = startProcess('env', ['-C', ROOT, command, ...args], { DATA_DIR: dataDir, NO_COLOR: '1' });
  opened.push(running);
  return running;
}

async function run(command: string, ...args: string[]): Promise<Exit & { stdout: string; stderr: string }> {
  const running = start(command, ...args);
  const exit = await running.exitsWithin(TIMEOUT_MS);
  if (exit === undefined) throw new Error(`${command} ${args.join(' ')} still runs: ${running.stdout()}`);
  return { ...exit, stdout: running.stdout(), stderr: running.stderr() };
}

/** Ids of the processes that were started with this test's folder. Only Linux tells. */
function processesLeft(): string[] {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      return readFileSync(`/proc/${id}/environ`, 'utf8').includes(`DATA_DIR=${dataDir}\0`);
    } catch {
      // Ended meanwhile.
      return false;
    }
  });
}

/** The code block of the README that follows this command line in it. */
function outputInReadme(command: string): string {
  const [, after = ''] = README.split(`${command}\n`);
  return (
    after
      .split('```')[2]
      ?.replace(/^\w*\n/, '')
      .trim() ?? ''
  );
}

describe('the quick start of the README', () => {
  test('npm start says how to call a tool, and the call works as it stands there', async () => {
    const running = start('npm', 'start', '--', '--port', '0');
    const [, mount = ''] = await running.waitForStdout(/MCP endpoint +(\S+)/, TIMEOUT_MS);
    const [, health = ''] = await running.waitForStdout(/Health +(\S+)/);
    const [command = ''] = await running.waitForStdout(/npm run -s client .*/);
    expect(command).toContain(mount);

    const documented = command.replace(mount, MOUNT_IN_README);
    expect(README).toContain(`\n${documented}\n`);
    const call = await run('sh', '-c', command);
    expect(call).toMatchObject({ code: 0, stderr: '' });
    expect(call.stdout.trim()).toBe(outputInReadme(documented));

    const response = await fetch(health, { signal: AbortSignal.timeout(5000) });
    expect(await response.json()).toMatchObject({ status: 'ok' });
    expect(running.stdout()).toMatch(/info +request .*tool=word_count/);
  });

  test.for(['npm alone', 'the whole process group, as Ctrl-C does'])(
    'SIGINT to %s ends everything',
    async (receiver) => {
      const running = start('setsid', 'npm', 'start', '--', '--port', '0');
      const [, mount = ''] = await running.waitForStdout(/MCP endpoint +(\S+)/, TIMEOUT_MS);
      await running.waitForStdout(/Ctrl-C/);
      process.kill(receiver === 'npm alone' ? running.pid : -running.pid, 'SIGINT');
      expect(await running.exitsWithin(TIMEOUT_MS)).toEqual({ code: 0, signal: null });
      expect(running.stdout()).toContain('stopped');
      expect(processesLeft()).toEqual([]);
      await expect(fetch(mount, { signal: AbortSignal.timeout(5000) })).rejects.toThrow('fetch failed');
    },
  );

  test('a busy port is named, with the way out', async () => {
    const server = createServer();
    const port = await listen(server);
    opened.push({ [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) });
    const { code, stderr } = await run('npm', 'start', '--', '--port', String(port));
    expect(code).toBe(1);
    expect(stderr).toContain(`Port ${port} of 127.0.0.1 is in use.`);
    expect(stderr).toContain('npm start -- --port 0');
    expect(processesLeft()).toEqual([]);
  });

  test.for(['--port=http', '--frobnicate'])('npm start refuses %s', async (option) => {
    const { code, stderr } = await run('npm', 'start', '--', option);
    expect(code).toBe(2);
    expect(stderr).toContain("Try 'npm start -- --help'.");
  });
});

describe('the client', () => {
  const client = (...args: string[]) => run(process.execPath, 'scripts/client.ts', ...args);

  test.for([
    { args: [] },
    { args: ['not-a-url'] },
    { args: ['http://127.0.0.1:1', 'tool', 'not json'] },
    { args: ['http://127.0.0.1:1', 'tool', '{}', 'more'] },
    { args: ['--header', 'no colon', 'http://127.0.0.1:1'] },
    { args: ['--frobnicate'] },
    { args: ['http://127.0.0.1:1', 'tool', '--upload', 'file=absent.csv'], names: '"absent.csv" is no file' },
    { args: ['http://127.0.0.1:1', 'tool', '--upload', 'file=scripts'], names: '"scripts" is no file' },
  ])('refuses $args', async ({ args, names = '' }) => {
    const { code, stdout, stderr } = await client(...args);
    expect(stderr).toContain('--help');
    expect(stderr).toContain(names);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    // Said once.
    const [reason = ''] = stderr.split('\n');
    expect(reason).not.toMatch(/(.{10,}): \1/);
  });

  test('says that nobody listens', async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise<void>((resolve) => server.close(() => resolve()));
    const { code, stderr } = await client(`http://127.0.0.1:${port}/mcp`);
    expect(code).toBe(1);
    expect(stderr).toContain('ECONNREFUSED');
  });

  test('says why the server refuses', async () => {
    const detail = 'The upstream server could not be reached.';
    const server = createHttpServer((_, res) => res.writeHead(502).end(JSON.stringify({ error: { message: detail } })));
    const port = await listen(server);
    const { code, stderr } = await client(`http://127.0.0.1:${port}/mcp`);
    server.close();
    expect(code).toBe(1);
    expect(stderr.split(detail)).toHaveLength(2);
  });
});

describe('the command line of the adapter', () => {
  const adapter = (...args: string[]) => run(process.execPath, 'adapter/main.ts', ...args);

  test('names a configuration file that does not exist', async () => {
    const { code, stderr } = await adapter('--config', join(dataDir, 'absent.yaml'));
    expect(code).toBe(1);
    expect(stderr).toContain('absent.yaml');
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('says that a folder is no configuration file', async () => {
    const { code, stderr } = await adapter('--config', dataDir);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `mcp-adapter: cannot read the configuration file ${dataDir}: EISDIR: illegal operation on a directory, read; give --config FILE\n`,
    });
  });

  test('checks a configuration and shows what is in effect', async () => {
    const config = join(dataDir, 'adapter.yaml');
    await writeFile(config, CONFIGURATION.split('```yaml\n')[1]?.split('```')[0] ?? '');
    const { code, stdout } = await run(
      'env',
      'ADAPTER_TOKEN=t',
      process.execPath,
      'adapter/main.ts',
      '--check-config',
      '--print',
      '--config',
      config,
    );
    expect(code).toBe(0);
    expect(stdout).toContain('root: ./data');
    expect(stdout).toContain('url: http://127.0.0.1:9000/mcp');
    expect(stdout).toContain('max_request_body_bytes: 16777216');
  });

  test('tells its version and its options', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(await adapter('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
    expect(await adapter('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--check-config') });
  });

  test.for(['--frobnicate', '--port=http', '--log-level=loud'])('refuses %s', async (option) => {
    const { code, stdout, stderr } = await adapter(option);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(option.split('=')[0]);
    expect(stderr).toContain('--help');
  });
});
