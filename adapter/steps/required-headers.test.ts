import { describe, expect, test } from 'vitest';

import { AdapterError } from '../errors.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { RequiredHeaders } from './required-headers.ts';
import { refusal, sampleOperation, through } from './testing/step-scene.ts';

describe('required headers', () => {
  const mount = sampleMount({ upstream: { client_headers: { required: ['X-Tenant', 'Authorization'] } } });
  const step = new RequiredHeaders(mount.requiredHeaders);

  test('must all be there and hold something', () => {
    const all = { 'x-tenant': 'blue', authorization: 'Bearer x' };
    expect(() => step.check(all)).not.toThrow();
    for (const [headers, name] of [
      [{ ...all, 'x-tenant': '' }, 'x-tenant'],
      [{ 'x-tenant': 'blue' }, 'authorization'],
      [{}, 'x-tenant'],
    ] as const) {
      expect(() => step.check(headers)).toThrow(
        new AdapterError('missing_client_header', `The header ${name} is required by this server and is missing.`),
      );
    }
    expect(() => new RequiredHeaders(sampleMount().requiredHeaders).check({})).not.toThrow();
  });

  test('let nothing pass without them', async () => {
    const ping = { id: 1, method: 'ping' };
    const headers = { 'x-tenant': 'blue', authorization: 'Bearer x' };
    await through(step, sampleOperation(ping, { caller: { headers } }));
    expect(await refusal(step, sampleOperation(ping))).toMatchObject({ code: 'missing_client_header' });
  });
});
