/** `npm run -s client -- URL [TOOL [ARGUMENTS]]`: a small MCP client for a terminal. */
import { openAsBlob, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type CallToolResult, Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';

const USAGE = `Usage: npm run -s client -- URL [TOOL [ARGUMENTS]] [options]

Speaks to the MCP server at URL. Without TOOL it lists the tools; with TOOL it calls it and prints the result.
ARGUMENTS is a JSON object, for example '{"text":"hello world"}'.

Options:
  --upload ARGUMENT=FILE  uploads the file to the adapter and passes its handle as this argument; several files of one
                          argument become a list
  --save FOLDER           writes the files that the tool produced into this folder
  --header 'NAME: VALUE'  sent with every request; may be given several times
  --timeout SECONDS       for each request (default 60; progress starts it anew)
  --help                  this text

Exit code: 0 done, 1 the server cannot be reached or the tool failed, 2 wrong usage.
`;

interface Call {
  readonly url: URL;
  readonly tool: string | undefined;
  readonly args: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly timeoutMs: number;
  /** Argument and file. */
  readonly uploads: readonly (readonly [string, string])[];
  readonly saveTo: string | undefined;
}

class UsageError extends Error {}

function readCall(argv: readonly string[]): Call | 'help' {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        header: { type: 'string', multiple: true, default: [] },
        timeout: { type: 'string', default: '60' },
        upload: { type: 'string', multiple: true, default: [] },
        save: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error });
  }
  if (parsed.values.help) return 'help';
  const [url, tool, json = '{}', ...rest] = parsed.positionals;
  if (url === undefined) throw new UsageError('a URL is missing');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`"${url}" is no http(s) URL`);
  if (rest.length > 0) throw new UsageError(`too many arguments: ${rest.join(' ')}; quote the JSON object`);
  const timeoutMs = Number(parsed.values.timeout) * 1000;
  if (!(timeoutMs > 0)) throw new UsageError('--timeout takes a number of seconds');
  return {
    url: new URL(url),
    tool,
    args: readObject(json),
    headers: readHeaders(parsed.values.header),
    timeoutMs,
    uploads: parsed.values.upload.map(readUpload),
    saveTo: parsed.values.save,
  };
}

function readUpload(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw new UsageError(`--upload takes ARGUMENT=FILE, not "${text}"`);
  const file = text.slice(at + 1);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new UsageError(`--upload: "${file}" is no file`);
  return [text.slice(0, at), file];
}

