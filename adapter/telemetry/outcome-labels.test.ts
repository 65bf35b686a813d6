import { describe, expect, test } from 'vitest';

import { type ErrorCode, ERRORS } from '../errors.ts';
import {
  authRejection,
  CREDENTIAL_BACKEND,
  downloadFailure,
  errorType,
  rejection,
  toolCallResult,
  uploadFailure,
} from './outcome-labels.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];
const UPLOAD = '/upload/{server_id}';
const DOWNLOAD = '/artifacts/{server_id}/{session_id}/{artifact_id}/{filename}';

describe('a tool call', () => {
  test.each([
    ['ok', undefined, 'success'],
    ['answered', undefined, 'success'],
    ['ok', 'tool_error', 'error'],
    ['ok', -32602, 'error'],
    ['ok', 0, 'error'],
    ['answered', 'tool_error', 'error'],
    ['timeout', undefined, 'timeout'],
    ['timeout', 'tool_error', 'timeout'],
    ['upstream_timeout', undefined, 'timeout'],
    ['upstream_failed', undefined, 'error'],
    ['client_closed', undefined, 'error'],
    ['unknown_tool', undefined, 'error'],
    ['in_flight_limit', undefined, 'error'],
    ['aborted', undefined, 'error'],
  ] as const)('that ends with %s and %s is a %s', (outcome, failure, result) => {
    expect(toolCallResult({ outcome }, failure)).toBe(result);
  });

  test('whose client has gone was fine when the client had its answer', () => {
    const gone = { outcome: 'client_closed', isAnswered: true };
    expect([toolCallResult(gone, undefined), errorType(gone, undefined)]).toEqual(['success', undefined]);
    expect([toolCallResult(gone, 'tool_error'), errorType(gone, 'tool_error')]).toEqual(['error', 'tool_error']);
  });

  test('says in one word what went wrong, of words that are known', () => {
    expect([
      errorType({ outcome: 'ok' }, undefined),
      errorType({ outcome: 'ok' }, 'tool_error'),
      errorType({ outcome: 'ok' }, -32602),
      errorType({ outcome: 'ok' }, -5),
      errorType({ outcome: 'timeout' }, undefined),
      errorType({ outcome: 'upstream_unavailable' }, undefined),
      errorType({ outcome: 'client_closed' }, undefined),
      errorType({ outcome: 'whatever' }, undefined),
      errorType({ outcome: 'toString' }, undefined),
      errorType({}, undefined),
    ]).toEqual([
      undefined,
      'tool_error',
      '-32602',
      '_OTHER',
      'timeout',
      'upstream_unavailable',
      'client_closed',
      '_OTHER',
      '_OTHER',
      undefined,
    ]);
  });
});

describe('a refused request', () => {
  test.each([
    ['state_unavailable', 'persistence_fail_closed'],
    ['upstream_unavailable', 'upstream_blocked_by_breaker'],
    ['in_flight_limit', 'in_flight_limit_exceeded'],
    ['rate_limited', 'call_limit_exceeded'],
    ['concurrency_limited', 'call_limit_exceeded'],
    ['session_invalidated', 'session_invalidated'],
    ['sessions_limit', 'other'],
    ['draining', 'other'],
    ['unauthorized', undefined],
    ['upstream_failed', undefined],
    ['not_found', undefined],
    ['toString', undefined],
    ['ok', undefined],
  ])('with %s was rejected for %s', (outcome, reason) => {
    expect(rejection({ outcome })).toBe(reason);
  });

  test.each([
    ['unauthorized', '/mcp/s1', 'invalid_adapter_auth_token'],
    ['unauthorized', DOWNLOAD, 'invalid_adapter_auth_token'],
    ['unauthorized', UPLOAD, 'missing_or_invalid_signed_upload_credential'],
    ['upload_url_invalid', UPLOAD, 'missing_or_invalid_signed_upload_credential'],
    ['download_url_invalid', DOWNLOAD, 'missing_or_invalid_signed_upload_credential'],
    ['ok', UPLOAD, undefined],
    ['state_unavailable', UPLOAD, undefined],
  ])('with %s at %s had this about its token: %s', (outcome, route, reason) => {
    expect(authRejection({ outcome }, route)).toBe(reason);
  });

  test('whose signed URL could not be checked is one of authentication', () => {
    const attributes = { outcome: 'state_unavailable', reason: CREDENTIAL_BACKEND };
    expect([authRejection(attributes, UPLOAD), rejection(attributes)]).toEqual([CREDENTIAL_BACKEND, undefined]);
  });

  test('is one of authentication or of something else, never both', () => {
    const both = CODES.filter((outcome) => authRejection({ outcome }, UPLOAD) !== undefined && rejection({ outcome }));
    expect(both).toEqual([]);
  });
});

test('failed uploads have the words of the original, and none for what was refused before', () => {
  expect(Object.fromEntries(CODES.map((code) => [code, uploadFailure(code)]))).toMatchObject({
    unknown_server: 'unknown_server',
    missing_session: 'missing_session_header',
    no_file: 'no_file_parts',
    sha256_count: 'sha256_count_mismatch',
    session_invalidated: 'session_invalidated',
    session_ended: 'session_invalidated',
    state_unavailable: 'persistence_unavailable',
    file_too_large: 'tool_error',
    internal: 'upload_processing_error',
    draining: 'other',
    unauthorized: undefined,
    upload_url_invalid: undefined,
    method_not_allowed: undefined,
  });
});

test('failed downloads too', () => {
  expect(
    (
      [
        'artifact_not_found',
        'unknown_server',
        'state_unavailable',
        'range_not_satisfiable',
        'download_url_invalid',
      ] as const
    ).map(downloadFailure),
  ).toEqual(['not_found', 'not_found', 'persistence_unavailable', 'error', undefined]);
});
