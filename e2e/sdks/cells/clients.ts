import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProcess } from '../../support/processes.ts';
import { pythonSdk } from '../python-sdk.ts';
import { goClient } from './go.ts';
import type { Family } from './servers.ts';
import { connectV1, connectV2, used } from './typescript-client.ts';

/** What came of each feature. */
export type Outcomes = Readonly<Record<string, string>>;

export interface CellClient {
  /** As the table names it. */
  readonly sdk: string;
  /** What it speaks where the server lets it choose. */
  readonly family: Family;
  /** Uses all that the server has. */
  readonly use: (url: string) => Promise<Outcomes>;
}

const LIMIT_MS = 200_000;

export const CLIENTS: readonly CellClient[] = [
  { sdk: 'TypeScript 1', family: 'older', use: (url) => used(connectV1, url) },
  { sdk: 'TypeScript', family: 'older', use: (url) => used(connectV2(false), url) },
  { sdk: 'TypeScript', family: 'newer', use: (url) => used(connectV2(true), url) },
  { sdk: 'Go', family: 'older', use: async (url) => outcomesOf(await goClient(), [url, '2025-11-25']) },
  { sdk: 'Go', family: 'newer', use: async (url) => outcomesOf(await goClient(), [url, '2026-07-28']) },
  { sdk: 'Python', family: 'older', use: (url) => python(url, 'legacy') },
  { sdk: 'Python', family: 'newer', use: (url) => python(url, 'auto') },
];

async function python(url: string, mode: string): Promise<Outcomes> {
  const script = fileURLToPath(new URL('client.py', import.meta.url));
  const env = { URL: url, MODE: mode, PYTHONDONTWRITEBYTECODE: '1' };
  return outcomesOf(join(await pythonSdk(), 'venv/bin/python'), ['-W', 'ignore', script], env);
}

/** Runs a client that prints a feature and its outcome a line. */
async function outcomesOf(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcomes> {
  await using running = startProcess(file, args, env);
  await running.exitsWithin(LIMIT_MS);
  const lines = running.stdout().split('\n').filter(Boolean);
  if (lines.length === 0) throw new Error(`The client has said nothing. ${running.stderr()}`);
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, string]));
}
