import { getEventListeners } from 'node:events';

import { describe, expect, test } from 'vitest';

import { textOf } from '../exchange/testing/whole-answer.ts';
import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../crds/config/testing/adapter-config.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { SANDBOX_LIMITS } from './sandbox/sandbox-limits.ts';
import type { Sandbox, SandboxOutcome } from './sandbox/sandbox.ts';
import { AdapterError } from '../errors.ts';
import { SESSIONLESS_REVISION, type Request } from '../exchange/message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { Breaker } from '../steps/breaker.ts';
import { bodyOf, sampleCaller, sampleClient, sampleOperation, through } from '../steps/testing/step-scene.ts';
import { type CallOfCode, withCodeMode } from './code-mode.ts';
import type { MountAdditions } from '../mount/create-mount.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import type { CallTool } from './nested-call.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import type { PreparedCall, ToolStep } from '../tools/visible/tool-step.ts';
import type { SessionTools } from '../tools/visible/visible-catalog.ts';
import { sampleCaches } from '../testing/sample-caches.ts';

type Run = Parameters<Sandbox['run']>[0];

const NOTHING: MountAdditions = { steps: new Map(), transforms: new Map(), own: [], resources: undefined };
const TOOLS = ['{"name":"read_mail","description":"Reads mail"}', '{"name":"send_mail","description":"Sends mail"}'];
const record = sessionRecord();

interface Scene {
  readonly additions: MountAdditions;
  /** Nobody waits for the call any more. */
  readonly leave: (error: AdapterError) => void;
  readonly listeners: () => number;
  readonly attributes: RequestAttributes;
  readonly onCall: CallOfCode[];
  readonly ask: (name: string, args?: unknown, by?: SessionRecord, timeoutMs?: number) => Promise<PreparedCall>;
}

/** A server in code mode whose code ends as `run` says. */
function scene(
  run: (options: Run) => Promise<SandboxOutcome> | SandboxOutcome = () => returned(undefined),
  server: Record<string, unknown> = {},
  additions = NOTHING,
  callTool: CallTool = async () => '',
  limits = SANDBOX_LIMITS,
): Scene {
  const onCall: CallOfCode[] = [];
  const sandbox = { limits, run: async (options: Run) => run(options) } as unknown as Sandbox;
  const config = load({ servers: [{ id: 's-1', mount_path: '/s1', upstream: { url: 'http://u:1/mcp' }, ...server }] });
  const [first] = config.servers;
  if (first === undefined) throw new Error('no server');
  const effective = effectiveServer(config, first);
  const all = withCodeMode(effective, additions, {
    disabled: disabledTools(effective.disabled_tools),
    caches: sampleCaches(),
    sandbox,
    callTool,
    onCall: (call) => onCall.push(call),
  });
  const aborter = new AbortController();
  const { signal } = aborter;
  const attributes: RequestAttributes = { requestId: 'r' };
  const caller = sampleCaller({ attributes, request: { protocol: 'http', host: 'h', ip: '192.0.2.7' } });
  const tools: Pick<SessionTools, 'shown'> = { shown: TOOLS };
  const source = sampleClient(sampleMount()).source({ caller, trace: undefined }, { signal, afterwards: () => {} });
  return {
    additions: all,
    leave: (error) => aborter.abort(error),
    listeners: () => getEventListeners(signal, 'abort').length,
    attributes,
    onCall,
    ask: async (name, args, by = record, timeoutMs) => {
      const body = bodyOf({ id: 'x', method: 'tools/call', params: { name, arguments: args } });
      const step = all.steps.get(name);
      if (step === undefined) throw new Error(`no step for ${name}`);
      return step.prepare({
        caller,
        trace: undefined,
        signal,
        source,
        tools: async () => tools as SessionTools,
        record: by,
        body,
        request: body.messages[0] as Request,
        tool: name,
        timeoutMs: timeoutMs ?? null,
      });
    },
  };
}

const returned = (value: string | undefined, printed = ''): SandboxOutcome => ({
  kind: 'returned',
  value,
  console: printed,
  calls: 0,
});
const textsOf = (prepared: PreparedCall): unknown => {
  if (prepared.kind !== 'result') return prepared.kind;
  const { content, isError } = JSON.parse(textOf(prepared.result)) as {
    content: { text: string }[];
    isError?: boolean;
  };
  return [isError === true, ...content.map(({ text }) => text)];
};

