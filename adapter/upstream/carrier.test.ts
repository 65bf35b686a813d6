import { describe, expect, test } from 'vitest';

import { eventId, parseEventId, requestCarrier, STREAM_CARRIER } from './carrier.ts';

describe('an event id', () => {
  test.each([STREAM_CARRIER, requestCarrier('1'), requestCarrier('"a|b"'), requestCarrier('"naïve 😀\\n"')])(
    'says on which stream the event stood: %s',
    (carrier) => {
      const id = eventId(carrier, '1700000000000-3');
      expect(id).toMatch(/^[\x21-\x7e]+$/);
      expect(parseEventId(id)).toEqual({ carrier, id: '1700000000000-3' });
    },
  );

  test.each([
    '',
    '7',
    '|1-2',
    'GET|',
    'GET|1',
    'GET|1-',
    'GET|-1',
    'GET|1-2-3',
    'GET|x-y',
    '%zz|1-2',
    'GET|1-2\n',
    '../..|1-2x',
  ])('of somebody else is none: %j', (id) => {
    expect(parseEventId(id)).toBeUndefined();
  });
});
