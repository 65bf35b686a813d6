import { compareCodePoints } from './code-points.ts';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { numberText } from './python-text.ts';

/**
 * Writes JSON values as Python's `json.dumps(value, sort_keys=True)` does, which is what fingerprints are made of:
 * `, ` and `: ` between parts, keys in the order of their code points, ASCII only. A writer remembers the order of the
 * keys of the objects that it sees, because the records of a source are alike and sorting is slow.
 */
export class PythonJsonWriter {
  readonly #shapes: Shape[] = [];

  write(value: unknown): string {
    switch (typeof value) {
      case 'string':
        return jsonString(value);
      case 'number':
        return jsonNumber(value);
      case 'boolean':
        return value ? 'true' : 'false';
      default:
        return this.#compound(value);
    }
  }

  #compound(value: unknown): string {
    if (value === null || value === undefined) return 'null';
    if (Array.isArray(value)) return `[${value.map((element) => this.write(element)).join(', ')}]`;
    if (value instanceof ExactNumber) return jsonNumber(value);
    const object = value as Readonly<Record<string, unknown>>;
    let text = '{';
    for (const { key, before } of this.#fieldsOf(Object.keys(object))) text += before + this.write(object[key]);
    return `${text}}`;
  }

  #fieldsOf(keys: readonly string[]): readonly Field[] {
    const known = this.#shapes.find((shape) => isSame(shape.keys, keys));
    if (known !== undefined) return known.fields;
    const fields = keys
      .toSorted(compareCodePoints)
      .map((key, index) => ({ key, before: `${index === 0 ? '' : ', '}${jsonString(key)}: ` }));
    if (this.#shapes.length < MAX_SHAPES) this.#shapes.push({ keys, fields });
    return fields;
  }
}

interface Field {
  readonly key: string;
  /** What stands before its value. */
  readonly before: string;
}

/** The keys of an object as they came, and sorted. */
interface Shape {
  readonly keys: readonly string[];
  readonly fields: readonly Field[];
}

const MAX_SHAPES = 16;

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) {
    if (a[index] !== b[index]) return false;
  }
  return true;
}

/** Python writes what is not finite as JavaScript does. */
const jsonNumber = (value: number | ExactNumber): string =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : numberText(value);

const PLAIN = /^[ !#-[\]-~]*$/;
const ESCAPED = /[^ !#-[\]-~]/g;
const NAMED: Readonly<Record<string, string>> = {
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '\f': String.raw`\f`,
  '\b': String.raw`\b`,
};

/** A string in quotes, with everything but printable ASCII escaped. */
export function jsonString(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : `"${text.replace(ESCAPED, escape)}"`;
}

const escape = (unit: string): string =>
  NAMED[unit] ?? String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0');
