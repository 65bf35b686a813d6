import { type SpawnOptions, spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

export const ROOT = join(import.meta.dirname, '../..');

export interface Outcome {
  readonly ok: boolean;
  /** Both outputs, in order, without colours, and at the end how it ended when that was not by itself. */
  readonly output: string;
}

/** Runs a command to its end in the project's folder. Never rejects: what cannot be started has failed. */
export function runCommand(
  [command = '', ...args]: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly env?: NodeJS.ProcessEnv;
    /** Told what the command writes, as it comes. */
    readonly onOutput?: (text: string) => void;
  },
): Promise<Outcome> {
  const { timeoutMs, signal, env = process.env, onOutput } = options;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const settings: SpawnOptions = { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], signal: limit };
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, args, settings);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        onOutput?.(text);
      });
    }
    child.once('error', (error) => {
      if (signal.aborted) output += 'interrupted';
      else output += limit.aborted ? `stopped after ${timeoutMs / 1000} s` : `${command}: ${error.message}`;
    });
    child.once('close', (code) => resolve({ ok: code === 0, output: stripVTControlCharacters(output) }));
  });
}
