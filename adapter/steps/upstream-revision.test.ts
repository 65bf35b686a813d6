import { describe, expect, test } from 'vitest';

import { SESSIONLESS_REVISION } from '../exchange/message.ts';
import { FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { ToolParameters } from '../tools/tool-parameters.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { RevisionFamily } from '../upstream/revision-probe.ts';
import { pass, refusal, sampleClient, sampleOperation, through } from './testing/step-scene.ts';
import { UpstreamRevision } from './upstream-revision.ts';

const headers = { 'mcp-protocol-version': SESSIONLESS_REVISION, 'mcp-method': 'ping' };
const META = {
  'io.modelcontextprotocol/protocolVersion': SESSIONLESS_REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const ping = (own: Record<string, string> = headers, meta: object = {}) =>
  sampleOperation(
    { id: 1, method: 'ping', params: { _meta: { ...META, ...meta } } },
    { isSessionless: true, caller: { headers: own, principal: 'me' } },
  );

function scene(of: () => Promise<RevisionFamily>, isBridged = false) {
  const mount = sampleMount();
  const declined: unknown[] = [];
  const step = new UpstreamRevision(
    { of },
    sampleClient(mount),
    new ToolParameters(),
    () => 7,
    (operation, reply) => {
      declined.push(operation);
      void reply.end({ outcome: 'ok' });
    },
    isBridged,
  );
  return { step, declined };
}

describe('a message without a session', () => {
  test.each(['modern', 'unknown'] as const)('passes to an upstream that speaks so: %s', async (family) => {
    const { operation } = await through(scene(async () => family).step, ping());
    expect(operation.session).toMatchObject({ serverId: 's1', principal: 'me', createdAt: 7 });
    expect(isWorkspace(operation.session)).toBe(true);
    expect(operation.sessionId).toBeUndefined();
  });

  test('is refused where the upstream wants sessions, or cannot be reached', async () => {
    expect(await refusal(scene(async () => 'legacy').step, ping())).toMatchObject({ code: 'legacy_upstream' });
    const cause = new Error('away');
    const away = scene(() => Promise.reject(cause)).step;
    expect(await refusal(away, ping())).toMatchObject({ code: 'upstream_unreachable', cause });
  });

  test('is refused by an upstream of another revision in its own words', async () => {
    const { step, declined } = scene(async () => 'declined');
    const operation = ping();
    expect(await pass(step, operation)).toBeUndefined();
    expect(declined).toEqual([operation]);
  });

  test.each(['legacy', 'declined'] as const)('passes over the bridge to one that does not: %s', async (family) => {
    const { operation } = await through(scene(async () => family, true).step, ping());
    expect(operation.isBridged).toBe(true);
    expect((await through(scene(async () => 'modern', true).step, ping())).operation.isBridged).toBe(false);
  });

  test.each([
    ['its revision', { 'io.modelcontextprotocol/protocolVersion': undefined }, 'invalid_metadata'],
    ['what the client offers', { 'io.modelcontextprotocol/clientCapabilities': undefined }, 'invalid_metadata'],
    ['a level that there is', { 'io.modelcontextprotocol/logLevel': 'loud' }, 'invalid_metadata'],
  ] as const)('has to name %s, where nobody behind the bridge would say so', async (_what, meta, code) => {
    const { step } = scene(async () => 'legacy', true);
    expect(await refusal(step, ping(headers, meta))).toMatchObject({ code });
  });

  test('of a later revision is told which there is', async () => {
    const later = { ...headers, 'mcp-protocol-version': '2099-01-01' };
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const error = await refusal(scene(async () => 'legacy', true).step, ping(later, meta));
    expect(error).toMatchObject({ code: 'unsupported_revision', data: { supported: [SESSIONLESS_REVISION] } });
  });

  test('is refused where its headers say something else', async () => {
    const { step } = scene(async () => 'modern');
    expect(await refusal(step, ping({ ...headers, 'mcp-method': 'other' }))).toMatchObject({ code: 'header_mismatch' });
    expect(await refusal(step, ping({ ...headers, 'mcp-param-x': '1' }))).toMatchObject({ code: 'header_mismatch' });
  });

  test('is asked about with the headers of its client', async () => {
    const upstream = new FakeUpstream();
    const mount = sampleMount({ upstream: { client_headers: { passthrough: ['X-Tenant'] } } }, { upstream });
    const client = sampleClient(mount);
    const step = new UpstreamRevision(
      mount.revisions,
      client,
      new ToolParameters(),
      () => 0,
      () => expect.fail(),
      false,
    );
    const passed = through(step, ping({ ...headers, 'x-tenant': 'blue' }));
    expect(upstream.last.request.headers).toEqual(expect.arrayContaining(['blue']));
    upstream.last.json(503).data('{}').end();
    await passed;
  });
});
