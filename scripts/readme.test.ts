import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ERRORS } from '../adapter/errors.ts';
import { loadAdapterConfig } from '../crds/config/load/load.ts';

const ROOT = join(import.meta.dirname, '..');
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].filter(([, name]) => name === language).map(([, , body = '']) => body);

const scriptsNamed = (text: string): string[] =>
  [...text.matchAll(/\bnpm (?:run (?:-s )?([\w-]+)|(start|test)\b)/g)].map(([, name, own]) => name ?? own ?? '');

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

test('the npm scripts that users are told to run work in a fresh clone', () => {
  const told = ['README.md', 'operator/README.md', 'scraper/README.md'].flatMap((page) =>
    scriptsNamed(readFileSync(join(ROOT, page), 'utf8')),
  );
  expect(told).toEqual(expect.arrayContaining(['start', 'test', 'adapter', 'operator', 'scraper', 'client', 'build']));
  expect(told.filter((name) => scripts[`pre${name}`] !== 'sh scripts/setup.sh')).toEqual([]);
});

test('the image that users are told to build is the one that the chart asks for', () => {
  const version = /^appVersion: (.*)$/m.exec(readFileSync(join(ROOT, 'helm/mcp-operator/Chart.yaml'), 'utf8'))?.[1];
  const built = ['README.md', 'operator/README.md'].flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/docker build -t (\S+) \. && docker push (\S+)/g)].map(
      ([, ...images]) => images,
    ),
  );
  const image = `registry.example.com/mcp-adapter:${version}`;
  expect(built).toEqual([
    [image, image],
    [image, image],
  ]);
});

test('commands of programs are named as they can be run', () => {
  const bare = pages
    .filter((page) => page !== 'CHANGELOG.md')
    .flatMap((page) =>
      [
        ...readFileSync(join(ROOT, page), 'utf8').matchAll(
          /`(?:mcp-operator|mcp-adapter|otel-api-scraper) [-a-z][^`]*`/g,
        ),
      ].map(([command]) => `${page}: ${command}`),
    );
  expect(bare).toEqual([]);
});

describe.for(pages)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  test('links to files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path);
    expect(links.filter((path) => !existsSync(join(ROOT, dirname(page), path)))).toEqual([]);
  });

  test('names npm scripts that exist', () => {
    expect(scriptsNamed(text).filter((name) => !(name in scripts))).toEqual([]);
  });
});
