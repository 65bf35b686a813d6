import { expect, test } from 'vitest';
import { referenceVolumes } from './references.ts';

const secret = (name: string, key: string) => ({ name: `${name}_${key}`, valueFrom: { secretKeyRef: { name, key } } });
const map = (name: string, key: string) => ({ name: `${name}_${key}`, valueFrom: { configMapKeyRef: { name, key } } });
const paths = (spec: Parameters<typeof referenceVolumes>[0]): unknown[] =>
  referenceVolumes(spec).volumeMounts.map((mount) => Reflect.get(mount, 'mountPath'));

test('values that stand in the resource are no references', () => {
  expect(referenceVolumes({ env: [{ name: 'A', value: '1' }] })).toEqual({ volumes: [], volumeMounts: [] });
  expect(referenceVolumes({})).toEqual({ volumes: [], volumeMounts: [] });
});

test('only the keys that are used reach the pod, in a folder for each object', () => {
  const { volumes, volumeMounts } = referenceVolumes({ env: [secret('s', 'b'), map('s', 'c'), secret('s', 'a')] });
  const [first, second] = volumeMounts.map((mount) => Reflect.get(mount, 'name') as string);
  expect(volumes).toEqual([
    { name: first, configMap: { name: 's', items: [{ key: 'c', path: 'c' }], defaultMode: 0o440, optional: true } },
    {
      name: second,
      secret: {
        secretName: 's',
        items: [
          { key: 'a', path: 'a' },
          { key: 'b', path: 'b' },
        ],
        defaultMode: 0o440,
        optional: true,
      },
    },
  ]);
  expect(volumeMounts).toEqual([
    { name: first, mountPath: '/var/run/mcp-references/configmaps/s', readOnly: true },
    { name: second, mountPath: '/var/run/mcp-references/secrets/s', readOnly: true },
  ]);
});

test('an object that is used as a whole is there as a whole, wherever else it is used', () => {
  const whole = { secretRef: { name: 's' } };
  for (const env of [[secret('s', 'a')], []]) {
    const { volumes } = referenceVolumes({ env, envFrom: [whole] });
    expect(volumes).toMatchObject([{ secret: { secretName: 's' } }]);
    expect(JSON.stringify(volumes)).not.toContain('items');
  }
});

test('the order of variables does not matter', () => {
  const env = [secret('b', 'x'), map('a', 'y'), secret('a', 'z')];
  const forward = referenceVolumes({ env });
  expect(referenceVolumes({ env: env.toReversed() })).toEqual(forward);
  expect(paths({ env })).toEqual([
    '/var/run/mcp-references/configmaps/a',
    '/var/run/mcp-references/secrets/a',
    '/var/run/mcp-references/secrets/b',
  ]);
});

test('names of volumes fit, whatever the object is called', () => {
  const long = `${'a'.repeat(120)}.${'b'.repeat(120)}`;
  const { volumes } = referenceVolumes({ envFrom: [{ secretRef: { name: long } }, { configMapRef: { name: long } }] });
  const names = volumes.map((volume) => Reflect.get(volume, 'name') as string);
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name).toMatch(/^[a-z0-9-]{1,63}$/);
});
