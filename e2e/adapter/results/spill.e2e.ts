import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { asking, type Asking, type Family } from './kit/asking.ts';
import { startToldServer, type ToldServer } from './kit/told-server.ts';

const OVER = 1000;
const PREVIEW = 200;
const READER = 'up_read_artifact';

const text = (...texts: string[]): JsonObject => ({ content: texts.map((one) => ({ type: 'text', text: one })) });
/** As they stand in a result. */
const blocksOf = ({ result }: JsonObject): JsonObject[] => (asObject(result).content as unknown[]).map(asObject);
const textsOf = (message: JsonObject): string[] =>
  blocksOf(message).flatMap((block) => (block.type === 'text' ? [String(block.text)] : []));
const artifactOf = ({ result }: JsonObject): JsonObject => asObject(asObject(asObject(result)._meta).artifact);

let upstream: ToldServer;
let deployment: Deployment;
beforeAll(async () => {
  upstream = await startToldServer();
  const inputSchema = { type: 'object' };
  upstream.tools.set('free_text', { inputSchema });
  upstream.tools.set('long', { inputSchema, _meta: { 'anthropic/maxResultSizeChars': 3000 } });
  upstream.tools.set('typed', { inputSchema, outputSchema: { type: 'object' } });
  const results = { spill_over_chars: OVER, preview_chars: PREVIEW };
  const servers = [
    mounted('up', upstream.url, { results: { ...results, tools: { 'free_*': { spill_over_chars: 0 } } } }),
    mounted('drop', upstream.url, { results: { ...results, structured: 'drop' } }),
  ];
  deployment = await startDeployment({ config: { servers } });
});
afterAll(async () => {
  await deployment?.close();
  await upstream?.[Symbol.asyncDispose]();
});

const tell = (result: object, key: string = crypto.randomUUID()): string => {
  upstream.results.set(key, JSON.stringify({ resultType: 'complete', ...result }));
  return key;
};

