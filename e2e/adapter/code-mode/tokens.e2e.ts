import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { loopGaps, WATCHED } from '../../support/loop-gaps.ts';
import { businessTools } from '../../support/business-tools.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession, textOf } from '../kit/session.ts';
import { CODE_MODE, saidBy, valueOf } from './kit/code.ts';

/** English text and JSON are about four characters a token in all common vocabularies. */
const CHARS_PER_TOKEN = 4;
const LEAST_SAVED = 0.9;
/** What nobody may be kept waiting for longer than, in milliseconds. */
const MOST_BUSY_MS = 50;

describe('a server of 200 tools', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let adapter: RunningAdapter;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    upstream.tools.clear();
    for (const [name, tool] of businessTools()) upstream.tools.set(name, tool);
    adapter = await startAdapter({
      config: {
        core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false } },
        state_persistence: { type: 'memory' },
        servers: [mounted('all', upstream.url), mounted('few', upstream.url, CODE_MODE)],
      },
      env: WATCHED,
    });
  });
  afterAll(async () => {
    await adapter?.stop();
    await upstream?.close();
  });

  const doorOf = async (server: string): Promise<Door> =>
    (await openSession(adapter, { path: `/mcp/${server}` })).at(adapter);

  /** Of what a model reads of a list: names, descriptions and schemas. */
  async function tokensOf(server: string): Promise<number> {
    const { result } = await (await doorOf(server)).call('tools/list', {});
    const { tools } = asObject(result);
    return JSON.stringify(tools).length / CHARS_PER_TOKEN;
  }

  test('costs a model less than a tenth of the tokens in code mode', async () => {
    expect(upstream.tools.size).toBe(200);
    const [all, few] = [await tokensOf('all'), await tokensOf('few')];
    const saved = 1 - few / all;
    console.log(
      `tools/list of 200 tools: ${all.toFixed(0)} tokens, in code mode ${few.toFixed(0)}: ` +
        `${(100 * saved).toFixed(1)} % less (at ${CHARS_PER_TOKEN} characters a token)`,
    );
    expect(saved).toBeGreaterThanOrEqual(LEAST_SAVED);
  });

  test('is searched for the first time without keeping others waiting', async () => {
    const door = await doorOf('few');
    await loopGaps(adapter);
    await door.tool('few_search', { query: 'invoice' });
    const { busy } = await loopGaps(adapter);
    console.log(`the first search in 200 tools keeps the event loop busy for ${busy.toFixed(1)} ms at most`);
    expect(busy).toBeLessThan(MOST_BUSY_MS);
  });

  test.for([
    ['find invoices of a customer that are overdue', /_invoice/],
    ['archive a project', /^- archive_project: /m],
    ['upload file of shipments', /^- import_shipment: /m],
    ['who may see this document', /_document/],
  ] as const)('is found by what a model wants: %s', async ([query, finds]) => {
    const door = await doorOf('few');
    const { text } = saidBy((await door.tool('few_search', { query, limit: 5 })).result);
    // The adapter's own is one of them.
    expect(text).toMatch(/^5 of 201 tools:/);
    expect(text).toMatch(finds);
  });

  test('costs a whole task, from search to result, less than its list', async () => {
    const door = await doorOf('few');
    const found = textOf(await door.tool('few_search', { query: 'create an invoice', limit: 3 }));
    expect(found).toMatch(/^- create_invoice: /m);
    const schema = textOf(await door.tool('few_get_schema', { tools: ['create_invoice', 'get_invoice'] }));
    expect(schema).toMatch(/attributes[^]*due_date/);
    const value = await valueOf(
      door,
      `const { structuredContent } = await call_tool('create_invoice', { attributes: { title: 'x', amount: 3 } });
       const { text } = await call_tool('get_invoice', { id: structuredContent.id });
       return text;`,
      'few',
    );
    expect(value).toEqual({ called: 'get_invoice', args: { id: 'inv_0123456789abcdef' } });
    const spent = (await tokensOf('few')) + (found.length + schema.length) / CHARS_PER_TOKEN;
    const all = await tokensOf('all');
    console.log(`list, search and two schemas: ${spent.toFixed(0)} tokens of ${all.toFixed(0)}`);
    expect(spent).toBeLessThan((1 - LEAST_SAVED) * all);
  });
});
