import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { valueAt } from '../../lib/json/tree.ts';
import { amend } from './amend.ts';
import { chartCopy, manifest, optionalChartCopy } from './custom-resource-definition.ts';
import { apiScrapeSourceCrd } from './api-scrape-source-crd.ts';
import { mcpToolLockCrd } from './mcp-tool-lock-crd.ts';
import { mcpAdapterCrd } from './mcp-adapter-crd.ts';

describe('manifest', () => {
  it('quotes what YAML 1.1 reads as something else', () => {
    const words = { enum: ['off', 'on', 'yes', 'null', '1', '1_0', 'plain'] };
    const text = manifest(words, 'x');
    expect(parse(text, { version: '1.1' })).toEqual(words);
    expect(text).toContain('"off"');
  });

  it.each([
    ['McpAdapter', mcpAdapterCrd()],
    ['ApiScrapeSource', apiScrapeSourceCrd()],
    ['McpToolLock', mcpToolLockCrd()],
  ])('%s is read back as it was', (_, definition) => {
    expect(parse(manifest(definition, 'x'), { version: '1.1' })).toEqual(JSON.parse(JSON.stringify(definition)));
  });
});

describe('the copies in the charts', () => {
  const definition = { metadata: { name: 'x' }, spec: { description: 'Write {{ name }}.' } };
  const copy = chartCopy(definition, 'x');

  it('stay when the release goes', () => {
    expect(copy).toContain('helm.sh/resource-policy: keep');
  });

  it('are part of the operator’s only when that installs definitions', () => {
    expect(optionalChartCopy(definition, 'x')).toBe(`{{- if .Values.crds.install }}\n${copy}{{- end }}\n`);
  });

  it('keep braces that are no template', () => {
    expect(copy).toContain('Write {{ "{{" }} name {{ "}}" }}.');
  });
});

it.each([
  ['McpAdapter', mcpAdapterCrd(), '52 characters'],
  ['ApiScrapeSource', apiScrapeSourceCrd(), '63 characters'],
])('the name of a %s is described', (_, crd, said) => {
  const path = 'spec.versions.0.schema.openAPIV3Schema.properties.metadata.properties.name.description';
  expect(
    valueAt(
      crd,
      path.split('.').map((key) => (key === '0' ? 0 : key)),
    ),
  ).toContain(said);
});

describe('defaults', () => {
  it('the replicas of a McpAdapter have the only one', () => {
    // Fields of that name have a description.
    const all = JSON.stringify([mcpAdapterCrd(), apiScrapeSourceCrd(), mcpToolLockCrd()]).match(
      /"default":(?!\{"description")[^,}]*/g,
    );
    expect(all).toEqual(['"default":1']);
  });
});

describe('amend', () => {
  const schema = {
    type: 'object' as const,
    properties: { list: { type: 'array' as const, items: { type: 'string' as const } } },
  };

  it('adds to the field at a path', () => {
    const amended = amend(schema, { list: { maxItems: 3 }, 'list[]': { maxLength: 5 } });
    expect(amended.properties?.['list']).toEqual({
      type: 'array',
      maxItems: 3,
      items: { type: 'string', maxLength: 5 },
    });
    expect(schema.properties.list).toEqual({ type: 'array', items: { type: 'string' } });
  });

  it('adds to the values of a map', () => {
    const map = { type: 'object' as const, additionalProperties: schema };
    const amended = amend({ properties: { map } }, { 'map.*.list': { maxItems: 3 } });
    expect(amended.properties?.['map']?.additionalProperties?.properties?.['list']).toMatchObject({ maxItems: 3 });
  });

  it.each(['lst', '*', 'list.name', '[]'])('refuses a path that leads nowhere: %s', (path) => {
    expect(() => amend(schema, { [path]: { maxItems: 3 } })).toThrow(`there is no field ${path}`);
  });
});
