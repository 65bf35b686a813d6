import { describe, expect, test } from 'vitest';
import { parseJson } from '../records/json-body.ts';
import { compileReadings } from './compile-readings.ts';
import { Contribution } from './contribution.ts';
import { show } from './dry-run-emitter.ts';
import { measuredSource } from './testing/measured-source.ts';

const OBSERVED = 1_700_000_000_000_000_000n;

function read(fields: Record<string, unknown>, records: readonly unknown[], root: unknown = {}) {
  const into = new Contribution();
  const add = compileReadings(measuredSource(fields), () => undefined);
  add(records, root, into, { observed: OBSERVED });
  return { into, ...show([into]) };
}

const points = (fields: Record<string, unknown>, records: readonly unknown[], root?: unknown) =>
  read(fields, records, root).metrics;
const values = (fields: Record<string, unknown>, records: readonly unknown[], root?: unknown): unknown[] =>
  points(fields, records, root).map((point) => (point as { value: unknown }).value);

const gauge = (more = {}) => ({ gaugeReadings: [{ name: 'g', dataKey: 'v', ...more }] });
const counter = (more = {}) => ({ counterReadings: [{ name: 'c', dataKey: 'v', ...more }] });
const v = (...all: unknown[]): object[] => all.map((value) => ({ v: value }));

describe('a value is what float() of Python makes of it', () => {
  test.each<[value: unknown, result: number]>([
    [3, 3],
    [-1.5, -1.5],
    [true, 1],
    [false, 0],
    [' 1_000.5 ', 1000.5],
    ['1e3', 1000],
    ['nan', Number.NaN],
    ['-inf', -Infinity],
  ])('%j', (value, result) => {
    expect(values(gauge(), v(value))).toEqual([result]);
  });

  test.each([[null], ['abc'], [''], [[1]], [{ a: 1 }], [undefined]])('%j is none', (value) => {
    expect(points(gauge(), v(value))).toEqual([]);
  });
});

test('the last value of a gauge counts, and a fixed value takes precedence', () => {
  expect(values(gauge(), v(1, 2, null))).toEqual([2]);
  expect(values(gauge({ fixedValue: 7 }), v(1))).toEqual([7]);
});

test('a counter adds the field, and nothing where it is missing, negative, or no number that can be added', () => {
  expect(values(counter(), v(1, 2.5, null, 'x', -4, 'nan', 'inf'))).toEqual([3.5]);
  expect(points(counter(), v(null))).toEqual([]);
});

test('a counter without a field counts records', () => {
  expect(values(counter({ dataKey: null }), v(null, 5))).toEqual([2]);
  expect(values(counter({ fixedValue: 3 }), v(null, 5))).toEqual([6]);
});

test('a histogram uses its buckets, whose bounds belong to them', () => {
  const fields = { histogramReadings: [{ name: 'h', dataKey: 'v', unit: 'ms', buckets: [10, 20] }] };
  expect(points(fields, v(1, 10, 10.5, 20, 21, -1, 'nan', null))).toEqual([
    expect.objectContaining({ unit: 'ms', bounds: [10, 20], buckets: [2, 2, 1], count: 5, sum: 62.5 }),
  ]);
});

