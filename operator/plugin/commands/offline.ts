import { spawn } from 'node:child_process';

import { ownProgram } from '../../../lib/own-program.ts';
import type { Run } from './command.ts';

/** What the operator's own program does without a cluster, the same. */
export const render: Run = async (args, { streams }) =>
  (await import('../../local/render-command.ts')).renderCommand(args, streams);

export const validate: Run = async (args, { streams }) =>
  (await import('../../local/validate-command.ts')).validateCommand(args, streams);

export const local: Run = async (args, { streams, env, signal }) =>
  (await import('../../local/local-command.ts')).localCommand(args, env, streams, signal);

/** A program of its own asks the server: what it knows of tools is the adapter's. */
export const suggest: Run = async (args, { signal }) => {
  const main = ownProgram('adapter/main', import.meta.url);
  const child = spawn(process.execPath, [main, 'suggest', ...args], { stdio: 'inherit', signal });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject).once('exit', (code) => resolve(code ?? 1));
  return promise;
};
