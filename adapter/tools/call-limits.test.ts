import { describe, expect, test } from 'vitest';

import type { CallLimit } from '../../crds/config/adapter-file/limits.ts';
import { AdapterError } from '../errors.ts';
import { CallLimits } from './call-limits.ts';

const limit = (changes: Partial<CallLimit>): CallLimit => ({
  per: 'caller',
  rate: null,
  burst: null,
  concurrent: null,
  ...changes,
});
const caller = (principal: string, ip?: string) => ({
  principal,
  request: { protocol: 'http', host: 'h', ...(ip !== undefined && { ip }) },
});
const of = (limits: CallLimit[], who = caller('alice'), tools = ['find'], runs = true) =>
  new CallLimits('up', limits).of(who, tools, runs);
const keys = (...args: Parameters<typeof of>): string[] => of(...args).rates.map(({ key }) => key);

describe('what a call counts against', () => {
  test('is a rate with its burst, and places', () => {
    expect(of([limit({ rate: '100/min', concurrent: 5 }), limit({ per: 'server', rate: '7/s', burst: 2 })])).toEqual({
      rates: [
        { per: 'caller', key: 'up:caller:600000:100|alice', intervalUs: 600_000, burst: 100, calls: 1 },
        { per: 'server', key: 'up:server:142858:2', intervalUs: 142_858, burst: 2, calls: 1 },
      ],
      places: [{ per: 'caller', key: 'up:caller|alice', most: 5, calls: 1 }],
    });
  });

  test.each([
    ['caller', ['caller'], false, true],
    ['server', ['server'], true, true],
    ['tool', ['tool'], true, false],
    ['caller+tool', ['caller+tool'], false, false],
  ] as const)('per %s', (per, _, forBob, forOtherTool) => {
    const limits = new CallLimits('up', [limit({ per, rate: '1/s' })]);
    const keyOf = (who: string, tool: string): string | undefined => limits.of(caller(who), [tool], true).rates[0]?.key;
    expect(keyOf('bob', 'find') === keyOf('alice', 'find')).toBe(forBob);
    expect(keyOf('alice', 'get') === keyOf('alice', 'find')).toBe(forOtherTool);
  });

  test('is another bucket for another server, another rate, and another burst', () => {
    const all = [
      ...keys([limit({ rate: '1/s' }), limit({ rate: '2/s' }), limit({ rate: '1/s', burst: 9 })]),
      new CallLimits('up:caller', [limit({ rate: '1/s' })]).of(caller('alice'), ['find'], true).rates[0]?.key,
    ];
    expect(new Set(all).size).toBe(4);
  });

  test('is each limit once, and the smaller of two for the same calls that run', () => {
    const limits = [limit({ rate: '1/s', concurrent: 5 }), limit({ rate: '1/s', concurrent: 3 })];
    const taking = of(limits);
    expect(taking.rates).toHaveLength(1);
    expect(taking.places).toEqual([{ per: 'caller', key: 'up:caller|alice', most: 3, calls: 1 }]);
  });

  test('is nothing that callers share, for calls that are not allowed', () => {
    const all = (['caller', 'server', 'tool', 'caller+tool'] as const).map((per) =>
      limit({ per, rate: '9/s', concurrent: 9 }),
    );
    const { rates, places } = new CallLimits('up', all).of(caller('bob'), ['get', 'find', 'get'], true, ['find']);
    const counted = (taken: readonly { per: string; key: string; calls: number }[]): unknown =>
      taken.map(({ per, key, calls }) => [per, key.slice(key.indexOf('|') + 1), calls]);
    const expected = [
      ['caller', 'bob', 3],
      ['server', expect.any(String), 1],
      ['tool', 'find', 1],
      ['caller+tool', 'bob|get', 2],
      ['caller+tool', 'bob|find', 1],
    ];
    expect(counted(rates)).toEqual(expected);
    expect(counted(places)).toEqual(expected);
    const none = new CallLimits('up', all).of(caller('bob'), ['get'], true, []);
    expect(none.rates.map(({ per }) => per)).toEqual(['caller', 'caller+tool']);
  });

  test('is no place where it runs others', () => {
    expect(of([limit({ rate: '1/s', concurrent: 5 })], caller('alice'), ['execute'], false)).toMatchObject({
      rates: [{ calls: 1 }],
      places: [],
    });
  });
});

describe('calls that come together', () => {
  test('count one by one, each for its tool', () => {
    const limits = [limit({ rate: '9/s' }), limit({ per: 'tool', rate: '9/s', concurrent: 4 })];
    const { rates, places } = of(limits, caller('alice'), ['find', 'get', 'find']);
    expect(rates.map(({ key, calls }) => [key.split('|').at(-1), calls])).toEqual([
      ['alice', 3],
      ['find', 2],
      ['get', 1],
    ]);
    expect(places.map(({ key, calls }) => [key, calls])).toEqual([
      ['up:tool|find', 2],
      ['up:tool|get', 1],
    ]);
  });

  test.each([
    ['a burst', limit({ rate: '9/s', burst: 2 })],
    ['the places', limit({ concurrent: 2 })],
  ])('are refused for good where they are more than %s', (_, one) => {
    expect(of([one], caller('alice'), ['a', 'b'])).toBeDefined();
    const refusal = expect.objectContaining<Partial<AdapterError>>({ code: 'invalid_request' });
    expect(() => of([one], caller('alice'), ['a', 'b', 'c'])).toThrow(refusal);
  });
});

describe('without authentication', () => {
  const key = (ip?: string): string | undefined => keys([limit({ rate: '1/s' })], caller('', ip))[0]?.split('|')[1];

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['no address', ''],
    [undefined, ''],
  ])('%s is known as %s', (ip, known) => expect(key(ip)).toBe(known));

  test('who has authenticated is not known by the address', () => {
    const limits = [limit({ rate: '1/s' })];
    expect(keys(limits, caller('alice', '192.0.2.7'))).toEqual(keys(limits, caller('alice', '192.0.2.8')));
  });
});
