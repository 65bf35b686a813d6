import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createRedaction } from '../../../lib/redaction/redact.ts';
import type { RequestAttributes } from '../../exchange/request-attributes.ts';
import { AuditLog } from './audit-log.ts';
import type { RequestObservation } from '../telemetry.ts';

const SESSION = '0123456789abcdef0123456789abcdef';

function observed(attributes: Partial<RequestAttributes>): RequestObservation {
  return {
    serverId: 's1',
    method: 'POST',
    route: '/mcp/s1',
    status: 200,
    seconds: 0.0123456,
    attributes: {
      requestId: 'r1',
      serverId: 's1',
      sessionId: SESSION,
      rpcMethod: 'tools/call',
      outcome: 'ok',
      ...attributes,
    },
    principal: 'f'.repeat(64),
    bytesIn: 100,
    bytesOut: 2000,
    isEventStream: false,
  };
}

function auditLog(): { log: AuditLog; lines: () => Record<string, unknown>[]; text: () => string } {
  let text = '';
  const log = new AuditLog({
    path: null,
    stdout: { write: (line) => void (text += line) },
    redaction: createRedaction({ secrets: ['s3cr3t-value'] }),
    onDropped: () => undefined,
    warn: () => undefined,
  });
  const lines = (): Record<string, unknown>[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, lines, text: () => text };
}

test('a call is a line', () => {
  const { log, lines } = auditLog();
  log.request(observed({ tool: 'add', argumentsHash: 'abc' }));
  expect(lines()).toEqual([
    {
      audit: 'tool_call',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      request_id: 'r1',
      principal: 'f'.repeat(16),
      server: 's1',
      session: '01234567',
      tool: 'add',
      outcome: 'ok',
      is_error: false,
      bytes_in: 100,
      bytes_out: 2000,
      duration_ms: 12.35,
      arguments_hmac: 'abc',
    },
  ]);
});

test('other requests are none', () => {
  const { log, text } = auditLog();
  log.request(observed({ rpcMethod: 'tools/list' }));
  expect(text()).toBe('');
});

test.each<[Partial<RequestAttributes>, boolean]>([
  [{ outcome: 'ok', failure: 'tool_error' }, true],
  [{ outcome: 'ok', failure: -32602 }, true],
  [{ outcome: 'in_flight_limit' }, true],
  [{ outcome: 'upstream_timeout' }, true],
  [{ outcome: 'answered' }, false],
])('%j is an error: %s', (attributes, isError) => {
  const { log, lines } = auditLog();
  log.request(observed({ tool: 't', ...attributes }));
  expect(lines()[0]).toMatchObject({ outcome: attributes.outcome, is_error: isError });
});

test('of a batch, each call has a line', () => {
  const { log, lines } = auditLog();
  const calls = [
    { tool: 'a', idText: '1', argumentsHash: 'x' },
    { tool: 'b', idText: '2', failure: 'tool_error' as const, argumentsHash: 'y' },
  ];
  log.request(observed({ rpcMethod: 'batch', calls }));
  expect(lines()).toMatchObject([
    { tool: 'a', is_error: false, arguments_hmac: 'x' },
    { tool: 'b', is_error: true, arguments_hmac: 'y' },
  ]);
});

test('a call by code names the request that runs the code', () => {
  const { log, lines } = auditLog();
  const { attributes, principal } = observed({ tool: 'add' });
  log.nestedCall({ attributes, principal, seconds: 1, bytesIn: 1, bytesOut: 2, parentRequestId: 'r0' });
  expect(lines()[0]).toMatchObject({ tool: 'add', parent_request_id: 'r0', duration_ms: 1000 });
});

test('what clients make up brings nothing into it that must not be there', () => {
  const { log, lines, text } = auditLog();
  log.request(observed({ tool: `s3cr3t-value ${SESSION} Bearer abcdefgh\n{"audit":"forged"}` }));
  log.request(observed({ tool: 'x'.repeat(100_000) }));
  expect(lines()).toHaveLength(2);
  expect(text()).not.toMatch(/s3cr3t|abcdefgh|0123456789/);
  expect(text().length).toBeLessThan(2000);
});

test('L3: names of tools do not act on terminals', () => {
  const { log, lines, text } = auditLog();
  log.request(observed({ tool: '\u009B31m\u202Eevil\u2028' }));
  expect(text()).toMatch(/^[ -~]+\n$/);
  expect(lines()).toMatchObject([{ tool: '\u009B31m\u202Eevil\u2028' }]);
});

test('a file that cannot be written is told of once a minute, and lines are counted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  try {
    const said: string[] = [];
    let dropped = 0;
    const log = new AuditLog({
      path: join(folder, 'none', 'audit.jsonl'),
      stdout: { write: () => expect.unreachable() },
      redaction: createRedaction(),
      onDropped: (_reason, lines) => void (dropped += lines),
      warn: (message) => void said.push(message),
    });
    for (let i = 0; i < 10; i++) log.request(observed({ tool: 'add' }));
    await vi.waitFor(() => expect(said).toHaveLength(1));
    // Which tries once more.
    await log.close();
    expect(dropped).toBe(10);
    expect(said).toEqual([expect.stringContaining('ENOENT')]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('lines go to a file where one is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  try {
    const path = join(folder, 'audit.jsonl');
    const nothing = (): void => undefined;
    const log = new AuditLog({
      path,
      stdout: { write: () => expect.unreachable() },
      redaction: createRedaction(),
      onDropped: nothing,
      warn: nothing,
    });
    log.request(observed({ tool: 'add' }));
    await log.close();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ audit: 'tool_call', tool: 'add' });
  } finally {
    await rm(folder, { recursive: true });
  }
});
