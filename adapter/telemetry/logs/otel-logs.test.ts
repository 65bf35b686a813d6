import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { LogRecordExporter, ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { expect, test, vi } from 'vitest';
import { createRedaction } from '../../../lib/redaction/redact.ts';
import { LogOutput } from './log-output.ts';
import { createLogger, type Logger } from './logger.ts';
import { OtelLogs, type OtelLogsOptions } from './otel-logs.ts';

const SECRET = 's3cr3t-value';
const TRACE = '0af7651916cd43dd8448eb211c80319c';

type Done = (result: ExportResult) => void;

const SUCCESS: ExportResult = { code: ExportResultCode.SUCCESS };

/** Takes what it is given when it is told to. */
class Exporter implements LogRecordExporter {
  readonly records: ReadableLogRecord[] = [];
  readonly batches: number[] = [];
  readonly waiting: Done[] = [];
  answer: 'ok' | 'failed' | 'never' | 'throws' = 'ok';

  export(records: ReadableLogRecord[], done: Done): void {
    this.batches.push(records.length);
    if (this.answer === 'throws') throw new Error('broken');
    if (this.answer === 'never') return void this.waiting.push(done);
    this.records.push(...records);
    done(this.answer === 'ok' ? SUCCESS : { code: ExportResultCode.FAILED, error: new Error('refused') });
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

interface Made {
  readonly log: Logger;
  readonly logs: OtelLogs;
  readonly output: LogOutput;
  readonly exporter: Exporter;
  readonly lines: string[];
  readonly dropped: Record<string, number>;
}

function otelLogs(settings: Partial<OtelLogsOptions['settings']> = {}): Made {
  const exporter = new Exporter();
  const dropped: Record<string, number> = {};
  const logs = new OtelLogs({
    exporter,
    resource: resourceFromAttributes({ 'service.name': 'x' }),
    scope: { name: 'remote_mcp_adapter', version: '1.2.3' },
    settings: {
      log_batch_max_queue_size: null,
      log_batch_max_export_batch_size: null,
      log_batch_schedule_delay_millis: null,
      log_batch_export_timeout_millis: null,
      ...settings,
    },
    onDropped: (reason, records) => void (dropped[reason] = (dropped[reason] ?? 0) + records),
  });
  const lines: string[] = [];
  const output = new LogOutput({ write: (line) => void lines.push(line) });
  output.copyTo(logs);
  const log = createLogger('debug', createRedaction({ secrets: [SECRET], names: ['X-Tenant'] }), output);
  return { log, logs, output, exporter, lines, dropped };
}

test('a line is a record', async () => {
  const { log, logs, exporter } = otelLogs();
  const before = Date.now();
  log.warn({ server_id: 's1', n: 1, session: undefined, err: new Error('no') }, 'upstream %s failed', 'ping');
  await logs.forceFlush();
  expect(exporter.records).toEqual([
    expect.objectContaining({
      severityNumber: 13,
      severityText: 'warning',
      body: 'upstream ping failed',
      attributes: {
        server_id: 's1',
        n: 1,
        session: undefined,
        err: { type: 'Error', message: 'no', stack: expect.any(String) },
      },
      spanContext: undefined,
      instrumentationScope: { name: 'remote_mcp_adapter', version: '1.2.3' },
      resource: expect.objectContaining({ attributes: { 'service.name': 'x' } }),
    }),
  ]);
  const [seconds = 0, nanos = 0] = exporter.records[0]?.hrTime ?? [];
  const ms = seconds * 1000 + nanos / 1_000_000;
  expect(ms).toBeGreaterThanOrEqual(before);
  expect(ms).toBeLessThanOrEqual(Date.now());
});

test.each([
  ['debug', 5, 'debug'],
  ['info', 9, 'info'],
  ['warn', 13, 'warning'],
  ['error', 17, 'error'],
  ['fatal', 21, 'critical'],
] as const)('%s has severity %i, %s', async (level, number, text) => {
  const { log, logs, exporter, lines } = otelLogs();
  log[level]('x');
  await logs.forceFlush();
  expect(exporter.records[0]).toMatchObject({ severityNumber: number, severityText: text, body: 'x' });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: text });
});

test('a line within a trace is a record of it', async () => {
  const { log, logs, exporter, lines } = otelLogs();
  log.info({ trace_id: TRACE, span_id: 'b7ad6b7169203331', a: 1 }, 'request');
  await logs.forceFlush();
  expect(exporter.records[0]).toMatchObject({
    spanContext: { traceId: TRACE, spanId: 'b7ad6b7169203331' },
    attributes: { a: 1 },
  });
  expect(exporter.records[0]?.attributes).not.toHaveProperty('trace_id');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ trace_id: TRACE });
});