describe('attributes', () => {
  const attributes = [
    { name: 'a', dataKey: 'a' },
    { name: 'b', dataKey: 'b.c' },
  ];

  test('of metrics are scalars: lists and objects become their text, null is left out', () => {
    const records = [
      { v: 1, a: [1, 'x'], b: { c: { d: 1 } } },
      { v: 2, a: null },
      { v: 3, a: true },
      { v: 4, a: 'true' },
    ];
    expect(points({ ...gauge(), attributes }, records)).toMatchObject([
      { attributes: { source: 's', a: '[1,"x"]', b: '{"d":1}' } },
      { attributes: { source: 's' }, value: 2 },
      { attributes: { source: 's', a: true }, value: 3 },
      { attributes: { source: 's', a: 'true' }, value: 4 },
    ]);
  });

  test('that are equal make one point, over all pages of a window', () => {
    const add = compileReadings(measuredSource({ ...counter(), attributes }), () => undefined);
    const into = new Contribution();
    for (let page = 0; page < 2; page += 1) {
      add(
        [
          { v: 1, a: 'x' },
          { v: 2, a: 'y' },
        ],
        {},
        into,
        { observed: OBSERVED },
      );
    }
    expect(show([into]).metrics).toMatchObject([{ value: 2 }, { value: 4 }]);
  });

  test('named source take the place of the source', () => {
    const named = [{ name: 'source', dataKey: 'a' }];
    expect(points({ ...gauge(), attributes: named }, [{ v: 1, a: 'x' }])).toMatchObject([
      { attributes: { source: 'x' } },
    ]);
  });

  test('of one metric alone are its labels', () => {
    const labels = [{ name: 'l', dataKey: 'l' }];
    const fields = {
      gaugeReadings: [
        { name: 'g', dataKey: 'v', labels },
        { name: 'h', dataKey: 'v' },
      ],
      attributes,
    };
    expect(points(fields, [{ v: 1, a: 'x', l: 'y' }])).toMatchObject([
      { name: 'g', attributes: { source: 's', a: 'x', l: 'y' } },
      { name: 'h', attributes: { source: 's', a: 'x' } },
    ]);
  });

  test('keep the digits of integers that a double cannot hold', () => {
    const records = parseJson('[{"v":1,"a":12345678901234567890},{"v":1,"a":2.0}]', { exact: true }) as unknown[];
    expect(points({ ...gauge(), attributes }, records)).toMatchObject([
      { attributes: { a: '12345678901234567890' } },
      { attributes: { a: 2 } },
    ]);
  });

  test('as metrics count what their values are mapped to', () => {
    const asMetric = { metricName: 'up', valueMapping: { on: 2, True: 1, false: 5, '1.0': 3, off: -1 } };
    const fields = {
      attributes: [
        { name: 'a', dataKey: 'a', asMetric },
        { name: 'b', dataKey: 'b' },
      ],
    };
    const records = ['on', 'on', true, false, 'off', 'else'].map((a) => ({ a, b: 'z' }));
    expect(points(fields, records)).toMatchObject([
      { name: 'up', kind: 'counter', attributes: { source: 's', a: 'on' }, value: 4 },
      { attributes: { source: 's', a: true }, value: 1 },
      { attributes: { source: 's', a: false }, value: 5 },
    ]);
    expect(points(fields, records)[0]).not.toHaveProperty('attributes.b');
  });
});

test('more sets of attributes than maxSeries are added up in one', () => {
  const fields = { ...counter(), attributes: [{ name: 'a', dataKey: 'a' }], maxSeries: 2 };
  const records = [1, 2, 3, 4, 1].map((a) => ({ v: 1, a }));
  expect(points(fields, records)).toMatchObject([
    { attributes: { a: 1 }, value: 2 },
    { attributes: { a: 2 }, value: 1 },
    { attributes: { source: 's', 'otel.metric.overflow': true }, value: 2 },
  ]);
});

test('H6 T17: sets of attributes beyond maxSeriesBytes, over all metrics, are added up in one', () => {
  const kinds = ['gaugeReadings', 'counterReadings'].map((kind) => [kind, [{ name: kind, dataKey: 'v' }]]);
  const fields = {
    ...(Object.fromEntries(kinds) as object),
    attributes: [{ name: 'a', dataKey: 'a' }],
    maxSeriesBytes: '64Ki',
  };
  const records = Array.from({ length: 1000 }, (_, a) => ({ v: 1, a: `${a}${'x'.repeat(1000)}` }));
  const { into, metrics } = read(fields, records);
  expect(into.series.total).toBeGreaterThan(60 * 1024);
  expect(into.series.total).toBeLessThanOrEqual(64 * 1024);
  const counted = metrics.filter((point) => (point as { name: string }).name === 'counterReadings');
  const overflow = { source: 's', 'otel.metric.overflow': true };
  expect(counted.at(-1)).toMatchObject({ attributes: overflow, value: 1000 - (counted.length - 1) });
});

test('H6 T17: long values of attributes are cut before they tell sets apart, and this is told once for each attribute', () => {
  const long = 'x'.repeat(1024);
  const records = ['a', 'b', 'c'].map((end) => ({ v: 1, text: long + end, list: [long, end], short: 'y' }));
  const source = measuredSource({
    ...counter({ labels: [{ name: 'label', dataKey: 'text' }] }),
    emitLogs: true,
    attributes: ['text', 'list', 'short'].map((name) => ({ name, dataKey: name })),
  });
  const warnings: string[] = [];
  const into = new Contribution();
  compileReadings(source, (message) => warnings.push(message))(records, {}, into, { observed: OBSERVED });
  const { metrics, logs } = show([into]);
  expect(metrics).toEqual([
    expect.objectContaining({
      value: 3,
      attributes: { source: 's', text: long, list: `["${long.slice(2)}`, short: 'y', label: long },
    }),
  ]);
  expect(logs[1]).toMatchObject({
    attributes: { text: long, list: [long, 'b'], short: 'y' },
    body: { record: { text: `${long}b` } },
  });
  expect(warnings.toSorted()).toEqual(
    ['label', 'list', 'text'].map(
      (name) => `values of the attribute "${name}" are longer than 1024 characters, and are cut`,
    ),
  );
});

