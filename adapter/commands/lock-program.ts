import { readFile, stat } from 'node:fs/promises';
import { relative } from 'node:path';

import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { redactionOf } from '../../crds/config/adapter-file/redact-config.ts';
import { type Loaded, loadAdapterFile } from '../../crds/config/load/load.ts';
import { ConfigError, formatProblems } from '../../crds/config/load/problem.ts';
import { API_VERSION } from '../../crds/v1alpha1/api.ts';
import type { Environment } from '../../lib/references/reference.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import { sideBySide } from '../../lib/side-by-side.ts';
import { fetchedServer } from '../inspect/fetched-server.ts';
import { type FetchedServer, type LockAnswer, lockCommand, type LockFile } from '../lock/lock-command.ts';
import { lockSecretsIn } from '../inspect/lock-secrets-in.ts';
import { LOCK_USAGE, type LockRequest, LockUsageError, readLockOptions } from '../lock/lock-options.ts';
import { lockIn, lockTextAt } from '../lock/tool-lock-file.ts';
import { writeLockFile } from '../lock/write-lock-file.ts';
import { configPath } from './options.ts';
import { passingMounts } from './passing-mounts.ts';
import { createLogger } from '../telemetry/logs/logger.ts';

/** For each server, whatever it does. */
const TIMEOUT_MS = 10_000;
const MOST_AT_A_TIME = 8;

export interface LockSurroundings {
  readonly env: Environment;
  readonly version: string;
  /** Whether the standard output is one. */
  readonly isTerminal: boolean;
}

