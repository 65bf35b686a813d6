import { expect, test } from 'vitest';
import { shardIn, shardLabels, SHARD_LABEL } from './names.ts';

test.each([1, 2, 999])('an object of the shard %i says so', (shard) => {
  expect(shardIn(shardLabels('default', shard))).toBe(shard);
});

test.each([undefined, '', '0', '-1', '1.5', '01', '1e3', 'x', 'NaN', '1000', '5000000000'])(
  'no shard is called %j, whoever writes that',
  (text) => {
    expect(shardIn(text === undefined ? undefined : { [SHARD_LABEL]: text })).toBeUndefined();
  },
);