describe('a server in code mode', () => {
  test('lists five tools, whose names begin with its id, beside the steps that it had', () => {
    const own: ToolStep = { needsHome: false, prepare: async () => ({ kind: 'result', result: '{}' }) };
    const { additions } = scene(undefined, {}, { ...NOTHING, steps: new Map([['read_mail', own]]) });
    const names = ['search', 'get_schema', 'tags', 'list_tools', 'execute'].map((tool) => `s_1_${tool}`);
    expect(additions.instead?.map(({ name }) => name)).toEqual(names);
    expect([...additions.steps.keys()]).toEqual(['read_mail', ...names]);
    for (const { definition } of additions.instead ?? []) expect(JSON.parse(definition)).toHaveProperty('inputSchema');
  });

  test('has none of those that are disabled', () => {
    const { additions } = scene(undefined, { disabled_tools: ['s_1_execute', '.*_tags'] });
    const names = ['s_1_search', 's_1_get_schema', 's_1_list_tools'];
    expect(additions.instead?.map(({ name }) => name)).toEqual(names);
    expect([...additions.steps.keys()]).toEqual(names);
  });

  test('answers what is asked about tools, those of the adapter included', async () => {
    const helper = { name: 's_1_get_upload_url', definition: '{"name":"s_1_get_upload_url","description":"Uploads"}' };
    const at = scene(undefined, {}, { ...NOTHING, own: [helper] });
    expect(textsOf(await at.ask('s_1_search', { query: 'send' }))).toEqual([
      false,
      expect.stringContaining('send_mail'),
    ]);
    const listed = textsOf(await at.ask('s_1_list_tools')) as string[];
    for (const name of ['read_mail', 'send_mail', helper.name]) expect(listed[1]).toContain(`- ${name}`);
    expect(textsOf(await at.ask('s_1_get_schema', { tools: [] }))).toEqual([true, expect.stringContaining('tools')]);
  });
});

describe('code that has ended', () => {
  test.each<[string, SandboxOutcome, unknown]>([
    ['with a value', returned('{"a":[1]}'), [false, '{"a":[1]}']],
    ['with a text, which is not quoted', returned('"Grüße\\n"'), [false, 'Grüße\n']],
    ['with an empty text', returned('""'), [false, '']],
    ['with nothing', returned(undefined), [false, 'The code has returned nothing.']],
    ['with words on its way', returned('1', 'a\nb\n'), [false, '1', 'Console:\na\nb\n']],
    [
      'with an error',
      { kind: 'failed', reason: 'error', message: 'TypeError (line 2)', console: 'a\n', calls: 1 },
      [true, 'TypeError (line 2)', 'Console:\na\n'],
    ],
  ])('is answered: %s', async (_what, outcome, texts) => {
    const at = scene(() => outcome);
    expect(textsOf(await at.ask('s_1_execute', { code: 'x' }))).toEqual(texts);
    expect(at.listeners()).toBe(0);
  });

  test.each([undefined, null, {}, { code: 7 }, { code: null }, 'code'])('was none: %j', async (args) => {
    const at = scene(() => {
      throw new Error('it was run');
    });
    expect(textsOf(await at.ask('s_1_execute', args))).toEqual([true, expect.stringContaining('code')]);
  });
});