export interface LockResult {
  readonly exitCode: LockAnswer['exitCode'];
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * `mcp-adapter lock`: asks the servers what they have, and makes, compares or changes a lock.
 * @param args what stands behind `lock`
 */
export async function lockProgram(args: readonly string[], surroundings: LockSurroundings): Promise<LockResult> {
  try {
    const options = readLockOptions(args);
    if (options.action === 'help') return { exitCode: 0, stdout: LOCK_USAGE, stderr: '' };
    return await answered(options, surroundings);
  } catch (error) {
    if (error instanceof LockUsageError) {
      return refused(`mcp-adapter lock: ${error.message}\nTry 'mcp-adapter lock --help'.\n`);
    }
    if (error instanceof UnusableFile) return refused(`mcp-adapter lock: ${error.message}\n`);
    throw error;
  }
}

/** A file cannot be read, used or written; the message says which and why. */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

const refused = (stderr: string): LockResult => ({ exitCode: 2, stdout: '', stderr });

async function answered(options: LockRequest, { env, version, isTerminal }: LockSurroundings): Promise<LockResult> {
  const { action, format, output, names } = options;
  const loaded = await configAt(configPath(options.config, env), env);
  const { config } = loaded;
  const unknown = options.servers.filter((id) => !config.servers.some((server) => server.id === id));
  if (unknown.length > 0) throw new LockUsageError(`the configuration has no server ${unknown.join(', ')}`);
  // Before anybody is asked: that takes time.
  const target = await usable(targetOf(options, config));
  const isAsked = (id: string): boolean => options.servers.length === 0 || options.servers.includes(id);
  const asked = { ...config, servers: config.servers.filter(({ id }) => isAsked(id)) };
  const servers = await fetched({ ...loaded, config: asked }, { env, version });
  const secrets = lockSecretsIn(config, env);
  const common = {
    servers,
    secrets,
    unasked: config.servers.flatMap(({ id }) => (isAsked(id) ? [] : id)),
  };
  if (action === 'create') {
    const made = lockCommand({ ...common, action, manifest: manifestOf(options.adapter) });
    return await created(made, output);
  }
  const lock = target ?? { text: '', path: '' };
  const isColoured = output === undefined && isTerminal && !env['NO_COLOR'];
  if (action === 'diff') {
    const found = lockCommand({ ...common, action, lock, output: format, isColoured, version });
    if (output === undefined || found.exitCode === 2) return resultOf(found, found.text);
    await write(output, found.text);
    return resultOf(found, '');
  }
  const done = lockCommand({ ...common, action, lock, names });
  if (options.dryRun || done.exitCode === 2) return resultOf(done, done.text);
  return await approved(done, lock);
}

/** What a command starts from: its lock, or none where it is to make one. */
async function targetOf(options: LockRequest, { core }: AdapterConfig): Promise<LockFile | undefined> {
  if (options.action === 'create') {
    const { output, force } = options;
    if (output !== undefined && !force && (await isThere(output))) {
      throw new LockUsageError(`${output} is there already: "approve" changes a lock, and --force replaces it`);
    }
    return undefined;
  }
  const path = options.lock ?? core.tool_lock?.path;
  if (path === undefined) throw new LockUsageError('which lock? Give --lock FILE, or set core.tool_lock.path');
  const text = await lockTextAt(path);
  lockIn(text, path);
  return { path: fromHere(path), text };
}

/** Below the working folder without anything before it: that is where code scanning looks for it. */
function fromHere(path: string): string {
  const inside = relative('', path);
  return inside.startsWith('..') ? path : inside;
}

async function created(made: LockAnswer, output: string | undefined): Promise<LockResult> {
  if (output === undefined || made.exitCode === 2) return resultOf(made, made.text);
  if (made.exitCode === 3) {
    const notes = [...made.notes, `${output} is not written: what did not answer would be locked out; see --server`];
    return resultOf({ ...made, notes }, '');
  }
  await write(output, made.text);
  return resultOf(made, '');
}

async function approved(done: LockAnswer, { path, text }: LockFile): Promise<LockResult> {
  if (done.approved.length === 0) return resultOf({ ...done, notes: [...done.notes, `${path} stays as it is`] }, '');
  if ((await usable(lockTextAt(path))) !== text) {
    return refused(`mcp-adapter lock: ${path} was changed meanwhile, and stays as it is\n`);
  }
  await write(path, done.text);
  return resultOf({ ...done, notes: [...done.notes, ...done.approved.map((one) => `approved: ${one}`)] }, '');
}

const resultOf = ({ notes, exitCode }: LockAnswer, stdout: string): LockResult => ({
  exitCode,
  stdout,
  stderr: notes.map((note) => `${withEscapes(note)}\n`).join(''),
});

async function fetched(
  { config, places }: Loaded<AdapterConfig>,
  { env, version }: Pick<LockSurroundings, 'env' | 'version'>,
): Promise<FetchedServer[]> {
  const redaction = redactionOf(config, env, places);
  const logger = createLogger('error', redaction, process.stderr);
  const mounts = passingMounts(config, { redaction, logger, env, version });
  return await sideBySide(mounts, MOST_AT_A_TIME, async (mount): Promise<FetchedServer> => {
    try {
      return await fetchedServer(mount, TIMEOUT_MS, redaction.text);
    } finally {
      await mount.upstream.close();
    }
  });
}

function manifestOf(adapter: LockRequest['adapter']) {
  if (adapter === undefined) return undefined;
  return {
    apiVersion: API_VERSION,
    kind: 'McpToolLock',
    metadata: adapter,
    spec: { adapterRef: { name: adapter.name } },
  } as const;
}

async function configAt(path: string, env: Environment): Promise<Loaded<AdapterConfig>> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new UnusableFile(`the configuration file ${path} cannot be read: ${(error as Error).message}`);
  });
  try {
    return loadAdapterFile(text, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new UnusableFile(formatProblems(error, path).trimEnd());
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

async function usable<T>(reading: Promise<T>): Promise<T> {
  return await reading.catch((error: unknown) => {
    if (error instanceof LockUsageError) throw error;
    throw new UnusableFile((error as Error).message);
  });
}

async function write(path: string, text: string): Promise<void> {
  await writeLockFile(path, text).catch((error: unknown) => {
    throw new UnusableFile(`${path} cannot be written: ${(error as Error).message}`);
  });
}
