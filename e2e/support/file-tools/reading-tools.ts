import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { sha256Of } from './content.ts';
import type { Gates } from './gates.ts';

/** What a reading tool says of each file, in the order in which it was given them. */
interface Seen {
  /** As it was given. */
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** Tools that take files, in every place of their arguments where a path, a `file:` URI or a URL can stand. */
export function registerReadingTools(server: McpServer, gates: Gates): void {
  const hold = z.string().optional().describe('Name of a gate to wait at before the file is opened.');
  const path = z.string().describe('Path of a file.');

  server.registerTool(
    'read_file',
    {
      title: 'Read a file',
      description: 'Tells size and checksum of a file. Nothing is changed.',
      inputSchema: z.object({ path, hold }),
      annotations: { readOnlyHint: true },
    },
    async (args, call) => {
      await gates.pass(args.hold, call.mcpReq.signal);
      return seen([await look(args.path)]);
    },
  );

  server.registerTool(
    'read_maybe',
    {
      description: 'As read_file; without a path it tells of nothing.',
      inputSchema: z.object({ path: path.optional() }),
    },
    async (args) => seen(args.path === undefined ? [] : [await look(args.path)]),
  );

  server.registerTool(
    'read_many',
    {
      description: 'As read_file, for one path or several.',
      inputSchema: z.object({ paths: z.union([path, z.array(path)]) }),
    },
    async ({ paths }) => seen(await Promise.all([paths].flat().map(look))),
  );

  server.registerTool(
    'read_nested',
    {
      description: 'As read_file, for paths that stand deeper in the arguments.',
      inputSchema: z.object({ a: z.object({ files: z.array(z.object({ path })) }) }),
    },
    async ({ a }) => seen(await Promise.all(a.files.map((file) => look(file.path)))),
  );

  server.registerTool(
    'read_uri',
    { description: 'As read_file, for a file: URI.', inputSchema: z.object({ uri: z.string() }) },
    async ({ uri }) => seen([{ ...(await look(fileURLToPath(uri))), path: uri }]),
  );

  server.registerTool(
    'read_url',
    { description: 'As read_file, for what a URL leads to.', inputSchema: z.object({ url: z.string() }) },
    async ({ url }, call) => {
      const response = await fetch(url, { signal: call.mcpReq.signal });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      return seen([{ path: url, size: bytes.length, sha256: sha256Of(bytes) }]);
    },
  );
}

async function look(path: string): Promise<Seen> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  return { path, size, sha256: hash.digest('hex') };
}

const seen = (files: readonly Seen[]): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(files) }],
  structuredContent: { files: [...files] },
});
