import { execFile } from 'node:child_process';
import {
  appendFile,
  copyFile,
  link,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Gates } from './gates.ts';

const path = z.string().describe('Path of a file.');
const hold = z.string().optional().describe('Name of a gate to wait at.');
const run = promisify(execFile);

/** Tools that change files in place, make one of another, fill folders, and name files that nobody asked for. */
export function registerEditingTools(server: McpServer, gates: Gates): void {
  server.registerTool(
    'append_line',
    {
      description: 'Adds a line to the file; with a gate it waits there when half of the line is written.',
      inputSchema: z.object({ path, line: z.string(), hold, fails: z.boolean().default(false) }),
    },
    async ({ path: file, line, hold: gate, fails }, call) => {
      await appendFile(file, line);
      await gates.pass(gate, call.mcpReq.signal);
      await appendFile(file, '\n');
      return { ...text(`Appended to ${file}.`), isError: fails };
    },
  );

  server.registerTool(
    'append_to_both',
    {
      description: 'Adds a line to two files.',
      inputSchema: z.object({ first: path, second: path, line: z.string() }),
    },
    async ({ first, second, line }) => {
      for (const file of [first, second]) await appendFile(file, `${line}\n`);
      return text('done');
    },
  );

  server.registerTool(
    'read_lines',
    {
      description: 'Gives the text of the file.',
      inputSchema: z.object({ path, changes: z.boolean().default(false) }),
    },
    async ({ path: file, changes }) => {
      const content = await readFile(file, 'utf8');
      if (changes) await appendFile(file, 'changed\n');
      return text(content);
    },
  );

  server.registerTool(
    'copy_text',
    {
      description: 'Copies a file, adding a line.',
      inputSchema: z.object({ source: path, destination: z.string(), line: z.string() }),
    },
    async ({ source, destination, line }) => {
      await copyFile(source, destination);
      await appendFile(destination, `${line}\n`);
      return {
        ...text(`Copied ${source} to ${pathToFileURL(destination).href} ("${basename(destination)}").`),
        structuredContent: { from: relative(process.cwd(), source), to: { path: destination } },
      };
    },
  );

  server.registerTool(
    'join_texts',
    {
      description: 'Joins files.',
      inputSchema: z.object({ sources: z.array(z.object({ path })), output: z.string().optional() }),
    },
    async ({ sources, output }) => {
      const parts = await Promise.all(sources.map((source) => readFile(source.path, 'utf8')));
      if (output !== undefined) await writeFile(output, parts.join(''));
      return text(parts.join('') || 'nothing');
    },
  );

  server.registerTool(
    'make_report',
    {
      description: 'Writes files into a folder and those below it.',
      inputSchema: z.object({ folder: z.string(), files: z.int().default(3) }),
    },
    async ({ folder, files }) => {
      for (let number = 0; number < files; number += 1) {
        const file = join(folder, number % 2 === 0 ? '' : 'assets', `part-${number}.txt`);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, `part ${number}\n`);
      }
      return text(`The report is ${join(folder, 'part-0.txt')} in ${folder}.`);
    },
  );

  server.registerTool(
    'snapshot',
    {
      description: 'Writes a file into a folder of its own and names it from there.',
      inputSchema: z.object({
        folder: z.string(),
        name: z.string(),
        old: z.boolean().default(false),
        absolute: z.boolean().default(false),
      }),
    },
    async ({ folder, name, old, absolute }) => {
      const file = join(folder, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `snapshot ${name}\n`);
      if (old) await utimes(file, 1_000_000, 1_000_000);
      return text(
        `### Page\n- [Snapshot](${absolute ? file : name})\n- and again: [Snapshot](${absolute ? file : name}#L1)`,
      );
    },
  );

  server.registerTool(
    'spoil',
    {
      description: 'Puts something else in the place of the file.',
      inputSchema: z.object({ path, as: z.enum(['symlink', 'hardlink', 'fifo', 'folder', 'nothing', 'huge']) }),
    },
    async ({ path: file, as }) => {
      const other = join(dirname(file), 'other');
      if (as === 'huge') {
        await truncate(file, 10 * 2 ** 30);
        return text('done');
      }
      await rename(file, other);
      if (as === 'symlink') await symlink('/etc/passwd', file);
      else if (as === 'hardlink') await link(other, file);
      else if (as === 'folder') await mkdir(file);
      else if (as === 'fifo') await run('mkfifo', [file]);
      if (as === 'nothing') await rm(other);
      return text('done');
    },
  );
}

const text = (content: string): CallToolResult => ({ content: [{ type: 'text', text: content }] });
