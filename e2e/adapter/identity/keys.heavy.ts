import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  AUDIENCE,
  type SampleKey,
  sampleKey,
  signed as signedBy,
} from '../../../adapter/identity/testing/sample-issuer.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { drain, openSession } from '../kit/session.ts';
import { type RunningIssuer, startIssuer } from './kit/running-issuer.ts';

describe('keys of an issuer, at two replicas', { timeout: 60_000 }, () => {
  let first: SampleKey;
  let at: RunningIssuer;
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    first = await sampleKey('first');
    upstream = await startScriptedUpstream();
  });
  afterAll(async () => {
    await upstream?.close();
  });
  beforeEach(async () => {
    at = await startIssuer(first);
    const oauth = { issuer: at.url, jwks_uri: `${at.url}/keys`, audiences: [AUDIENCE] };
    const config = { core: { auth: { enabled: true, oauth } }, servers: [mounted('up', upstream.url)] };
    deployment = await startDeployment({ config });
    return async () => {
      await deployment.close();
      await at[Symbol.asyncDispose]();
    };
  });

  const bearer = async (key: SampleKey, changes: Record<string, unknown> = {}, header = {}) => ({
    authorization: `Bearer ${await signedBy(key, { iss: at.url, ...changes }, header)}`,
  });

  test('are turned under load, and no call is lost', async () => {
    const opened = await openSession(deployment.a, { headers: await bearer(first) });
    const second = await sampleKey('second');
    let key = first;
    const statuses: number[] = [];
    const client = async (): Promise<void> => {
      for (let call = 0; call < 40; call += 1) {
        // oxlint-disable no-await-in-loop -- a client waits for each answer
        const headers = await bearer(key, { jti: String(call) });
        const place = call % 2 === 0 ? deployment.a : deployment.b;
        statuses.push(await drain(opened.at(place).request('tools/call', { name: 'echo' }, { headers })));
        // oxlint-enable no-await-in-loop
        if (statuses.length === 80) {
          at.issuer.keys = [first, second];
          key = second;
        }
      }
    };
    await Promise.all([client(), client(), client(), client()]);
    expect(statuses).toHaveLength(160);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(key).toBe(second);
  });

  test('T17: a flood of tokens with key ids that nobody knows reads them once more at each replica', async () => {
    await openSession(deployment.balancer, { headers: await bearer(first) });
    await openSession(deployment.balancer, { headers: await bearer(first) });
    const before = at.reads;
    const flood = Array.from({ length: 200 }, async (_, index) => {
      const headers = await bearer(first, {}, { kid: `made-up-${index}` });
      const answer = await fetch(`${deployment.balancer.url}/mcp/up`, { method: 'POST', headers });
      await answer.text();
      return answer.status;
    });
    expect(new Set(await Promise.all(flood))).toEqual(new Set([401]));
    expect(at.reads - before).toBe(2);
  });

  test('that are known go on while the issuer is away; who is new is told to come again', async () => {
    const stranger = await sampleKey('stranger');
    const opened = await openSession(deployment.a, { headers: await bearer(first) });
    at.issuer.isAway = true;
    const known = await bearer(first, { sub: 'anna', jti: 'another' });
    expect(await drain(opened.at(deployment.a).request('ping', {}, { headers: known }))).toBe(200);
    const answer = await fetch(`${deployment.a.url}/mcp/up`, { method: 'POST', headers: await bearer(stranger) });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await answer.text()).toContain('issuer_unavailable');
    expect(await drain(opened.at(deployment.a).request('ping', {}, { headers: known }))).toBe(200);
  });

  test('that could not be read at the start are told apart, read later by themselves, and keep no replica from being ready', async () => {
    at.issuer.isAway = true;
    await using late = await deployment.startAnother({});
    const issuers = async (): Promise<unknown> =>
      ((await (await fetch(`${late.url}/healthz`)).json()) as { issuers?: unknown }).issuers;
    await expect.poll(issuers).toEqual([{ issuer: at.url, keys: 'unavailable' }]);
    expect((await fetch(`${late.url}/readyz`)).status).toBe(200);
    at.issuer.isAway = false;
    await expect.poll(issuers, { timeout: 20_000, interval: 200 }).toEqual([{ issuer: at.url, keys: 'known' }]);
    at.issuer.isAway = true;
    await openSession(late, { headers: await bearer(first) });
    expect(await issuers()).toEqual([{ issuer: at.url, keys: 'known' }]);
  });

  test('T4: two Authorization headers are one too many, though the first is good', async () => {
    const { authorization } = await bearer(first);
    const headers = ['Authorization', authorization, 'Authorization', 'Bearer x', 'Host', '127.0.0.1'];
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const options = { port: deployment.a.port, host: '127.0.0.1', path: '/mcp/up', method: 'POST', headers };
      const outgoing = request(options, (incoming) => {
        incoming.resume();
        incoming.once('end', () => resolve(incoming.statusCode));
      });
      outgoing.once('error', reject).end('{}');
    });
    expect(status).toBe(400);
  });
});
