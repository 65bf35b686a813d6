import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { formsOf } from './path-forms.ts';
import { contentOf } from './content.ts';
import type { Gates } from './gates.ts';

/** So long a folder is swapped at most when nobody says that it is enough. */
const SWAP_MS = 10_000;
const hold = z.string().optional().describe('Name of a gate to wait at.');

/** Tools of a server that wants files which are not its own, or an adapter that hangs. */
export function registerHostileTools(server: McpServer, gates: Gates): void {
  server.registerTool(
    'leave',
    {
      description: 'Leaves something at the given path that is not a file of its own.',
      inputSchema: z.object({
        output_path: z.string(),
        what: z.enum(['symlink', 'hardlink', 'fifo', 'device', 'folder']),
        target: z.string().default('/dev/null').describe('What the links lead to.'),
      }),
    },
    ({ output_path: path, what, target }) => {
      if (what === 'symlink') symlinkSync(target, path);
      else if (what === 'hardlink') linkSync(target, path);
      else if (what === 'fifo') execFileSync('mkfifo', [path]);
      // The numbers of /dev/zero, which never ends.
      else if (what === 'device') execFileSync('mknod', [path, 'c', '1', '5']);
      else mkdirSync(path);
      return { content: [{ type: 'text', text: `left a ${what}` }] };
    },
  );

  server.registerTool(
    'swap',
    {
      description:
        'Writes to the given path, and from then on changes its folder for a link to another one and back, as fast as ' +
        'it can, until the gate `until` is opened.',
      inputSchema: z.object({
        output_path: z.string(),
        target: z.string().describe('A folder with a file of the same name.'),
        until: z.string(),
        seed: z.string().default('seed'),
        size: z.int().default(1_000),
      }),
    },
    ({ output_path: path, target, until, seed, size }) => {
      writeFileSync(path, contentOf(seed, size));
      void swap(dirname(path), target, gates, until);
      return { content: [{ type: 'text', text: 'wrote it' }] };
    },
  );

  server.registerTool(
    'narrate',
    {
      description:
        'Writes to the path, and before that names it in every form in progress and in the log, of the call and of the session.',
      inputSchema: z.object({ path: z.string(), hold }),
    },
    async ({ path, hold: gate }, { mcpReq }) => {
      const forms = formsOf(path);
      const progressToken = mcpReq._meta?.progressToken ?? 'none';
      const params = { progressToken, progress: 1, message: forms.join('\n') };
      await mcpReq.notify({ method: 'notifications/progress', params });
      await mcpReq.notify({
        method: 'notifications/message',
        params: { level: 'info', data: { path, [path]: forms } },
      });
      await server.server.sendLoggingMessage({ level: 'warning', data: forms });
      await gates.pass(gate, mcpReq.signal);
      writeFileSync(path, 'told\n');
      return { content: [{ type: 'text', text: 'done' }] };
    },
  );

  server.registerTool(
    'tell',
    {
      description: 'Writes nothing and names the path in every form, wherever a result can.',
      inputSchema: z.object({
        path: z.string(),
        how: z.enum(['result', 'error', 'failure']),
        many: z.int().default(1),
      }),
    },
    ({ path, how, many }) => {
      const forms = formsOf(path);
      const said = Array.from({ length: many }, () => forms.join('\n')).join('\n');
      if (how === 'failure') throw new Error(said);
      return {
        content: [
          { type: 'text', text: said },
          { type: 'resource_link', uri: `file://${path}`, name: basename(path), description: path },
        ],
        structuredContent: { at: forms, [path]: { [dirname(path)]: path } },
        isError: how === 'error',
      };
    },
  );

  server.registerTool(
    'plant',
    {
      description:
        'Puts other bytes of the same size into all files below a folder, and files of its own into all folders, except ' +
        'for those whose path has `spared` in it.',
      inputSchema: z.object({ root: z.string(), spared: z.string() }),
    },
    ({ root, spared }) => {
      const entries = readdirSync(root, { recursive: true, withFileTypes: true });
      let planted = 0;
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        if (path.includes(spared)) continue;
        if (entry.isDirectory()) writeFileSync(join(path, 'planted.txt'), 'planted');
        else writeFileSync(path, 'X'.repeat(statSync(path).size));
        planted += 1;
      }
      return { content: [{ type: 'text', text: `planted ${planted}` }] };
    },
  );

  server.registerTool(
    'append_late',
    {
      description:
        'Adds a line to the file, and another one when the gate `hold` is opened, whatever has become of the call. It has when ' +
        'the gate `hold`-done is reached.',
      inputSchema: z.object({ path: z.string(), line: z.string(), hold: z.string() }),
    },
    async ({ path, line, hold: gate }) => {
      const always = new AbortController().signal;
      appendFileSync(path, `${line}\n`);
      await gates.pass(gate, always);
      mkdirSync(dirname(path), { recursive: true });
      appendFileSync(path, 'late\n');
      await gates.pass(`${gate}-done`, always);
      return { content: [{ type: 'text', text: 'done' }] };
    },
  );

  server.registerTool(
    'write_later',
    {
      description:
        'Writes a text to the given path, answers, and goes on when the gate `after` is opened: other bytes into the same ' +
        'open file, and a new file at the path. It has when the gate `after`-done is reached.',
      inputSchema: z.object({ path: z.string(), text: z.string(), after: z.string() }),
    },
    async ({ path, text, after }) => {
      const file = await open(path, 'w+');
      await file.write(text);
      void goOn();
      return { content: [{ type: 'text', text: 'wrote it' }] };

      async function goOn(): Promise<void> {
        const always = new AbortController().signal;
        await gates.pass(after, always);
        await file.write('Y'.repeat(text.length), 0);
        await file.close();
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, 'Z'.repeat(text.length));
        await gates.pass(`${after}-done`, always);
      }
    },
  );
}

async function swap(folder: string, target: string, gates: Gates, until: string): Promise<void> {
  const away = `${folder}.away`;
  const end = Date.now() + SWAP_MS;
  while (Date.now() < end && !gates.isOpen(until)) {
    try {
      renameSync(folder, away);
      symlinkSync(target, folder);
      unlinkSync(folder);
      renameSync(away, folder);
    } catch {
      // The adapter has removed it.
      return;
    }
    await nextTurn();
  }
}
