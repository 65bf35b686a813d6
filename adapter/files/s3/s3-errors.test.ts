import { describe, expect, test } from 'vitest';
import { isUnsupported, s3Failure } from './s3-errors.ts';

/** As the SDK throws them. */
const answer = (name: string, status: number, more: object = {}) =>
  Object.assign(new Error('said by the server'), {
    name,
    $fault: 'client',
    $metadata: { httpStatusCode: status },
    ...more,
  });

describe('what went wrong with a bucket', () => {
  test.each([
    [answer('NoSuchKey', 404), 'missing'],
    [answer('NotFound', 404), 'missing'],
    [answer('Unknown', 404), 'missing'],
    [answer('XAmzContentSHA256Mismatch', 400), 'changed'],
    [answer('BadDigest', 400), 'changed'],
    [answer('NoSuchBucket', 404), 'refused'],
    [answer('InvalidAccessKeyId', 404), 'refused'],
    [answer('XAdminUserNotFound', 404), 'refused'],
    [answer('NoSuchUpload', 404), 'failed'],
    [answer('Unknown', 403), 'refused'],
    [answer('Unknown', 401), 'refused'],
    [answer('ExpiredToken', 400), 'refused'],
    [answer('PermanentRedirect', 301), 'refused'],
    [answer('RequestTimeTooSkewed', 403), 'refused'],
    [Object.assign(new Error('none'), { name: 'CredentialsProviderError' }), 'refused'],
    [answer('InternalError', 500), 'unreachable'],
    [answer('SlowDown', 503), 'unreachable'],
    [answer('ThrottlingException', 400), 'unreachable'],
    [answer('Unknown', 429), 'unreachable'],
    [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'unreachable'],
    [new DOMException('x', 'TimeoutError'), 'unreachable'],
    [undefined, 'unreachable'],
    [answer('InvalidRequest', 400), 'failed'],
    [answer('QuotaExceeded', 409), 'failed'],
    [answer('NotImplemented', 501), 'failed'],
  ])('%j is %s', (error, reason) => {
    expect(s3Failure(error, 'files')).toMatchObject({ reason });
  });

  test('is told with the name of the error and the status, and without what the request held', () => {
    const error = answer('SignatureDoesNotMatch', 403, { StringToSign: 'secret', AWSAccessKeyId: 'key' });
    const failure = s3Failure(error, 'files');
    expect(failure.message).toBe('the bucket files cannot be used: SignatureDoesNotMatch, HTTP 403');
    expect(failure.cause).toBeUndefined();
    expect(s3Failure(failure, 'files')).toBe(failure);
  });
});

test.each([
  [answer('NotImplemented', 501), true],
  [answer('Unknown', 501), true],
  [answer('MethodNotAllowed', 405), true],
  [answer('InvalidRequest', 400), true],
  [answer('AccessDenied', 403), false],
  [answer('SlowDown', 503), false],
  [new Error('x'), false],
])('whether a server does not know a request: %j %s', (error, unsupported) => {
  expect(isUnsupported(error)).toBe(unsupported);
});