describe('code that runs', () => {
  const { serverId, sessionId } = record;
  /** Runs until it is told to end. */
  const endless = (at: { begun: PromiseWithResolvers<void> }) => (options: Run) =>
    new Promise<SandboxOutcome>((resolve) => {
      options.signal.addEventListener('abort', () =>
        resolve({ kind: 'failed', reason: 'aborted', message: 'aborted', console: 'said', calls: 0 }),
      );
      at.begun.resolve();
    });

  test.each(['cancelled', 'session_ended'] as const)('ends when nobody waits for it any more: %s', async (code) => {
    const begun = Promise.withResolvers<void>();
    const at = scene(endless({ begun }));
    const answer = at.ask('s_1_execute', { code: 'x' });
    await begun.promise;
    at.leave(new AdapterError(code));
    expect(await answer).toMatchObject({ kind: 'error', error: { code } });
    expect(at.listeners()).toBe(0);
  });

  test('does not begin when its client has gone', async () => {
    let aborted: boolean | undefined;
    const at = scene((options) => {
      aborted = options.signal.aborted;
      return returned(undefined);
    });
    at.leave(new AdapterError('cancelled'));
    expect(await at.ask('s_1_execute', { code: 'x' })).toMatchObject({ kind: 'error', error: { code: 'cancelled' } });
    expect(aborted ?? true).toBe(true);
  });

  test('T17: belongs to its session; that of clients without sessions to their token and address', async () => {
    const owners: unknown[] = [];
    const at = scene(({ owner }) => {
      owners.push(owner);
      return returned(undefined);
    });
    await at.ask('s_1_execute', { code: 'x' });
    await at.ask('s_1_execute', { code: 'x' }, sessionRecord({ protocolVersion: SESSIONLESS_REVISION }));
    expect(owners).toEqual([sessionId, '\n192.0.2.7']);
  });

  test('ends with the time of a call, and says which time that was', async () => {
    const begun = Promise.withResolvers<void>();
    const at = scene(endless({ begun }));
    expect(textsOf(await at.ask('s_1_execute', { code: 'x' }, record, 30))).toEqual([
      true,
      'the run took longer than 0.03 s, the tool_call_timeout_seconds of this server; its calls may have had effects already',
      'Console:\nsaid',
    ]);
    expect(at.attributes.reason).toBe('total_time');
    expect(at.listeners()).toBe(0);
  });

  test.each([30, 60_000])('ends with the time of code, where a call may take longer: %d ms', async (timeoutMs) => {
    const begun = Promise.withResolvers<void>();
    const at = scene(endless({ begun }), {}, NOTHING, undefined, { ...SANDBOX_LIMITS, totalMs: 20 });
    expect(textsOf(await at.ask('s_1_execute', { code: 'x' }, record, timeoutMs))).toEqual([
      true,
      'the run took longer than 0.02 s, the most that code may take; its calls may have had effects already',
      'Console:\nsaid',
    ]);
  });

  test.each([
    [{}, '60 s'],
    [{ tool_defaults: { tool_call_timeout_seconds: 7.5 } }, '7.5 s'],
    [{ tool_defaults: { tool_call_timeout_seconds: 600 } }, '120 s'],
  ])('may take as long as its definition says: %j', (settings, says) => {
    const { additions } = scene(undefined, settings);
    const definition = additions.instead?.find(({ name }) => name === 's_1_execute')?.definition;
    expect(definition).toContain(`At most 100 calls, ${says}, `);
  });

  test('is ended by the adapter that stops, and its client is told so', async () => {
    const at = scene(() => ({ kind: 'failed', reason: 'aborted', message: 'cancelled', console: '', calls: 0 }));
    const answer = await at.ask('s_1_execute', { code: 'x' });
    expect(answer).toMatchObject({ kind: 'error', error: { code: 'draining' } });
  });

  test('leaves in the log why it failed', async () => {
    const at = scene(() => ({ kind: 'failed', reason: 'memory', message: 'too much', console: '', calls: 0 }));
    await at.ask('s_1_execute', { code: 'x' });
    expect(at.attributes).toEqual({ requestId: 'r', reason: 'memory' });
  });

  test('leaves a line in the log for each of its calls', async () => {
    const ending = new AbortController();
    const callOf: CallTool = async (_outer, nested, signal) => {
      const { tool, attributes } = nested;
      nested.bytes = 100;
      if (tool === 'slow') {
        ending.abort(new Error('the code has ended'));
        signal.throwIfAborted();
      }
      attributes.outcome = tool === 'refused' ? 'session_busy' : 'ok';
      const result = { content: [{ type: 'text', text: 'x' }], isError: tool === 'failing' };
      const message = tool === 'refused' ? { error: { message: 'no' } } : { result };
      return JSON.stringify({ id: 1, ...message });
    };
    const run = async ({ callTool }: Run) => {
      for (const tool of ['good', 'failing', 'refused']) await callTool(tool, {}, ending.signal).catch(() => '');
      await callTool('slow', {}, ending.signal).catch(() => '');
      return returned(undefined);
    };
    const at = scene(run, {}, NOTHING, callOf);
    await at.ask('s_1_execute', { code: 'x' });
    const line = (tool: string, outcome: string, bytesOut = 0): unknown => ({
      requestId: 'r',
      serverId,
      sessionId,
      tool,
      outcome,
      ms: expect.any(Number),
      principal: '',
      attributes: { requestId: 'r', serverId, sessionId, tool, outcome },
      bytesIn: expect.any(Number),
      bytesOut,
    });
    expect(at.onCall).toEqual([
      line('good', 'ok', '{"text":"x","content":[{"type":"text","text":"x"}],"artifacts":[]}'.length),
      line('failing', 'failed'),
      line('refused', 'session_busy'),
      line('slow', 'aborted'),
    ]);
    expect(at.onCall.every(({ bytesIn }) => bytesIn === 100)).toBe(true);
    expect(at.onCall.every(({ ms }) => ms >= 0 && ms < 60_000)).toBe(true);
  });

  test('is no probe of the upstream itself: its calls may be', async () => {
    const mount = sampleMount({ upstream_ping: { failure_threshold: 1, open_cooldown_seconds: 30 } });
    mount.breaker.pingFailed(Date.now() - 31_000);
    const at: Scene = scene(() => {
      expect(mount.breaker.snapshot(Date.now())).toMatchObject({ state: 'half_open', half_open_probe_count: 0 });
      return returned(undefined);
    });
    const { steps } = at.additions;
    expect(steps.get('s_1_search')?.runsOthers).toBeUndefined();
    const breaker = new Breaker('s1', mount.breaker, (tool) => steps.get(tool)?.runsOthers === true);
    await through(breaker, sampleOperation({ id: 1, method: 'tools/call', params: { name: 's_1_execute' } }));
    expect(await at.ask('s_1_execute', { code: 'x' })).toMatchObject({ kind: 'result' });
  });

  test('cannot run code', async () => {
    let failure: unknown;
    const at = scene(async ({ callTool, signal }) => {
      failure = await Promise.resolve()
        .then(() => callTool('s_1_execute', {}, signal))
        .catch((error: Error) => error.message);
      return returned(undefined);
    });
    await at.ask('s_1_execute', { code: 'x' });
    expect(failure).toBe('s_1_execute cannot be called by code that it runs.');
  });
});
