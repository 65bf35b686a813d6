import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ERRORS } from '../adapter/errors.ts';
import { loadAdapterConfig } from '../crds/config/load.ts';

const ROOT = join(import.meta.dirname, '..');
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].filter(([, name]) => name === language).map(([, , body = '']) => body);

describe('README.md', () => {
  test('shows configurations that are valid', () => {
    const env = { ADAPTER_TOKEN: 'token', REDIS_PASSWORD: 'password' };
    const anyServer = 'servers: [{ id: a, mount_path: /a, upstream: { url: "http://127.0.0.1/mcp" } }]\n';
    const files = blocks(readme, 'yaml');
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) {
      expect(loadAdapterConfig(file.includes('servers:') ? file : file + anyServer, env)).toBeDefined();
    }
  });

  test('explains every error code, with its status', () => {
    const rows = [...readme.matchAll(/^\| (?<codes>`[^|]*) \| (?<status>\d{3}) \|/gm)].flatMap(({ groups }) =>
      [...(groups?.['codes'] ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => [code, Number(groups?.['status'])]),
    );
    expect(Object.fromEntries(rows)).toEqual(
      Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status])),
    );
  });
});

const pages = globSync('**/*.md', { cwd: ROOT, exclude: ['**/node_modules'] }).toSorted();

test('all pages are looked at', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'scraper/README.md']));
});

describe.for(pages)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  test('links to files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path);
    expect(links.filter((path) => !existsSync(join(ROOT, dirname(page), path)))).toEqual([]);
  });

  test('names npm scripts that exist', () => {
    const named = [...text.matchAll(/\bnpm (?:run (?:-s )?([\w-]+)|(start|test)\b)/g)].map(
      ([, name, own]) => name ?? own ?? '',
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
