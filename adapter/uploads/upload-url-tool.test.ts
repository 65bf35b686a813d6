import { describe, expect, test } from 'vitest';

import { textOf } from '../exchange/testing/whole-answer.ts';
import { readUploadQuery, verifyUpload } from '../files/urls/signed-url.ts';
import { UploadUrls } from '../files/urls/upload-urls.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { testCall } from '../gateway/testing/test-client.ts';
import { toolPrefix, uploadUrlTool, type UploadUrlTool } from './upload-url-tool.ts';

const NOW = 1_700_000_000_500;
const record = sessionRecord({ serverId: 'pw', principal: 'who' });
const CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wants_a_file"}}';
const call = testCall(CALL, { mount: sampleMount({ id: 'pw' }), store: new MemoryStore(), record });

function make(options: { authEnabled?: boolean; requireSha256?: boolean; serverId?: string } = {}) {
  const { nonces } = new MemoryStore();
  const urls = new UploadUrls({ nonces, secret: 'secret', path: '/upload', clock: () => NOW });
  const tool = uploadUrlTool({
    serverId: 'pw',
    urls,
    baseUrl: () => 'https://adapter.example/base',
    authEnabled: true,
    ttlSeconds: 120,
    pageTtlSeconds: 900,
    maxFileBytes: 10,
    requireSha256: false,
    uriScheme: 'upload://',
    ...options,
  });
  return { tool, nonces };
}

async function answer(tool: UploadUrlTool): Promise<Record<string, unknown>> {
  const prepared = await tool.step.prepare(call);
  if (prepared.kind !== 'result') throw new Error(prepared.kind);
  const result = JSON.parse(textOf(prepared.result));
  expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent);
  expect(result.isError).toBeUndefined();
  return result.structuredContent;
}

test.each([
  ['pw', 'pw'],
  ['my-server.v2', 'my_server_v2'],
  ['a - b', 'a_b'],
  ['_a_', 'a'],
  ['图', 'server'],
  ['---', 'server'],
])('the tools of server %j begin with %s', (id, prefix) => {
  expect(toolPrefix(id)).toBe(prefix);
});

test('the tool takes no arguments and says what it is for', () => {
  const { tool } = make({ serverId: 'my-pw' });
  expect(tool.name).toBe('my_pw_get_upload_url');
  expect(JSON.parse(tool.definition)).toMatchObject({
    name: 'my_pw_get_upload_url',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  });
  expect(tool.workflow).toContain('`my_pw_get_upload_url`');
});

describe('the answer', () => {
  test('has every key of the original, in its order, and three more', async () => {
    expect(Object.keys(await answer(make().tool))).toEqual([
      'server_id',
      'tool_name',
      'upload_url',
      'method',
      'headers',
      'auth_mode',
      'credential_ttl_seconds',
      'field_name',
      'supports_multiple_files',
      'sha256_required',
      'sha256_field_name',
      'sha256_per_file',
      'session_id',
      'example_curl',
      'example_curl_multiple',
      'note',
      'integrity_note',
      'page_url',
      'expires_at',
      'page_expires_at',
    ]);
  });

  test('has a URL that is signed for this session, once', async () => {
    const { tool, nonces } = make();
    const first = await answer(tool);
    expect(first).toMatchObject({
      server_id: 'pw',
      tool_name: 'pw_get_upload_url',
      method: 'POST',
      headers: { 'Mcp-Session-Id': record.sessionId },
      auth_mode: 'signed_upload_credentials',
      credential_ttl_seconds: 120,
      field_name: 'file',
      supports_multiple_files: true,
      sha256_required: false,
      session_id: record.sessionId,
      expires_at: '2023-11-14T22:15:20.999Z',
      page_expires_at: '2023-11-14T22:28:20.999Z',
    });
    const url = new URL(String(first['upload_url']));
    expect(url.href.startsWith('https://adapter.example/base/upload/pw?')).toBe(true);
    expect(first['example_curl']).toBe(
      `curl -X POST "${url.href}" -H "Mcp-Session-Id: ${record.sessionId}" -F "file=@/path/to/file"`,
    );
    const signed = readUploadQuery(url.searchParams);
    if (typeof signed === 'string') throw new Error(signed);
    expect(signed.exp).toBe(String(Math.floor(NOW / 1000) + 120));
    expect(verifyUpload('secret', record, signed, NOW)).toBe('valid');
    expect(await nonces.find(signed.nonce, NOW + 120_000)).toMatchObject({ principal: 'who', toolName: null });
    expect(await nonces.find(signed.nonce, NOW + 121_000)).toBeUndefined();
    expect((await answer(tool))['upload_url']).not.toBe(first['upload_url']);
    // A person needs longer.
    const page = readUploadQuery(new URL(String(first['page_url'])).searchParams);
    if (typeof page === 'string') throw new Error(page);
    expect([page.exp, page.nonce === signed.nonce]).toEqual([String(Math.floor(NOW / 1000) + 900), false]);
    expect(await nonces.find(page.nonce, NOW + 900_000)).toMatchObject({ principal: 'who', toolName: null });
  });

  test('has a plain URL where no token is asked for, and a signed one for people', async () => {
    const { tool } = make({ authEnabled: false, requireSha256: true, serverId: 'a b' });
    const said = await answer(tool);
    expect(said).toMatchObject({
      upload_url: 'https://adapter.example/base/upload/a%20b',
      auth_mode: 'header_token_or_none',
      credential_ttl_seconds: null,
      sha256_required: true,
    });
    expect(said['page_url']).toMatch(/^https:\/\/adapter\.example\/base\/upload\/a%20b\?mcp_upload_exp=/);
    expect(said['example_curl_multiple']).toMatch(/( -F "sha256=[^"]+" -F "file=@[^"]+"){2}$/);
  });
});

test('a page that is offered for a tool says which, and for which question', async () => {
  const { tool, nonces } = make({ authEnabled: false });
  const { url } = await tool.offer(call, 'question');
  const signed = readUploadQuery(new URL(url).searchParams);
  if (typeof signed === 'string') throw new Error(signed);
  expect(signed.exp).toBe(String(Math.floor(NOW / 1000) + 900));
  expect(await nonces.find(signed.nonce, NOW)).toMatchObject({ toolName: 'wants_a_file', elicitationId: 'question' });
});
