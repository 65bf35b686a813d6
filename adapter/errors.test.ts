import { describe, expect, test, vi } from 'vitest';

import { AdapterError, type ErrorCode, ERRORS, httpErrorText, knownError, rpcErrorText } from './errors.ts';
import { StorageFault } from './files/keys/file-key.ts';
import { BlobStoreFailed } from './files/s3/blob-store.ts';
import { StoreUnavailable } from './state/state-store.ts';

const CODES = Object.keys(ERRORS).filter((code): code is ErrorCode => code in ERRORS);
/** What the protocol itself and JSON-RPC define; what SDKs made a custom of for sessions. */
const OF_THE_PROTOCOL = new Set([
  -32_700, -32_600, -32_601, -32_602, -32_603, -32_020, -32_022, -32_000, -32_001, -32_002, -32_042, -32_800,
]);

describe('the table of errors', () => {
  test.each(CODES)('%s has a status, a sentence and a code that is free to use', (code) => {
    const { status, rpc, detail } = ERRORS[code];
    expect(status === 200 || (status >= 400 && status < 600)).toBe(true);
    expect(detail).toMatch(/^[A-Z].*\.$/s);
    // Clients read the body of an answer only where HTTP has not failed.
    const isFree = status === 200 ? rpc >= 400 && rpc < 600 : rpc === status;
    expect(OF_THE_PROTOCOL.has(rpc) || isFree).toBe(true);
    expect(code).toMatch(/^[a-z0-9_]+$/);
  });

  test('says when to come back where that helps', () => {
    for (const code of CODES) {
      const again = [429, 503].includes(ERRORS[code].status) ? 5 : undefined;
      expect([code, new AdapterError(code).retryAfter]).toEqual([code, again]);
    }
    expect(new AdapterError('in_flight_limit', undefined, { retryAfter: 1 }).retryAfter).toBe(1);
  });
});

test('an error has a sentence of its own, or that of the table', () => {
  const cause = new Error('x');
  expect(new AdapterError('not_found')).toMatchObject({
    code: 'not_found',
    status: 404,
    message: ERRORS.not_found.detail,
  });
  expect(new AdapterError('not_found', 'Gone.', { cause })).toMatchObject({ message: 'Gone.', cause });
  expect('cause' in new AdapterError('not_found')).toBe(false);
});

test('bodies are JSON whatever is in them', () => {
  const detail = 'a "quoted"\n😀 \u2028 </script>';
  expect(JSON.parse(httpErrorText('c', detail))).toEqual({ detail, code: 'c' });
  expect(JSON.parse(rpcErrorText('not_found', detail, '"id"', { more: 1 }))).toEqual({
    jsonrpc: '2.0',
    id: 'id',
    error: { code: 404, message: detail, data: { code: 'not_found', more: 1 } },
  });
  expect(rpcErrorText('not_found', 'x', '12345678901234567890')).toContain('"id":12345678901234567890,');
});

test('any failure is one of the table, and only what nobody expected is told', () => {
  const told = vi.fn();
  const known = new AdapterError('not_found');
  expect(knownError(known, told)).toBe(known);
  const down = new StoreUnavailable('down');
  expect(knownError(down, told)).toMatchObject({ code: 'state_unavailable', status: 503, cause: down });
  expect(told).not.toHaveBeenCalled();
  const noBucket = new BlobStoreFailed('refused', 'the bucket files cannot be used');
  expect(knownError(noBucket, told)).toMatchObject({ code: 'storage_unavailable', status: 503, cause: noBucket });
  // People who run it must hear of it; clients do not.
  expect(told).toHaveBeenLastCalledWith(noBucket);
  const broken = new StorageFault('EIO', '/storage/x: EIO');
  expect(knownError(broken, told)).toMatchObject({ code: 'storage_unavailable', status: 503, cause: broken });
  expect(told).toHaveBeenLastCalledWith(broken);
  told.mockClear();
  for (const code of ['ENOSPC', 'EDQUOT']) {
    const full = new StorageFault(code, `/storage/x: ${code}`);
    expect(knownError(full, told)).toMatchObject({ code: 'storage_quota', status: 507, cause: full });
    expect(knownError(full, told).message).not.toContain('/storage');
  }
  expect(told).not.toHaveBeenCalled();
  for (const failure of [new TypeError('secret'), 'secret', undefined]) {
    expect(knownError(failure, told)).toMatchObject({ code: 'internal', message: ERRORS.internal.detail });
    expect(told).toHaveBeenLastCalledWith(failure);
  }
});

test('an error may be said in other words, and stays the same else', () => {
  const cause = new Error('why');
  const error = new AdapterError('sessions_limit', 'refused: Bearer abcdefgh', {
    cause,
    data: { a: 1 },
    retryAfter: 7,
  });
  const said = error.saying((text) => text.replace('abcdefgh', '<redacted>'));
  expect(said).toMatchObject({ message: 'refused: Bearer <redacted>', code: 'sessions_limit', retryAfter: 7 });
  expect([said.cause, said.data, said.status]).toEqual([cause, { a: 1 }, 429]);
  expect(error.saying((text) => text)).toBe(error);
});
