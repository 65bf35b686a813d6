import { describe, expect, it } from 'vitest';
import { interpolateAll } from '../../../lib/references/reference.ts';
import { comparable, podVariables, renamedReferences, undeclaredVariables, variablePrefix } from './variables.ts';

const secret = (name: string, key: string) => ({ valueFrom: { secretKeyRef: { name, key } } });

describe('the prefix of a resource', () => {
  it.each([
    ['github', 'GITHUB__'],
    ['my-api', 'MY_API__'],
    ['my.api', 'MYdAPI__'],
    ['a--b', 'A_hB__'],
    ['a---b', 'A_hhB__'],
    ['2captcha', '_2CAPTCHA__'],
    ['a.-b', 'Ad_B__'],
  ])('%s → %s', (name, prefix) => {
    expect(variablePrefix(name)).toBe(prefix);
    expect(`${prefix}X`).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/);
  });

  it('never gives two resources the same variable', () => {
    const parts = ['a', 'b', '-', '.', '1'];
    const names = ['', '', '', '']
      .reduce<string[]>((all) => all.flatMap((one) => [one, ...parts.map((part) => one + part)]), [''])
      .filter((name) => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name));
    const variables = ['X', '_X', '__X', 'B', 'B__X', '_1', 'd', 'hB__X', 'B_X'];
    const owners = new Map<string, string>();
    for (const name of new Set(names)) {
      for (const variable of variables) {
        const full = variablePrefix(name) + variable;
        expect(owners.get(full), full).toBeUndefined();
        owners.set(full, `${name}/${variable}`);
      }
    }
    expect(owners.size).toBeGreaterThan(1000);
  });
});

describe('references in a source', () => {
  it('are renamed in every text, with their defaults, but not in keys', () => {
    const source = {
      baseUrl: 'https://${HOST}:${PORT:-443}/${HOST}',
      scrape: {
        extraHeaders: { '${KEY}': 'Bearer ${TOKEN}', plain: '$TOKEN {TOKEN} ${} ${1X}' },
        extraArgs: { l: ['${A:-}', 1] },
      },
      emitLogs: true,
      auth: null,
    };
    expect(renamedReferences(source, 'my-api')).toEqual({
      baseUrl: 'https://${MY_API__HOST}:${MY_API__PORT:-443}/${MY_API__HOST}',
      scrape: {
        extraHeaders: { '${KEY}': 'Bearer ${MY_API__TOKEN}', plain: '$TOKEN {TOKEN} ${} ${1X}' },
        extraArgs: { l: ['${MY_API__A:-}', 1] },
      },
      emitLogs: true,
      auth: null,
    });
  });

  it('resolve from the variables of the pod as before from those of the resource', () => {
    const declared = { env: [{ name: 'TOKEN', value: 'one' }], envFrom: [{ prefix: 'P_', secretRef: { name: 's' } }] };
    const { env, envFrom } = podVariables(declared, 'a.b');
    const pod = {
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
      [`${envFrom[0]?.prefix}KEY`]: 'two',
    };
    const { value } = interpolateAll(renamedReferences(['${TOKEN}', '${P_KEY}', '${NONE:-three}'], 'a.b'), pod);
    expect(value).toEqual(['one', 'two', 'three']);
  });
});

describe('variables of the pod', () => {
  it('carry the name of their resource, and so do the prefixes of whole objects', () => {
    const declared = {
      env: [{ name: 'TOKEN', ...secret('s', 'token') }],
      envFrom: [{ secretRef: { name: 'all' } }, { prefix: 'C_', configMapRef: { name: 'more', optional: true } }],
    };
    expect(podVariables(declared, 'my-api')).toEqual({
      env: [{ name: 'MY_API__TOKEN', ...secret('s', 'token') }],
      envFrom: [
        { prefix: 'MY_API__', secretRef: { name: 'all' } },
        { prefix: 'MY_API__C_', configMapRef: { name: 'more', optional: true } },
      ],
    });
  });

  it('expand only variables of their own resource', () => {
    const env = [
      { name: 'USER', value: 'me' },
      { name: 'PAIR', value: '$(USER):$(OTHER__SECRET) $$(USER) $5' },
    ];
    expect(podVariables({ env }, 'a').env[1]?.value).toBe('$(A__USER):$$(OTHER__SECRET) $$(USER) $5');
  });

  it.each([
    ['', ''],
    ['$', '$'],
    ['$(USER', '$(USER'],
    ['$(USER$(USER)', '$$(USER$(USER)'],
    ['$()$(USER)', '$$()$(A__USER)'],
    ['$$$(USER)', '$$$(A__USER)'],
    ['a$b$(USER)c', 'a$b$(A__USER)c'],
  ])('%j becomes %j', (value, expected) => {
    const env = [
      { name: 'USER', value: 'me' },
      { name: 'TEXT', value },
    ];
    expect(podVariables({ env }, 'a').env[1]?.value).toBe(expected);
  });

  it('H1 T23: beginnings of expansions that never end are read once', () => {
    const start = process.threadCpuUsage();
    podVariables({ env: [{ name: 'A', value: '$('.repeat(32_768) }] }, 'a');
    const { user, system } = process.threadCpuUsage(start);
    expect((user + system) / 1000).toBeLessThan(100);
  });
});

describe('undeclared variables', () => {
  it('are named with the path that refers to them; a default excuses', () => {
    const spec = { source: { baseUrl: '${HOST}', endpoint: '${A}${B:-x}' }, scraper: { serviceName: '${C}' } };
    expect(undeclaredVariables(spec, { env: [{ name: 'A', value: '' }] })).toEqual([
      { path: 'source.baseUrl', name: 'HOST' },
      { path: 'scraper.serviceName', name: 'C' },
    ]);
    expect(undeclaredVariables(spec, { envFrom: [{ secretRef: { name: 's' } }] })).toEqual([]);
  });
});

describe('values are the same', () => {
  it('when their references mean the same, whatever the variables are called', () => {
    const one = { env: [{ name: 'A', ...secret('s', 'k') }] };
    const two = { env: [{ name: 'B', ...secret('s', 'k') }] };
    const other = { env: [{ name: 'A', ...secret('other', 'k') }] };
    expect(comparable('x-${A}', one)).toBe(comparable('x-${B}', two));
    expect(comparable('x-${A}', one)).not.toBe(comparable('x-${A}', other));
    expect(comparable('${A}', { envFrom: [{ secretRef: { name: 's' } }] })).not.toBe(
      comparable('${B}', { envFrom: [{ secretRef: { name: 's' } }] }),
    );
    expect(comparable({ a: 1, b: [2] }, {})).toBe(comparable({ b: [2], a: 1 }, {}));
  });

  it('H1 T23: and take no more room than their references, however long what they refer to is', () => {
    const env = [{ name: 'A', value: 'x'.repeat(60_000) }];
    expect(comparable('${A}'.repeat(4000), { env }).length).toBeLessThan(400_000);
  });
});
