import { open, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { contentOf } from './content.ts';
import type { Gates } from './gates.ts';

const output = z.string().optional().describe('Where the file is to be written.');
const bytes = { seed: z.string().default('seed'), size: z.int().min(0).default(1_000) };
const hold = z.string().optional().describe('Name of a gate to wait at.');
const says = z.enum(['structured', 'text', 'nothing']).default('structured');

/** Tools that make files, in all the ways in which servers do. The bytes are those of `contentOf(seed, size)`. */
export function registerWritingTools(server: McpServer, gates: Gates): void {
  server.registerTool(
    'write_file',
    {
      description: 'Writes to the given path; with a gate it waits there when half of the file is written.',
      inputSchema: z.object({ output_path: z.string(), ...bytes, hold }),
    },
    async ({ output_path: path, seed, size, hold: gate }, call) => {
      const content = contentOf(seed, size);
      await using file = await open(path, 'w');
      await file.write(content.subarray(0, size / 2));
      await gates.pass(gate, call.mcpReq.signal);
      await file.write(content.subarray(size / 2));
      return text(`wrote ${size} bytes`);
    },
  );

  server.registerTool(
    'write_text',
    {
      description: 'Writes a text to the given path.',
      inputSchema: z.object({ output_path: z.string(), text: z.string() }),
    },
    async (args) => {
      await writeFile(args.output_path, args.text);
      return text('wrote it');
    },
  );

  server.registerTool(
    'write_elsewhere',
    {
      description: 'Ignores the given path, writes to another one, and says where.',
      inputSchema: z.object({ output_path: output, at: z.string(), ...bytes, says }),
    },
    async ({ at, seed, size, says: where }) => {
      await writeFile(at, contentOf(seed, size));
      return named(at, where);
    },
  );

  server.registerTool(
    'write_sibling',
    {
      description: 'Writes beside the given path, under another name, and does not say so.',
      inputSchema: z.object({ output_path: z.string(), name: z.string(), ...bytes }),
    },
    async ({ output_path: path, name, seed, size }) => {
      await writeFile(join(dirname(path), name), contentOf(seed, size));
      return text('wrote it');
    },
  );

  server.registerTool(
    'name_path',
    {
      description: 'Writes nothing and names a path, or says a text.',
      inputSchema: z.object({ output_path: output, path: z.string().default(''), text: z.string().optional(), says }),
    },
    (args) => (args.text === undefined ? named(args.path, args.says) : text(args.text)),
  );

  server.registerTool(
    'embed',
    {
      description: 'Writes nothing and gives the bytes in its result.',
      inputSchema: z.object({
        output_path: output,
        as: z.enum(['image', 'blob', 'text', 'both']),
        mimeType: z.string().default('image/png'),
        ...bytes,
      }),
    },
    ({ as, mimeType, seed, size }) => {
      const data = contentOf(seed, size);
      const uri = 'made://by/embed';
      const blob = { type: 'resource' as const, resource: { uri, mimeType, blob: data.toString('base64') } };
      const image = { type: 'image' as const, data: data.toString('base64'), mimeType };
      const written = { type: 'resource' as const, resource: { uri, mimeType, text: data.toString('hex') } };
      const other = { ...blob, resource: { ...blob.resource, blob: Buffer.from('not this').toString('base64') } };
      const blocks = { image: [image], blob: [blob], text: [written], both: [other, image] };
      return { content: [{ type: 'text', text: 'here it is' }, ...blocks[as]] };
    },
  );

  server.registerTool(
    'write_nothing',
    { description: 'Does nothing.', inputSchema: z.object({ output_path: output, hold }) },
    async (args, call) => {
      await gates.pass(args.hold, call.mcpReq.signal);
      return { ...text('nothing was written'), structuredContent: { done: false } };
    },
  );

  server.registerTool(
    'fail',
    {
      description: 'Fails, after it has written when it is told to.',
      inputSchema: z.object({ output_path: output, ...bytes, writes: z.boolean().default(false) }),
    },
    async ({ output_path: path, seed, size, writes }) => {
      if (writes && path !== undefined) await writeFile(path, contentOf(seed, size));
      return { ...text('it went wrong'), isError: true };
    },
  );
}

/** `says: text` puts the path into a sentence, as servers for people do. */
const named = (path: string, where: z.infer<typeof says>): CallToolResult => ({
  ...text(where === 'text' ? `Saved the file to "${path}".` : 'done'),
  ...(where === 'structured' ? { structuredContent: { file: { path } } } : {}),
});

const text = (content: string): CallToolResult => ({ content: [{ type: 'text', text: content }] });
