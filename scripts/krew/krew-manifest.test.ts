import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import { parse } from 'yaml';

import { krewManifest } from './krew-manifest.ts';

const TEMPLATE = readFileSync(join(import.meta.dirname, '../../deploy/krew.yaml'), 'utf8');
const RELEASE = {
  version: 'v1.2.3',
  uri: 'https://files.test/kubectl-mcpadapter-v1.2.3.tar.gz',
  sha256: '0123456789'.repeat(6) + 'abcd',
  homepage: 'https://files.test/',
};

test('a release fills in the template, which names no address itself', () => {
  const manifest = krewManifest(TEMPLATE, RELEASE);
  expect(parse(manifest)).toMatchObject({
    kind: 'Plugin',
    metadata: { name: 'mcpadapter' },
    spec: {
      version: 'v1.2.3',
      homepage: RELEASE.homepage,
      platforms: [{ uri: RELEASE.uri, sha256: RELEASE.sha256, bin: 'dist/operator/plugin/main.js' }],
    },
  });
  expect(manifest).not.toMatch(/\$\{|template/);
  expect(TEMPLATE.replace(/^#.*$/gm, '')).not.toMatch(/https?:/);
});

test('what is missing is an error, and so is an address that is none', () => {
  expect(() => krewManifest(TEMPLATE.replace('${URI}', 'x'), RELEASE)).toThrow('no place for uri');
  expect(() => krewManifest(`${TEMPLATE}\nmore: \${MORE}\n`, RELEASE)).toThrow('nothing fills in ${MORE}');
  expect(() => krewManifest(TEMPLATE, { ...RELEASE, uri: 'http://files.test/x' })).toThrow('is no https address');
});
