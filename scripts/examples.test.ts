import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadScraperConfig } from '../crds/config/load/load.ts';
import { ApiScrapeSourceSpec } from '../crds/v1alpha1/api-scrape-source.ts';
import { check } from '../operator/mcp-adapter/check/check.ts';
import type { KubernetesObject } from '../operator/kubernetes/kubernetes.ts';

const FOLDER = join(import.meta.dirname, '../examples');
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));
const objectsIn = (file: string): KubernetesObject[] =>
  parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => document.toJS() as KubernetesObject);
const all = files.flatMap((file) => objectsIn(file).map((object) => ({ file, object })));
const resourcesOf = (kind: string) => all.filter(({ object }) => object.kind === kind);

describe('the examples for kubectl apply', () => {
  test('show both kinds', () => {
    expect(resourcesOf('McpAdapter').length).toBeGreaterThan(1);
    expect(resourcesOf('ApiScrapeSource')).not.toEqual([]);
  });

  test('have nothing that the operator refuses', () => {
    for (const { object } of resourcesOf('McpAdapter')) {
      expect(check(object, { httpRoutes: true })).toMatchObject({ ok: true });
    }
    for (const { object } of resourcesOf('ApiScrapeSource')) {
      expect(ApiScrapeSourceSpec.safeParse(object['spec']).error).toBeUndefined();
      const spec = object['spec'] as ApiScrapeSourceSpec;
      const file = JSON.stringify({ scraper: spec.scraper, sources: [spec.source] });
      const variables = Object.fromEntries((spec.env ?? []).map(({ name }) => [name, 'value']));
      expect(loadScraperConfig(file, variables)).toBeDefined();
    }
  });

  test('bring every Secret that they refer to', () => {
    const secrets = new Set(resourcesOf('Secret').map(({ object }) => object.metadata.name));
    const references = [...JSON.stringify(all).matchAll(/"secretKeyRef":\{"name":"([^"]+)"/g)].map(([, name]) => name);
    expect(references).not.toEqual([]);
    expect(references.filter((name = '') => !secrets.has(name))).toEqual([]);
  });

  test('use the image of this version', () => {
    const { version } = JSON.parse(readFileSync(join(FOLDER, '../package.json'), 'utf8')) as { version: string };
    const chart = readFileSync(join(FOLDER, '../helm/mcp-operator/Chart.yaml'), 'utf8');
    const images = [...JSON.stringify(all).matchAll(/"image":"(mcp-adapter:[^"]+)"/g)].map(([, image]) => image);
    expect(new Set(images)).toEqual(new Set([`mcp-adapter:${version}`]));
    expect(chart).toMatch(new RegExp(`^appVersion: ${version}$`, 'm'));
    expect(chart).toMatch(new RegExp(`^version: ${version}$`, 'm'));
  });
});
