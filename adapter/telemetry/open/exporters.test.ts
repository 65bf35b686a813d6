import { describe, expect, it } from 'vitest';
import { endpointOf } from './exporters.ts';

const traces = { enabled: false, endpoint: null, sample_ratio: 1 };
const settings = {
  transport: 'grpc' as const,
  endpoint: null,
  logs_endpoint: null,
  insecure: true,
  traces,
};
const ofAll = (more: Partial<Parameters<typeof endpointOf>[0]>): string[] =>
  (['metrics', 'logs', 'traces'] as const).map((signal) => endpointOf({ ...settings, ...more }, signal));

describe('the endpoint of a signal', () => {
  it('is the local collector where none is written', () => {
    expect(ofAll({})).toEqual(Array.from({ length: 3 }, () => 'http://localhost:4317'));
    expect(ofAll({ transport: 'http' })).toEqual([
      'http://localhost:4318/v1/metrics',
      'http://localhost:4318/v1/logs',
      'http://localhost:4318/v1/traces',
    ]);
  });

  it('is the whole URL with http, each signal having its own', () => {
    const written = {
      endpoint: 'https://c/m',
      logs_endpoint: 'http://c/l',
      traces: { ...traces, endpoint: 'http://c/t' },
    };
    expect(ofAll({ transport: 'http', ...written })).toEqual(['https://c/m', 'http://c/l', 'http://c/t']);
  });

  it('is one for all signals with grpc, but where traces have their own', () => {
    const written = { endpoint: 'c:1', logs_endpoint: 'http://elsewhere/l' };
    expect(ofAll(written)).toEqual(['http://c:1', 'http://c:1', 'http://c:1']);
    expect(ofAll({ ...written, traces: { ...traces, endpoint: 't:2' } })).toEqual([
      'http://c:1',
      'http://c:1',
      'http://t:2',
    ]);
  });

  it.each([
    ['http://c:4317', true, 'http://c:4317'],
    ['HTTPS://c:4317', true, 'http://c:4317'],
    ['http://c:4317', false, 'https://c:4317'],
    ['[::1]:4317', false, 'https://[::1]:4317'],
  ])('with grpc, %s and insecure %s is %s', (endpoint, insecure, expected) => {
    expect(endpointOf({ ...settings, endpoint, insecure }, 'metrics')).toBe(expected);
  });
});
