import { expect, test } from 'vitest';

import {
  httpMethodLabel,
  OTHER,
  protocolVersionLabel,
  rpcCodeLabel,
  rpcMethodLabel,
  serverLabel,
  statusClass,
} from './labels.ts';

const HOSTILE = Array.from({ length: 10_000 }, (_, i) => `x${i}`);

test('10,000 hostile values of anything are one', () => {
  const labels = [httpMethodLabel, rpcMethodLabel, protocolVersionLabel].map(
    (label) => new Set(HOSTILE.map((one) => label(one))),
  );
  expect(labels).toEqual([new Set([OTHER]), new Set([OTHER]), new Set([OTHER])]);
  expect(new Set(HOSTILE.map((one) => serverLabel(new Set(['s1']), one)))).toEqual(new Set(['unknown']));
  expect(new Set(HOSTILE.map((_, i) => rpcCodeLabel(-i * 7))).size).toBeLessThan(20);
});

test('known values stay as they are', () => {
  expect(['GET', 'POST', 'DELETE', 'get', 'PROPFIND'].map(httpMethodLabel)).toEqual([
    'GET',
    'POST',
    'DELETE',
    OTHER,
    OTHER,
  ]);
  expect(['tools/call', 'initialize', 'batch', undefined].map(rpcMethodLabel)).toEqual([
    'tools/call',
    'initialize',
    OTHER,
    undefined,
  ]);
  expect(['2025-11-25', '2026-07-28', '1999-01-01', undefined].map(protocolVersionLabel)).toEqual([
    '2025-11-25',
    '2026-07-28',
    OTHER,
    undefined,
  ]);
  expect([-32601, -32001, 503, 0, -1, 2 ** 53].map(rpcCodeLabel)).toEqual([
    '-32601',
    '-32001',
    '503',
    OTHER,
    OTHER,
    OTHER,
  ]);
});

test('of a request that belongs to no server, the server is global', () => {
  const configured = new Set(['s1']);
  expect([serverLabel(configured, 's1'), serverLabel(configured, ''), serverLabel(configured, undefined)]).toEqual([
    's1',
    'unknown',
    'global',
  ]);
});

test('a status has its class', () => {
  expect([200, 204, 307, 404, 499, 503].map(statusClass)).toEqual(['2xx', '2xx', '3xx', '4xx', '4xx', '5xx']);
});