test('H6: what finds points again is begun anew when it holds much, and the points stay the same', () => {
  const add = compileReadings(
    measuredSource({ ...counter(), attributes: [{ name: 'a', dataKey: 'a' }], maxSeries: 100_000 }),
    () => undefined,
  );
  const into = new Contribution();
  for (let round = 0; round < 2; round += 1) {
    for (let page = 0; page < 12; page += 1) {
      const records = Array.from({ length: 1000 }, (_, place) => ({ v: 1, a: `${page} ${place} ${'x'.repeat(500)}` }));
      add(records, {}, into, { observed: OBSERVED });
    }
  }
  add.end?.(into);
  const [table] = into.tables.values();
  expect(table?.points.size).toBe(12_000);
  expect([...(table?.points.values() ?? [])].every(({ value }) => value === 2)).toBe(true);
});

test('a metric whose name OpenTelemetry refuses is left out with one warning, and the others stay', () => {
  const source = measuredSource({ gaugeReadings: ['bad', 'g'].map((name) => ({ name, dataKey: 'v' })) });
  const warnings: string[] = [];
  const into = new Contribution();
  // The schema refuses such names as well.
  const gaugeReadings = source.gaugeReadings.map((one) => ({ ...one, name: one.name === 'bad' ? '1 bad' : one.name }));
  const add = compileReadings({ ...source, gaugeReadings }, (message) => warnings.push(message));
  add(v(1, 2), {}, into, { observed: OBSERVED });
  expect(show([into]).metrics).toMatchObject([{ name: 'g', value: 2 }]);
  expect(warnings).toEqual([expect.stringContaining('"1 bad" is no name for a metric')]);
});

test('a path from the root is read in the answer', () => {
  expect(values(gauge({ dataKey: '$root.total' }), [{}], { total: 9 })).toEqual([9]);
  expect(() => values(gauge({ dataKey: '$root.total' }), [{}], [])).toThrow(/needs an answer that is an object/);
});

describe('log records', () => {
  const fields = {
    emitLogs: true,
    timestampKey: 't',
    attributes: [{ name: 'a', dataKey: 'a' }],
    logStatusField: {
      name: 'level',
      error: { value: ['fatal', 'error'], matchType: 'in' },
      warning: { value: 'warn', matchType: 'in' },
      info: { value: 'error' },
    },
  };

  test.each([
    ['error', 17, 'ERROR'],
    ['a warning', 13, 'WARNING'],
    ['fatal', 17, 'ERROR'],
    ['other', 9, 'INFO'],
    [['warn'], 13, 'WARNING'],
    [5, 9, 'INFO'],
    [null, 9, 'INFO'],
  ])('with status %j have severity %i %s', (level, number, text) => {
    expect(read(fields, [{ level }]).into.logs).toMatchObject([{ severity: { number, text } }]);
  });

  test('hold the record, its attributes and its time', () => {
    const record = { level: 'x', a: [1, { b: null }], t: '2025-01-01T00:00:00.5Z' };
    expect(read(fields, [record, {}]).into.logs).toMatchObject([
      {
        logger: 's',
        time: 1_735_689_600_500_000_000n,
        observed: OBSERVED,
        body: { source: 's', record },
        attributes: { source: 's', a: [1, { b: null }] },
      },
      { time: OBSERVED, attributes: { source: 's' } },
    ]);
  });

  test('keep the digits of integers that a double cannot hold', () => {
    const records = parseJson('[{"id":12345678901234567890,"f":1.0,"__proto__":{"x":1.0}}]', {
      exact: true,
    }) as unknown[];
    const [log] = read(fields, records).into.logs;
    expect(JSON.stringify(log?.body)).toContain('{"id":"12345678901234567890","f":1,"__proto__":{"x":1}}');
  });

  test('are not made when emitLogs is off', () => {
    expect(read({ ...fields, emitLogs: false }, [{}]).into.logs).toEqual([]);
  });
});
