/**
 * What files cost that tools pass to each other: milliseconds of a call with one file to read, and of an edit of 1 MB against copying
 * and hashing it, over those of the same tool without entries; and of looking for named files in 100 KB of text.
 * Usage: npm run build && node bench/file-roles.ts [unsynced] (Linux; unsynced: with storage.atomic_writes false)
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stringify } from 'yaml';

import { foundNames } from '../adapter/file-roles/found-names.ts';

const CALLS = 400;
const ROUNDS = 5;
const MEGABYTE = Buffer.alloc(1 << 20, 'x');

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

/** A server whose tools read, write and change files, over plain JSON. */
async function startUpstream(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((req, res) => {
    void text(req).then(async (body) => {
      const { id, method, params } = JSON.parse(body === '' ? '{}' : body) as Record<string, never>;
      if (req.method !== 'POST' || id === undefined) return res.writeHead(req.method === 'POST' ? 202 : 405).end();
      const { name, arguments: args } = (params ?? {}) as { name?: string; arguments?: { path?: string } };
      const path = args?.path ?? '';
      let result = '{"content":[{"type":"text","text":"done"}]}';
      if (method === 'initialize') {
        const serverInfo = { name: 'bench', version: '1' };
        result = JSON.stringify({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
      } else if (method === 'tools/list') {
        const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
        result = JSON.stringify({
          tools: ['plain', 'look', 'read', 'write', 'note', 'edit'].map((one) => ({ name: one, inputSchema })),
        });
      } else if (name === 'read') await readFile(path);
      else if (name === 'look') await readFile(own);
      else if (name === 'write') await writeFile(path, MEGABYTE);
      else if (name === 'note') await writeFile(path, NOTE);
      else if (name === 'edit') await appendFile(path, 'y');
      res.writeHead(200, { 'content-type': 'application/json' });
      return res.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close: () => server.close() };
}

const NOTE = 'a note of a few words';
const atomic = process.argv[2] !== 'unsynced';
const folder = mkdtempSync(join(tmpdir(), 'bench-roles-'));
const own = join(folder, 'own.txt');
writeFileSync(own, NOTE);
const upstream = await startUpstream();
const config = join(folder, 'adapter.yaml');
writeFileSync(
  config,
  stringify({
    core: { host: '127.0.0.1', port: 8968, max_start_wait_seconds: 0, log_level: 'info' },
    storage: { root: join(folder, 'shared'), atomic_writes: atomic },
    state_persistence: { type: 'memory' },
    servers: [
      {
        id: 'up',
        mount_path: '/mcp/up',
        upstream: { url: upstream.url },
        adapters: [
          { type: 'files', tools: ['read'], arguments: { path: 'in' } },
          { type: 'files', tools: ['write', 'note'], arguments: { path: 'out' } },
          { type: 'files', tools: ['edit'], arguments: { path: 'edit' } },
        ],
      },
    ],
  }),
);
const adapter = spawn(process.execPath, ['dist/adapter/main.js', '--config', config], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const url = await new Promise<string>((resolve) => {
  let said = '';
  adapter.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    const found = /"url":"(http:[^"]*)"/.exec(said)?.[1];
    if (found !== undefined) resolve(`${new URL(found).origin}/mcp/up`);
  });
});
let session = '';
let lastId = 0;
async function call(method: string, params: object): Promise<{ result?: unknown }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== '' && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: (lastId += 1), method, params }),
  });
  session ||= response.headers.get('mcp-session-id') ?? '';
  const said = await response.text();
  return JSON.parse(said.startsWith('{') ? said : (/^data: (.*)$/m.exec(said)?.[1] ?? '{}')) as { result?: unknown };
}
const tool = (name: string, path: string) => call('tools/call', { name, arguments: { path } });
const artifactOf = (message: { result?: unknown }): string =>
  (message.result as { _meta: { artifact: { artifact_uri: string } } })._meta.artifact.artifact_uri;

/** Milliseconds of one call, the median of all. */
async function timed(calls: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < calls; i++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return median(times);
}

await call('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
});
const small = artifactOf(await tool('note', 'small.txt'));
const rounds = {
  plain: [] as number[],
  read: [] as number[],
  edit: [] as number[],
  floor: [] as number[],
  found: [] as number[],
};
const source = join(folder, 'floor.bin');
const names = foundNames({ pattern: String.raw`\[Snapshot\]\(([^)#]+)`, path_key: null });
const content = [{ type: 'text', text: `${'- button "Save" [ref=e12]\n'.repeat(4_000)}[Snapshot](page.yml)` }];
for (let round = 0; round < ROUNDS; round++) {
  rounds.plain.push(await timed(CALLS, () => tool('look', 'x')));
  rounds.read.push(await timed(CALLS, () => tool('read', small)));
  const edited = artifactOf(await tool('write', 'edited.bin'));
  rounds.edit.push(await timed(CALLS / 8, () => tool('edit', edited)));
  rounds.floor.push(
    await timed(CALLS / 8, async () => {
      writeFileSync(source, MEGABYTE);
      copyFileSync(source, `${source}.copy`);
      createHash('sha256')
        .update(readFileSync(`${source}.copy`))
        .digest('hex');
    }),
  );
  rounds.found.push(await timed(CALLS, () => names({ content })));
}
const [plain, read, edit, floor, found] = [rounds.plain, rounds.read, rounds.edit, rounds.floor, rounds.found].map(
  median,
) as [number, number, number, number, number];
const ms = (value: number): string => `${value.toFixed(3)} ms`;
console.log(`call that reads a file ${ms(plain)}; with its handle ${ms(read)}: ${ms(read - plain)} more`);
console.log(
  `edit of 1 MB ${ms(edit - plain)} more than a plain call; copying and hashing it ${ms(floor)}: ${((edit - plain) / floor).toFixed(2)} x`,
);
console.log(`found on ${(content[0]?.text.length ?? 0) >> 10} KiB of text ${ms(found)}`);
adapter.kill();
upstream.close();
rmSync(folder, { recursive: true, force: true });
