import { describe, expect, test } from 'vitest';
import { prometheusLabel, prometheusNames } from './metric-definition.ts';

describe('the names of a metric in Prometheus', () => {
  test.each([
    // Names that have unit and kind already stay as they are.
    [{ name: 'adapter_http_requests_total', instrument: 'counter', unit: '1' }, ['adapter_http_requests_total']],
    [{ name: 'adapter_upload_bytes_total', instrument: 'counter', unit: 'By' }, ['adapter_upload_bytes_total']],
    [{ name: 'a_duration_seconds', instrument: 'histogram', unit: 's' }, ['a_duration_seconds']],
    [{ name: 'sessions', instrument: 'gauge', unit: '{session}' }, ['sessions']],
    // Receivers of OTLP add them elsewhere.
    [{ name: 'reconciles', instrument: 'counter', unit: '' }, ['reconciles_total']],
    [{ name: 'breaker_state', instrument: 'gauge', unit: '1' }, ['breaker_state', 'breaker_state_ratio']],
    [{ name: 'balance', instrument: 'upDownCounter', unit: '1' }, ['balance']],
    [{ name: 'a.b.duration', instrument: 'histogram', unit: 's' }, ['a_b_duration', 'a_b_duration_seconds']],
    [{ name: 'cpu.time', instrument: 'counter', unit: 's' }, ['cpu_time_total', 'cpu_time_seconds_total']],
    [{ name: 'memory.usage', instrument: 'upDownCounter', unit: 'By' }, ['memory_usage', 'memory_usage_bytes']],
  ] as const)('%j', (metric, names) => {
    expect(prometheusNames(metric)).toEqual(names);
  });
});

test('the label of an attribute', () => {
  expect(prometheusLabel('http.response.status_class')).toBe('http_response_status_class');
});