function readObject(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new UsageError(`ARGUMENTS is no JSON: ${messageOf(error)}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError('ARGUMENTS must be a JSON object');
  }
  return { ...value };
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new UsageError(`--header takes 'NAME: VALUE', not "${line}"`);
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

/** @returns the exit code */
async function run({ url, tool, args, headers, timeoutMs, uploads, saveTo }: Call): Promise<number> {
  const client = new Client({ name: 'terminal', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  let refusal = '';
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers },
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      refusal = response.ok ? '' : refusalIn(await response.clone().text());
      return response;
    },
  });
  const timeout = { timeout: timeoutMs };
  try {
    await client.connect(transport, timeout);
    const { tools } = await client.listTools(undefined, timeout);
    const { name = 'unnamed', version = '' } = client.getServerVersion() ?? {};
    console.log(`${name} ${version}, protocol ${client.getNegotiatedProtocolVersion() ?? 'unknown'}`);
    if (tool === undefined) {
      for (const one of tools) console.log(`\n${describeTool(one)}`);
      return 0;
    }
    console.log(`tools: ${tools.map((one) => one.name).join(', ')}`);
    const passed = { ...args, ...(await upload(client, tools, uploads, timeoutMs)) };
    console.log(`${tool} ${JSON.stringify(passed)} →`);
    const result = await client.callTool(
      { name: tool, arguments: passed },
      {
        ...timeout,
        resetTimeoutOnProgress: true,
        onprogress: ({ progress, total, message = '' }) => {
          console.error(`  ${progress}${total === undefined ? '' : `/${total}`} ${message}`);
        },
      },
    );
    console.log(describeResult(result));
    if (saveTo !== undefined) await save(client, result, saveTo, timeoutMs);
    return result.isError === true ? 1 : 0;
  } catch (error) {
    const message = messageOf(error);
    throw refusal === '' || message.includes(refusal) ? error : new Error(`${message}: ${refusal}`);
  } finally {
    // Ends the session on the server; one without sessions, or one that is gone, need not answer.
    await transport.terminateSession().catch(() => undefined);
    await client.close();
  }
}

/** Uploads the files where the adapter's own tool says. @returns their handles, by argument */
async function upload(
  client: Client,
  tools: readonly Tool[],
  files: readonly (readonly [string, string])[],
  timeout: number,
): Promise<Record<string, string | string[]>> {
  const passed: Record<string, string | string[]> = {};
  for (const [argument, group] of Map.groupBy(files, ([name]) => name)) {
    const helper = tools.find(({ name }) => name.endsWith('_get_upload_url'));
    if (helper === undefined) throw new Error('this server takes no uploads: it has no tool *_get_upload_url');
    const { structuredContent } = await client.callTool({ name: helper.name, arguments: {} }, { timeout });
    const { upload_url: target, headers } = structuredContent as {
      upload_url: string;
      headers: Record<string, string>;
    };
    const form = new FormData();
    for (const [, file] of group) form.append('file', await openAsBlob(file), basename(file));
    const response = await fetch(target, { method: 'POST', headers, body: form, signal: AbortSignal.timeout(timeout) });
    const answer = (await response.json()) as { upload_handles: string[]; detail?: string };
    if (!response.ok) throw new Error(`the upload was refused (${response.status}): ${answer.detail ?? ''}`);
    const [first = '', ...more] = answer.upload_handles;
    passed[argument] = more.length === 0 ? first : answer.upload_handles;
  }
  return passed;
}

/** Reads the resources that the result links to. */
async function save(client: Client, { content }: CallToolResult, folder: string, timeout: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const block of content) {
    if (block.type !== 'resource_link') continue;
    const { contents } = await client.readResource({ uri: block.uri }, { timeout });
    for (const part of contents) {
      const path = join(folder, basename(block.name));
      await writeFile(path, 'text' in part ? part.text : Buffer.from(part.blob, 'base64'));
      console.log(`saved ${path}`);
    }
  }
}

function describeTool({ name, description = '', inputSchema }: Tool): string {
  const required = new Set(inputSchema.required);
  const args = Object.entries(inputSchema.properties ?? {}).map(([argument, schema]) => {
    const type = typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : undefined;
    return `${argument}${required.has(argument) ? '' : '?'}: ${typeof type === 'string' ? type : 'any'}`;
  });
  return `${name}(${args.join(', ')})\n  ${description}`.trimEnd();
}

/** What the server says of why: some errors of the SDK name but its status. */
function refusalIn(body: string): string {
  try {
    const { error, detail } = JSON.parse(body) as { error?: { message?: unknown }; detail?: unknown };
    const why = error?.message ?? detail;
    return typeof why === 'string' ? why : '';
  } catch {
    return '';
  }
}

function describeResult({ content, isError, structuredContent }: CallToolResult): string {
  const blocks = content.map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)));
  if (structuredContent !== undefined) blocks.push(JSON.stringify(structuredContent));
  return `${isError === true ? 'the tool failed: ' : ''}${blocks.join('\n')}`;
}

/** With the causes, which tell what a "fetch failed" is about; a wrong usage says it already. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message || ('code' in error ? String(error.code) : error.name);
  return error.cause === undefined || error instanceof UsageError ? message : `${message}: ${messageOf(error.cause)}`;
}

try {
  const call = readCall(process.argv.slice(2));
  if (call === 'help') console.log(USAGE.trimEnd());
  else process.exitCode = await run(call);
} catch (error) {
  const misused = error instanceof UsageError;
  console.error(`client: ${messageOf(error)}${misused ? "\nTry 'npm run -s client -- --help'." : ''}`);
  process.exitCode = misused ? 2 : 1;
}
