import { describe, expect, it } from 'vitest';
import { hasReference, interpolate, interpolateAll, renameReferences, resolvedLength } from './reference.ts';

const env = { A: '1', B: 'two', EMPTY: '', _x9: 'low', NESTED: '${A}', DOLLAR: '$&$1' };

describe('interpolate', () => {
  it.each([
    ['plain', 'plain'],
    ['${A}', '1'],
    ['x-${A}-${B}-y', 'x-1-two-y'],
    ['${A}${A}', '11'],
    ['${_x9}', 'low'],
    ['${A:-9}', '1'],
    ['${MISSING:-9}', '9'],
    ['${MISSING:-}', ''],
    ['${MISSING:-a b:c-${}', 'a b:c-${'],
    ['${EMPTY:-9}', '9'],
    ['${NESTED}', '${A}'],
    ['${DOLLAR}', '$&$1'],
    ['${MISSING:-${A}}', '${A}'],
  ])('%s becomes %s', (text, result) => {
    expect(interpolate(text, env)).toEqual({ text: result, unset: [] });
  });

  it.each(['$A', '${}', '${1A}', '${A-B}', '${A', '{A}', '$ {A}', '${A:}', '${A:9}', '${ A }', '${A.b}'])(
    '%s is not a reference',
    (text) => {
      expect(hasReference(text)).toBe(false);
      expect(interpolate(text, env)).toEqual({ text, unset: [] });
    },
  );

  it('counts an empty variable as unset', () => {
    expect(interpolate('<${EMPTY}>', env)).toEqual({ text: '<${EMPTY}>', unset: ['EMPTY'] });
  });

  it('names every variable that is unset', () => {
    expect(interpolate('${C} ${A} ${D}', env)).toEqual({ text: '${C} 1 ${D}', unset: ['C', 'D'] });
  });

  it('does not find what every object has', () => {
    expect(interpolate('${constructor}${toString}', env).unset).toEqual(['constructor', 'toString']);
    expect(interpolate('${__proto__:-none}', env).text).toBe('none');
  });
});

describe('hasReference', () => {
  it.each(['${A}', 'a ${A:-} b', '${${A}}'])('finds one in %s', (text) => {
    expect(hasReference(text)).toBe(true);
  });
});

describe('H1 T23: texts that were made to take long', () => {
  it.each([
    ['references that never end', '${A:-'.repeat(40_000)],
    ['beginnings of references', '${'.repeat(400_000)],
    ['one long name after the other', `\${${'A'.repeat(1000)}`.repeat(200)],
    ['and one that ends, before them', `\${A}${'${A:-'.repeat(40_000)}`],
  ])('%s: one pass', (_, text) => {
    const start = process.threadCpuUsage();
    hasReference(text);
    interpolate(text, {});
    renameReferences(text, (name) => name);
    resolvedLength(text, () => 0);
    const { user, system } = process.threadCpuUsage(start);
    expect((user + system) / 1000).toBeLessThan(200);
  });

  it('finds what a regular expression finds', () => {
    const words = ['${', 'A', 'B9', '}', ':-', ':', '$', '{', ' ', 'x'];
    // A linear congruential generator: the same texts in each run.
    let seed = 1;
    const next = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31);
    for (let run = 0; run < 5000; run += 1) {
      const text = Array.from({ length: 12 }, () => words[next() % words.length]).join('');
      const expected = text.replaceAll(
        /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
        (written, name: string, fallback?: string) => (name === 'A' ? 'value' : (fallback ?? written)),
      );
      expect(interpolate(text, { A: 'value' }).text).toBe(expected);
      expect(resolvedLength(text, (name) => (name === 'A' ? 5 : 0))).toBe(expected.length);
    }
  });
});

describe('interpolateAll', () => {
  it('changes values, wherever they are, and leaves keys and other types', () => {
    const document = { '${A}': ['${A}', { b: '${B}' }], n: 1, t: true, z: null };
    expect(interpolateAll(document, env)).toEqual({
      value: { '${A}': ['1', { b: 'two' }], n: 1, t: true, z: null },
      found: [
        { path: ['${A}', 0], written: '${A}', unset: [] },
        { path: ['${A}', 1, 'b'], written: '${B}', unset: [] },
      ],
    });
  });

  it('leaves the document as it was', () => {
    const document = { a: ['${A}'] };
    interpolateAll(document, env);
    expect(document).toEqual({ a: ['${A}'] });
  });

  it('keeps a key that would change the prototype as a key', () => {
    const { value } = interpolateAll(JSON.parse('{"__proto__": {"polluted": "${A}"}}'), env);
    expect(Object.keys(value ?? {})).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});
