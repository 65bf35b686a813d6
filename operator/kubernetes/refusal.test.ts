import { describe, expect, it } from 'vitest';
import { ApiError } from './kubernetes.ts';
import { isDenied, refusalOf } from './refusal.ts';
import { DEPLOYMENTS } from './resources.ts';

describe('refusalOf', () => {
  it('names the object and what the API server says, and how to go on when a field cannot change', () => {
    const error = new ApiError(422, 'Invalid', 'Deployment.apps "demo" is invalid: spec.selector: field is immutable');
    expect(refusalOf(error, DEPLOYMENTS, 'demo')).toBe(
      'Deployment demo was refused by the API server: Deployment.apps "demo" is invalid: spec.selector: field is ' +
        'immutable. This field cannot be changed on an object that exists: set it back, or delete the object to have it made anew',
    );
  });

  it.each([
    [403, 'exceeded quota'],
    [404, 'the server could not find the requested resource'],
    [400, 'strict decoding error: unknown field "spec.x"'],
    [
      500,
      'failed to create typed patch object (ns/demo; apps/v1, Kind=Deployment): .spec.x: field not declared in schema',
    ],
  ])('counts %i as refused: %s', (code, message) => {
    expect(refusalOf(new ApiError(code, '', message), DEPLOYMENTS, 'demo')).toContain(message);
  });

  it.each([
    new ApiError(409, 'Conflict', 'the object has been modified'),
    new ApiError(401, 'Unauthorized', 'Unauthorized'),
    new ApiError(429, 'TooManyRequests', 'busy'),
    new ApiError(500, 'InternalError', 'etcdserver: leader changed'),
    new ApiError(503, 'ServiceUnavailable', 'starting'),
    new Error('connect ECONNREFUSED'),
  ])('leaves what may pass to another attempt: $message', (error) => {
    expect(refusalOf(error, DEPLOYMENTS, 'demo')).toBeUndefined();
  });

  it('does not print whole objects', () => {
    const error = new ApiError(422, 'Invalid', 'x'.repeat(100_000));
    expect(refusalOf(error, DEPLOYMENTS, 'demo')?.length).toBeLessThan(1_200);
  });
});

it('tells a permission that is missing from a quota and a policy', () => {
  const says = (code: number, text: string): boolean => isDenied(new ApiError(code, 'Forbidden', text));
  const user =
    'services "x" is forbidden: User "system:serviceaccount:a:b" cannot get resource "services" in API group ""';
  expect(says(403, user)).toBe(true);
  expect(says(403, 'pods "x" is forbidden: exceeded quota: small')).toBe(false);
  expect(says(403, 'configmaps "x" is forbidden: namespace a is being terminated')).toBe(false);
  expect(says(500, user)).toBe(false);
  expect(isDenied(new Error(user))).toBe(false);
});
