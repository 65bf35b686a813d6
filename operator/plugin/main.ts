#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

import { packageVersion } from '../../lib/package-version.ts';

enableCompileCache();

const { runPlugin } = await import('./run.ts');
const { connect } = await import('./cluster/connect.ts');

const version = packageVersion(import.meta.url);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second one means: now.
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
  });
}
// Whoever reads may have had enough, such as head.
process.stdout.on('error', () => process.exit(0));

process.exitCode = await runPlugin(process.argv.slice(2), {
  streams: {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
  },
  version,
  env: process.env,
  connect: (where) => connect(where, version),
  signal: stopping.signal,
  isTerminal: process.stdout.isTTY,
});
await flushed();
// Nothing that was left open keeps the process.
process.exit();

/** A pipe takes its time. */
function flushed(): Promise<void> {
  return new Promise((resolve) => process.stdout.write('', () => resolve()));
}
