import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { summarize } from './csv.ts';

const STEP_MS = 200;

/** A server for one session, or for one request of a protocol revision without sessions. */
export function createDemoServer(): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' }, { capabilities: { tools: {} } });

  server.registerTool(
    'word_count',
    {
      title: 'Count words',
      description: 'Counts the words, lines and characters of a text.',
      inputSchema: z.object({ text: z.string().describe('The text to count.') }),
      outputSchema: z.object({ words: z.int(), lines: z.int(), characters: z.int() }),
      annotations: { readOnlyHint: true },
    },
    ({ text: counted }) => {
      const words = counted.split(/\s+/u).filter((word) => word !== '').length;
      const lines = counted === '' ? 0 : counted.split('\n').length;
      const characters = Array.from(counted).length;
      return {
        ...text(`${words} words, ${lines} lines, ${characters} characters`),
        structuredContent: { words, lines, characters },
      };
    },
  );

  const csv = z.string().describe('Comma-separated values; the first line names the columns.');

  server.registerTool(
    'csv_summary',
    {
      title: 'Summarize a table',
      description: 'Tells the columns and rows of a CSV table, and minimum, mean and maximum of its numeric columns.',
      inputSchema: z.object({ csv }),
      annotations: { readOnlyHint: true },
    },
    (args) => text(describeTable(args.csv)),
  );

  server.registerTool(
    'csv_file_summary',
    {
      title: 'Summarize a table in a file',
      description: 'As csv_summary, for a table in a file.',
      inputSchema: z.object({ file: z.string().describe('Path of a CSV file.') }),
      annotations: { readOnlyHint: true },
    },
    async ({ file }) => text(describeTable(await readFile(file, 'utf8'))),
  );

  server.registerTool(
    'make_report',
    {
      title: 'Write a report',
      description: 'Turns a CSV table into a report in Markdown.',
      inputSchema: z.object({ title: z.string().describe('The heading of the report.'), csv }),
      annotations: { readOnlyHint: true },
    },
    ({ title, csv: table }) => text(report(title, table)),
  );

  server.registerTool(
    'save_report',
    {
      title: 'Write a report to a file',
      description: 'As make_report, into a file.',
      inputSchema: z.object({
        title: z.string().describe('The heading of the report.'),
        csv,
        path: z.string().describe('Where to write the report.').optional(),
      }),
    },
    async ({ title, csv: table, path = 'report.md' }) => {
      await writeFile(path, report(title, table));
      return text('The report is written.');
    },
  );

  server.registerTool(
    'add_to_report',
    {
      title: 'Add to a report',
      description: 'Adds a section to the end of a report in a file.',
      inputSchema: z.object({
        path: z.string().describe('The report.'),
        heading: z.string().describe('The heading of the section.'),
        text: z.string().describe('What it says, in Markdown.'),
      }),
    },
    async ({ path, heading, text: section }) => {
      await appendFile(path, `\n## ${heading}\n\n${section}\n`);
      return text(`The section ${heading} is added.`);
    },
  );

  server.registerTool(
    'count_down',
    {
      title: 'Count down',
      description: `Counts down to zero, one step every ${STEP_MS} ms, and reports its progress.`,
      inputSchema: z.object({ from: z.int().min(1).max(100).describe('Where to start.') }),
      annotations: { readOnlyHint: true },
    },
    async ({ from }, call) => {
      const progressToken = call.mcpReq._meta?.progressToken;
      for (let done = 1; done <= from; done += 1) {
        await delay(STEP_MS, undefined, { signal: call.mcpReq.signal });
        if (progressToken === undefined) continue;
        const params = { progressToken, progress: done, total: from, message: `${from - done} left` };
        await call.mcpReq.notify({ method: 'notifications/progress', params });
      }
      return text(`Counted down from ${from}.`);
    },
  );

  return server;
}

function describeTable(csv: string): string {
  const { columns, rows } = summarize(csv);
  const lines = columns.map(({ name, numbers }) =>
    numbers === undefined
      ? `${name}: text`
      : `${name}: minimum ${numbers.minimum}, mean ${numbers.mean}, maximum ${numbers.maximum}`,
  );
  return [`${rows.length} rows, ${columns.length} columns`, ...lines].join('\n');
}

function report(title: string, csv: string): string {
  const { columns, rows } = summarize(csv);
  const names = columns.map(({ name }) => name);
  const body = [names, names.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [`# ${title}`, '', `${rows.length} rows.`, '', ...body].join('\n');
}

const text = (content: string): CallToolResult => ({ content: [{ type: 'text', text: content }] });
