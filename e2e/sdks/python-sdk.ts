import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, runs } from './cached.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';

const VERSION = '2.3.0';
const PACKAGES = [
  `mcp==${VERSION}`,
  'pytest==8.4.2',
  'inline-snapshot==0.36.1',
  'dirty-equals==0.11',
  'uvicorn==0.54.0',
  'trio==0.35.0',
];
const PLUGINS = fileURLToPath(new URL('.', import.meta.url));
const PARTS = [
  'tests/interaction',
  'tests/examples/__init__.py',
  'tests/examples/conftest.py',
  'tests/examples/test_stories.py',
  'tests/_stamp.py',
  'tests/__init__.py',
  'examples/stories',
];

/** The environment of the SDK, its suites and its examples, as published: the folder that has them, and `venv`. */
export const pythonSdk = (): Promise<string> =>
  cached(`python-mcp-${VERSION}-suites`, async (folder) => {
    await runs('python3', ['-m', 'venv', join(folder, 'venv')]);
    const pip = ['-m', 'pip', '-q', '--disable-pip-version-check'];
    const python = join(folder, 'venv/bin/python');
    await runs(python, [...pip, 'install', ...PACKAGES]);
    const source = ['download', `mcp==${VERSION}`, '--no-binary', 'mcp', '--no-deps', '-d', folder];
    await runs(python, [...pip, ...source]);
    const archive = `mcp-${VERSION}`;
    const wanted = PARTS.map((part) => `${archive}/${part}`);
    await runs('tar', ['xzf', `${archive}.tar.gz`, '--strip-components=1', ...wanted], folder);
    await rm(join(folder, `${archive}.tar.gz`));
  });

/** Starts pytest with a plugin of this folder, which arguments follow. Paths of the SDK's tests begin with `tests/`. */
export async function startPytest(
  plugin: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<RunningProcess> {
  const folder = await pythonSdk();
  const options = ['-p', plugin, '-p', 'no:cacheprovider', '--rootdir', folder, '--no-header', '--tb=short'];
  const paths = args.map((arg) => (arg.startsWith('tests/') ? join(folder, arg) : arg));
  return startProcess(join(folder, 'venv/bin/python'), ['-m', 'pytest', ...options, '-W', 'ignore', ...paths], {
    PYTHONPATH: [folder, join(folder, 'examples'), PLUGINS].join(':'),
    PYTHONDONTWRITEBYTECODE: '1',
    ...env,
  });
}
