import { diag, DiagLogLevel, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';
import { overGrpc, overHttp } from './exporters.ts';
import { GrpcReceiver } from './testing/grpc-receiver.ts';
import { answer, OtlpReceiver } from './testing/otlp-receiver.ts';

const resource = resourceFromAttributes({ 'service.name': 'shop' });
const instrumentationScope = { name: 'orders' };
const RECORD: ReadableLogRecord = {
  hrTime: [1_770_000_000, 0],
  hrTimeObserved: [1_770_000_000, 0],
  body: 'x',
  attributes: {},
  resource,
  instrumentationScope,
  droppedAttributesCount: 0,
};
const SPAN: ReadableSpan = {
  name: 'tools/call',
  kind: SpanKind.SERVER,
  spanContext: () => ({ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '00f067aa0ba902b7', traceFlags: 1 }),
  startTime: [1_770_000_000, 0],
  endTime: [1_770_000_001, 0],
  duration: [1, 0],
  status: { code: SpanStatusCode.UNSET },
  attributes: {},
  links: [],
  events: [],
  ended: true,
  resource,
  instrumentationScope,
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
};

/** Resolves with the code of the result; 0 is a success. */
const sent = <T>(exporter: { export(items: T, done: (result: { code: number }) => void): void }, items: T) =>
  new Promise<number>((resolve) => exporter.export(items, ({ code }) => resolve(code)));

test.each(['http', 'grpc'])('every signal arrives over %s', async (transport) => {
  await using receiver = transport === 'http' ? new OtlpReceiver() : new GrpcReceiver();
  const endpoint = await receiver.listen();
  const urls = ['metrics', 'logs', 'traces'].map((signal) =>
    transport === 'http' ? `${endpoint}/v1/${signal}` : endpoint,
  );
  const open = transport === 'http' ? overHttp : overGrpc;
  const [metrics, logs, traces] = await Promise.all(urls.map((url) => open({ url })));
  const exporters = [metrics?.metrics(), logs?.logs(), traces?.traces()] as const;
  const codes = [
    exporters[0] && (await sent(exporters[0], { resource, scopeMetrics: [] })),
    exporters[1] && (await sent(exporters[1], [RECORD])),
    exporters[2] && (await sent(exporters[2], [SPAN])),
  ];
  expect(codes).toEqual([0, 0, 0]);
  expect(receiver.requests.map(({ path }) => path)).toEqual([
    expect.stringMatching(/metrics/i),
    expect.stringMatching(/logs/i),
    expect.stringMatching(/trace/i),
  ]);
  for (const exporter of exporters) await exporter?.shutdown();
});

test('what the collector says of a part that it has refused is read', async () => {
  const said: unknown[] = [];
  const note = (...words: unknown[]): number => said.push(words);
  diag.setLogger({ error: note, warn: note, info: note, debug: note, verbose: note }, DiagLogLevel.WARN);
  await using receiver = new OtlpReceiver();
  const url = `${await receiver.listen()}/v1/logs`;
  // partial_success { rejected_log_records: 2, error_message: "full" }
  const refusal = Buffer.from([10, 8, 8, 2, 18, 4, ...Buffer.from('full')]);
  receiver.next = [answer(200, { 'content-type': 'application/x-protobuf' }, refusal)];
  const exporter = (await overHttp({ url })).logs();
  expect(await sent(exporter, [RECORD])).toBe(0);
  expect(JSON.stringify(said)).toContain('full');
  await exporter.shutdown();
  diag.disable();
});
