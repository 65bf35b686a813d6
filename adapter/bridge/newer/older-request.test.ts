import { expect, test } from 'vitest';

import { olderRequest, RequestIdentities } from './older-request.ts';

const NAMES = { idText: '"own"', progressToken: '"token"' };
const PROTOCOL =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}';
const older = (params: string): string =>
  olderRequest(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`, NAMES);
const request = (params: string): string => `{"jsonrpc":"2.0","id":"own","method":"tools/call","params":${params}}`;

test('a request in a session names no revision, and has a name of its own', () => {
  expect(older(`{"name":"t","arguments":{"n":9007199254740993, "m": 1.0},"_meta":{${PROTOCOL}}}`)).toBe(
    request('{"name":"t","arguments":{"n":9007199254740993, "m": 1.0}}'),
  );
  expect(older(`{"_meta":{"x.example/a":1,${PROTOCOL},"progressToken":7,"traceparent":"00"}}`)).toBe(
    request('{"_meta":{"x.example/a":1,"progressToken":"token","traceparent":"00"}}'),
  );
  expect(olderRequest('{"id":1,"method":"m"}', NAMES)).toBe('{"id":"own","method":"m"}');
  expect(olderRequest('{"params":{"a":1},"method":"m","id":1}', NAMES)).toBe(
    '{"params":{"a":1},"method":"m","id":"own"}',
  );
});

test('what is said to the newer revision alone is left out', () => {
  expect(older('{"name":"t","inputResponses":{"a":{}},"requestState":"s","task":{"ttl":1},"arguments":{}}')).toBe(
    request('{"name":"t","arguments":{}}'),
  );
});

test('a session is opened with what the client says of itself', () => {
  const tasks = { 'io.modelcontextprotocol/tasks': {}, 'x.example/own': {} };
  const meta = {
    'io.modelcontextprotocol/clientCapabilities': {
      sampling: { tools: {} },
      elicitation: {},
      other: {},
      extensions: tasks,
    },
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/logLevel': 'debug',
  };
  const { initializeParams, logLevel } = new RequestIdentities().of({ _meta: meta });
  expect(JSON.parse(initializeParams)).toEqual({
    protocolVersion: '2025-11-25',
    capabilities: { sampling: { tools: {} }, elicitation: {}, extensions: { 'x.example/own': {} } },
    clientInfo: { name: 'c', version: '1' },
  });
  expect(logLevel).toBe('{"level":"debug"}');
  expect(new RequestIdentities().of({ _meta: 7 })).toMatchObject({ logLevel: null });
});
