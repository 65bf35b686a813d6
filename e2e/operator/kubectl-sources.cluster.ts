import { describe, expect } from 'vitest';
import type { Rule } from '../../operator/plugin/commands/command.ts';
import { at } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { newAccount, plugin } from './kit/plugin.ts';
import { rulesOf, withItsRole } from './kit/with-its-role.ts';

const READY_MS = 180_000;
const HOUR_MS = 3_600_000;

/** A source of windows, of an API that is not there: each is set aside after one attempt. */
const ORDERS = {
  apiVersion: 'mcpadapter.io/v1alpha1',
  kind: 'ApiScrapeSource',
  metadata: { name: 'orders' },
  spec: {
    scraper: { otelCollectorEndpoint: 'http://127.0.0.1:4317', enforceTls: false },
    source: {
      name: 'all orders',
      frequency: '1h',
      baseUrl: 'http://127.0.0.1:1',
      endpoint: '/orders',
      runFirstScrape: true,
      scrape: {
        type: 'range',
        rangeKeys: { startKey: 'from', endKey: 'to' },
        parallelWindow: { unit: 'minutes', value: 10 },
        retry: { maxAttempts: 1, initialDelay: '1s', maxDelay: '1s' },
      },
      gaugeReadings: [{ name: 'orders.value', dataKey: 'value' }],
    },
  },
};

describe('kubectl mcpadapter for sources, as somebody who may do just what its page says', () => {
  test('explains, shows windows, fills in the past and tries again', { timeout: 600_000 }, async ({ operated }) => {
    await using namespace = await operated.namespace('plugin-sources');
    await operated.apply(ORDERS, '-n', namespace.name);
    await operated.waitForRollout('scraper-default', { namespace: namespace.name, timeoutMs: READY_MS });
    await using person = await newAccount(operated, namespace.name);
    const windows = async (...more: string[]): Promise<readonly unknown[]> => {
      const run = await plugin(person.kubeconfig, ['windows', 'orders', '-o', 'json', '--limit', '1000', ...more]);
      expect(run).toMatchObject({ code: 0, stderr: '' });
      return at(JSON.parse(run.stdout), 'windows') as unknown[];
    };

    const explained = await withItsRole(person, 'explain', ['orders']);
    expect(explained).toMatchObject({ code: 1, stdout: expect.stringMatching(/^source: all orders$/m) });
    const json = await plugin(person.kubeconfig, ['explain', 'source/orders', '-o', 'json']);
    expect([json.code, at(JSON.parse(json.stdout), 'failure', 'kind')]).toEqual([1, expect.any(String)]);

    expect(await withItsRole(person, 'windows', ['orders'])).toMatchObject({ code: 0 });
    await expect.poll(() => windows('--state', 'dead'), { timeout: 60_000, interval: 500 }).not.toEqual([]);

    const end = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 24 * HOUR_MS);
    const start = new Date(end.getTime() - HOUR_MS);
    const range = [start, end].map((time) => time.toISOString());
    expect(await withItsRole(person, 'backfill', ['orders', ...range])).toMatchObject({
      code: 0,
      stdout: `6 windows are planned, from ${range[0]} to ${range[1]}\n`,
    });
    expect(await plugin(person.kubeconfig, ['backfill', 'orders', range[1] ?? '', range[0] ?? ''])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('start must be before end'),
    });
    // Those that are set aside beside each other become one.
    const filled = (await windows()).filter((one) => at(one, 'kind') === 'backfill');
    expect(filled.some((one) => at(one, 'start') === range[0])).toBe(true);
    expect(filled.some((one) => at(one, 'end') === range[1])).toBe(true);

    const retried = await withItsRole(person, 'retry', ['orders']);
    expect(retried).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^[1-9]\d* windows? (is|are) tried again\n$/),
    });

    const needed = ({ resources: [resource = ''], verbs }: Rule): boolean =>
      resource.startsWith('pods') || (resource === 'apiscrapesources' && verbs.includes('get'));
    const status = await withItsRole(person, 'status', ['source/orders', '-o', 'json'], needed);
    const page: unknown = JSON.parse(status.stdout);
    expect(page).toMatchObject({ name: 'orders', group: 'default', state: { owner: true, paused: false } });
    expect(at(page, 'owner')).toBe(at(page, 'pods', 0, 'name'));

    await person.may([...rulesOf('explain')]);
    expect(await plugin(person.kubeconfig, ['windows', 'nobody'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no ApiScrapeSource nobody'),
    });
    const uid = String((await operated.get('apiscrapesource', 'orders', namespace.name))?.metadata.uid);
    expect(JSON.stringify([explained, json, status])).not.toContain(uid);
  });
});