test('nothing gets past redaction', async () => {
  const { log, logs, exporter, lines } = otelLogs();
  const id = '0123456789abcdef0123456789abcdef';
  log.info(`${SECRET} ${id}`);
  log.info('%s %j %o', SECRET, { token: 'abcdefgh', a: [SECRET] }, { b: SECRET });
  log.info(
    { a: SECRET, b: [{ c: SECRET }], [SECRET]: 1, token: 'abcdefgh', x_tenant: 'abcdefgh' },
    `x-tenant: abcdefgh`,
  );
  log.error(new Error(SECRET, { cause: new Error('Bearer abcdefgh') }));
  log.error(new Error(SECRET), SECRET);
  log.error({ err: new Error(SECRET) });
  log.error({ err: new Error(SECRET), trace_id: SECRET }, 'failed');
  log.warn({ path: `/x/${id}` });
  await logs.forceFlush();
  expect(exporter.records).toHaveLength(8);
  const records = JSON.stringify(exporter.records.map(({ body, attributes }) => ({ body, attributes })));
  for (const text of [records, lines.join('')]) expect(text).not.toMatch(/s3cr3t|abcdefgh|123456789/);
});

test('records that find the queue full are counted', async () => {
  const { log, logs, exporter, dropped } = otelLogs({
    log_batch_max_queue_size: 3,
    log_batch_max_export_batch_size: 3,
  });
  exporter.answer = 'never';
  for (let i = 0; i < 3; i++) log.info('under way');
  await vi.waitFor(() => expect(exporter.batches).toEqual([3]));
  for (let i = 0; i < 10; i++) log.info('waits, or is dropped');
  expect([dropped, logs.length]).toEqual([{ queue_full: 7 }, 3]);
});

test.each(['failed', 'throws'] as const)('records of an export that %s are counted', async (answer) => {
  const { log, logs, exporter, dropped } = otelLogs();
  exporter.answer = answer;
  log.info('a');
  log.info('b');
  await logs.forceFlush();
  expect([dropped, logs.length]).toEqual([{ export_failed: 2 }, 0]);
});

test('settings are those of the batches', async () => {
  const { log, exporter } = otelLogs({ log_batch_max_export_batch_size: 2, log_batch_schedule_delay_millis: 1 });
  for (let i = 0; i < 5; i++) log.info('x');
  await vi.waitFor(() => expect(exporter.batches).toEqual([2, 2, 1]));
});

test('an export that takes too long gives way to the next', async () => {
  const { log, exporter } = otelLogs({ log_batch_schedule_delay_millis: 1, log_batch_export_timeout_millis: 5 });
  exporter.answer = 'never';
  log.info('first');
  await vi.waitFor(() => expect(exporter.batches).toEqual([1]));
  exporter.answer = 'ok';
  log.info('second');
  await vi.waitFor(() => expect(exporter.records.map(({ body }) => body)).toEqual(['second']));
});

test('at the end, what waits is sent, also behind a flush that is under way', async () => {
  const { log, logs, exporter, dropped } = otelLogs();
  exporter.answer = 'never';
  log.info('first');
  const flushing = logs.forceFlush();
  await vi.waitFor(() => expect(exporter.waiting).toHaveLength(1));
  log.info('second');
  const ended = logs.shutdown();
  log.info('too late');
  exporter.answer = 'ok';
  exporter.waiting[0]?.(SUCCESS);
  await Promise.all([flushing, ended]);
  expect(exporter.records.map(({ body }) => body)).toEqual(['second']);
  expect(dropped).toEqual({ shutdown: 1 });
});

test('what is said to the stream alone is not exported', async () => {
  const { logs, output, exporter, lines } = otelLogs();
  createLogger('info', createRedaction(), output.local).warn('the collector does not answer');
  output.copyTo(undefined);
  createLogger('info', createRedaction(), output).info('after the end');
  await logs.forceFlush();
  expect([exporter.records.length, lines.length]).toEqual([0, 2]);
});