describe.each<Family>(['with a session', 'without a session'])('for a client %s', (family) => {
  let client: Asking;
  beforeAll(async () => {
    client = await asking(family, deployment.a);
  });

  const told = (result: object, as: string, name = 'tell'): Promise<JsonObject> =>
    client.call(deployment.balancer, 'tools/call', { name, arguments: { key: tell(result), as } });
  /** All of an artifact, by the tool, from one replica and the other. */
  const readAll = async (uri: unknown): Promise<string> => {
    let all = '';
    for (let offset: unknown = 0; offset !== null;) {
      const args = { uri, offset, limit: 777 };
      const part = await client.call(deployment.balancer, 'tools/call', { name: READER, arguments: args });
      const { artifact_part: about } = asObject(asObject(part.result)._meta);
      expect(about).toMatchObject({ artifact_uri: uri, offset });
      all += textsOf(part)[0];
      offset = asObject(about).next_offset;
    }
    return all;
  };

  test.each(['json', 'sse'])('a text that is too long is an artifact with a preview (%s)', async (as) => {
    const long = Array.from({ length: 400 }, (_, i) => `line ${i} "é😀"\n`).join('');
    const message = await told(text(long), as);
    const [preview = ''] = textsOf(message);
    const artifact = artifactOf(message);
    expect(preview.startsWith(long.slice(0, 149))).toBe(true);
    expect(preview.endsWith(long.slice(-49))).toBe(true);
    expect(preview).toContain(`of ${long.length} characters left out; read them with ${READER}, uri`);
    expect(JSON.stringify(message.result).length).toBeLessThan(PREVIEW + 1024);
    expect(artifact).toMatchObject({
      filename: 'result.txt',
      mime_type: 'text/plain',
      size_bytes: Buffer.byteLength(long),
    });
    expect(blocksOf(message).at(-1)).toMatchObject({ type: 'resource_link', uri: artifact.artifact_uri });
    expect(await readAll(artifact.artifact_uri)).toBe(long);
    for (const place of [deployment.a, deployment.b]) {
      const { result } = await client.call(place, 'resources/read', { uri: artifact.artifact_uri });
      expect(asObject((asObject(result).contents as unknown[])[0]).text).toBe(long);
    }
  });

  test.each(['json', 'sse'])('one that is not passes byte for byte (%s)', async (as) => {
    const key = crypto.randomUUID();
    const exact = `{ "content" : [ {"type":"text","text":"${'\\u00e9'.repeat(OVER)}"} ], "n":12345678901234567890.0 }`;
    upstream.results.set(key, exact);
    const raw = await client.raw(deployment.a, 'tools/call', { name: 'tell', arguments: { key, as } });
    expect(raw).toContain(`"result":${exact}`);
  });

  test('a large one goes to the disk while it comes', async () => {
    for (const as of ['json', 'sse']) {
      const long = Array.from({ length: 60_000 }, (_, i) => `{"no":${i},"é":"\\ud83d\\ude00"}\n`).join('');
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const message = await told(
        {
          content: [
            { type: 'text', text: long },
            { type: 'text', text: 'short' },
          ],
        },
        as,
      );
      expect(textsOf(message)).toEqual([expect.stringContaining('characters left out'), 'short']);
      const { artifact_uri: uri, size_bytes: size } = artifactOf(message);
      expect(size).toBe(Buffer.byteLength(long));
      const { result } = await client.call(deployment.b, 'resources/read', { uri });
      expect(asObject((asObject(result).contents as unknown[])[0]).text).toBe(long);
    }
  });

  test('the longest texts go first, and JSON stays JSON', async () => {
    const json = JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ i })));
    const message = await told(text('a'.repeat(900), json, 'b'.repeat(50)), 'json');
    const texts = textsOf(message);
    expect([texts[0]?.length, texts[2]?.length]).toEqual([900, 50]);
    const artifact = artifactOf(message);
    expect(artifact).toMatchObject({ filename: 'result.json', mime_type: 'application/json' });
    expect(await readAll(artifact.artifact_uri)).toBe(json);
    const pointer = { uri: artifact.artifact_uri, json_pointer: '/299' };
    const part = await client.call(deployment.b, 'tools/call', { name: READER, arguments: pointer });
    expect(textsOf(part)[0]).toBe('{"i":299}');
  });

  test('errors, images and links stay as they are', async () => {
    const error = { ...text('x'.repeat(5000)), isError: true };
    expect((await told(error, 'json')).result).toMatchObject(error);
    const image = { type: 'image', data: 'A'.repeat(40_000), mimeType: 'image/png' };
    const link = { type: 'resource_link', uri: 'file:///a', name: 'a' };
    const message = await told({ content: [image, { type: 'text', text: 'y'.repeat(500_000) }, link] }, 'sse');
    expect(blocksOf(message)).toMatchObject([image, { type: 'text' }, link, { type: 'resource_link' }]);
  });

  test('many texts become one artifact', async () => {
    const texts = Array.from({ length: 40 }, (_, i) => `${i}: ${'z'.repeat(100)}`);
    const message = await told(text(...texts), 'json');
    const [first, ...rest] = textsOf(message);
    expect(first).toContain('characters left out');
    expect(rest.join('').length).toBeLessThanOrEqual(OVER);
    const all = await readAll(artifactOf(message).artifact_uri);
    expect([...all.split('\n'), ...rest].toSorted()).toEqual(texts.toSorted());
  });

  test('structured content is text where no schema says what it must be', async () => {
    const structuredContent = { rows: Array.from({ length: 300 }, (_, i) => i) };
    const both = { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    const message = await told(both, 'json');
    expect(asObject(message.result).structuredContent).toBeUndefined();
    expect(asObject(asObject(message.result)._meta).artifacts).toBeUndefined();
    expect(JSON.parse(await readAll(artifactOf(message).artifact_uri))).toEqual(structuredContent);
    const typed = await told(both, 'json', 'typed');
    expect(asObject(typed.result).structuredContent).toEqual(structuredContent);
    expect(textsOf(typed)[0]).toContain('characters left out');
  });

  test('a tool may have no limit, or say that it needs more', async () => {
    for (const [name, chars, isSame] of [
      ['free_text', 50_000, true],
      ['long', 3000, true],
      ['long', 3001, false],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const message = await told(text('n'.repeat(chars)), 'json', name);
      expect([name, chars, textsOf(message)[0]?.length === chars]).toEqual([name, chars, isSame]);
    }
  });

  test('grep finds lines with their offsets, and goes on', async () => {
    const lines = Array.from({ length: 500 }, (_, i) => `row ${i} ${i % 50 === 0 ? 'é hit' : ''}`);
    const long = lines.join('\n');
    const { artifact_uri: uri } = artifactOf(await told(text(long), 'json'));
    const grep = async (args: JsonObject): Promise<JsonObject> =>
      client.call(deployment.balancer, 'tools/call', { name: READER, arguments: { uri, ...args } });
    for (const pattern of ['hit', 'h.t$']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const [found = ''] = textsOf(await grep({ grep: pattern }));
      const hits = found.split('\n').map((line) => /^(\d+): (.*)$/.exec(line)?.slice(1) ?? []);
      expect(hits).toHaveLength(10);
      for (const [offset, line] of hits) {
        expect(Buffer.from(long).subarray(Number(offset)).toString().split('\n')[0]).toBe(line);
      }
    }
    const first = await grep({ grep: 'hit', limit: 30 });
    const { next_offset: next } = asObject(asObject(asObject(first.result)._meta).artifact_part);
    expect(textsOf(await grep({ grep: 'hit', offset: next }))[0]).not.toContain('row 0 ');
    expect(textsOf(await grep({ grep: '(' }))[0]).toContain('regular expression');
    expect(textsOf(await grep({ grep: 'nothing' }))[0]).toContain('No line matches');
  });

  test('what belongs to somebody else is not there', async () => {
    const { artifact_uri: uri } = artifactOf(await told(text('s'.repeat(2000)), 'json'));
    const other = await asking('with a session', deployment.b);
    const read = await other.call(deployment.a, 'tools/call', { name: READER, arguments: { uri } });
    expect(asObject(read.result)).toMatchObject({ isError: true });
    expect(textsOf(read)[0]).toContain('no such artifact');
    expect(await other.call(deployment.b, 'resources/read', { uri })).toHaveProperty('error');
  });
});

describe.each<Family>(['with a session', 'without a session'])('with structured: drop, a client %s', (family) => {
  test('sees no schema, and no content that is too long', async () => {
    const client = await asking(family, deployment.a, { path: '/mcp/drop' });
    const ask = async (structuredContent: JsonObject): Promise<JsonObject> => {
      const key = tell({ content: [{ type: 'text', text: 'see structuredContent' }], structuredContent });
      return client.call(deployment.b, 'tools/call', { name: 'typed', arguments: { key } });
    };
    const { result } = await client.call(deployment.a, 'tools/list', {});
    const typed = (asObject(result).tools as unknown[]).map(asObject).find(({ name }) => name === 'typed');
    expect(typed).toBeDefined();
    expect(typed).not.toHaveProperty('outputSchema');
    expect(asObject((await ask({ a: 1 })).result).structuredContent).toEqual({ a: 1 });
    const long = await ask({ rows: 'r'.repeat(3000) });
    expect(asObject(long.result)).not.toHaveProperty('structuredContent');
    expect(textsOf(long)).toEqual(['see structuredContent', expect.stringContaining('{"rows":"rrr')]);
    expect(artifactOf(long)).toMatchObject({ filename: 'result.json' });
  });
});
