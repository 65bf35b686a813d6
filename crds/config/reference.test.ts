import { describe, expect, it } from 'vitest';
import { hasReference, interpolate, interpolateAll } from './reference.ts';

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
