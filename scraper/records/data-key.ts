import { InvalidSetting } from './invalid-setting.ts';
import { ShapeMismatch, isJsonObject, shapeOf } from './shape-mismatch.ts';
import { splitPath } from './split-path.ts';

/**
 * The records of an answer.
 *
 * @throws ShapeMismatch when there is something else in their place
 */
export type RecordsOf = (body: unknown) => readonly unknown[];

interface Segment {
  readonly name: string;
  /** What a selector takes of a list; undefined: there is none. */
  readonly select: ((list: readonly unknown[], name: string) => readonly unknown[]) | undefined;
}

/**
 * `dataKey` of a source: a path whose segments may end in `[]`, `[n]` or `[a:b]`. What leads nowhere gives no
 * records. Null or empty: the answer is the list, whose elements may be anything. `.` makes one record of the answer.
 *
 * @param isRequired what leads nowhere is a mismatch instead, but for the elements of a list of which one leads further
 * @throws InvalidSetting for another selector; the original failed only when it came across the list
 */
export function compileDataKey(dataKey: string | null, isRequired = false): RecordsOf {
  if (dataKey === null || dataKey === '') return elements;
  const segments = splitPath(dataKey).map(parseSegment);
  return (body) => {
    let values: readonly unknown[] = [body];
    for (const segment of segments) {
      if (isRequired) requireAny(values, segment);
      values = step(values, segment);
    }
    return values.flatMap(asRecords);
  };
}

/** An empty list on the way is no error: there is nothing that could lead further. */
function requireAny(values: readonly unknown[], { name }: Segment): void {
  if (values.length === 0 || values.some((value) => inner(value, name) !== null)) return;
  throw new ShapeMismatch(`The answer has nothing at ${name}, and dataKeyRequired is true`);
}

const inner = (value: unknown, name: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : null;

function elements(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  throw new ShapeMismatch(`The answer must be a list, because dataKey is not set, but it is ${shapeOf(body)}`);
}

function step(values: readonly unknown[], { name, select }: Segment): unknown[] {
  const found: unknown[] = [];
  for (const value of values) {
    const at = inner(value, name);
    if (at === null) continue;
    if (select === undefined) {
      found.push(at);
    } else if (Array.isArray(at)) {
      for (const element of select(at, name)) found.push(element);
    } else {
      throw new ShapeMismatch(`${name} must be a list, but it is ${shapeOf(at)}`);
    }
  }
  return found;
}

/** One object is one record, and a list of objects is flattened. */
function asRecords(value: unknown): readonly unknown[] {
  if (isJsonObject(value)) return [value];
  if (!Array.isArray(value)) throw new ShapeMismatch(`dataKey must lead to objects, but it leads to ${shapeOf(value)}`);
  const other = value.findIndex((element) => !isJsonObject(element));
  if (other === -1) return value;
  throw new ShapeMismatch(
    `dataKey must lead to a list of objects, but element ${other} of the list is ${shapeOf(value[other])}`,
  );
}

function parseSegment(segment: string): Segment {
  const bracket = segment.indexOf('[');
  if (bracket === -1 || !segment.endsWith(']')) return { name: segment, select: undefined };
  return { name: segment.slice(0, bracket), select: parseSelector(segment.slice(bracket + 1, -1), segment) };
}

function parseSelector(selector: string, segment: string): Segment['select'] {
  if (selector === '') return (list) => list;
  const [from = '', to, ...more] = selector.split(':');
  if (to === undefined) {
    const index = parseIndex(from, segment);
    return (list, name) => [elementAt(list, index, name)];
  }
  if (more.length > 0) throw invalid(segment);
  const start = from === '' ? undefined : parseIndex(from, segment);
  const end = to === '' ? undefined : parseIndex(to, segment);
  return (list) => list.slice(start, end);
}

function elementAt(list: readonly unknown[], index: number, name: string): unknown {
  if (index < list.length && index >= -list.length) return list.at(index);
  throw new ShapeMismatch(`${name} has no element ${index}: it is a list of ${list.length}`);
}

function parseIndex(text: string, segment: string): number {
  if (!/^\s*[+-]?\d+\s*$/.test(text)) throw invalid(segment);
  return Number(text);
}

const invalid = (segment: string): InvalidSetting =>
  new InvalidSetting('dataKey', `${segment} must end in [], [n] or [a:b] with integers`);
