import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../harness/bench.ts';
import type { RunningTarget } from '../harness/targets.ts';

/** Something that takes files and gives them back. */
export interface FileServer {
  readonly name: string;
  upload(bytes: number): Promise<void>;
  download(bytes: number): Promise<void>;
  /** Frees what was uploaded. */
  forget(): Promise<void>;
}

/** The session that artifacts for downloads lie in, and the name of that of a size. */
export const ARTIFACTS_SESSION = 'a'.repeat(32);
export const artifactId = (bytes: number): string => bytes.toString(16).padStart(32, '0');

const BOUNDARY = 'bench-boundary-0123456789';
const CHUNK = Buffer.alloc(256 << 10, 'The quick brown fox jumps over the lazy dog. ');

export function plainServer(target: RunningTarget, bench: Bench): FileServer {
  const { origin } = new URL(target.urls('main')[0] ?? '');
  return {
    name: target.name,
    upload: (bytes) => send(`${origin}/${bytes}`, {}, '', bytes, '', bench.signal),
    download: (bytes) => receive(`${origin}/${bytes}`, {}, bytes, bench.signal),
    forget: async () => undefined,
  };
}

/** The adapter's server `main`, with uploads in a session of its own. */
export async function adapterServer(target: RunningTarget, bench: Bench): Promise<FileServer> {
  const mount = target.urls('main')[0] ?? '';
  const { origin } = new URL(mount);
  await ready(origin, bench.signal);
  let session = await openSession(mount);
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="bench.bin"\r\n\r\n`;
  const tail = `\r\n--${BOUNDARY}--\r\n`;
  return {
    name: target.name,
    upload: (bytes) => {
      const headers = { 'mcp-session-id': session, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
      return send(`${origin}/upload/main`, headers, head, bytes, tail, bench.signal);
    },
    download: (bytes) => {
      const url = `${origin}/artifacts/main/${ARTIFACTS_SESSION}/${artifactId(bytes)}`;
      return receive(url, { 'mcp-session-id': ARTIFACTS_SESSION }, bytes, bench.signal);
    },
    forget: async () => {
      await fetch(mount, { method: 'DELETE', headers: { 'mcp-session-id': session }, signal: bench.signal });
      session = await openSession(mount);
    },
  };
}

/** Files that were there before the start are known only then. */
async function ready(origin: string, signal: AbortSignal): Promise<void> {
  while ((await fetch(`${origin}/readyz`, { signal })).status !== 200) await sleep(50, undefined, { signal });
}

async function openSession(mount: string): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  const response = await fetch(mount, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await response.text();
  const session = response.headers.get('mcp-session-id');
  if (session === null) throw new Error(`no session: ${response.status}`);
  return session;
}

async function send(
  url: string,
  headers: Record<string, string>,
  head: string,
  bytes: number,
  tail: string,
  signal: AbortSignal,
): Promise<void> {
  const length = Buffer.byteLength(head) + bytes + Buffer.byteLength(tail);
  const outgoing = request(url, { method: 'POST', headers: { ...headers, 'content-length': length }, signal });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.write(head);
  for (let left = bytes; left > 0; left -= CHUNK.length) {
    if (!outgoing.write(left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK)) await once(outgoing, 'drain');
  }
  outgoing.end(tail);
  const [incoming] = await answered;
  let text = '';
  for await (const chunk of incoming.setEncoding('utf8')) text += String(chunk);
  if (incoming.statusCode !== 200) throw new Error(`POST ${url}: ${incoming.statusCode} ${text}`);
}

async function receive(
  url: string,
  headers: Record<string, string>,
  bytes: number,
  signal: AbortSignal,
): Promise<void> {
  const outgoing = request(url, { headers, signal }).end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  let got = 0;
  incoming.on('data', (chunk: Buffer) => (got += chunk.length));
  await once(incoming, 'end');
  if (incoming.statusCode !== 200 || got !== bytes) throw new Error(`GET ${url}: ${incoming.statusCode}, ${got} bytes`);
}

/** What is written into a file to be downloaded. */
export function* content(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= CHUNK.length) yield left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK;
}
