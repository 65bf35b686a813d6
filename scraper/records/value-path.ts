import { ExactNumber } from '../../lib/json/exact-number.ts';
import { ShapeMismatch, shapeOf, isJsonObject } from './shape-mismatch.ts';
import { splitPath } from './split-path.ts';

/**
 * Looks a value up in a record, or in the whole answer. Null where the path leads nowhere.
 *
 * @throws ShapeMismatch when the path starts at the root and the answer is no object
 */
export type ValuePath = (record: unknown, root?: unknown) => unknown;

const ROOT = '$root.';
/** A name, which may be empty, and indexes of lists. Everything else with brackets is a name. */
const INDEXED = /^(.*?)((?:\[-?\d+\])+)$/s;

type Step = (value: unknown) => unknown;

/**
 * A path of readings, attributes, filters, fingerprint keys and severities, such as `stats.count`. `$root.`
 * starts at the answer, and an empty path or `.` is the record itself. New: `items[0].x` and `items[-1]` address
 * elements of lists, unless the object really has a field of that name, as the original would read it.
 */
export function compilePath(path: string): ValuePath {
  if (!path.startsWith(ROOT)) return compileSteps(path);
  const steps = compileSteps(path.slice(ROOT.length));
  return (_record, root) => {
    if (!isJsonObject(root)) {
      throw new ShapeMismatch(`${path} needs an answer that is an object, but it is ${shapeOf(root ?? null)}`);
    }
    return steps(root);
  };
}

function compileSteps(path: string): Step {
  const segments = splitPath(path);
  const [outer, inner, ...more] = segments;
  // Paths of two names are the most frequent ones in records; they need no calls.
  if (outer !== undefined && inner !== undefined && more.length === 0 && isPlain(outer) && isPlain(inner)) {
    return (value) => {
      if (typeof value !== 'object' || value === null) return null;
      const part = (value as Readonly<Record<string, unknown>>)[outer];
      if (typeof part !== 'object' || part === null) return null;
      return (part as Readonly<Record<string, unknown>>)[inner] ?? null;
    };
  }
  const steps = segments.map(compileStep);
  const [first, second] = steps;
  // Paths of one and two segments are nearly all there are; they need no loop.
  if (first === undefined) return (value) => value;
  if (second === undefined) return first;
  if (steps.length === 2) return (value) => second(first(value));
  return (value) => steps.reduce((inner, step) => step(inner), value);
}

function compileStep(segment: string): Step {
  const field = compileField(segment);
  const [, name = '', indexes] = INDEXED.exec(segment) ?? [];
  if (indexes === undefined) return field;
  const list = name === '' ? (value: unknown) => value : compileField(name);
  const places = indexes.slice(1, -1).split('][').map(Number);
  return (value) => (hasField(value, segment) ? field(value) : places.reduce(elementAt, list(value)));
}

const elementAt = (value: unknown, place: number): unknown => (Array.isArray(value) ? (value.at(place) ?? null) : null);

const hasField = (value: unknown, name: string): boolean => isJsonObject(value) && Object.hasOwn(value, name);

/** What objects inherit, elements and properties of lists, and those of our class of numbers are no fields. */
const isInherited = (name: string): boolean =>
  /^\d+$/.test(name) || [{}, [], new ExactNumber('0')].some((other) => name in other);

const isPlain = (segment: string): boolean => !INDEXED.test(segment) && !isInherited(segment);

function compileField(name: string): Step {
  if (isInherited(name)) {
    return (value) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : null);
  }
  return (value) => {
    if (typeof value !== 'object' || value === null) return null;
    return (value as Readonly<Record<string, unknown>>)[name] ?? null;
  };
}
