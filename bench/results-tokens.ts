/**
 * What results of real servers cost a model, in tokens, as they come and with `results.spill_over_chars: 10000`: a scripted
 * browsing session with `@playwright/mcp` on a page whose snapshots have 100 KB, and long answers of `server-everything`. With
 * spilled results the script reads what it needs with `<id>_read_artifact`, which counts too.
 * Usage: node bench/results-tokens.ts [path of gpt-tokenizer]; without it four characters count as a token.
 */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { startAdapter } from '../e2e/support/adapter-process.ts';
import { listen } from '../e2e/support/ports.ts';
import { startEverythingServer, startPlaywrightServer } from '../e2e/support/real-servers.ts';

const [, , tokenizer] = process.argv;
const OVER = 10_000;
const ORDERS = 700;
const CHARS_IN_TOKEN = 4;

const encode =
  tokenizer === undefined
    ? undefined
    : (createRequire(import.meta.url)(tokenizer) as { encode: (text: string) => number[] }).encode;
const tokensOf = (text: string): number => encode?.(text).length ?? Math.ceil(text.length / CHARS_IN_TOKEN);

const row = (i: number): string =>
  `<tr><td>Order ${i}</td><td>customer-${i}@example.com</td><td>${(i * 17) % 900} EUR</td>` +
  `<td><button onclick="this.textContent = 'Status of order ${i}: shipped'">Show ${i}</button></td></tr>`;
const PAGE = `<!doctype html><title>Orders</title><table>${Array.from({ length: ORDERS }, (_, i) => row(i)).join('')}</table>`;

interface Said {
  readonly text: string;
  readonly artifact: string | undefined;
}

/** A model, as far as it reads: what it is given is counted. */
class Reader {
  readonly #client: Client;
  readonly #reader: string;
  tokens = 0;
  readerTokens = 0;
  longest = 0;

  constructor(client: Client, reader: string) {
    this.#client = client;
    this.#reader = reader;
  }

  async call(name: string, args: Record<string, unknown>): Promise<Said> {
    const result = await this.#client.callTool({ name, arguments: args });
    const blocks = result.content.map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)));
    const text = blocks.join('\n');
    const tokens = tokensOf(text);
    this.tokens += tokens;
    if (name === this.#reader) this.readerTokens += tokens;
    this.longest = Math.max(this.longest, text.length);
    const { artifact } = (result._meta ?? {}) as { artifact?: { artifact_uri: string } };
    return { text, artifact: artifact?.artifact_uri };
  }

  /** The line in which a text stands, wherever the result is. */
  async lineWith(said: Said, wanted: string): Promise<string> {
    const text =
      said.artifact === undefined
        ? said.text
        : (await this.call(this.#reader, { uri: said.artifact, grep: wanted, limit: 500 })).text;
    const line = text.split('\n').find((one) => one.includes(wanted));
    if (line === undefined) throw new Error(`${wanted} is not in ${text.slice(0, 500)}`);
    return line;
  }
}

async function browse(reader: Reader, url: string): Promise<void> {
  await reader.call('browser_navigate', { url });
  for (const order of [42, 407, 688]) {
    // oxlint-disable-next-line no-await-in-loop -- as a model does
    const before = await reader.call('browser_snapshot', {});
    // oxlint-disable-next-line no-await-in-loop -- as a model does
    const [, ref] = /\[ref=(\w+)\]/.exec(await reader.lineWith(before, `button "Show ${order}"`)) ?? [];
    // oxlint-disable-next-line no-await-in-loop -- as a model does
    await reader.call('browser_click', { element: `Show ${order}`, target: ref });
    // oxlint-disable-next-line no-await-in-loop -- as a model does
    const after = await reader.call('browser_snapshot', {});
    // oxlint-disable-next-line no-await-in-loop -- as a model does
    await reader.lineWith(after, `Status of order ${order}`);
  }
}

async function ask(reader: Reader): Promise<void> {
  const message = Array.from({ length: 1500 }, (_, i) => `measurement ${i}: ${(i * 7919) % 1000}`).join('\n');
  for (const wanted of [3, 777, 1499]) {
    // oxlint-disable-next-line no-await-in-loop -- as a model does
    await reader.lineWith(await reader.call('echo', { message }), `measurement ${wanted}:`);
  }
}

async function measured(upstream: string, spillOver: number, work: (reader: Reader) => Promise<void>): Promise<Reader> {
  await using adapter = await startAdapter({
    config: {
      core: { max_start_wait_seconds: 30, results: { spill_over_chars: spillOver } },
      servers: [{ id: 'up', mount_path: '/mcp', upstream: { url: upstream } }],
    },
  });
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${adapter.url}/mcp`)));
  const reader = new Reader(client, 'up_read_artifact');
  await work(reader);
  await client.close();
  return reader;
}

const page = createServer((_request, response) => void response.setHeader('content-type', 'text/html').end(PAGE));
const url = `http://127.0.0.1:${await listen(page)}/`;
const [browser, everything] = [
  await startPlaywrightServer('streamable_http'),
  await startEverythingServer('streamable_http'),
];
try {
  process.stdout.write(
    '| Session | Longest result | Tokens as they come | Tokens with spill | of these, the reader |\n',
  );
  process.stdout.write('| --- | ---: | ---: | ---: | ---: |\n');
  for (const [what, upstream, work] of [
    ['`@playwright/mcp`: six snapshots, three clicks', browser.url, (reader: Reader) => browse(reader, url)],
    ['`server-everything`: three long answers', everything.url, ask],
  ] as const) {
    const before = await measured(upstream, 0, work);
    const after = await measured(upstream, OVER, work);
    const numbers = [before.longest, before.tokens, after.tokens, after.readerTokens];
    process.stdout.write(`| ${what} | ${numbers.map((one) => one.toLocaleString('en')).join(' | ')} |\n`);
  }
} finally {
  await Promise.all([browser.stop(), everything.stop()]);
  page.closeAllConnections();
  page.close();
}
