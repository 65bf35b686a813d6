import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { contentOf, type FileTools, sha256Of, startFileTools } from '../../support/file-tools.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Door, openSession } from '../kit/session.ts';
import { type SharedFolder, sharedFolder } from './kit/folder.ts';
import { fileConfig, withEntries } from './kit/settings.ts';

const RAW = {
  type: 'artifact_producer',
  output_path_argument: 'output_path',
  tools: ['write_file'],
  allow_raw_output: true,
};

describe('an artifact of 200 MB', () => {
  const SIZE = 200 << 20;
  const HASH = sha256Of(contentOf('large', SIZE));
  let tools: FileTools;
  let adapter: RunningAdapter;
  let folder: SharedFolder;
  let door: Door;

  beforeAll(async () => {
    tools = await startFileTools();
    folder = await sharedFolder();
    const entries = withEntries(tools.url, RAW);
    adapter = await startAdapter({ config: fileConfig(folder.path, tools.url, entries) });
    door = (await openSession(adapter)).at(adapter);
    // What the program needs for itself is not what is measured.
    await door.tool('write_file', { output_path: 'small.bin', size: 1_000_000 });
  });
  afterAll(async () => {
    await adapter?.stop();
    await tools?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  const residentBytes = async (): Promise<number> =>
    Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${adapter.pid}/status`, 'utf8'))?.[1]) * 1024;

  /** How much more memory the adapter had at its peak while this was done. */
  async function grown(work: () => Promise<void>): Promise<number> {
    const before = await residentBytes();
    let peak = before;
    const done = new AbortController();
    const watching = (async () => {
      while (!done.signal.aborted) {
        peak = Math.max(peak, await residentBytes());
        await delay(10);
      }
    })();
    try {
      await work();
    } finally {
      done.abort();
      await watching;
    }
    return (peak - before) / (1 << 20);
  }

  /** Hash of the blob in an answer that does not fit into memory. */
  async function hashOfBlob(response: Response): Promise<string> {
    const hash = createHash('sha256');
    const decoder = new TextDecoder();
    let rest = '';
    let state: 'before' | 'in' | 'after' = 'before';
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk, { stream: true });
      const start = state === 'before' ? rest.indexOf('"blob":"') : -1;
      if (start !== -1) {
        state = 'in';
        rest = rest.slice(start + '"blob":"'.length);
      }
      if (state !== 'in') continue;
      const end = rest.indexOf('"');
      const usable = end === -1 ? rest.length - (rest.length % 4) : end;
      hash.update(Buffer.from(rest.slice(0, usable), 'base64'));
      if (end !== -1) state = 'after';
      rest = rest.slice(usable);
    }
    expect(rest).toMatch(/^"\}.*\}\s*$/s);
    return hash.digest('hex');
  }

  test('leaves in the result, in resources/read and as a download, while the memory stays flat', async (context) => {
    if (process.platform !== 'linux') context.skip('memory is read from /proc');
    const figures: Record<string, number> = {};
    figures.result = await grown(async () => {
      const args = { output_path: 'large.bin', seed: 'large', size: SIZE };
      expect(await hashOfBlob(await door.request('tools/call', { name: 'write_file', arguments: args }))).toBe(HASH);
    });
    const { result } = await door.call('resources/list');
    const resources = (asObject(result).resources as unknown[]).map(asObject);
    const { uri } = asObject(resources.find(({ name }) => name === 'large.bin'));
    figures.read = await grown(async () => {
      const response = await door.request('resources/read', { uri });
      expect(Number(response.headers.get('content-length'))).toBeGreaterThan((SIZE / 3) * 4);
      expect(await hashOfBlob(response)).toBe(HASH);
    });
    figures.download = await grown(async () => {
      const hash = createHash('sha256');
      const [, , sessionId = '', id] = String(uri).slice('artifact:/'.length).split('/');
      const url = `${adapter.url}/artifacts/up/${sessionId}/${id}`;
      const response = await fetch(url, { headers: { 'mcp-session-id': sessionId } });
      for await (const chunk of response.body ?? []) hash.update(chunk);
      expect(hash.digest('hex')).toBe(HASH);
    });
    console.log('memory over idle in MiB at most:', figures);
    expect(Math.max(...Object.values(figures))).toBeLessThan(64);
  });
});
