import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { generateJson, seededRandom } from '../../../adapter/exchange/testing/generate-json.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { type SseUpstream, startSseUpstream } from '../kit/sse-upstream.ts';
import { asking, type Asking, type Family } from './kit/asking.ts';
import { startToldServer, type ToldServer } from './kit/told-server.ts';

const OVER = 1000;
const PREVIEW = 300;
const SAME = 1000;
const LONGER = 200;
const TOKENS = { a: 'token-of-anna-for-results', b: 'token-of-bert-for-results' };

type Random = () => number;
const between = (random: Random, least: number, most: number): number =>
  least + Math.floor(random() * (most - least + 1));

const CHARACTERS = ['a', 'Z', ' ', 'é', '😀', '\\n', '\\"', '\\\\', '\\u00e9', '\\ud83d\\ude00', '/', '{', '}'];
/** The inside of a JSON string that stands for so many characters (UTF-16 code units). */
function textOf(random: Random, chars: number): string {
  let text = '';
  for (let left = chars; left > 0;) {
    const one = CHARACTERS[Math.floor(random() * CHARACTERS.length)] ?? 'a';
    const length = (JSON.parse(`"${one}"`) as string).length;
    if (length <= left) {
      text += one;
      left -= length;
    }
  }
  return text;
}

/** JSON text of a result whose texts have so many characters together, with anything that JSON may have around them. */
function resultOf(random: Random, chars: number): string {
  const blocks: string[] = [];
  for (let left = chars; left > 0;) {
    const own = random() < 0.5 ? left : between(random, 1, left);
    left -= own;
    blocks.push(`{"type" : "text", "text":"${textOf(random, own)}"}`);
    if (random() < 0.2) blocks.push('{"type":"image","data":"AAAA","mimeType":"image/png"}');
  }
  const meta = random() < 0.3 ? `,"_meta":{"x":${generateJson(random, 2)}}` : '';
  const more = random() < 0.3 ? `,"more":${generateJson(random, 3)}` : '';
  const result = `{"resultType":"complete", "content":[${blocks.join(' , ')}]${meta}${more}}`;
  // On one line, of characters that no event stream has to escape.
  return result.replaceAll(/[\r\n\t]/g, ' ').replaceAll('\u2028', '\\u2028');
}

let told: ToldServer;
let old: SseUpstream;
let deployment: Deployment;
beforeAll(async () => {
  [told, old] = await Promise.all([startToldServer(), startSseUpstream()]);
  const results = { spill_over_chars: OVER, preview_chars: PREVIEW };
  const tokens = Object.entries(TOKENS).map(([name, token]) => ({ name, token }));
  const servers = [
    mounted('up', told.url, { results }),
    mounted('old', old.url, { results, upstream: { transport: 'sse' } }),
  ];
  deployment = await startDeployment({ config: { core: { auth: { enabled: true, tokens } }, servers } });
});
afterAll(async () => {
  await deployment?.close();
  await Promise.all([told?.[Symbol.asyncDispose](), old?.close()]);
});

const headersOf = (name: keyof typeof TOKENS) => ({ 'x-mcp-adapter-auth-token': TOKENS[name] });

interface Way {
  readonly family: Family;
  readonly path: string;
  readonly as: string;
}
const WAYS: readonly Way[] = [
  { family: 'with a session', path: '/mcp/up', as: 'json' },
  { family: 'with a session', path: '/mcp/up', as: 'sse' },
  { family: 'without a session', path: '/mcp/up', as: 'json' },
  { family: 'without a session', path: '/mcp/up', as: 'sse' },
  { family: 'with a session', path: '/mcp/old', as: 'HTTP+SSE' },
];

describe.each(WAYS)('$family at $path, as $as', ({ family, path, as }) => {
  let client: Asking;
  beforeAll(async () => {
    client = await asking(family, deployment.a, { path, headers: headersOf('a') });
  });

  const callOf = (result: string): JsonObject => {
    if (path === '/mcp/old') return { name: 'bytes', arguments: { result } };
    told.results.set('it', result);
    return { name: 'tell', arguments: { key: 'it', as } };
  };

  test(`${SAME} results that are not too long pass byte for byte`, async () => {
    const random = seededRandom(7);
    for (let i = 0; i < SAME; i++) {
      const result = resultOf(random, i % 10 === 0 ? OVER : between(random, 0, OVER));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const raw = await client.raw(deployment.balancer, 'tools/call', callOf(result));
      if (!raw.includes(`"result":${result}}`)) expect(raw).toContain(result);
    }
  });

  test(`of ${LONGER} longer ones the artifact is the text, for the caller alone`, async () => {
    const random = seededRandom(11);
    const others = [
      await asking('with a session', deployment.b, { path, headers: headersOf('a') }),
      await asking('with a session', deployment.b, { path, headers: headersOf('b') }),
      ...(path === '/mcp/up' ? [await asking('without a session', deployment.b, { headers: headersOf('b') })] : []),
    ];
    for (let i = 0; i < LONGER; i++) {
      const text = textOf(random, between(random, OVER + 1, 20 * OVER));
      const result = `{"resultType":"complete","content":[{"type":"text","text":"${text}"}]}`;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const message = await client.call(deployment.balancer, 'tools/call', callOf(result));
      const { content, _meta: meta } = asObject(message.result);
      const [preview, ...rest] = content as JsonObject[];
      const around = JSON.stringify({ rest, meta }).length;
      expect(String(preview?.text).length + around).toBeLessThanOrEqual(PREVIEW + 1024);
      const { artifact_uri: uri } = asObject(asObject(meta).artifact);
      for (const place of [deployment.a, deployment.b]) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const read = await client.call(place, 'resources/read', { uri });
        expect(asObject((asObject(read.result).contents as unknown[])[0]).text).toBe(JSON.parse(`"${text}"`));
      }
      if (i % 20 > 0) continue;
      for (const other of others) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        expect(await other.call(deployment.a, 'resources/read', { uri })).toMatchObject({
          error: { code: expect.any(Number) as number },
        });
      }
    }
  });
});
